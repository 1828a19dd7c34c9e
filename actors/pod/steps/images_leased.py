"""Step: lease the images of the pod, so that none is removed while its containers start."""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome, PassWait
from actors.pod.pod_pass import PodPass


async def images_leased(pod: PodPass) -> Outcome:
    if pod.place is None or pod.parts.leases.hold(pod.pod):
        return CONTINUE
    text = "an image that it names is just being removed, or nobody has said yet that none is"
    return PassWait(text, "its containers are started then")
