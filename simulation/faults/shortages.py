"""What a node has too little of: something else on it takes memory, disk, inodes or processes, for a while.

The world's own hand on `SimulatedHostStats`: it takes so much that just a given amount is left at that moment. From
then on what it has taken stays, so that what pods give back is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from simulation.cri.behaviour_values import duration_ns, size_bytes

if TYPE_CHECKING:
    from simulation.host.stats import SimulatedHostStats
    from simulation.scenarios.faults import NodeShortage
    from simulation.world.world import World

Scarce = Literal["memory", "disk", "image-disk", "inodes", "pids"]
"""`image-disk`: the disk of images and layers, where it is one of its own; else the node's."""


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


class PassingShortage:
    """A shortage on one node as a scenario wants it: it comes, lasts and goes, again and again, until all is healed."""

    def __init__(self, world: World, node: str, fault: NodeShortage) -> None:
        self._world = world
        self._node = node
        self._fault = fault

    def begin(self) -> None:
        """The first comes after a pause, too."""
        self._after(self._fault.pauses, self._come)

    def _come(self) -> None:
        fault, world = self._fault, self._world
        if world.healed:
            return
        left = world.chance.between(*map(size_bytes, fault.leaves))
        world.note(f"leaves {left} of {fault.what} on {self._node}")
        world.chronicle.sometimes.happened("node-short")
        leave(world.nodes[self._node].usage, fault.what, left)
        self._after(fault.lasts, self._go)

    def _go(self) -> None:
        if not self._world.healed:
            self._world.note(f"gives {self._fault.what} back to {self._node}")
            give_back(self._world.nodes[self._node].usage, self._fault.what)
            self.begin()

    def _after(self, stretch: tuple[str, str], deed: Callable[[], None]) -> None:
        self._world.after(self._world.chance.between(*map(duration_ns, stretch)), deed)
