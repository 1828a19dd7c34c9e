"""The status of each container (spec 4.2). Pure.

A status is made of the two newest containers of its name: the newest is the state, the one before is the last state.
Facts that the runtime has forgotten come from the published status and are never guessed. A container that was shown as
running and is gone without a trace has ended unseen: exit code 137, reason ContainerStatusUnknown.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from actors.model.observed import ObservedContainer, ObservedPod, ProbeResults, is_ready, is_started
from actors.pod_rules.resize import NOTHING_TOLD, Told
from actors.pod_rules.restart_all import RESTARTING_ALL
from actors.pod_rules.restart_rules import should_restart, should_restart_failed_init
from actors.pod_status.actual_resources import actual_resources
from config.objects import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    ImageVolumeStatus,
    Lifecycle,
    LinuxContainerUser,
    Pod,
    ResourceRequirements,
    VolumeMount,
    VolumeMountStatus,
    VolumeStatus,
)
from config.values.api_time import api_time
from runtime.cri import messages as cri
from runtime.cri.identity import resources_given

STATUS_UNKNOWN = "ContainerStatusUnknown"
UNKNOWN_EXIT_CODE = 137
REMOVED_MESSAGE = "The container is removed because RestartAllContainers in place"
LOST_MESSAGE = "The container could not be located when the pod was terminated"
GONE_MESSAGE = "The container could not be located when the pod was deleted.  The container used to be Running"
FORGOTTEN_INIT_MESSAGE = (
    "Unable to get init container status from container runtime and pod has been initialized,"
    " treat it as exited normally"
)
NEVER_STARTED = "1970-01-01T00:00:00Z"
"""The start shown for a container whose start failed.

The runtime says 0, and upstream takes that for a time.
"""
CREATING = "ContainerCreating"
INITIALIZING = "PodInitializing"


class ContainerWaiting(msgspec.Struct, frozen=True, gc=False):
    """Why a container has not (re)started: what the worker met when it tried."""

    reason: str
    message: str = ""


class ContainerKind(enum.Enum):
    """Containers of the three lists of a spec, and sidecars; they differ in what ready means."""

    INIT = "init"
    SIDECAR = "sidecar"
    REGULAR = "regular"
    EPHEMERAL = "ephemeral"


class StatusView(msgspec.Struct, frozen=True):
    """The input for statuses.

    `initialized`: a regular container exists. `ended`: nothing is started any more.
    """

    pod: Pod
    observed: ObservedPod
    probes: ProbeResults
    waiting: Mapping[str, ContainerWaiting]
    runtime_name: str
    initialized: bool
    ended: bool
    coming: frozenset[str] = frozenset()
    """Names of containers that will be started again, whatever their policy says of their end."""
    restarting_all: bool = False
    """All containers are being removed, to be made anew (`actors.pod_rules.restart_all`)."""
    recursive_read_only: bool = False
    """Whether the runtime can make mounts recursively read only."""
    told: Told = NOTHING_TOLD
    """The resources that the runtime was told since it made the containers."""
    image_refs: bool = False
    """Whether mounts of images show the id of the image (feature gate ImageVolumeWithDigest)."""


def container_status(
    view: StatusView, container: Container, kind: ContainerKind, old: ContainerStatus | None
) -> ContainerStatus:
    """The status of one container; `old` is the one last published."""
    group = view.observed.by_name.get(container.name)
    if group:
        status = _of_observed(view, container, kind, group, old)
    else:
        status = _of_missing(view, container, kind, old)
    if not view.waiting or view.ended:
        return status
    waiting = view.waiting.get(container.name)
    if waiting is not None:
        status = _with_waiting(view, container, kind, status, group[0] if group else None, waiting)
    return status


def default_waiting(pod: Pod) -> ContainerState:
    """The state of a container about which nothing is known."""
    return _PENDING_INIT if pod.spec.init_containers else _PENDING


_PENDING = ContainerState(waiting=ContainerStateWaiting(reason=CREATING))
_PENDING_INIT = ContainerState(waiting=ContainerStateWaiting(reason=INITIALIZING))
_WAITING = ContainerState(waiting=ContainerStateWaiting())
_COMING = ContainerState(waiting=ContainerStateWaiting(reason=CREATING))
"""The node has ended it, and starts it again."""
_FORGOTTEN_INIT = ContainerState(
    terminated=ContainerStateTerminated(exit_code=0, reason="Completed", message=FORGOTTEN_INIT_MESSAGE)
)


def _of_observed(
    view: StatusView,
    container: Container,
    kind: ContainerKind,
    group: tuple[ObservedContainer, ...],
    old: ContainerStatus | None,
) -> ContainerStatus:
    newest = group[0]
    restarts = newest.attempt
    ready = False
    started = _not_started(kind)
    runs = newest.running
    if runs and newest.starting and not view.ended:
        state = default_waiting(view.pod)
    elif runs:
        state = ContainerState(running=ContainerStateRunning(started_at=api_time(newest.started_at_ns)))
        if kind is ContainerKind.INIT:
            started = True
        elif kind is not ContainerKind.EPHEMERAL:
            ready = is_ready(container, newest, view.probes)
            started = ready or is_started(container, newest, view.probes)
    elif newest.exited and container.name in view.coming and not (view.ended or view.restarting_all):
        # The API server lets no container leave `terminated` that its policy does not start again.
        state, last = _COMING, ContainerState(terminated=_terminated(view, newest))
        return _status(view, container, state, last, restarts, newest, ready, started)
    elif newest.exited:
        state = ContainerState(terminated=_terminated(view, newest))
        ready = kind is ContainerKind.INIT and newest.exit_code == 0
    elif newest.may_run and old is not None and (lost := _shown_lost(old, _id(view, newest))) is not None:
        # The runtime lost it while it ran, and the status shows that already: do not raise the count twice.
        state, restarts = lost, old.restart_count
    elif newest.may_run and old is not None and old.state is not None and old.state.running is not None:
        state = ContainerState(terminated=_unknown_end(_id(view, newest), old.state.running.started_at))
        restarts += 1
    else:
        state = _WAITING
    return _status(view, container, state, _last_state(view, group, old, restarts), restarts, newest, ready, started)


def _not_started(kind: ContainerKind) -> bool | None:
    """The not-started values. Ephemeral containers have no probes, so nothing is said about them."""
    return None if kind is ContainerKind.EPHEMERAL else False


def _id(view: StatusView, container: ObservedContainer) -> str:
    """The container id in the API's form."""
    return f"{view.runtime_name}://{container.id}"


def _shown_lost(old: ContainerStatus, container_id: str) -> ContainerState | None:
    """The published state or last state that shows this container as ended unseen; else None."""
    if old.container_id == container_id:
        for shown in (old.state, old.last_state):
            ended = shown.terminated if shown is not None else None
            if ended is not None and ended.reason == STATUS_UNKNOWN and ended.container_id == container_id:
                return shown
    return None


def _last_state(
    view: StatusView, group: tuple[ObservedContainer, ...], old: ContainerStatus | None, restarts: int
) -> ContainerState | None:
    """The last state: from the runtime if it still has the container, else as published."""
    if len(group) > 1 and group[1].exited:
        return ContainerState(terminated=_terminated(view, group[1]))
    if old is None:
        return None
    if old.restart_count == restarts:
        return old.last_state
    if old.restart_count == restarts - 1 and old.state is not None and old.state.terminated is not None:
        return ContainerState(terminated=old.state.terminated)
    return None


def _of_missing(
    view: StatusView, container: Container, kind: ContainerKind, old: ContainerStatus | None
) -> ContainerStatus:
    state = old.state if old is not None else None
    if not view.ended and _restarts_with_all(view, kind, old):
        return _removed(view, container, old)
    if old is not None and state is not None and state.terminated is not None:
        return old
    if kind is ContainerKind.INIT and view.initialized:
        state = _FORGOTTEN_INIT
        return _unmade(view, container, state, None, old.restart_count if old else 0, ready=True)
    started = _not_started(kind)
    if old is None:
        return _unmade(view, container, default_waiting(view.pod), None, 0, started=started)
    restarts, last = old.restart_count, old.last_state
    if state is not None and state.running is not None:
        last = ContainerState(terminated=_unknown_end(old.container_id, state.running.started_at, GONE_MESSAGE))
        if view.pod.metadata.deletion_timestamp is None:
            restarts += 1
    return _unmade(view, container, default_waiting(view.pod), last, restarts, started=started)


def _restarts_with_all(view: StatusView, kind: ContainerKind, old: ContainerStatus | None) -> bool:
    waiting = old.state.waiting if old is not None and old.state is not None else None
    marked = waiting is not None and waiting.reason == RESTARTING_ALL
    return kind is not ContainerKind.EPHEMERAL and (marked or view.restarting_all)


def _removed(view: StatusView, container: Container, old: ContainerStatus | None) -> ContainerStatus:
    """A container removed for a restart of all: the last state says so, and its next start is counted."""
    last, restarts = None, 0
    if old is not None:
        state, last, restarts = old.state, old.last_state, old.restart_count
        if state is not None and (state.terminated is not None or state.running is not None):
            last, restarts = _REMOVED_LAST, restarts + 1
    return _unmade(view, container, _REMOVED, last, restarts)


_REMOVED = ContainerState(waiting=ContainerStateWaiting(reason=RESTARTING_ALL, message=REMOVED_MESSAGE))
_REMOVED_LAST = ContainerState(
    terminated=ContainerStateTerminated(exit_code=UNKNOWN_EXIT_CODE, reason=RESTARTING_ALL, message=REMOVED_MESSAGE)
)


def _with_waiting(
    view: StatusView,
    container: Container,
    kind: ContainerKind,
    status: ContainerStatus,
    newest: ObservedContainer | None,
    waiting: ContainerWaiting,
) -> ContainerStatus:
    """A container that should start and cannot shows why; its old state becomes the last state."""
    state = status.state
    if state is None or state.running is not None:
        return status
    last = status.last_state
    if state.terminated is not None:
        if not _comes_again(view, container, kind, newest, state.terminated):
            return status
        last = ContainerState(terminated=state.terminated)
    shown = ContainerState(waiting=ContainerStateWaiting(reason=waiting.reason, message=waiting.message or None))
    if newest is None:
        return _unmade(view, container, shown, last, status.restart_count, started=_not_started(kind))
    return msgspec.structs.replace(status, state=shown, last_state=last, ready=False)


def _comes_again(
    view: StatusView,
    container: Container,
    kind: ContainerKind,
    newest: ObservedContainer | None,
    ended: ContainerStateTerminated,
) -> bool:
    if kind is ContainerKind.EPHEMERAL:
        return False
    if container.name in view.coming:
        return True
    if kind is ContainerKind.INIT:
        return ended.exit_code != 0 and should_restart_failed_init(view.pod, container, ended.exit_code)
    return kind is ContainerKind.SIDECAR or should_restart(view.pod, container, newest)


def _terminated(view: StatusView, ended: ObservedContainer) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        exit_code=ended.exit_code,
        reason=ended.reason or None,
        message=ended.message or None,
        started_at=api_time(ended.started_at_ns) or NEVER_STARTED,
        finished_at=api_time(ended.finished_at_ns),
        container_id=_id(view, ended),
    )


def _unknown_end(
    container_id: str | None, started_at: str | None, message: str = LOST_MESSAGE
) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        exit_code=UNKNOWN_EXIT_CODE,
        reason=STATUS_UNKNOWN,
        message=message,
        container_id=container_id,
        started_at=started_at,
    )


_NO_RESOURCES = ResourceRequirements()


def _status(
    view: StatusView,
    container: Container,
    state: ContainerState,
    last_state: ContainerState | None,
    restarts: int,
    newest: ObservedContainer,
    ready: bool,
    started: bool | None,
) -> ContainerStatus:
    asked = shown = container.resources or _NO_RESOURCES
    if newest.running:
        given = view.told.containers.get(newest.id) or resources_given(container, newest.annotations)
        shown = _NO_RESOURCES if given is None else actual_resources(given, newest.resources) or given
    return ContainerStatus(
        name=container.name,
        state=state,
        last_state=last_state,
        ready=ready,
        started=started,
        restart_count=restarts,
        image=newest.image or container.image,
        image_id=newest.image_ref,
        container_id=_id(view, newest),
        resources=shown,
        allocated_resources=asked.requests,
        volume_mounts=_mounts(view, container, newest) if container.volume_mounts else (),
        stop_signal=_stop_signal(container.lifecycle, newest) if container.lifecycle is not None else None,
        user=_user(newest.user) if newest.user is not None else None,
    )


def _unmade(
    view: StatusView,
    container: Container,
    state: ContainerState,
    last_state: ContainerState | None,
    restarts: int,
    *,
    ready: bool = False,
    started: bool | None = False,
) -> ContainerStatus:
    """The status of a container that the runtime does not have. It has no resources, so none are shown."""
    return ContainerStatus(
        name=container.name,
        state=state,
        last_state=last_state,
        ready=ready,
        started=started,
        restart_count=restarts,
        image=container.image,
        image_id="",
        volume_mounts=_mounts(view, container, None) if container.volume_mounts else (),
    )


def _stop_signal(lifecycle: Lifecycle, newest: ObservedContainer) -> str | None:
    """The signal as the runtime reports it; shown only if the pod asks for one (KEP-4960)."""
    return newest.stop_signal or None if lifecycle.stop_signal is not None else None


def _mounts(view: StatusView, container: Container, newest: ObservedContainer | None) -> tuple[VolumeMountStatus, ...]:
    images = newest.image_mounts if newest is not None and view.image_refs else {}
    return tuple(
        VolumeMountStatus(
            name=mount.name,
            mount_path=mount.mount_path,
            read_only=mount.read_only,
            recursive_read_only=_recursive(mount, view.recursive_read_only),
            volume_status=_of_image(images.get(f"/{mount.mount_path.removeprefix('/')}", "")) if images else None,
        )
        for mount in container.volume_mounts
    )


def _of_image(id_: str) -> VolumeStatus | None:
    return VolumeStatus(image=ImageVolumeStatus(image_ref=id_)) if id_ else None


def _recursive(mount: VolumeMount, able: bool) -> str | None:
    """The effective setting; shown only for mounts that may ask for it (KEP-3857)."""
    if not mount.read_only:
        return None
    return "Enabled" if able and mount.recursive_read_only in ("IfPossible", "Enabled") else "Disabled"


def _user(user: cri.ContainerUser) -> ContainerUser | None:
    linux = user.linux
    if linux is None:
        return None
    return ContainerUser(
        linux=LinuxContainerUser(uid=linux.uid, gid=linux.gid, supplemental_groups=linux.supplemental_groups)
    )
