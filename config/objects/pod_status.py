"""What is observed of a pod and its containers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from config.objects.base import ApiStruct
from config.objects.resources import ResourceRequirements


class HostIP(ApiStruct, frozen=True):
    """core/v1 HostIP."""

    ip: str = ""


class PodIP(ApiStruct, frozen=True):
    """core/v1 PodIP."""

    ip: str = ""


class PodCondition(ApiStruct, frozen=True):
    """core/v1 PodCondition."""

    last_probe_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None
    status: str = ""
    type: str = ""


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
    exit_code: int = 0
    finished_at: str | None = None
    message: str | None = None
    reason: str | None = None
    signal: int | None = None
    started_at: str | None = None


class ContainerState(ApiStruct, frozen=True):
    """core/v1 ContainerState."""

    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class LinuxContainerUser(ApiStruct, frozen=True):
    """core/v1 LinuxContainerUser."""

    gid: int = 0
    supplemental_groups: tuple[int, ...] = ()
    uid: int = 0


class ContainerUser(ApiStruct, frozen=True):
    """core/v1 ContainerUser."""

    linux: LinuxContainerUser | None = None


class ResourceHealth(ApiStruct, frozen=True):
    """core/v1 ResourceHealth."""

    health: str | None = None
    message: str | None = None
    resource_id: str = field(default="", name="resourceID")


class ResourceStatus(ApiStruct, frozen=True):
    """core/v1 ResourceStatus."""

    name: str = ""
    resources: tuple[ResourceHealth, ...] = ()


class ImageVolumeStatus(ApiStruct, frozen=True):
    """core/v1 ImageVolumeStatus."""

    image_ref: str = ""


class VolumeStatus(ApiStruct, frozen=True):
    """core/v1 VolumeStatus."""

    image: ImageVolumeStatus | None = None


class VolumeMountStatus(ApiStruct, frozen=True):
    """core/v1 VolumeMountStatus."""

    mount_path: str = ""
    name: str = ""
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class ContainerStatus(ApiStruct, frozen=True):
    """core/v1 ContainerStatus."""

    allocated_resources: Mapping[str, str] = {}
    allocated_resources_status: tuple[ResourceStatus, ...] = ()
    container_id: str | None = field(default=None, name="containerID")
    image: str = ""
    image_id: str = field(default="", name="imageID")
    last_state: ContainerState | None = None
    name: str = ""
    ready: bool = False
    resources: ResourceRequirements | None = None
    restart_count: int = 0
    started: bool | None = None
    state: ContainerState | None = None
    stop_signal: str | None = None
    user: ContainerUser | None = None
    volume_mounts: tuple[VolumeMountStatus, ...] = ()


class ContainerExtendedResourceRequest(ApiStruct, frozen=True):
    """core/v1 ContainerExtendedResourceRequest."""

    container_name: str = ""
    request_name: str = ""
    resource_name: str = ""


class PodExtendedResourceClaimStatus(ApiStruct, frozen=True):
    """core/v1 PodExtendedResourceClaimStatus."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(ApiStruct, frozen=True):
    """core/v1 NodeAllocatableResourceClaimStatus."""

    containers: tuple[str, ...] = ()
    resource_claim_name: str = ""
    resources: Mapping[str, str] = {}


class PodResourceClaimStatus(ApiStruct, frozen=True):
    """core/v1 PodResourceClaimStatus."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(ApiStruct, frozen=True):
    """core/v1 PodStatus."""

    allocated_resources: Mapping[str, str] = {}
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
    observed_generation: int | None = None
    phase: str | None = None
    pod_ip: str | None = field(default=None, name="podIP")
    pod_ips: tuple[PodIP, ...] = field(default=(), name="podIPs")
    qos_class: str | None = None
    reason: str | None = None
    resize: str | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    resources: ResourceRequirements | None = None
    start_time: str | None = None
