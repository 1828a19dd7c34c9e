"""What is observed of a pod and its containers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from config.objects.base import ApiStruct, Int32, Int64, Quantity, written
from config.objects.resources import ResourceRequirements


class HostIP(ApiStruct, frozen=True):
    """core/v1 HostIP."""

    ip: str = written("")


class PodIP(ApiStruct, frozen=True):
    """core/v1 PodIP."""

    ip: str = written("")


class PodCondition(ApiStruct, frozen=True):
    """core/v1 PodCondition."""

    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    observed_generation: Int64 | None = None
    reason: str | None = None
    status: str = written("")
    type: str = written("")


class ContainerStateWaiting(ApiStruct, frozen=True):
    """core/v1 ContainerStateWaiting."""

    message: str | None = None
    reason: str | None = None


class ContainerStateRunning(ApiStruct, frozen=True):
    """core/v1 ContainerStateRunning."""

    started_at: str | None = None


class ContainerStateTerminated(ApiStruct, frozen=True):
    """core/v1 ContainerStateTerminated."""

    container_id: str | None = field(default=None, name="containerID")
    exit_code: Int32 = written(0)
    finished_at: str | None = None
    message: str | None = None
    reason: str | None = None
    signal: Int32 | None = None
    started_at: str | None = None


class ContainerState(ApiStruct, frozen=True):
    """core/v1 ContainerState."""

    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class LinuxContainerUser(ApiStruct, frozen=True):
    """core/v1 LinuxContainerUser."""

    gid: Int64 = written(0)
    supplemental_groups: tuple[Int64, ...] = ()
    uid: Int64 = written(0)


class ContainerUser(ApiStruct, frozen=True):
    """core/v1 ContainerUser."""

    linux: LinuxContainerUser | None = None


class ResourceHealth(ApiStruct, frozen=True):
    """core/v1 ResourceHealth."""

    health: str | None = None
    message: str | None = None
    resource_id: str = written("", "resourceID")


class ResourceStatus(ApiStruct, frozen=True):
    """core/v1 ResourceStatus."""

    name: str = written("")
    resources: tuple[ResourceHealth, ...] = ()


class ImageVolumeStatus(ApiStruct, frozen=True):
    """core/v1 ImageVolumeStatus."""

    image_ref: str = written("")


class VolumeStatus(ApiStruct, frozen=True):
    """core/v1 VolumeStatus."""

    image: ImageVolumeStatus | None = None


class VolumeMountStatus(ApiStruct, frozen=True):
    """core/v1 VolumeMountStatus."""

    mount_path: str = written("")
    name: str = written("")
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class ContainerStatus(ApiStruct, frozen=True):
    """core/v1 ContainerStatus."""

    allocated_resources: Mapping[str, Quantity] = {}
    allocated_resources_status: tuple[ResourceStatus, ...] = ()
    container_id: str | None = field(default=None, name="containerID")
    image: str = written("")
    image_id: str = written("", "imageID")
    last_state: ContainerState | None = None
    name: str = written("")
    ready: bool = written(False)
    resources: ResourceRequirements | None = None
    restart_count: Int32 = written(0)
    started: bool | None = None
    state: ContainerState | None = None
    stop_signal: str | None = None
    user: ContainerUser | None = None
    volume_mounts: tuple[VolumeMountStatus, ...] = ()


class ContainerExtendedResourceRequest(ApiStruct, frozen=True):
    """core/v1 ContainerExtendedResourceRequest."""

    container_name: str = written("")
    request_name: str = written("")
    resource_name: str = written("")


class PodExtendedResourceClaimStatus(ApiStruct, frozen=True):
    """core/v1 PodExtendedResourceClaimStatus."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = written("")


class NodeAllocatableResourceClaimStatus(ApiStruct, frozen=True):
    """core/v1 NodeAllocatableResourceClaimStatus."""

    containers: tuple[str, ...] = ()
    resource_claim_name: str = written("")
    resources: Mapping[str, Quantity] = {}


class PodResourceClaimStatus(ApiStruct, frozen=True):
    """core/v1 PodResourceClaimStatus."""

    name: str = written("")
    resource_claim_name: str | None = None


class PodStatus(ApiStruct, frozen=True):
    """core/v1 PodStatus."""

    allocated_resources: Mapping[str, Quantity] = {}
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    host_ip: str | None = field(default=None, name="hostIP")
    host_ips: tuple[HostIP, ...] = field(default=(), name="hostIPs")
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    message: str | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    nominated_node_name: str | None = None
    observed_generation: Int64 | None = None
    phase: str | None = None
    pod_ip: str | None = field(default=None, name="podIP")
    pod_ips: tuple[PodIP, ...] = field(default=(), name="podIPs")
    qos_class: str | None = None
    reason: str | None = None
    resize: str | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    resources: ResourceRequirements | None = None
    start_time: str | None = None
