"""Decides which changes of a pod's status concern the node. Pure.

Nearly every change of a status is the echo of the node's own write.
"""

from __future__ import annotations

from actors.pod_status.conditions import foreign
from config.objects import Pod, PodCondition
from config.pods.identity import has_ended


def concerns_worker(before: Pod | None, now: Pod) -> bool:
    """Whether a change of only the status matters to the pod's worker: its end, or conditions that others wrote."""
    return has_ended(now) or depends_on_others(before, now)


def depends_on_others(before: Pod | None, now: Pod) -> bool:
    """Whether what the node computes depends on what others wrote into the status since `before`."""
    return bool(now.spec.readiness_gates) or _of_others(before) != _of_others(now)


def _of_others(pod: Pod | None) -> tuple[PodCondition, ...]:
    return () if pod is None or pod.status is None else foreign(pod.status.conditions)
