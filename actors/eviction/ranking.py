"""The order of victims when a resource is short (spec 7.4). Critical pods never go. Pure.

Pods that use more than their request go first; among them by lower priority; among those by how far they exceed their
request. A pod of unknown usage goes before all others: nobody can rule out that it is the cause. For processes the
priority decides first, as upstream.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.eviction.thresholds import Layout
from actors.eviction.usage import Candidate, disk_of, memory_of, parts_on, processes_of
from config.pods.identity import is_critical
from config.pods.requests import pod_requests
from config.values.quantity import NANOS, QuantityError


def victims(signal: str, resource: str, candidates: Sequence[Candidate], layout: Layout) -> list[Candidate]:
    """All pods that may be evicted for a signal, the first to go first. Critical pods are left out."""
    evictable = [each for each in candidates if not is_critical(each.pod)]
    return sorted(evictable, key=lambda each: _place(each, signal, resource, layout))


def used_of(candidate: Candidate, signal: str, resource: str, layout: Layout) -> int | None:
    """How much of the short resource a pod uses; None when unknown."""
    if resource == "memory":
        return memory_of(candidate)
    if resource == "pids":
        return processes_of(candidate)
    return disk_of(candidate, parts_on(signal, layout), inodes=resource == "inodes")


def requested(candidate: Candidate, resource: str) -> int:
    """The pod's request, in units. Pods cannot request inodes or processes."""
    try:
        return -(-pod_requests(candidate.pod).get(resource, 0) // NANOS)
    except QuantityError:
        return 0


def _place(candidate: Candidate, signal: str, resource: str, layout: Layout) -> tuple[int, int, int, int, str]:
    used = used_of(candidate, signal, resource, layout)
    above = (used or 0) - requested(candidate, resource)
    # A pod cannot request a number of processes, so no pod exceeds its request.
    within = resource == "pids" or above <= 0
    priority, uid = candidate.pod.spec.priority or 0, candidate.pod.metadata.uid
    if resource == "pids":
        return priority, used is not None, within, -above, uid
    return used is not None, within, priority, -above, uid
