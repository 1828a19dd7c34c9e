"""Claims of devices, as far as a node reads them, and the slices in which drivers offer devices."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


class DeviceRequestAllocationResult(ApiStruct, frozen=True):
    """resource/v1 DeviceRequestAllocationResult."""

    device: str = written("")
    driver: str = written("")
    pool: str = written("")
    request: str = written("")
    admin_access: bool | None = None
    share_id: str | None = field(name="shareID", default=None)


class DeviceAllocationResult(ApiStruct, frozen=True):
    """resource/v1 DeviceAllocationResult."""

    results: tuple[DeviceRequestAllocationResult, ...] = ()


class AllocationResult(ApiStruct, frozen=True):
    """resource/v1 AllocationResult."""

    devices: DeviceAllocationResult = DeviceAllocationResult()


class ResourceClaimConsumerReference(ApiStruct, frozen=True):
    """resource/v1 ResourceClaimConsumerReference."""

    api_group: str | None = None
    name: str = written("")
    resource: str = written("")
    uid: str = written("")


class ResourceClaimStatus(ApiStruct, frozen=True):
    """resource/v1 ResourceClaimStatus."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()


class ResourceClaim(ApiObject, frozen=True):
    """resource/v1 ResourceClaim."""

    api_version: Literal["resource.k8s.io/v1"] = written("resource.k8s.io/v1")
    kind: Literal["ResourceClaim"] = written("ResourceClaim")
    metadata: ObjectMeta = ObjectMeta()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceSliceSpec(ApiStruct, frozen=True):
    """resource/v1 ResourceSliceSpec."""

    driver: str = written("")
    node_name: str | None = None


class ResourceSlice(ApiObject, frozen=True):
    """resource/v1 ResourceSlice."""

    api_version: Literal["resource.k8s.io/v1"] = written("resource.k8s.io/v1")
    kind: Literal["ResourceSlice"] = written("ResourceSlice")
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()
