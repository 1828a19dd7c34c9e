"""Faults of nodes that last for a while, and end by themselves.

Agents stand still, actors are frozen, disks are full, runtimes are away.

Two faults of one kind may overlap: then both end when the longer one does. `heal` ends all faults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simulation.chance.chance import Chance
from simulation.faults.frozen import Frozen
from simulation.node.killable import KillableDispatcher
from simulation.node.simulated_node import SimulatedNode
from simulation.world.chronicle import Chronicle

CATCHES_UP_NS = 10**9
"""The time after a thaw in which the actor may still be late."""


class FaultyWorld(Protocol):
    """The parts of the world that these faults need."""

    nodes: dict[str, SimulatedNode]
    chronicle: Chronicle
    frozen: dict[str, Frozen]
    chance: Chance

    def now_ns(self) -> int: ...
    def note(self, what: str) -> None:
        """Write it into the trace."""

    def after(self, ns: int, operation: Callable[[], object]) -> None:
        """Do it in `ns` ns."""


class PassingFaults:
    """See the module."""

    def __init__(self, world: FaultyWorld) -> None:
        self._world = world
        self._paused_until_ns: dict[KillableDispatcher, int] = {}
        self._disk_sizes: dict[str, int | None] = {}
        """By node: the capacity that its disk has without the fault."""
        self._disks_full_until_ns = self._runtimes_away_until_ns = 0

    def pause_agent(self, name: str, lasts_ns: int) -> None:
        """The agent of a node gets no CPU for a while; where none lives, nothing happens."""
        agent = self._world.nodes[name].agent
        if not agent.alive:
            return
        self._world.note(f"stops the agent of {name} for {lasts_ns / 10**9:g} s")
        self._world.chronicle.sometimes.happened("agent-paused")
        self._world.chronicle.agent_stands_still(name)
        agent.pause()
        until_ns = self._paused_until_ns.get(agent, 0)
        self._paused_until_ns[agent] = max(until_ns, self._world.now_ns() + lasts_ns)
        self._world.after(lasts_ns, lambda: self._resume_agent(name, agent))

    def _resume_agent(self, name: str, agent: KillableDispatcher) -> None:
        """Resume the agent, unless another pause lasts longer."""
        until_ns = self._paused_until_ns.get(agent)
        if until_ns is None or self._world.now_ns() < until_ns:
            return
        del self._paused_until_ns[agent]
        if agent.alive:
            self._world.chronicle.agent_goes_on(name)
            agent.resume()

    def freeze(self, path: str, lasts_ns: int) -> None:
        """Stop an actor of each node from handling messages for a while.

        `path` names the actor; without it, any that health watches.
        """
        for name, node in self._world.nodes.items():
            if not node.agent.runs or name in self._world.frozen:
                continue  # nothing is to be seen of an actor there, or another one is looked after
            frozen = Frozen.one_of(node.node.system, path, self._world.chance.bits())
            if frozen is None:
                continue
            self._freeze(name, frozen, lasts_ns)

    def _freeze(self, name: str, frozen: Frozen, lasts_ns: int) -> None:
        self._world.note(f"freezes {frozen.path} of {name}")
        self._world.frozen[name] = frozen
        agent = self._world.nodes[name].agent

        def wanted() -> None:
            if frozen.wanted_ns is None:
                frozen.wanted_ns = self._world.now_ns()
                seen = "frozen-actor-asked" if frozen.is_asked() else "frozen-actor-wanted"
                self._world.chronicle.sometimes.happened(seen)

        agent.freeze(frozen.path, wanted)
        self._world.after(lasts_ns, lambda: self._thaw(name, agent, frozen))

    def _thaw(self, name: str, agent: KillableDispatcher, frozen: Frozen) -> None:
        if self._world.frozen.get(name) is not frozen or frozen.thawed:
            return  # it went with its agent, or all was healed
        self._world.note(f"thaws {frozen.path} of {name}")
        frozen.thaw()
        agent.thaw()
        self._world.after(CATCHES_UP_NS, lambda: self._forget(name, frozen))

    def _forget(self, name: str, frozen: Frozen) -> None:
        if self._world.frozen.get(name) is frozen:
            del self._world.frozen[name]

    def fill_disks(self, lasts_ns: int) -> None:
        """Fill the disks of all nodes for a while: nothing more fits."""
        self._world.note("fills the disks")
        self._world.chronicle.sometimes.happened("disk-full")
        self._disks_full_until_ns = max(self._disks_full_until_ns, self._world.now_ns() + lasts_ns)
        for name, node in self._world.nodes.items():
            tree = node.host.tree
            self._disk_sizes.setdefault(name, tree.capacity_bytes)
            tree.capacity_bytes = tree.used_bytes
        self._world.after(lasts_ns, self._empty_disks)

    def _empty_disks(self) -> None:
        """Give the disks their capacity back, unless another fault keeps them full for longer."""
        if self._world.now_ns() < self._disks_full_until_ns:
            return
        for name, capacity_bytes in self._disk_sizes.items():
            self._world.nodes[name].host.tree.capacity_bytes = capacity_bytes
        self._disk_sizes.clear()

    def take_runtimes_away(self, lasts_ns: int) -> None:
        """Make all runtimes unreachable for a while."""
        self._world.note("takes the runtimes away")
        self._world.chronicle.sometimes.happened("runtime-outage")
        self._runtimes_away_until_ns = max(self._runtimes_away_until_ns, self._world.now_ns() + lasts_ns)
        for node in self._world.nodes.values():
            node.cri.go_down()
        self._world.after(lasts_ns, self._bring_runtimes_back)

    def _bring_runtimes_back(self) -> None:
        """Bring the runtimes back, unless another outage lasts longer."""
        if self._world.now_ns() >= self._runtimes_away_until_ns:
            for node in self._world.nodes.values():
                node.cri.come_back()

    def heal(self) -> None:
        """End all faults."""
        now_ns = self._world.now_ns()
        self._disks_full_until_ns = self._runtimes_away_until_ns = now_ns
        self._empty_disks()
        self._bring_runtimes_back()
        for name, node in self._world.nodes.items():
            if name in self._world.frozen:
                self._thaw(name, node.agent, self._world.frozen[name])
            if node.agent in self._paused_until_ns:
                self._paused_until_ns[node.agent] = now_ns
                self._resume_agent(name, node.agent)
