"""The phase of a pod, and the conditions that its node owns (spec 4.1, 4.3). Pure.

The phase follows from the statuses of the containers. A terminal phase never changes again.

A condition carries the generation of the pod it was computed for, and the time when its status (not its reason) last
changed. Conditions of others pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

import msgspec

from actors.pod_rules.restart_all import ALL_RESTARTING
from actors.pod_rules.restart_rules import restarts_after_exit, should_restart_failed_init
from config.objects import Container, ContainerStateTerminated, ContainerStatus, Pod, PodCondition
from config.pods.identity import is_sidecar, is_static, lasting_containers

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TERMINAL = (SUCCEEDED, FAILED)


class _Counts(msgspec.Struct):
    """How many containers of a pod are in which state."""

    pending_init: int = 0
    failed_init: int = 0
    pending_sidecars: int = 0
    unknown: int = 0
    running: int = 0
    waiting: int = 0
    stopped: int = 0
    succeeded: int = 0
    restartable: int = 0


def all_run(containers: tuple[Container, ...], statuses: Mapping[str, ContainerStatus]) -> bool:
    """Whether the statuses show all these containers as running.

    A pod without init containers is Running if all of its regular containers are.
    """
    for container in containers:
        status = statuses.get(container.name)
        if status is None or status.state is None or status.state.running is None:
            return False
    return bool(containers)


def pod_phase(
    pod: Pod,
    statuses: Mapping[str, ContainerStatus],
    *,
    ended: bool,
    started_here: bool,
    coming: frozenset[str] = frozenset(),
) -> str:
    """The phase, from the statuses of its containers by name.

    `coming`: names of containers that will be started again, whatever their policy says of their end.

    `ended`: nothing of the pod is started any more. `started_here`: a regular container was started in the present
    sandbox.
    """
    counts = _Counts()
    spec = pod.spec
    for container in spec.init_containers:
        if is_sidecar(container):
            _count_sidecar(counts, statuses.get(container.name))
        else:
            _count_init(counts, pod, container, statuses.get(container.name), coming)
    for container in spec.containers:
        _count_regular(counts, pod, container, statuses.get(container.name), coming)
    comes_again = counts.restartable > 0 and not (ended and not is_static(pod))
    return _decide(counts, comes_again, started_here)


def _decide(counts: _Counts, comes_again: bool, started_here: bool) -> str:
    if counts.failed_init:
        return FAILED
    if counts.pending_init or (counts.pending_sidecars and not started_here):
        return PENDING
    if counts.waiting:
        return PENDING
    if counts.running and not counts.unknown:
        return RUNNING
    if counts.stopped and not counts.running and not counts.unknown:
        if comes_again:
            return RUNNING
        return SUCCEEDED if counts.stopped == counts.succeeded else FAILED
    return PENDING


def _count_init(
    counts: _Counts, pod: Pod, container: Container, status: ContainerStatus | None, coming: frozenset[str]
) -> None:
    state = status.state if status is not None else None
    if status is None or state is None or state.running is not None:
        counts.pending_init += 1
        return
    ended = _ended(status)
    if ended is None:
        counts.pending_init += 1
        return
    # One that comes again keeps no pod Pending: its regular containers tell whether they have run before.
    failed = ended.exit_code != 0 and container.name not in coming
    if failed and not should_restart_failed_init(pod, container, ended.exit_code):
        counts.failed_init += 1


def _count_sidecar(counts: _Counts, status: ContainerStatus | None) -> None:
    state = status.state if status is not None else None
    if status is None or state is None:
        counts.unknown += 1
    elif state.running is not None:
        if not status.started:
            counts.pending_sidecars += 1
        counts.running += 1
    elif state.waiting is not None and (status.last_state is None or status.last_state.terminated is None):
        counts.pending_sidecars += 1
        counts.waiting += 1


def _count_regular(
    counts: _Counts, pod: Pod, container: Container, status: ContainerStatus | None, coming: frozenset[str]
) -> None:
    state = status.state if status is not None else None
    if status is None or state is None:
        counts.unknown += 1
        return
    if state.running is not None:
        counts.running += 1
        return
    ended = _ended(status)
    if ended is None:
        if state.waiting is not None:
            counts.waiting += 1
        else:
            counts.unknown += 1
        return
    counts.stopped += 1
    if ended.exit_code == 0:
        counts.succeeded += 1
    if container.name in coming or restarts_after_exit(pod, container, ended.exit_code):
        counts.restartable += 1


def _ended(status: ContainerStatus) -> ContainerStateTerminated | None:
    """Its newest end, now or in its last state; None when it never ended."""
    state = status.state
    if state is not None and state.terminated is not None:
        return state.terminated
    return status.last_state.terminated if status.last_state is not None else None


SCHEDULED = "PodScheduled"
INITIALIZED = "Initialized"
READY = "Ready"
CONTAINERS_READY = "ContainersReady"
READY_TO_START = "PodReadyToStartContainers"
DISRUPTION_TARGET = "DisruptionTarget"
"""Shared with the scheduler and controllers.

The node writes it when it ends a pod itself, and otherwise keeps it.
"""
RESIZE_PENDING, RESIZE_IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
RESIZES = frozenset({RESIZE_PENDING, RESIZE_IN_PROGRESS})
OWNED = frozenset({SCHEDULED, INITIALIZED, READY, CONTAINERS_READY, READY_TO_START, ALL_RESTARTING}) | RESIZES

type_of = attrgetter("type")
_said_by = attrgetter("status", "reason", "message")

_TRUE = "True"
_FALSE = "False"

_Verdict = tuple[str, str | None, str | None]
"""Status, reason, message."""
_YES: _Verdict = (_TRUE, None, None)
_NO: _Verdict = (_FALSE, None, None)
_ALL_UNKNOWN: _Verdict = (_FALSE, "UnknownContainerStatuses", None)
_ENDS: Mapping[str, _Verdict] = {FAILED: (_FALSE, "PodFailed", None), SUCCEEDED: (_FALSE, "PodCompleted", None)}
_ALL_RESTART: _Verdict = (_TRUE, "RestartAllContainersStarted", "container exited with restart policy rule")


class ResizeCondition(msgspec.Struct, frozen=True):
    """The condition of a resize in a status (spec 4.6). `generation`: of the pod that asked for it."""

    type: str
    generation: int | None
    reason: str | None = None
    message: str | None = None


def pod_conditions(
    pod: Pod,
    phase: str,
    statuses: Mapping[str, ContainerStatus],
    *,
    sandbox_ready: bool,
    restarting_all: bool | None = None,
    resizes: tuple[ResizeCondition, ...] | None = (),
    previous: tuple[PodCondition, ...],
    generation: int | None,
    now: str | None,
) -> tuple[PodCondition, ...]:
    """All conditions to publish: ours first, then those of others from the pod's own object.

    `restarting_all`: whether all containers are being restarted (`actors.pod_rules.restart_all`); None if the pod has
    no such rule. `resizes`: the resize conditions; None: not known yet, so the published ones stay.
    """
    others = _foreign(pod, previous)
    spec, containers = pod.spec, containers_ready(pod, phase, statuses)
    verdicts: tuple[_Verdict, ...] = (
        _YES if sandbox_ready else _NO,
        initialized(pod, phase, statuses) if spec.init_containers or phase == SUCCEEDED else _YES,
        pod_ready(pod, containers, others) if spec.readiness_gates else containers,
        containers,
        _YES,
    )
    told = _conditions(_OF_EVERY_POD, verdicts, previous, generation, now)
    if restarting_all is not None:
        verdict = _ENDS.get(phase) or (_ALL_RESTART if restarting_all else _NO)
        told += _conditions((ALL_RESTARTING,), (verdict,), previous, None, now)
    if resizes is None:
        told += tuple(each for each in previous if each.type in RESIZES)
    for each in resizes or ():
        verdict = (_TRUE, each.reason, each.message)
        told += _conditions((each.type,), (verdict,), previous, each.generation, now, probed=now)
    return told + others


_OF_EVERY_POD = (READY_TO_START, INITIALIZED, READY, CONTAINERS_READY, SCHEDULED)


def by_type(conditions: tuple[PodCondition, ...]) -> dict[str, PodCondition]:
    """Conditions by type; each type occurs once."""
    return dict(zip(map(type_of, conditions), conditions, strict=True))


def all_of(types: frozenset[str], conditions: tuple[PodCondition, ...]) -> bool:
    """Whether all conditions are of these types."""
    return types.issuperset(map(type_of, conditions))


def containers_ready(pod: Pod, phase: str, statuses: Mapping[str, ContainerStatus]) -> _Verdict:
    """Regular containers and sidecars count; regular init containers do not."""
    ended = _ENDS.get(phase)
    if ended is not None:
        return ended
    if not statuses:
        return _ALL_UNKNOWN
    unknown: list[str] = []
    unready: list[str] = []
    spec = pod.spec
    for container in lasting_containers(spec) if spec.init_containers else spec.containers:
        status = statuses.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not status.ready:
            unready.append(container.name)
    return _verdict(unknown, unready, "ContainersNotReady", "unready") if unknown or unready else _YES


def initialized(pod: Pod, phase: str, statuses: Mapping[str, ContainerStatus]) -> _Verdict:
    """Whether the pod is initialized.

    True without init containers, when all have succeeded or started as they must, or when a regular container was ever
    started.
    """
    if phase == SUCCEEDED:
        return (_TRUE, "PodCompleted", None)
    if not statuses and pod.spec.init_containers:
        return _ALL_UNKNOWN
    if not pod.spec.init_containers or any(_was_started(statuses.get(each.name)) for each in pod.spec.containers):
        return _YES
    unknown: list[str] = []
    waiting: list[str] = []
    for container in pod.spec.init_containers:
        status = statuses.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not (status.started if is_sidecar(container) else status.ready):
            waiting.append(container.name)
    return _verdict(unknown, waiting, "ContainersNotInitialized", "incomplete") if unknown or waiting else _YES


def pod_ready(pod: Pod, containers: _Verdict, others: Iterable[PodCondition]) -> _Verdict:
    """Ready containers, and every readiness gate that the pod names."""
    if containers[0] != _TRUE or not pod.spec.readiness_gates:
        return containers
    known = {condition.type: condition for condition in others}
    closed: list[str] = []
    for gate in pod.spec.readiness_gates:
        condition = known.get(gate.condition_type)
        if condition is None:
            closed.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif condition.status != _TRUE:
            closed.append(
                f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {condition.status}'
            )
    return (_FALSE, "ReadinessGatesNotReady", ", ".join(closed)) if closed else _YES


def _verdict(unknown: list[str], unready: list[str], reason: str, word: str) -> _Verdict:
    """The verdict False and its reason. At least one list has names."""
    parts = []
    if unknown:
        parts.append(f"containers with unknown status: [{' '.join(unknown)}]")
    if unready:
        parts.append(f"containers with {word} status: [{' '.join(unready)}]")
    return (_FALSE, reason, ", ".join(parts))


def _was_started(status: ContainerStatus | None) -> bool:
    if status is None:
        return False
    state = status.state
    if state is not None and (state.running is not None or state.terminated is not None):
        return True
    return status.last_state is not None and status.last_state.terminated is not None


def with_disruption(
    conditions: tuple[PodCondition, ...],
    message: str,
    *,
    previous: tuple[PodCondition, ...],
    generation: int | None,
    now: str | None,
) -> tuple[PodCondition, ...]:
    """Add the condition that this node has ended the pod for its own reasons."""
    verdict = (_TRUE, "TerminationByKubelet", message)
    others = tuple(each for each in conditions if each.type != DISRUPTION_TARGET)
    return others + _conditions((DISRUPTION_TARGET,), (verdict,), previous, generation, now)


def _foreign(pod: Pod, previous: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
    """Conditions that others have set: from the API's own object, else as last published."""
    source = pod.status.conditions if pod.status is not None and pod.status.conditions else previous
    return foreign(source)


def foreign(conditions: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
    """The conditions that the node does not own; nearly always none."""
    if OWNED.issuperset(map(type_of, conditions)):
        return ()
    return tuple([each for each in conditions if each.type not in OWNED])


def _conditions(
    kinds: tuple[str, ...],
    verdicts: tuple[_Verdict, ...],
    previous: tuple[PodCondition, ...],
    generation: int | None,
    now: str | None,
    probed: str | None = None,
) -> tuple[PodCondition, ...]:
    """The conditions; `previous` itself if nothing has changed.

    `probed`: when the facts behind a changed one were last checked.
    """
    told: tuple[PodCondition, ...] = ()
    for kind, verdict, was in zip(kinds, verdicts, map(by_type(previous).get, kinds), strict=True):
        if was is not None and was.observed_generation == generation and _said_by(was) == verdict:
            told += (was,)
            continue
        status, reason, message = verdict
        since = now if was is None or was.status != status else was.last_transition_time or now
        told += (
            PodCondition(
                type=kind,
                status=status,
                reason=reason,
                message=message,
                observed_generation=generation,
                last_probe_time=probed,
                last_transition_time=since,
            ),
        )
    return told
