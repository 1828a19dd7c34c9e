"""The phase of a pod, decided from its containers' statuses (spec 4.1). Pure.

The phase of a pod that has ended never changes again. That, and nothing else, is history here.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.pod_rules.restart_rules import restarts_after_exit, should_restart_failed_init
from config.objects import Container, ContainerStateTerminated, ContainerStatus, Pod
from config.pods.identity import is_sidecar, is_static

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
    """Whether each of these containers is shown to run: without init containers that makes a pod Running."""
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
    if ended is None or container.name in coming:
        counts.pending_init += 1
    elif ended.exit_code != 0:
        if should_restart_failed_init(pod, container, ended.exit_code):
            counts.pending_init += 1
        else:
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
    """How it ended, now or the last time; None when it never did."""
    state = status.state
    if state is not None and state.terminated is not None:
        return state.terminated
    return status.last_state.terminated if status.last_state is not None else None
