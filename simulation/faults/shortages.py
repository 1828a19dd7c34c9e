"""Shortages of a node: another program takes memory, disk, inodes or processes for a while.

It takes so much of `SimulatedHostStats` that the given amount is left at that moment. Later it takes no more, so what
pods free stays free.
"""

from __future__ import annotations

from simulation.host.stats import SimulatedHostStats
from simulation.scenarios.faults import Scarce


def leave(usage: SimulatedHostStats, what: Scarce, left: int) -> None:
    """Take so much that the given amount is left now; never less than nothing."""
    give_back(usage, what)
    taken = usage.taken
    if what == "memory":
        node = usage.as_it_is()
        used = node.cgroup.memory.working_set if node.cgroup.memory is not None else 0
        taken[what] = max(0, node.memory_bytes - used - left)
    elif what == "pids":
        taken[what] = max(0, usage.pids_limit - (usage.as_it_is().pids or 0) - left)
    elif what == "inodes":
        taken[what] = max(0, usage.filesystem(usage.root).inodes_free - left)
    else:
        place = usage.image_directory if what == "image-disk" else usage.root
        taken[what] = max(0, usage.filesystem(place).available - left)


def give_back(usage: SimulatedHostStats, what: Scarce) -> None:
    """Free all that was taken."""
    usage.taken.pop(what, None)
