"""Nodes: their spec, their status, and the leases that show that they are alive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from config.objects.base import ApiObject, ApiStruct, Int32, Int64, Quantity, written
from config.objects.meta import ObjectMeta


class AttachedVolume(ApiStruct, frozen=True):
    """core/v1 AttachedVolume."""

    device_path: str = written("")
    name: str = written("")


class ConfigMapNodeConfigSource(ApiStruct, frozen=True):
    """core/v1 ConfigMapNodeConfigSource."""

    kubelet_config_key: str = written("")
    name: str = written("")
    namespace: str = written("")
    resource_version: str | None = None
    uid: str | None = None


class NodeConfigSource(ApiStruct, frozen=True):
    """core/v1 NodeConfigSource."""

    config_map: ConfigMapNodeConfigSource | None = None


class NodeConfigStatus(ApiStruct, frozen=True):
    """core/v1 NodeConfigStatus."""

    active: NodeConfigSource | None = None
    assigned: NodeConfigSource | None = None
    error: str | None = None
    last_known_good: NodeConfigSource | None = None


class ContainerImage(ApiStruct, frozen=True):
    """core/v1 ContainerImage."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 | None = None


class DaemonEndpoint(ApiStruct, frozen=True):
    """core/v1 DaemonEndpoint."""

    port: Int32 = written(0, "Port")


class NodeDaemonEndpoints(ApiStruct, frozen=True):
    """core/v1 NodeDaemonEndpoints."""

    kubelet_endpoint: DaemonEndpoint | None = None


class NodeAddress(ApiStruct, frozen=True):
    """core/v1 NodeAddress."""

    address: str = written("")
    type: str = written("")


class NodeCondition(ApiStruct, frozen=True):
    """core/v1 NodeCondition."""

    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None
    message: str | None = None
    reason: str | None = None
    status: str = written("")
    type: str = written("")


class NodeFeatures(ApiStruct, frozen=True):
    """core/v1 NodeFeatures."""

    supplemental_groups_policy: bool | None = None


class NodeRuntimeHandlerFeatures(ApiStruct, frozen=True):
    """core/v1 NodeRuntimeHandlerFeatures."""

    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(ApiStruct, frozen=True):
    """core/v1 NodeRuntimeHandler."""

    features: NodeRuntimeHandlerFeatures | None = None
    name: str | None = None


class NodeSwapStatus(ApiStruct, frozen=True):
    """core/v1 NodeSwapStatus."""

    capacity: Int64 | None = None


class NodeSystemInfo(ApiStruct, frozen=True):
    """core/v1 NodeSystemInfo."""

    architecture: str = written("")
    boot_id: str = written("", "bootID")
    container_runtime_version: str = written("")
    kernel_version: str = written("")
    kube_proxy_version: str = written("")
    kubelet_version: str = written("")
    machine_id: str = written("", "machineID")
    operating_system: str = written("")
    os_image: str = written("")
    swap: NodeSwapStatus | None = None
    system_uuid: str = written("", "systemUUID")


class Taint(ApiStruct, frozen=True):
    """core/v1 Taint."""

    effect: str = written("")
    key: str = written("")
    time_added: str | None = None
    value: str | None = None


class NodeSpec(ApiStruct, frozen=True):
    """core/v1 NodeSpec."""

    config_source: NodeConfigSource | None = None
    external_id: str | None = field(default=None, name="externalID")
    pod_cidr: str | None = field(default=None, name="podCIDR")
    pod_cidrs: tuple[str, ...] = field(default=(), name="podCIDRs")
    provider_id: str | None = field(default=None, name="providerID")
    taints: tuple[Taint, ...] = ()
    unschedulable: bool | None = None


class NodeStatus(ApiStruct, frozen=True):
    """core/v1 NodeStatus."""

    addresses: tuple[NodeAddress, ...] = ()
    allocatable: Mapping[str, Quantity] = {}
    capacity: Mapping[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()
    config: NodeConfigStatus | None = None
    daemon_endpoints: NodeDaemonEndpoints | None = None
    declared_features: tuple[str, ...] = ()
    features: NodeFeatures | None = None
    images: tuple[ContainerImage, ...] = ()
    node_info: NodeSystemInfo | None = None
    phase: str | None = None
    runtime_handlers: tuple[NodeRuntimeHandler, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()


class Node(ApiObject, frozen=True):
    """core/v1 Node."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Node"] = written("Node")
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus | None = None


class LeaseSpec(ApiStruct, frozen=True):
    """coordination/v1 LeaseSpec."""

    acquire_time: str | None = None
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    lease_transitions: Int32 | None = None
    preferred_holder: str | None = None
    renew_time: str | None = None
    strategy: str | None = None


class Lease(ApiObject, frozen=True):
    """coordination/v1 Lease."""

    api_version: Literal["coordination.k8s.io/v1"] = written("coordination.k8s.io/v1")
    kind: Literal["Lease"] = written("Lease")
    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseSpec = LeaseSpec()
