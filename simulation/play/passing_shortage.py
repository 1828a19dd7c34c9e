"""A shortage on one node as a scenario wants it: it comes, lasts and goes, again and again, until all is healed."""

from __future__ import annotations

from collections.abc import Callable

from simulation.cri.behaviour_values import duration_ns, size_bytes
from simulation.faults.shortages import give_back, leave
from simulation.scenarios.faults import NodeShortage
from simulation.world.world import World


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

    def _after(self, stretch: tuple[str, str], operation: Callable[[], None]) -> None:
        self._world.after(self._world.chance.between(*map(duration_ns, stretch)), operation)
