"""Step: start containers: ephemeral ones, then init containers, then regular ones.

A container that waits or fails does not hold up the others, with one exception. While its postStart hook has not
succeeded, later containers of the spec wait.
"""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome
from actors.pod.pod_pass import PodPass
from runtime.cri import CriError


async def containers(pod: PodPass) -> Outcome:
    """Raises the first CriError when all have been tried."""
    if pod.place is None:
        return CONTINUE
    parts, actions = pod.parts, pod.actions
    failure: CriError | None = None
    ending = parts.stops.not_gone() if parts.stops.ends else ()
    for start in actions.starts:
        if start.container.name in ending:
            continue  # it starts after its predecessor has ended
        if parts.view.start_lives.unstarted and start not in actions.start_ephemeral:
            break
        try:
            await parts.starts.start(pod.pod, start, pod.place)
        except CriError as raised:
            failure = failure or raised
    if failure is not None:
        raise failure
    return CONTINUE
