"""Pod sandboxes: run, stopped, removed, listed, looked at, resized.

A sandbox is what the containers of one pod share: the network namespace with its addresses, and the parent cgroup.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.enums import PodSandboxState
from runtime.cri.messages.base import Message
from runtime.cri.messages.config import PodSandboxConfig, PodSandboxMetadata
from runtime.cri.messages.container import ContainerStatus
from runtime.cri.messages.resources import LinuxContainerResources
from runtime.cri.messages.security import NamespaceOption


class RunPodSandboxRequest(Message, frozen=True, kw_only=True):
    """Make and start a sandbox; on success its network is up."""

    config: PodSandboxConfig | None = None
    runtime_handler: str = ""


class RunPodSandboxResponse(Message, frozen=True, kw_only=True):
    """The id of the sandbox that runs."""

    pod_sandbox_id: str = ""


class StopPodSandboxRequest(Message, frozen=True, kw_only=True):
    """End every process of a sandbox and take its network down. Stopping twice is no error."""

    pod_sandbox_id: str = ""


class StopPodSandboxResponse(Message, frozen=True, kw_only=True):
    """The sandbox is stopped."""


class RemovePodSandboxRequest(Message, frozen=True, kw_only=True):
    """Remove a sandbox with all its containers, by force. Removing twice is no error."""

    pod_sandbox_id: str = ""


class RemovePodSandboxResponse(Message, frozen=True, kw_only=True):
    """The sandbox is gone."""


class PodSandboxStateValue(Message, frozen=True, kw_only=True):
    """A sandbox state that may also be absent, for filters."""

    state: PodSandboxState = PodSandboxState.SANDBOX_READY


class PodSandboxFilter(Message, frozen=True, kw_only=True):
    """Conditions on sandboxes, all of which must hold; an empty one holds always."""

    id: str = ""
    state: PodSandboxStateValue | None = None
    label_selector: Mapping[str, str] = {}


class ListPodSandboxRequest(Message, frozen=True, kw_only=True):
    """List sandboxes."""

    filter: PodSandboxFilter | None = None


class PodSandbox(Message, frozen=True, kw_only=True):
    """A sandbox in brief, as lists give it."""

    id: str = ""
    metadata: PodSandboxMetadata | None = None
    state: PodSandboxState = PodSandboxState.SANDBOX_READY
    created_at: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    runtime_handler: str = ""


class ListPodSandboxResponse(Message, frozen=True, kw_only=True):
    """All sandboxes that meet the filter."""

    items: tuple[PodSandbox, ...] = ()


class StreamPodSandboxesRequest(Message, frozen=True, kw_only=True):
    """List sandboxes, in parts."""

    filter: PodSandboxFilter | None = None


class StreamPodSandboxesResponse(Message, frozen=True, kw_only=True):
    """A part of the list of sandboxes."""

    pod_sandboxes: tuple[PodSandbox, ...] = ()


class PodIP(Message, frozen=True, kw_only=True):
    """One address of a pod."""

    ip: str = ""


class PodSandboxNetworkStatus(Message, frozen=True, kw_only=True):
    """The addresses of a sandbox; none for a sandbox in the network of the host."""

    ip: str = ""
    additional_ips: tuple[PodIP, ...] = ()


class Namespace(Message, frozen=True, kw_only=True):
    """The namespaces of a sandbox."""

    options: NamespaceOption | None = None


class LinuxPodSandboxStatus(Message, frozen=True, kw_only=True):
    """The Linux part of a sandbox status."""

    namespaces: Namespace | None = None


class PodSandboxStatusRequest(Message, frozen=True, kw_only=True):
    """Look at one sandbox."""

    pod_sandbox_id: str = ""
    verbose: bool = False


class PodSandboxStatus(Message, frozen=True, kw_only=True):
    """A sandbox in full."""

    id: str = ""
    metadata: PodSandboxMetadata | None = None
    state: PodSandboxState = PodSandboxState.SANDBOX_READY
    created_at: int = 0
    network: PodSandboxNetworkStatus | None = None
    linux: LinuxPodSandboxStatus | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    runtime_handler: str = ""


class PodSandboxStatusResponse(Message, frozen=True, kw_only=True):
    """The sandbox, its containers where the runtime serves events, and on request what else it knows."""

    status: PodSandboxStatus | None = None
    info: Mapping[str, str] = {}
    containers_statuses: tuple[ContainerStatus, ...] = ()
    timestamp: int = 0


class UpdatePodSandboxResourcesRequest(Message, frozen=True, kw_only=True):
    """Tell the runtime the new resources of a whole sandbox."""

    pod_sandbox_id: str = ""
    overhead: LinuxContainerResources | None = None
    resources: LinuxContainerResources | None = None


class UpdatePodSandboxResourcesResponse(Message, frozen=True, kw_only=True):
    """The runtime has taken note."""
