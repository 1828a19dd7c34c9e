"""What a node says of its storage drivers, and what drivers ask of nodes."""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


class VolumeNodeResources(ApiStruct, frozen=True):
    """storage/v1 VolumeNodeResources."""

    count: int | None = None


class CSINodeDriver(ApiStruct, frozen=True):
    """storage/v1 CSINodeDriver."""

    allocatable: VolumeNodeResources | None = None
    name: str = written("")
    node_id: str = written("", "nodeID")
    topology_keys: tuple[str, ...] = ()


class CSINodeSpec(ApiStruct, frozen=True):
    """storage/v1 CSINodeSpec."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(ApiObject, frozen=True):
    """storage/v1 CSINode."""

    api_version: Literal["storage.k8s.io/v1"] = written("storage.k8s.io/v1")
    kind: Literal["CSINode"] = written("CSINode")
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIServiceAccountTokenRequest(ApiStruct, frozen=True):
    """storage/v1 CSIServiceAccountTokenRequest."""

    audience: str = written("")
    expiration_seconds: int | None = None


class CSIDriverSpec(ApiStruct, frozen=True):
    """storage/v1 CSIDriverSpec."""

    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: int | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: tuple[CSIServiceAccountTokenRequest, ...] = ()
    volume_lifecycle_modes: tuple[str, ...] = ()


class CSIDriver(ApiObject, frozen=True):
    """storage/v1 CSIDriver."""

    api_version: Literal["storage.k8s.io/v1"] = written("storage.k8s.io/v1")
    kind: Literal["CSIDriver"] = written("CSIDriver")
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()
