"""Gate: a new form of the pod is noticed once. Fields that this agent does not honour are warned of.

It never holds a pod up. New volumes and new resources are asked for here, while the containers run.
"""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, Outcome
from actors.pod.pod_pass import PodPass
from actors.unhonoured import unhonoured_changes, unhonoured_fields, warning, warning_of_changes


async def fields_honoured(pod: PodPass) -> Outcome:
    view, before, now = pod.parts.view, pod.parts.view.checked, pod.pod
    if before is now:
        return CONTINUE
    view.checked = now
    if before is not None:
        pod.parts.volumes.pod_changed(now, before)
        if changes := unhonoured_changes(before, now):
            view.say("Warning", "FieldsNotHonoured", warning_of_changes(changes))
            pod.parts.admission.resized()
    stop_signals = pod.parts.services.node.rules.stop_signals
    paths = unhonoured_fields(now, stop_signals=stop_signals)
    known = () if before is None else unhonoured_fields(before, stop_signals=stop_signals)
    if paths and paths != known:
        view.say("Warning", "FieldsNotHonoured", warning(paths))
    return CONTINUE
