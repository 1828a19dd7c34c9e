"""What is sent to the path of an object and not stored: deletion, eviction, binding to a node.

`Status` is the answer of the API server where there is no object to answer with.
"""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, Int32, Int64, written
from config.objects.meta import ListMeta, ObjectMeta
from config.objects.selectors import ObjectReference


class Preconditions(ApiStruct, frozen=True):
    """meta/v1 Preconditions."""

    resource_version: str | None = None
    uid: str | None = None


class DeleteOptions(ApiObject, frozen=True):
    """meta/v1 DeleteOptions. Clients give it the version of the group whose object they delete."""

    api_version: str = written("v1")
    kind: Literal["DeleteOptions"] = written("DeleteOptions")
    dry_run: tuple[str, ...] = ()
    grace_period_seconds: Int64 | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None


class Eviction(ApiObject, frozen=True):
    """policy/v1 Eviction."""

    api_version: Literal["policy/v1"] = written("policy/v1")
    kind: Literal["Eviction"] = written("Eviction")
    metadata: ObjectMeta = ObjectMeta()
    delete_options: DeleteOptions | None = None


class Binding(ApiObject, frozen=True):
    """core/v1 Binding."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Binding"] = written("Binding")
    metadata: ObjectMeta = ObjectMeta()
    target: ObjectReference = ObjectReference()


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
    retry_after_seconds: Int32 | None = None
    uid: str | None = None


class Status(ApiObject, frozen=True):
    """meta/v1 Status."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Status"] = written("Status")
    metadata: ListMeta = ListMeta()
    code: Int32 | None = None
    details: StatusDetails | None = None
    message: str | None = None
    reason: str | None = None
    status: str | None = None
