"""The runtime itself: its version, readiness, abilities, settings, and the stream of its container events."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.enums import CgroupDriver, ContainerEventType
from runtime.cri.messages.base import Message
from runtime.cri.messages.container import ContainerStatus
from runtime.cri.messages.sandbox import PodSandboxStatus


class VersionRequest(Message, frozen=True, kw_only=True):
    """Ask for the versions of runtime and interface."""

    version: str = ""


class VersionResponse(Message, frozen=True, kw_only=True):
    """The versions of runtime and interface."""

    version: str = ""
    runtime_name: str = ""
    runtime_version: str = ""
    runtime_api_version: str = ""


class RuntimeCondition(Message, frozen=True, kw_only=True):
    """One thing that must be so for pods to run; `RuntimeReady` and `NetworkReady` are always given."""

    type: str = ""
    status: bool = False
    reason: str = ""
    message: str = ""


class RuntimeStatus(Message, frozen=True, kw_only=True):
    """The conditions of the runtime."""

    conditions: tuple[RuntimeCondition, ...] = ()


class RuntimeHandlerFeatures(Message, frozen=True, kw_only=True):
    """What one runtime handler is able to do."""

    recursive_read_only_mounts: bool = False
    user_namespaces: bool = False


class RuntimeHandler(Message, frozen=True, kw_only=True):
    """A way to run pods, as a RuntimeClass names it; the default one has the empty name."""

    name: str = ""
    features: RuntimeHandlerFeatures | None = None


class RuntimeFeatures(Message, frozen=True, kw_only=True):
    """What the runtime is able to do whatever the handler."""

    supplemental_groups_policy: bool = False
    user_namespaces_host_network: bool = False


class StatusRequest(Message, frozen=True, kw_only=True):
    """Ask how the runtime is."""

    verbose: bool = False


class StatusResponse(Message, frozen=True, kw_only=True):
    """How the runtime is and what it is able to do."""

    status: RuntimeStatus | None = None
    info: Mapping[str, str] = {}
    runtime_handlers: tuple[RuntimeHandler, ...] = ()
    features: RuntimeFeatures | None = None


class NetworkConfig(Message, frozen=True, kw_only=True):
    """Network settings of the node."""

    pod_cidr: str = ""


class RuntimeConfig(Message, frozen=True, kw_only=True):
    """Settings the node agent gives to the runtime."""

    network_config: NetworkConfig | None = None


class UpdateRuntimeConfigRequest(Message, frozen=True, kw_only=True):
    """Give settings to the runtime."""

    runtime_config: RuntimeConfig | None = None


class UpdateRuntimeConfigResponse(Message, frozen=True, kw_only=True):
    """The runtime has taken the settings."""


class LinuxRuntimeConfiguration(Message, frozen=True, kw_only=True):
    """Settings of the runtime that the node agent must follow, on Linux."""

    cgroup_driver: CgroupDriver = CgroupDriver.SYSTEMD


class RuntimeConfigRequest(Message, frozen=True, kw_only=True):
    """Ask for the settings the node agent must follow."""


class RuntimeConfigResponse(Message, frozen=True, kw_only=True):
    """The settings the node agent must follow."""

    linux: LinuxRuntimeConfiguration | None = None


class GetEventsRequest(Message, frozen=True, kw_only=True):
    """Ask for container events, from now on."""


class ContainerEventResponse(Message, frozen=True, kw_only=True):
    """Something happened to a container, and how its pod looks after it."""

    container_id: str = ""
    container_event_type: ContainerEventType = ContainerEventType.CONTAINER_CREATED_EVENT
    created_at: int = 0
    pod_sandbox_status: PodSandboxStatus | None = None
    containers_statuses: tuple[ContainerStatus, ...] = ()
