"""Gate: a pod with `activeDeadlineSeconds` fails when it has been active for that long (spec 2.11)."""

from __future__ import annotations

from actors.kernel import Actor
from actors.pod.one_pass import CONTINUE, Outcome, PodPass
from actors.pod.view import PodView
from actors.pod_status.api_status import Forced
from actors.pod_status.conditions import FAILED
from config.objects import Pod, PodStatus
from config.values.api_time import seconds_of

_SECOND_NS = 1_000_000_000
DEADLINE_EXCEEDED = Forced(
    FAILED, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline", at_once=True
)


def deadline_ns(pod: Pod, status: PodStatus | None) -> int | None:
    """When the pod must end, on the wall clock; None when it has no deadline or has not begun."""
    allowed = pod.spec.active_deadline_seconds
    if allowed is None or status is None:
        return None
    started = seconds_of(status.start_time)
    return None if started is None else (started + allowed) * _SECOND_NS


def past_deadline(pod: Pod, status: PodStatus | None, wall_ns: int) -> bool:
    """Whether the deadline has passed."""
    deadline = deadline_ns(pod, status)
    return deadline is not None and wall_ns >= deadline


class PodDeadline:
    def __init__(self, worker: Actor, view: PodView) -> None:
        self._worker = worker
        self._view = view

    async def step(self, this: PodPass) -> Outcome:
        """Force the status; the look publishes it and ends the pass."""
        view = self._view
        if view.forced is not DEADLINE_EXCEEDED and past_deadline(this.pod, view.published, self._worker.wall_ns()):
            view.say("Normal", DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message)
            view.forced = DEADLINE_EXCEEDED
        return CONTINUE
