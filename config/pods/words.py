"""A pod in one line, in the columns of `kubectl get pods`. Pure.

The STATUS column is no field of the API. It is the most telling reason in phase, conditions and container states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from config.objects import Container, ContainerState, ContainerStatus, Pod, PodStatus
from config.pods.identity import is_sidecar
from config.pods.verdicts.verdict import verdicts_of
from config.values.ages import since

FROM_MEMORY = "(from memory)"
"""Behind the status of a pod that an island node desires from memory."""
_NODE_LOST = "NodeLost"
_GATED = "SchedulingGated"


@dataclass(frozen=True, slots=True)
class PodLine:
    """One row: `ready` and `readiness_gates` as `1/2`, `restarts` as `3 (20s ago)`, `age` as `5m`.

    Unknown values are empty.
    """

    namespace: str
    name: str
    ready: str
    status: str
    restarts: str
    age: str
    ip: str
    node: str = ""
    nominated_node: str = ""
    readiness_gates: str = ""


def pod_line(pod: Pod, wall_ns: int) -> PodLine:
    """The row of `pod` at that time of day."""
    status = pod.status or PodStatus()
    ready, total = _ready_count(pod, status)
    began = pod.metadata.creation_timestamp or status.start_time
    return PodLine(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        ready=f"{ready}/{total}",
        status=status_word(pod),
        restarts=_restarts(pod, status, wall_ns),
        age=since(began, wall_ns),
        ip=status.pod_ip or "",
        node=pod.spec.node_name or "",
        nominated_node=status.nominated_node_name or "",
        readiness_gates=_readiness_gates(pod, status),
    )


def has_arrived(pod: Pod) -> bool:
    """Whether the pod runs and is not unready, or has succeeded."""
    status = pod.status or PodStatus()
    return status.phase == "Succeeded" or (status.phase == "Running" and _condition(status, "Ready") != "False")


def status_word(pod: Pod) -> str:
    """The STATUS column."""
    status = pod.status or PodStatus()
    word = status.reason or status.phase or "Pending"
    if any(condition.type == "PodScheduled" and condition.reason == _GATED for condition in status.conditions):
        word = _GATED
    initializing = _initializing(pod, status)
    if initializing and _condition(status, "Initialized") != "True":
        word = initializing
    else:
        word = _word_of_containers(status, word)
    if pod.metadata.deletion_timestamp:
        if status.reason == _NODE_LOST:
            return "Unknown"
        if status.phase not in ("Succeeded", "Failed"):
            return "Terminating"
    return word


def trouble(pod: Pod) -> str:
    """Why a pod is not ready, in a sentence: the status, and the verdicts on its containers."""
    status = pod.status or PodStatus()
    details = [verdict.whole for verdict in verdicts_of(pod)]
    if not details:
        details = [status.message or ""]
        if status.phase == "Running":
            details += [
                each.message or "" for each in status.conditions if each.type == "Ready" and each.status == "False"
            ]
    return ": ".join(part for part in (status_word(pod), "; ".join(filter(None, details))) if part)


def _initializing(pod: Pod, status: PodStatus) -> str:
    """The status of the first unfinished init container; empty when there is none."""
    total = len(pod.spec.init_containers)
    by_name = {container.name: container for container in pod.spec.init_containers}
    for done, state_of in enumerate(status.init_container_statuses):
        state = state_of.state or ContainerState()
        container = by_name.get(state_of.name)
        if container is not None and is_sidecar(container) and state_of.started:
            continue
        if state.terminated is not None:
            if state.terminated.exit_code == 0:
                continue
            return f"Init:{_end_word(state)}"
        if state.waiting is not None and state.waiting.reason not in (None, "", "PodInitializing"):
            return f"Init:{state.waiting.reason}"
        return f"Init:{done}/{total}"
    return ""


def _word_of_containers(status: PodStatus, word: str) -> str:
    runs = False
    # Backwards: the first container matters most and is applied last.
    for state_of in reversed(status.container_statuses):
        state = state_of.state or ContainerState()
        if state.waiting is not None and state.waiting.reason:
            word = state.waiting.reason
        elif state.terminated is not None:
            word = _end_word(state)
        elif state.running is not None and state_of.ready:
            runs = True
    if word == "Completed" and runs:
        return "Running" if _condition(status, "Ready") == "True" else "NotReady"
    return word


def _end_word(state: ContainerState) -> str:
    ended = state.terminated
    if ended is None:
        return ""
    return ended.reason or (f"Signal:{ended.signal}" if ended.signal else f"ExitCode:{ended.exit_code}")


def _condition(status: PodStatus, kind: str) -> str | None:
    return next((condition.status for condition in status.conditions if condition.type == kind), None)


def _ready_count(pod: Pod, status: PodStatus) -> tuple[int, int]:
    """(ready, all) of the long-running containers: the regular ones and the sidecars."""
    lasting = _lasting(pod)
    names = {container.name for container in lasting}
    statuses = (*status.container_statuses, *status.init_container_statuses)
    return sum(state_of.ready for state_of in statuses if state_of.name in names), len(lasting)


def _readiness_gates(pod: Pod, status: PodStatus) -> str:
    gates = {gate.condition_type for gate in pod.spec.readiness_gates}
    fulfilled = {condition.type for condition in status.conditions if condition.status == "True"}
    return f"{len(gates & fulfilled)}/{len(gates)}" if gates else ""


def _lasting(pod: Pod) -> tuple[Container, ...]:
    return (*pod.spec.containers, *filter(is_sidecar, pod.spec.init_containers))


def _restarts(pod: Pod, status: PodStatus, wall_ns: int) -> str:
    counted = list(_counted(pod, status))
    count = sum(state_of.restart_count for state_of in counted)
    ends = [
        state_of.last_state.terminated.finished_at
        for state_of in counted
        if state_of.last_state is not None and state_of.last_state.terminated is not None
    ]
    latest = max((end for end in ends if end), default=None)
    return f"{count} ({since(latest, wall_ns)} ago)" if count and latest else str(count)


def _counted(pod: Pod, status: PodStatus) -> Iterator[ContainerStatus]:
    """The containers to count.

    While the pod initializes these are the init containers, afterwards the long-running ones.
    """
    if _initializing(pod, status) and _condition(status, "Initialized") != "True":
        yield from status.init_container_statuses
        return
    names = {container.name for container in _lasting(pod)}
    statuses = (*status.container_statuses, *status.init_container_statuses)
    yield from (state_of for state_of in statuses if state_of.name in names)
