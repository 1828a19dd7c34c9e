"""Containers: made, started, stopped, removed, listed, looked at, changed, checkpointed.

Times are wall-clock nanoseconds since 1970, zero when the event has not happened yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.enums import ContainerState, Signal
from runtime.cri.messages.base import Message
from runtime.cri.messages.config import (
    ContainerConfig,
    ContainerMetadata,
    ImageSpec,
    Mount,
    PodSandboxConfig,
)
from runtime.cri.messages.resources import (
    ContainerResources,
    LinuxContainerResources,
    WindowsContainerResources,
)


class CreateContainerRequest(Message, frozen=True, kw_only=True):
    """Make a container in a sandbox, without starting it."""

    pod_sandbox_id: str = ""
    config: ContainerConfig | None = None
    sandbox_config: PodSandboxConfig | None = None


class CreateContainerResponse(Message, frozen=True, kw_only=True):
    """The id of the container that was made."""

    container_id: str = ""


class StartContainerRequest(Message, frozen=True, kw_only=True):
    """Start a container that was made and never started."""

    container_id: str = ""


class StartContainerResponse(Message, frozen=True, kw_only=True):
    """The container's process has been started."""


class StopContainerRequest(Message, frozen=True, kw_only=True):
    """End a container: its stop signal first, the kill after `timeout` seconds. Stopping twice is no
    error."""

    container_id: str = ""
    timeout: int = 0


class StopContainerResponse(Message, frozen=True, kw_only=True):
    """The container is not running any more."""


class RemoveContainerRequest(Message, frozen=True, kw_only=True):
    """Remove a container, by force when it still runs. Removing twice is no error."""

    container_id: str = ""


class RemoveContainerResponse(Message, frozen=True, kw_only=True):
    """The container is gone."""


class ContainerStateValue(Message, frozen=True, kw_only=True):
    """A container state that may also be absent, for filters."""

    state: ContainerState = ContainerState.CONTAINER_CREATED


class ContainerFilter(Message, frozen=True, kw_only=True):
    """Conditions on containers, all of which must hold; an empty one holds always."""

    id: str = ""
    state: ContainerStateValue | None = None
    pod_sandbox_id: str = ""
    label_selector: Mapping[str, str] = {}


class ListContainersRequest(Message, frozen=True, kw_only=True):
    """List containers."""

    filter: ContainerFilter | None = None


class Container(Message, frozen=True, kw_only=True):
    """A container in brief, as lists give it."""

    id: str = ""
    pod_sandbox_id: str = ""
    metadata: ContainerMetadata | None = None
    image: ImageSpec | None = None
    image_ref: str = ""
    state: ContainerState = ContainerState.CONTAINER_CREATED
    created_at: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    image_id: str = ""


class ListContainersResponse(Message, frozen=True, kw_only=True):
    """All containers that meet the filter."""

    containers: tuple[Container, ...] = ()


class StreamContainersRequest(Message, frozen=True, kw_only=True):
    """List containers, in parts."""

    filter: ContainerFilter | None = None


class StreamContainersResponse(Message, frozen=True, kw_only=True):
    """A part of the list of containers."""

    containers: tuple[Container, ...] = ()


class LinuxContainerUser(Message, frozen=True, kw_only=True):
    """User and groups the first process of a container started with."""

    uid: int = 0
    gid: int = 0
    supplemental_groups: tuple[int, ...] = ()


class ContainerUser(Message, frozen=True, kw_only=True):
    """User of a container, for the platform at hand."""

    linux: LinuxContainerUser | None = None


class ContainerStatusRequest(Message, frozen=True, kw_only=True):
    """Look at one container."""

    container_id: str = ""
    verbose: bool = False


class ContainerStatus(Message, frozen=True, kw_only=True):
    """A container in full."""

    id: str = ""
    metadata: ContainerMetadata | None = None
    state: ContainerState = ContainerState.CONTAINER_CREATED
    created_at: int = 0
    started_at: int = 0
    finished_at: int = 0
    exit_code: int = 0
    image: ImageSpec | None = None
    image_ref: str = ""
    reason: str = ""
    message: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    mounts: tuple[Mount, ...] = ()
    log_path: str = ""
    resources: ContainerResources | None = None
    image_id: str = ""
    user: ContainerUser | None = None
    stop_signal: Signal = Signal.RUNTIME_DEFAULT


class ContainerStatusResponse(Message, frozen=True, kw_only=True):
    """The container, and on request what else the runtime knows."""

    status: ContainerStatus | None = None
    info: Mapping[str, str] = {}


class UpdateContainerResourcesRequest(Message, frozen=True, kw_only=True):
    """Change the resources of a container while it lives."""

    container_id: str = ""
    linux: LinuxContainerResources | None = None
    windows: WindowsContainerResources | None = None
    annotations: Mapping[str, str] = {}


class UpdateContainerResourcesResponse(Message, frozen=True, kw_only=True):
    """The new resources are in force."""


class ReopenContainerLogRequest(Message, frozen=True, kw_only=True):
    """Have a running container's log written to a fresh file, after the old one was moved away."""

    container_id: str = ""


class ReopenContainerLogResponse(Message, frozen=True, kw_only=True):
    """Output goes to the fresh file."""


class CheckpointContainerRequest(Message, frozen=True, kw_only=True):
    """Write the state of a running container into an archive."""

    container_id: str = ""
    location: str = ""
    timeout: int = 0


class CheckpointContainerResponse(Message, frozen=True, kw_only=True):
    """The archive is written."""
