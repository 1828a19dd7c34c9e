"""Namespaces."""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


class NamespaceCondition(ApiStruct, frozen=True):
    """core/v1 NamespaceCondition."""

    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str = written("")
    type: str = written("")


class NamespaceSpec(ApiStruct, frozen=True):
    """core/v1 NamespaceSpec."""

    finalizers: tuple[str, ...] = ()


class NamespaceStatus(ApiStruct, frozen=True):
    """core/v1 NamespaceStatus."""

    conditions: tuple[NamespaceCondition, ...] = ()
    phase: str | None = None


class Namespace(ApiObject, frozen=True):
    """core/v1 Namespace."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Namespace"] = written("Namespace")
    metadata: ObjectMeta = ObjectMeta()
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus | None = None
