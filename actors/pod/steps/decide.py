"""Step: decide what to do next, from what was seen and what is under way (`actors.pod_rules.actions`)."""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome
from actors.pod.pod_pass import PodPass


async def decide(pod: PodPass) -> Outcome:
    """Set `PodPass.actions`, which the later steps carry out."""
    if pod.parts.post_starts.hooked:
        pod.parts.post_starts.end_failed()
    pod.actions, pod.decided = pod.what_to_do(), True
    return CONTINUE
