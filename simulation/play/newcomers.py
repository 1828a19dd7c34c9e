"""Pods that are created in a healed world, one for each node.

They show that pods can still start and stop there.

A converged world says little about an agent with nothing left to do. One that gets no more pods, or has no place left
to start one, looks the same as a healthy one. So after convergence a pod is created on each node with room, and deleted
when all run. They belong to no mix of the scenario: neither they nor their start times are counted.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from config.values.quantity import parse_quantity
from simulation.scenarios.pods import PodMix
from simulation.world.invariants import ENDED

if TYPE_CHECKING:
    from simulation.world.world import World

NEWCOMER = PodMix(name="newcomer", count=1, starts_within="2m", ends_within="2m")
"""Within that time, an API server or a runtime that failed before is tried again."""
_TOLERATES_ALL = [{"operator": "Exists"}]

Json = dict[str, Any]


class Newcomers:
    """`form`: a pod of the mix without its name and its node."""

    def __init__(self, world: World, form: Json) -> None:
        self._world = world
        self._form = form
        self.names: dict[str, str] = {}
        """Names by node."""

    def draw_up(self) -> tuple[str, ...]:
        """Choose an unused name for each node with room."""
        pods = self._world.chronicle.pods.values()
        taken = {pod.name for pod in pods}
        there = Counter(pod.node for pod in pods if pod.phase not in ENDED)
        for node in self._world.nodes:
            if there[node] < self._takes(node):
                name = f"{NEWCOMER.name}-{node}"
                while name in taken:
                    name = f"{name}-more"
                self.names[node] = name
        return tuple(self.names.values())

    def _takes(self, node: str) -> int:
        """How many pods fit, by the node's status."""
        shown = self._world.server.store.get("nodes", "", node)
        allocatable = {} if shown is None else (shown.object.get("status") or {}).get("allocatable") or {}
        return parse_quantity(str(allocatable.get("pods", 0))).value()

    def come(self) -> None:
        """Create all of them at once, each on its node."""
        form = self._form
        for node, name in self.names.items():
            spec = {**form["spec"], "nodeName": node, "tolerations": _TOLERATES_ALL}
            self._world.create_pod({**form, "metadata": {**form["metadata"], "name": name}, "spec": spec})

    def go(self) -> None:
        """Delete all of them."""
        for name in self.names.values():
            self._world.delete_pod(name)
