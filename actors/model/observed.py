"""A pod as the runtime shows it: frozen, newest first.

Pure functions build it from the CRI's own messages.

Everything that is decided or published about a pod is computed from this picture. It is made of one look: two lists,
and one status for each thing in them. It says nothing about anything else. Times are wall-clock nanoseconds as the
runtime gives them, zero when the event has not happened.

A container belongs to the sandbox whose attempt it carries as a label. A container that another agent made belongs to
the newest sandbox that is not younger than itself.

`sandbox_change` tells whether the pod needs a new sandbox, and why (spec 3.1).

`ProbeResults` are the verdicts of probes, by container id. A verdict about a removed container says nothing about its
successor (spec 5). Without a result the probe has not decided yet. `active` is False if there is no prober; containers
then count as started and ready as soon as they run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from operator import attrgetter

import msgspec

from config.frozen_map import FrozenMap
from config.objects import Container, Pod
from config.pods.identity import CONFIG_SEEN
from config.values.api_time import seconds_of
from runtime.cri.identity import (
    BACK_OFF_NS,
    CONTAINER_NAME,
    POD_UID,
    RESTART_COUNT,
    SANDBOX_ATTEMPT,
    SCHEMA,
    SCHEMA_VERSION,
    TERMINATION_MESSAGE_FILE,
    TERMINATION_MESSAGE_PATH,
    TERMINATION_MESSAGE_POLICY,
    whole_number,
)
from runtime.cri.messages import (
    ContainerState,
    ContainerStatus,
    ContainerUser,
    LinuxContainerResources,
    NamespaceMode,
    PodSandboxState,
    PodSandboxStatus,
)

_NOTHING: Mapping[str, str] = {}

_OUR_LABELS: Mapping[str, str] = FrozenMap({SCHEMA: SCHEMA_VERSION})
"""What is kept of labels that this agent has set: the others are in fields, or are the pod's."""

_MESSAGE_NAME = re.compile("[0-9a-f]{8}")
_RUNS_NOT = (ContainerState.CONTAINER_CREATED, ContainerState.CONTAINER_EXITED)


class ObservedSandbox(msgspec.Struct, frozen=True, gc=False):
    """A sandbox of a pod.

    `host_network` is None when the runtime does not say. `networked`: it has reported addresses, though maybe none.
    """

    id: str
    attempt: int
    ready: bool
    created_at_ns: int = 0
    ips: tuple[str, ...] = ()
    networked: bool = False
    host_network: bool | None = None
    seen_s: int | None = None
    """When the agent that made it first saw the pod, in seconds since 1970, from its annotation."""
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
    """It runs, and its postStart hook has not ended: to others it does not count as running."""
    mounted_message: str = ""
    """The host path of its termination message, found among its mounts, where no note of ours tells it."""
    image_mounts: Mapping[str, str] = _NOTHING
    """The id of the image that is mounted at a path inside."""

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
        """Whether it ended with a failure; an OOM kill is one with any exit code."""
        return self.exited and (self.exit_code != 0 or self.reason == "OOMKilled")

    @property
    def back_off_ns(self) -> int | None:
        """The back-off noted on it for its successor; None when there is no note."""
        return whole_number(self.annotations.get(BACK_OFF_NS))

    @property
    def termination_file(self) -> str:
        """The host path of its termination message; empty when it was made without one."""
        return self.annotations.get(TERMINATION_MESSAGE_FILE, "") or self.mounted_message

    @property
    def termination_policy(self) -> str:
        return self.annotations.get(TERMINATION_MESSAGE_POLICY, "")


_is_ready = attrgetter("ready")
_NONE = (None,)


class ObservedPod(msgspec.Struct, frozen=True):
    """The sandboxes and containers of one pod.

    `sandboxes` newest first. `by_name`: the containers of each name that has any, newest first, ephemeral ones
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
    """Build the picture from one look. Containers without a name are not judged and left out."""
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


def with_refreshed(before: ObservedPod, refreshed: Iterable[ObservedContainer]) -> ObservedPod:
    """The same picture with these containers as they are now, each new or in another state.

    Its cost is that of those containers, and of the copy of a dict: a pod that starts thousands of containers looks at
    one after the other. Sandboxes are as before, and nothing is gone.
    """
    by_name = dict(before.by_name)
    for container in refreshed:
        name = container.name
        if not name:
            continue
        if container.sandbox_attempt is None:
            container = _placed(container, before.sandboxes)
        others = [each for each in by_name.get(name, ()) if each.id != container.id]
        by_name[name] = tuple(sorted((*others, container), key=_newness, reverse=True)) if others else (container,)
    return ObservedPod(before.uid, before.sandboxes, by_name)


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
    """A sandbox status of the runtime as an `ObservedSandbox`."""
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
    """A container status of the runtime; `sandbox_attempt` is None if no label tells it."""
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
        _OUR_LABELS if labels.get(SCHEMA) == SCHEMA_VERSION else labels,
        annotations,
        status.log_path,
        status.user,
        status.resources.linux if status.resources is not None else None,
        status.stop_signal.name if status.stop_signal else "",
        mounted_message="" if TERMINATION_MESSAGE_FILE in annotations else _mounted_message(status),
        image_mounts=_image_mounts(status),
    )


def _image_mounts(status: ContainerStatus) -> Mapping[str, str]:
    """The agent asks for a mount of an image by its id, and the runtime repeats that."""
    found = {mount.container_path: mount.image.image for mount in status.mounts if mount.image is not None}
    return found or _NOTHING


def _mounted_message(status: ContainerStatus) -> str:
    """The host file in which a kubelet keeps this container's message, or ""; no other file counts."""
    place, name = status.annotations.get(TERMINATION_MESSAGE_PATH), status.labels.get(CONTAINER_NAME, "")
    if not place:
        return ""
    directory = f"/pods/{status.labels.get(POD_UID, '')}/containers/{name}"
    for mount in status.mounts:
        above, _, file = mount.host_path.rpartition("/")
        if mount.container_path == place and above.endswith(directory) and _MESSAGE_NAME.fullmatch(file):
            return mount.host_path
    return ""


class SandboxChange(msgspec.Struct, frozen=True, gc=False):
    """Whether the pod needs a new sandbox.

    `why` is empty when the sandbox `id` of `attempt` can be used; else `attempt` is that of the one to make.
    """

    id: str
    attempt: int
    why: str

    @property
    def needed(self) -> bool:
        return bool(self.why)


FIRST_SANDBOX = SandboxChange("", 0, "the pod has no sandbox")


def sandbox_change(pod: Pod, observed: ObservedPod) -> SandboxChange:
    """The sandbox to use, or the one to make.

    Of several faults the first in the order of spec 3.1 is named.
    """
    sandboxes = observed.sandboxes
    if not sandboxes:
        return FIRST_SANDBOX
    newest = sandboxes[0]
    why = _fault(pod, newest, sandboxes)
    return SandboxChange(newest.id, newest.attempt + 1 if why else newest.attempt, why)


def sandbox_serves(pod: Pod, observed: ObservedPod) -> bool:
    """Whether there is a sandbox and no other one is needed."""
    sandboxes = observed.sandboxes
    return bool(sandboxes) and not _fault(pod, sandboxes[0], sandboxes)


def _fault(pod: Pod, newest: ObservedSandbox, sandboxes: tuple[ObservedSandbox, ...]) -> str:
    if len(sandboxes) > 1:
        ready = sum([sandbox.ready for sandbox in sandboxes])
        if ready > 1:
            return f"{ready} sandboxes are ready; there must be one"
    if not newest.ready:
        return "the sandbox is not ready"
    host_network, seen = bool(pod.spec.host_network), newest.host_network
    if seen is not None and seen != host_network:
        return "the sandbox has another network namespace than the pod asks for"
    if not host_network and newest.networked and not newest.ips:
        return "the sandbox has no address"
    return ""


class ProbeResults(msgspec.Struct, frozen=True):
    """See the module: container id -> success."""

    active: bool = False
    startup: FrozenMap[str, bool] = FrozenMap()
    liveness: FrozenMap[str, bool] = FrozenMap()
    readiness: FrozenMap[str, bool] = FrozenMap()


NO_RESULTS = ProbeResults()


def say_the_same(results: ProbeResults, others: ProbeResults) -> bool:
    """Whether both lead to the same decisions and the same status.

    Missing readiness equals not ready, and missing liveness equals alive.
    """
    return results == others or (
        results.active == others.active
        and results.startup == others.startup
        and _those(results.readiness, True) == _those(others.readiness, True)
        and _those(results.liveness, False) == _those(others.liveness, False)
    )


def _those(verdicts: Mapping[str, bool], verdict: bool) -> set[str]:
    return {each for each, said in verdicts.items() if said is verdict}


def startup_of(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool | None:
    """True: started. False: the startup probe has failed for good. None: not decided. Only for what runs."""
    if container.startup_probe is None or not results.active:
        return True
    return results.startup.get(observed.id)


def liveness_failed(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool:
    """Whether the liveness probe has failed for good."""
    return container.liveness_probe is not None and results.liveness.get(observed.id) is False


def is_started(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool:
    """Whether it runs, its postStart hook has ended, and its startup probe, if any, has succeeded."""
    if not observed.running or observed.starting:
        return False
    return container.startup_probe is None or startup_of(container, observed, results) is True


def is_ready(container: Container, observed: ObservedContainer, results: ProbeResults) -> bool:
    """Whether it is started and its readiness probe, if any, succeeds. Not for regular init containers."""
    if not is_started(container, observed, results):
        return False
    if container.readiness_probe is None or not results.active:
        return True
    return results.readiness.get(observed.id, False)
