"""How many pods of each kind this node handles, for its metrics (spec 11.7). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from actors.messages.counts import PodCount
from config.objects import Pod
from config.pods.identity import has_ended

_CONFIGS = {"DESIRED": "desired", "GOING": "orphan", "UNREPORTED": "desired", "ORPHAN": "runtime_only"}


class CountedPod(msgspec.Struct, frozen=True):
    """A pod as the sync loop knows it. `standing`: what the sources say of it. `pod` None: only the runtime has it."""

    pod: Pod | None
    static: bool
    standing: str
    has_worker: bool


def pod_count(pods: Iterable[CountedPod], mirrors: int) -> PodCount:
    """Count pods. Active: desired and not ended. Working: has a worker."""
    desired, active, working = Counter[bool](), Counter[bool](), Counter[tuple[str, str, bool]]()
    ephemeral = 0
    for each in pods:
        config = _CONFIGS[each.standing]
        if config == "desired":
            desired[each.static] += 1
            ephemeral += 0 if each.pod is None else len(each.pod.spec.ephemeral_containers)
            active[each.static] += not has_ended(each.pod)
        if each.has_worker:
            working[_lifecycle(each, config), config, each.static] += 1
    return PodCount(
        desired=(desired[True], desired[False]),
        active=(active[True], active[False]),
        mirrors=mirrors,
        working=working,
        ephemeral=ephemeral,
    )


def _lifecycle(pod: CountedPod, config: str) -> str:
    ending = config != "desired" or (pod.pod is not None and pod.pod.metadata.deletion_timestamp is not None)
    return "terminated" if has_ended(pod.pod) else "terminating" if ending else "sync"
