"""How long a pod may be active at all: `spec.activeDeadlineSeconds` from its start time (spec 2.11). Pure."""

from __future__ import annotations

from actors.model.times import seconds_of
from actors.pod_status.api_status import Forced
from actors.pod_status.phase import FAILED
from config.objects import Pod, PodStatus

_SECOND_NS = 1_000_000_000
DEADLINE_EXCEEDED = Forced(FAILED, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


def deadline_ns(pod: Pod, status: PodStatus | None) -> int | None:
    """When the pod must end, on the wall clock; None when it has no deadline or has not begun."""
    allowed = pod.spec.active_deadline_seconds
    if allowed is None or status is None:
        return None
    started = seconds_of(status.start_time)
    return None if started is None else (started + allowed) * _SECOND_NS


def past_deadline(pod: Pod, status: PodStatus | None, wall_ns: int) -> bool:
    """Whether it is time."""
    deadline = deadline_ns(pod, status)
    return deadline is not None and wall_ns >= deadline
