"""Which pods are preempted for a critical pod (spec 10.15). Pure.

Only resources that are short count. Guaranteed pods are preempted only if all burstable and best-effort ones together
are not enough. Burstable ones are preempted only if all best-effort ones are not enough. Within a class the pods
closest to the missing amounts are preempted first, so that few pods end. Among equals it is the pod with the smaller
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from actors.model.allocation import Allocation
from actors.resources.predicates import PODS, Shortage
from config.pods.identity import QosClass
from config.values.quantity import NANOS

REASON = "Preempting"
MESSAGE = "Preempted in order to admit critical pod"

Missing = Mapping[str, int]
"""Resource -> how much has to become free."""


class NoVictimsError(Exception):
    """All pods that may be ended do not make enough room."""


def may_preempt(mine: Allocation, other: Allocation) -> bool:
    if mine.critical and not other.critical:
        return True
    return mine.priority is not None and other.priority is not None and mine.priority > other.priority


def victims(wanted: Allocation, there: Iterable[Allocation], shortages: Iterable[Shortage]) -> tuple[Allocation, ...]:
    """The pods to end so that `wanted` fits. Raises NoVictimsError."""
    missing: Missing = {shortage.resource: shortage.missing() for shortage in shortages}
    candidates = [each for each in there if may_preempt(wanted, each)]
    by_class = {qos: [each for each in candidates if each.qos is qos] for qos in QosClass}
    best_effort, burstable = by_class[QosClass.BEST_EFFORT], by_class[QosClass.BURSTABLE]
    guaranteed = _nearest(by_class[QosClass.GUARANTEED], _less(missing, [*best_effort, *burstable]))
    of_burstable = _nearest(burstable, _less(missing, [*best_effort, *guaranteed]))
    of_best_effort = _nearest(best_effort, _less(missing, [*of_burstable, *guaranteed]))
    return (*of_best_effort, *of_burstable, *guaranteed)


def _nearest(pods: Sequence[Allocation], missing: Missing) -> list[Allocation]:
    """Choose among these pods until nothing is missing. Raises NoVictimsError."""
    left, chosen = list(pods), []
    while missing:
        if not left:
            short = ", ".join(f"{resource} by {_words(resource, amount)}" for resource, amount in missing.items())
            raise NoVictimsError(f"all pods that may be ended together do not make enough room: {short}")
        best = min(left, key=lambda pod: (_distance(pod, missing), _size(pod), pod.uid))
        left.remove(best)
        chosen.append(best)
        missing = _less(missing, [best])
    return chosen


def _distance(pod: Allocation, missing: Missing) -> float:
    """What would still be missing after this pod's end: the sum of the squared shares of each resource."""
    shares = ((max(0, amount - _has(pod, resource)) / amount) for resource, amount in missing.items())
    return sum(share * share for share in shares)


def _less(missing: Missing, gone: Iterable[Allocation]) -> Missing:
    """The amounts still missing after the end of these pods; sufficient resources are left out."""
    left = dict(missing)
    for pod in gone:
        for resource in left:
            left[resource] -= _has(pod, resource)
    return {resource: amount for resource, amount in left.items() if amount > 0}


def _size(pod: Allocation) -> tuple[int, int]:
    return pod.requests.get("memory", 0), pod.requests.get("cpu", 0)


def _has(pod: Allocation, resource: str) -> int:
    return NANOS if resource == PODS else pod.requests.get(resource, 0)


def _words(resource: str, amount: int) -> str:
    return f"{-(-amount * 1000 // NANOS)}m" if resource == "cpu" else str(-(-amount // NANOS))
