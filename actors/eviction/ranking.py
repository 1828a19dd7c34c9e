"""Who goes first when something is short (spec 7.4), and who never goes. Pure.

Those go first who use more than they asked for; among them those of lower priority; among them those who are most above
what they asked for. A pod of which nothing is known goes before all others: nobody can say that it is not the cause.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.eviction.thresholds import Layout
from actors.eviction.usage import Candidate, disk_of, memory_of, parts_on, processes_of
from config.pods.identity import is_critical
from config.pods.requests import pod_requests
from config.values.quantity import NANOS, QuantityError


def victims(signal: str, resource: str, candidates: Sequence[Candidate], layout: Layout) -> list[Candidate]:
    """All that may be evicted for a signal, who goes first first. Critical pods are not among them."""
    evictable = [each for each in candidates if not is_critical(each.pod)]
    return sorted(evictable, key=lambda each: _place(each, signal, resource, layout))


def used_of(candidate: Candidate, signal: str, resource: str, layout: Layout) -> int | None:
    """What a pod uses of what is short; None: not known."""
    if resource == "memory":
        return memory_of(candidate)
    if resource == "pids":
        return processes_of(candidate)
    return disk_of(candidate, parts_on(signal, layout), inodes=resource == "inodes")


def requested(candidate: Candidate, resource: str) -> int:
    """What it asked for, in units. Nobody asks for inodes or processes."""
    try:
        return -(-pod_requests(candidate.pod).get(resource, 0) // NANOS)
    except QuantityError:
        return 0


def _place(candidate: Candidate, signal: str, resource: str, layout: Layout) -> tuple[bool, bool, int, int, str]:
    used = used_of(candidate, signal, resource, layout)
    above = (used or 0) - requested(candidate, resource)
    # How many processes a pod may have it does not say, so there is none that has more than it asked for.
    within = resource == "pids" or above <= 0
    return used is not None, within, candidate.pod.spec.priority or 0, -above, candidate.pod.metadata.uid
