"""Gate: the node takes the pod. A pod that has a sandbox was taken before (spec 10.14)."""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome
from actors.pod.pod_pass import PodPass


async def admitted(pod: PodPass) -> Outcome:
    admission = pod.parts.admission
    taken = admission.is_taken(pod.pod, runs=bool(pod.observed.sandboxes))
    return CONTINUE if taken else admission.wait()
