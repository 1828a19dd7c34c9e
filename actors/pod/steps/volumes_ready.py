"""Gate: the volumes of the pod are ready."""

from __future__ import annotations

from actors.pod.outcome import Outcome
from actors.pod.pod_pass import PodPass


async def volumes_ready(pod: PodPass) -> Outcome:
    return pod.parts.volumes.take(pod.pod)
