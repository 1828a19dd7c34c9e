"""What a node has too little of: something else on it takes memory, disk, inodes or processes, for a while.

The world's own hand on `SimulatedHostStats`: it takes so much that just a given amount is left at that moment. From
then on what it has taken stays, so that what pods give back is there.
"""

from __future__ import annotations

from simulation.host.stats import SimulatedHostStats
from simulation.scenarios.faults import Scarce


def leave(usage: SimulatedHostStats, what: Scarce, left: int) -> None:
    """Take so much of it that just that is left now; never less than nothing."""
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
    """Nothing else needs it any more."""
    usage.taken.pop(what, None)
