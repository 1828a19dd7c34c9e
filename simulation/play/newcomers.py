"""Pods that come to a healed world: one for each node, to show that pods still come, run and go there.

That all is as desired says little of an agent that has nothing left to do: one that hears no more of new pods, or has
lost every place at which a pod could start, looks the same as one that is well. So when all is as desired a pod comes
to each node that has room for one more, and when they run they go again. They are no pods of the scenario: they are
not counted, and how soon they start is not either.
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
"""In that time a way to the API server or to the runtime that failed before has been tried again."""
_TOLERATES_ALL = [{"operator": "Exists"}]

Json = dict[str, Any]


class Newcomers:
    """See the module. `form`: what a pod of the mix is created as, but for its name and its node."""

    def __init__(self, world: World, form: Json) -> None:
        self._world = world
        self._form = form
        self.names: dict[str, str] = {}
        """By node."""

    def draw_up(self) -> tuple[str, ...]:
        """Names for one to each node with room, which nobody has."""
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
        """So many pods at a time, as the cluster is told."""
        shown = self._world.server.store.get("nodes", "", node)
        allocatable = {} if shown is None else (shown.object.get("status") or {}).get("allocatable") or {}
        return parse_quantity(str(allocatable.get("pods", 0))).value()

    def come(self) -> None:
        """All of them at one moment, each to its node."""
        form = self._form
        for node, name in self.names.items():
            spec = {**form["spec"], "nodeName": node, "tolerations": _TOLERATES_ALL}
            self._world.create_pod({**form, "metadata": {**form["metadata"], "name": name}, "spec": spec})

    def go(self) -> None:
        """All of them."""
        for name in self.names.values():
            self._world.delete_pod(name)
