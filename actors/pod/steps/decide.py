"""Step: decide what to do next, from what is seen and what is under way (`actors.pod_rules.actions`)."""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome
from actors.pod.pod_pass import PodPass


async def decide(pod: PodPass) -> Outcome:
    """The steps after this one do what `PodPass.actions` says."""
    if pod.parts.post_starts.hooked:
        pod.parts.post_starts.end_failed()
    pod.actions, pod.decided = pod.what_to_do(), True
    return CONTINUE
