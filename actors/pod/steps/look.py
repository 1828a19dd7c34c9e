"""Gate: see and publish what runs of the pod. A pod whose phase is final goes no further.

After a restart of the worker, wait first for the probe runner: it alone knows which containers are ready.
"""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, WAIT, Outcome, PassWait
from actors.pod.pod_pass import PodPass
from config.pods.identity import has_probes
from runtime.cri import CriError

PROBES_RETRY_NS = 1_000_000_000
"""Retry in case the answer, which begins a pass by itself, is lost."""


async def look(pod: PodPass) -> Outcome:
    parts = pod.parts
    if has_probes(pod.pod.spec) and parts.probes.unheard():
        return PassWait(retry_ns=PROBES_RETRY_NS)
    try:
        pod.observed = await parts.look()
    except CriError:
        parts.show.publish_unseen()
        raise
    await pod.publish()
    return WAIT if pod.is_over else CONTINUE
