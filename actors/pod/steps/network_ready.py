"""Gate: the network of the node is ready. A pod in the host's network does not need it."""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome, PassWait
from actors.pod.pod_pass import PodPass

RETRY_NS = 1_000_000_000


async def network_ready(pod: PodPass) -> Outcome:
    error = pod.parts.view.runtime.network_error
    if not error or pod.pod.spec.host_network:
        return CONTINUE
    text = f"network is not ready: {error}"
    return PassWait(text, "its sandbox is made when it is ready", "NetworkNotReady", RETRY_NS, warn=True)
