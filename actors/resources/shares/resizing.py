"""Other CPUs for a pod that is resized (gate InPlacePodVerticalScalingExclusiveCPUs). Pure.

    resized(machine, book, pod, rules) -> PodShares | Rejected

A container that gets more keeps all that it has, and gets the rest on the NUMA nodes where it is, if they have enough.
Else the topology policy decides, with what the container has as a must. A container that gets less keeps CPUs that are
near to each other and to its memory. Its memory stays as it is.

What a container gives back is its own until the runtime was told (`either`). Another container of the pod may have it
at once: else a full node could never shift CPUs within a pod.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from actors.model.shares import MemoryBlock, PodShares, Share, ShareBook, exclusive_cpus
from actors.resources.cpus.static import CpuRules, choose_cpus, cpu_hints, smt_refusal
from actors.resources.shares.assigning import NO_LOCALITY, TOPOLOGY_AFFINITY
from actors.resources.shares.book import shared_cpus
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import PodWants, Want, wanted_of
from actors.resources.topology.hints import Hint, Hints
from actors.resources.topology.masks import NodeMask, mask_of
from actors.resources.topology.merging import merge
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.host.topology import MachineTopology


def resized(machine: MachineTopology, book: ShareBook, pod: Pod, rules: ShareRules) -> PodShares | Rejected:
    """What the pod has after the resize; the same if no container gets other CPUs. The pod is in the book.

    Raises QuantityError.
    """
    has, wants = book[pod.metadata.uid], wanted_of(pod)
    if rules.cpus is None or has.whole is not None:
        return has
    growth, found = _Growth(machine, rules, rules.cpus, has, wants), dict(has.containers)
    changed = [want for want in wants.containers if want.cpus and _size(found, want) not in (0, want.cpus)]
    free = shared_cpus(machine, rules, book) - rules.cpus.reserved
    for want in sorted(changed, key=lambda each: each.cpus - _size(found, each)):
        share = found[want.name]
        if want.cpus < len(share.cpus):
            cpus = _fewer(machine, rules.cpus, share, want.cpus)
        else:
            cpus = growth.more(share, want, free)
        if isinstance(cpus, Rejected):
            return cpus
        free = (free | share.cpus) - cpus
        found[want.name] = Share(cpus, share.memory)
    return msgspec.structs.replace(has, containers=FrozenMap(found))


def either(one: PodShares, other: PodShares) -> PodShares:
    """`one`, with the CPUs of `other` too, container by container."""
    containers = {
        name: Share(share.cpus | other.containers.get(name, share).cpus, share.memory)
        for name, share in one.containers.items()
    }
    return msgspec.structs.replace(one, containers=FrozenMap(containers))


def _size(shares: dict[str, Share], want: Want) -> int:
    return len(shares[want.name].cpus) if want.name in shares else 0


def _fewer(machine: MachineTopology, rules: CpuRules, share: Share, wanted: int) -> frozenset[int] | Rejected:
    refusal = smt_refusal(machine, rules, share.cpus, wanted)
    if refusal is not None:
        return refusal
    here, near = share.cpus & machine.online, None
    if not rules.across_nodes:
        memory = _nodes_of(share.memory)
        hints = cpu_hints(machine, rules, here, frozenset(), wanted) or {}
        near = min(hints, key=lambda mask: (mask.bit_count(), not mask & memory, mask), default=None)
    return choose_cpus(machine, rules, here, wanted, near)


@dataclass(frozen=True, slots=True)
class _Growth:
    """Gives containers of one pod more CPUs. `has`, `wants`: what the pod has, and what it asks for."""

    machine: MachineTopology
    rules: ShareRules
    cpus: CpuRules
    has: PodShares
    wants: PodWants

    def more(self, share: Share, want: Want, free: frozenset[int]) -> frozenset[int] | Rejected:
        """The CPUs of a container that has `share`, and some of the free ones."""
        refusal = smt_refusal(self.machine, self.cpus, free | share.cpus, want.cpus)
        if refusal is not None:
            return refusal
        hint = self._hint(share, want, free)
        if hint is None:
            return Rejected(TOPOLOGY_AFFINITY, NO_LOCALITY)
        more, node_of = want.cpus - len(share.cpus), self.machine.by_number
        home = mask_of(node_of[cpu].node for cpu in share.cpus & self.machine.online)
        fits = sum(home >> node_of[cpu].node & 1 for cpu in free) >= more
        chosen = choose_cpus(self.machine, self.cpus, free, more, home if fits else hint.mask)
        return chosen if isinstance(chosen, Rejected) else share.cpus | chosen

    def _hint(self, share: Share, want: Want, free: frozenset[int]) -> Hint | None:
        """The NUMA nodes for the container, or for the pod as a whole. None: the policy refuses them."""
        mine, memory, wanted = share.cpus, share.memory, want.cpus
        if self.rules.topology.whole_pods:
            mine = exclusive_cpus(self.has)
            memory = tuple(block for each in self.has.containers.values() for block in each.memory)
            wanted = max(self.wants.cpus, len(mine))
        mine &= self.machine.online
        resources: list[Hints] = [cpu_hints(self.machine, self.cpus, free - mine, mine, wanted)]
        if memory:
            resources.append({_nodes_of(memory): True})
        return merge(resources, self.rules.topology, self.machine.nodes)


def _nodes_of(memory: tuple[MemoryBlock, ...]) -> NodeMask:
    return mask_of(node for block in memory for node in block.nodes)
