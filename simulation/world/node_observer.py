"""Watches one node: its agent's decisions, and the removals in its runtime.

Each is judged as it happens.

It sees as much as a person on that node: the file of published decisions, the number of samples of the machine, and the
images and containers of the runtime. Of the agent's internal data it sees only the leases. The rules are in
`simulation.world.invariants`; observations go to the chronicle.
"""

from __future__ import annotations

from typing import Any

from actors.eviction.decisions import remembered_in
from actors.images.leases import ImageLeases
from runtime.cri.messages import Image
from simulation.cri.state import ContainerRecord
from simulation.node.simulated_node import ROOT, SimulatedNode
from simulation.world import invariants
from simulation.world.chronicle import Chronicle

DECISIONS = f"{ROOT}/evictions"
IMAGES = "/node/image-gc"


class NodeObserver:
    """See the module. `remains`: ids of dead containers that were there before the agent."""

    def __init__(self, node: SimulatedNode, chronicle: Chronicle, remains: frozenset[str] = frozenset()) -> None:
        self._node = node
        self._chronicle = chronicle
        self._remains = set(remains)
        self._decided: set[str] = set()
        self._readings = 0
        """How often the machine had been looked at when the last pod was decided on."""
        node.host.tree.watch(DECISIONS, self._decisions_changed)
        state = node.cri.state
        state.on_image_removed = self._image_left
        state.on_container_removed = self._container_left

    # --- evictions --------------------------------------------------------------------------------------------------

    def _decisions_changed(self) -> None:
        tree = self._node.host.tree
        victims = remembered_in(tree.read(DECISIONS)).victims if tree.exists(DECISIONS) else ()
        new = [each for each in victims if each.uid not in self._decided]
        self._decided.update(each.uid for each in new)
        for each in new:
            self._chronicle.pod_doomed(each.uid)
        for_the_node = [each.uid for each in new if each.disrupted]
        if for_the_node:
            fresh = self._node.usage.readings - self._readings
            self._readings = self._node.usage.readings
            self._judge(invariants.one_kill_for_one_reading, len(for_the_node), fresh)

    # --- images and containers --------------------------------------------------------------------------------------

    def _image_left(self, image: Image) -> None:
        self._chronicle.sometimes.happened("image-removed")
        records = self._node.cri.state.containers.values()
        self._judge(
            invariants.what_is_in_use_stays, image, [each.name for each in records if each.image.id == image.id]
        )
        leases = self._leases()
        self._judge(invariants.what_is_leased_stays, image, leases is not None and leases.is_leased(image))

    def _leases(self) -> ImageLeases | None:
        """The book of the agent that lives; None: there is none now."""
        found = self._node.node.system.find(IMAGES)
        actor: Any = None if found is None else found.actor_inbox.actor
        return None if actor is None else actor.leases

    def _container_left(self, record: ContainerRecord) -> None:
        if record.id in self._remains:
            self._remains.discard(record.id)
            if not self._remains:
                self._chronicle.sometimes.happened("dead-containers-drained")

    def _judge(self, rule: Any, *seen: Any) -> None:
        fault = rule(*seen)
        if fault:
            self._chronicle.violated(invariants.name_of(rule), f"{self._node.plan.facts.name}: {fault}")
