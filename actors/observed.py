"""A pod as the runtime shows it: frozen, newest first, built by pure functions from the CRI's own messages.

Everything that is decided or published of a pod is computed from this picture. It is made of one look (two lists and
the statuses of what is in them, each of which is read once), and says nothing of what has not been looked at. Times are
wall-clock nanoseconds as the runtime gives them, zero when the event has not happened.

A container belongs to the sandbox whose attempt it carries as a label; one that was made by another agent belongs to
the newest sandbox that is not younger than itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from operator import attrgetter

import msgspec

from actors.pod_status.times import seconds_of
from actors.start.identity import (
    BACK_OFF_NS,
    CONTAINER_NAME,
    RESTART_COUNT,
    SANDBOX_ATTEMPT,
    TERMINATION_MESSAGE_FILE,
    TERMINATION_MESSAGE_POLICY,
    whole_number,
)
from config.pod_identity import CONFIG_SEEN
from runtime.cri.enums import ContainerState, NamespaceMode, PodSandboxState
from runtime.cri.messages import ContainerStatus, ContainerUser, LinuxContainerResources, PodSandboxStatus

_NOTHING: Mapping[str, str] = {}

_RUNS_NOT = (ContainerState.CONTAINER_CREATED, ContainerState.CONTAINER_EXITED)


class ObservedSandbox(msgspec.Struct, frozen=True, gc=False):
    """`host_network` is None when the runtime does not say; `networked`: it has told addresses, though maybe none."""

    id: str
    attempt: int
    ready: bool
    created_at_ns: int = 0
    ips: tuple[str, ...] = ()
    networked: bool = False
    host_network: bool | None = None
    seen_s: int | None = None
    """When the agent that made it had first seen the pod, in seconds since 1970, as its annotation tells."""
    handler: str = ""
    """Which of the runtime's handlers made it; empty for the default one."""


class ObservedContainer(msgspec.Struct, frozen=True, gc=False):
    """One container that was made. `attempt` counts from 0 over the life of the pod."""

    id: str
    name: str
    attempt: int
    state: ContainerState
    created_at_ns: int = 0
    started_at_ns: int = 0
    finished_at_ns: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_id: str = ""
    image_ref: str = ""
    sandbox_attempt: int | None = None
    labels: Mapping[str, str] = _NOTHING
    annotations: Mapping[str, str] = _NOTHING
    log_path: str = ""
    user: ContainerUser | None = None
    resources: LinuxContainerResources | None = None
    stop_signal: str = ""
    starting: bool = False
    """It runs, and its postStart hook has not ended: whoever looks in from outside does not count it as running."""

    @property
    def running(self) -> bool:
        return self.state == ContainerState.CONTAINER_RUNNING

    @property
    def exited(self) -> bool:
        return self.state == ContainerState.CONTAINER_EXITED

    @property
    def may_run(self) -> bool:
        """Whether a process of it may exist: it runs, or the runtime has lost track of it."""
        return self.state not in _RUNS_NOT

    @property
    def failed(self) -> bool:
        """Whether it ended badly; an OOM kill counts whatever the code is."""
        return self.exited and (self.exit_code != 0 or self.reason == "OOMKilled")

    @property
    def back_off_ns(self) -> int | None:
        """What was noted on it for its successor; None when nothing was."""
        return whole_number(self.annotations.get(BACK_OFF_NS))

    @property
    def termination_file(self) -> str:
        """Where on the host its termination message is; empty when it was made without one."""
        return self.annotations.get(TERMINATION_MESSAGE_FILE, "")

    @property
    def termination_policy(self) -> str:
        return self.annotations.get(TERMINATION_MESSAGE_POLICY, "")


_is_ready = attrgetter("ready")
_NONE = (None,)


class ObservedPod(msgspec.Struct, frozen=True):
    """`sandboxes` newest first; `by_name`: the containers of each name that has any, newest first, ephemeral ones
    included.
    """

    uid: str
    sandboxes: tuple[ObservedSandbox, ...] = ()
    by_name: Mapping[str, tuple[ObservedContainer, ...]] = {}

    def newest(self, name: str) -> ObservedContainer | None:
        """The last container of that name, in whatever sandbox."""
        return self.by_name.get(name, _NONE)[0]

    def containers(self) -> Iterable[ObservedContainer]:
        """All of them."""
        return chain.from_iterable(self.by_name.values())

    def anything_runs(self) -> bool:
        """Whether a container may have a process. A sandbox alone does not count."""
        for containers in self.by_name.values():
            for container in containers:
                if container.may_run:
                    return True
        return False

    def any_sandbox_ready(self) -> bool:
        return any(map(_is_ready, self.sandboxes))

    def ips(self) -> tuple[str, ...]:
        """Addresses of the newest ready sandbox."""
        for sandbox in self.sandboxes:
            if sandbox.ready:
                return sandbox.ips
        return ()


_newness = attrgetter("attempt", "created_at_ns")


def observe(uid: str, sandboxes: tuple[ObservedSandbox, ...], containers: Iterable[ObservedContainer]) -> ObservedPod:
    """Put one look together. Containers without a name anywhere are not ours to judge and are left out."""
    if len(sandboxes) > 1:
        sandboxes = tuple(sorted(sandboxes, key=_newness, reverse=True))
    by_name: dict[str, tuple[ObservedContainer, ...]] = {}
    for container in containers:
        name = container.name
        if not name:
            continue
        if container.sandbox_attempt is None:
            container = _placed(container, sandboxes)
        others = by_name.get(name)
        by_name[name] = (
            (container,) if others is None else tuple(sorted((*others, container), key=_newness, reverse=True))
        )
    return ObservedPod(uid, sandboxes, by_name)


def _placed(container: ObservedContainer, sandboxes: tuple[ObservedSandbox, ...]) -> ObservedContainer:
    """Without a label it belongs to the newest sandbox that is not younger than itself."""
    older = (each.attempt for each in sandboxes if each.created_at_ns <= container.created_at_ns)
    return msgspec.structs.replace(container, sandbox_attempt=next(older, None))


def with_starting(observed: ObservedPod, starting: Collection[str]) -> ObservedPod:
    """The same look, with the containers of these ids marked as `starting`."""
    replace = msgspec.structs.replace
    by_name: Mapping[str, tuple[ObservedContainer, ...]] = {
        name: tuple(replace(each, starting=True) if each.id in starting and each.running else each for each in group)
        for name, group in observed.by_name.items()
    }
    return replace(observed, by_name=by_name)


def observed_sandbox(status: PodSandboxStatus) -> ObservedSandbox:
    """What the runtime says of a sandbox."""
    ips: tuple[str, ...] = ()
    network = status.network
    if network is not None and network.ip:
        ips = (network.ip, *(other.ip for other in network.additional_ips)) if network.additional_ips else (network.ip,)
    linux = status.linux
    options = linux.namespaces.options if linux is not None and linux.namespaces is not None else None
    return ObservedSandbox(
        status.id,
        status.metadata.attempt if status.metadata is not None else 0,
        status.state == PodSandboxState.SANDBOX_READY,
        status.created_at,
        ips,
        network is not None,
        options.network == NamespaceMode.NODE if options is not None else None,
        seconds_of(status.annotations.get(CONFIG_SEEN)),
        status.runtime_handler,
    )


def observed_container(status: ContainerStatus) -> ObservedContainer:
    """What the runtime says of a container; `sandbox_attempt` is None where no label tells it."""
    labels, annotations = status.labels, status.annotations
    metadata = status.metadata
    attempt = whole_number(annotations.get(RESTART_COUNT))
    if attempt is None:
        attempt = metadata.attempt if metadata is not None else 0
    image = status.image
    return ObservedContainer(
        status.id,
        labels.get(CONTAINER_NAME) or (metadata.name if metadata is not None else ""),
        attempt,
        status.state,
        status.created_at,
        status.started_at,
        status.finished_at,
        status.exit_code,
        status.reason,
        status.message,
        (image.user_specified_image or image.image) if image is not None else "",
        status.image_id or status.image_ref,
        status.image_ref,
        whole_number(labels.get(SANDBOX_ATTEMPT)),
        labels,
        annotations,
        status.log_path,
        status.user,
        status.resources.linux if status.resources is not None else None,
        status.stop_signal.name if status.stop_signal else "",
    )
