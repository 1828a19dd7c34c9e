"""Gate: a pod with `activeDeadlineSeconds` fails when it has been active for that long (spec 2.11)."""

from __future__ import annotations

from actors.active_deadline import DEADLINE_EXCEEDED, past_deadline
from actors.pod.outcome import CONTINUE, Outcome
from actors.pod.pod_pass import PodPass


async def deadline(pod: PodPass) -> Outcome:
    """Force the status; the look that follows publishes it, and ends the pass."""
    view = pod.parts.view
    if view.forced is not DEADLINE_EXCEEDED and past_deadline(pod.pod, view.published, pod.parts.worker.wall_ns()):
        view.say("Normal", DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message)
        view.forced = DEADLINE_EXCEEDED
    return CONTINUE
