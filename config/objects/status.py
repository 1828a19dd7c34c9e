"""The answer of the API server where there is no object to answer with."""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ListMeta


class StatusCause(ApiStruct, frozen=True):
    """meta/v1 StatusCause."""

    field: str | None = None
    message: str | None = None
    reason: str | None = None


class StatusDetails(ApiStruct, frozen=True):
    """meta/v1 StatusDetails."""

    causes: tuple[StatusCause, ...] = ()
    group: str | None = None
    kind: str | None = None
    name: str | None = None
    retry_after_seconds: int | None = None
    uid: str | None = None


class Status(ApiObject, frozen=True):
    """meta/v1 Status."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Status"] = written("Status")
    metadata: ListMeta = ListMeta()
    code: int | None = None
    details: StatusDetails | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
