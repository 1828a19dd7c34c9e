"""The agent's own conditions of the node (spec 9.3): three pressures, Ready, and refused pods.

A kubelet does not have `RepeatedPodRefusals`. It is True while pods of one owner are refused again and again, and it
is not there before that.

A condition keeps its transition time while its status stays, and each look renews its heartbeat. Conditions of others
(NetworkUnavailable) are left as they are.
"""

from __future__ import annotations

import msgspec

from actors.messages.node import NodePressureObserved, RefusedOwner
from actors.node_object.readiness import message_of
from config.objects import NodeCondition
from config.values.api_time import api_time

READY = "Ready"
REFUSALS = "RepeatedPodRefusals"
"""The type of the condition, and the reason of its event."""
OWNERS_NAMED = 3
TRUE, FALSE = "True", "False"


class ConditionVerdict(msgspec.Struct, frozen=True):
    """The wanted content of a condition."""

    type: str
    status: str
    reason: str
    message: str


class _Pressure(msgspec.Struct, frozen=True):
    type: str
    high: tuple[str, str]
    low: tuple[str, str]
    events: tuple[str, str]


_MEMORY = _Pressure(
    "MemoryPressure",
    ("KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
)
_DISK = _Pressure(
    "DiskPressure",
    ("KubeletHasDiskPressure", "kubelet has disk pressure"),
    ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("NodeHasDiskPressure", "NodeHasNoDiskPressure"),
)
_PID = _Pressure(
    "PIDPressure",
    ("KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
    ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NodeHasInsufficientPID", "NodeHasSufficientPID"),
)
_EVENTS = {pressure.type: pressure.events for pressure in (_MEMORY, _DISK, _PID)} | {
    READY: ("NodeReady", "NodeNotReady")
}
OWN = (*_EVENTS, REFUSALS)
_NO_REFUSALS = ConditionVerdict(REFUSALS, FALSE, "NoRepeatedPodRefusals", "no owner has pods refused again and again")


def verdicts(
    pressures: NodePressureObserved, unready: tuple[str, ...], refused: tuple[RefusedOwner, ...] = ()
) -> tuple[ConditionVerdict, ...]:
    """The conditions in their order. `unready`: why the node is not ready, () when it is.

    `refused`: owners whose pods are refused again and again, the last refused last.
    """
    ready = (
        ConditionVerdict(READY, FALSE, "KubeletNotReady", message_of(unready))
        if unready
        else ConditionVerdict(READY, TRUE, "KubeletReady", "kubelet is posting ready status")
    )
    return (
        _pressure(_MEMORY, pressures.memory),
        _pressure(_DISK, pressures.disk),
        _pressure(_PID, pressures.pid),
        ready,
        *_refusals(refused),
    )


def next_conditions(
    existing: tuple[NodeCondition, ...], wanted: tuple[ConditionVerdict, ...], wall_ns: int
) -> tuple[NodeCondition, ...]:
    """`existing` with the agent's own conditions as `wanted`, each in its place, new ones last."""
    now = api_time(wall_ns)
    by_type = {condition.type: condition for condition in existing}
    if REFUSALS in by_type and all(verdict.type != REFUSALS for verdict in wanted):
        wanted = (*wanted, _NO_REFUSALS)
    own: dict[str, NodeCondition] = {}
    for verdict in wanted:
        old = by_type.get(verdict.type)
        same = old is not None and old.status == verdict.status
        own[verdict.type] = NodeCondition(
            type=verdict.type,
            status=verdict.status,
            reason=verdict.reason,
            message=verdict.message,
            last_heartbeat_time=now,
            last_transition_time=old.last_transition_time if same and old is not None else now,
        )
    kept = tuple(own.pop(condition.type, condition) for condition in existing)
    return (*kept, *own.values())


def events_of_change(before: tuple[NodeCondition, ...], after: tuple[NodeCondition, ...]) -> tuple[str, ...]:
    """The event reasons of a change. A first Ready condition makes no event."""
    old = {condition.type: condition.status for condition in before}
    said = []
    for condition in after:
        known = old.get(condition.type)
        if condition.type not in _EVENTS or known == condition.status or (condition.type == READY and known is None):
            continue
        said.append(_EVENTS[condition.type][condition.status != TRUE])
    return tuple(said)


def is_ready(conditions: tuple[NodeCondition, ...]) -> bool:
    return any(condition.type == READY and condition.status == TRUE for condition in conditions)


def _refusals(owners: tuple[RefusedOwner, ...]) -> tuple[ConditionVerdict, ...]:
    if not owners:
        return ()
    named = [
        f"{each.kind} {each.name}: at least {each.at_least} pods in a row, such as {each.pod}: "
        f"{each.reason}: {each.message}"
        for each in reversed(owners[-OWNERS_NAMED:])
    ]
    others = len(owners) - len(named)
    text = "; ".join(named) + (f"; and {others} other owners" if others else "")
    return (ConditionVerdict(REFUSALS, TRUE, "PodsOfOwnerRefused", text),)


def _pressure(which: _Pressure, high: bool) -> ConditionVerdict:
    reason, message = which.high if high else which.low
    return ConditionVerdict(which.type, TRUE if high else FALSE, reason, message)
