"""Leases: how a node says that it is alive."""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


class LeaseSpec(ApiStruct, frozen=True):
    """coordination/v1 LeaseSpec."""

    acquire_time: str | None = None
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    renew_time: str | None = None
    strategy: str | None = None


class Lease(ApiObject, frozen=True):
    """coordination/v1 Lease."""

    api_version: Literal["coordination.k8s.io/v1"] = written("coordination.k8s.io/v1")
    kind: Literal["Lease"] = written("Lease")
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
