"""Gate: the container runtime answers. When it comes back, the worker is told and begins a pass."""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome, PassWait
from actors.pod.pod_pass import PodPass

RETRY_NS = 5_000_000_000


async def runtime_answers(pod: PodPass) -> Outcome:
    error = pod.parts.view.runtime.error
    if not error:
        return CONTINUE
    return PassWait(f"the container runtime is away: {error}", "it goes on when the runtime is back", retry_ns=RETRY_NS)
