"""The CPUs and the memory of a pod, all or nothing (spec 10.8 to 10.10). Pure.

    assign(machine, book, pod, rules) -> PodShares | Rejected

A kubelet asks its managers container by container, and each writes down what it gives. So a pod that is refused at its
last container leaves the parts of the others behind (kubernetes/kubernetes#137317). Here nothing is given before all
is found, and a pod that is in the book already keeps what it has (kubernetes/kubernetes#118559).
"""

from __future__ import annotations

import msgspec

from actors.model.shares import MemoryBlock, PodShares, Share, ShareBook
from actors.resources.cpus.static import choose_cpus, cpu_hints, smt_refusal
from actors.resources.devices.choosing import NO_SEARCH, DeviceSearch
from actors.resources.memory.amounts import memory_left, take_blocks
from actors.resources.memory.static import choose_memory, memory_hints, reusable_by_nodes, take_over
from actors.resources.shares.book import shared_cpus
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import CPU, PodWants, Want, has_pod_level_resources, wanted_of
from actors.resources.shares.whole_pods import assign_whole
from actors.resources.topology.hints import Hint, Hints, TopologyPolicy
from actors.resources.topology.masks import mask_of
from actors.resources.topology.merging import merge
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.host.topology import MachineTopology

TOPOLOGY_AFFINITY = "TopologyAffinityError"
NO_LOCALITY = "Resources cannot be allocated with Topology locality"
NO_LOCALITY_IN_POD = "Pod Scope pod with pod-level resources failed admission with a container-level topology manager"


class NamedHints(msgspec.Struct, frozen=True):
    """The hints for one resource. `who`: the container that asks, or empty for the whole pod."""

    who: str
    resource: str
    hints: Hints


def assign(
    machine: MachineTopology, book: ShareBook, pod: Pod, rules: ShareRules, devices: DeviceSearch = NO_SEARCH
) -> PodShares | Rejected:
    """What the pod gets, without changing anything but `devices`, which then knows its devices.

    Raises QuantityError.
    """
    return assign_with_hints(machine, book, pod, rules, devices)[0]


def assign_with_hints(
    machine: MachineTopology, book: ShareBook, pod: Pod, rules: ShareRules, devices: DeviceSearch = NO_SEARCH
) -> tuple[PodShares | Rejected, tuple[NamedHints, ...]]:
    """The same, and the hints that do not fit together if that is why the pod is refused.

    Not for a pod that has resources of its own as a whole.
    """
    known = book.get(pod.metadata.uid)
    if known is not None and not devices.containers:
        return known, ()
    if has_pod_level_resources(pod.spec) and not rules.pod_level:
        return devices.take_all() or known or PodShares(), ()
    wants = wanted_of(pod) if known is None else PodWants()
    scope_is_pod = rules.topology.whole_pods and rules.topology.policy is not TopologyPolicy.NONE
    if wants.pod_level and scope_is_pod:
        whole = assign_whole(machine, book, wants, rules)
        return (whole if isinstance(whole, Rejected) else devices.take_all() or whole), ()
    if devices.containers and not wants.containers:
        wants = PodWants(tuple(Want(name) for name in devices.containers))
    search = _Search(machine, book, wants, rules, devices)
    hint = search.hint_for(wants) if scope_is_pod else None
    for want in wants.containers:
        chosen = hint if scope_is_pod else search.hint_for(want)
        if chosen is None:
            refused = Rejected(TOPOLOGY_AFFINITY, NO_LOCALITY_IN_POD if wants.pod_level else NO_LOCALITY)
            return refused, search.hints_for(wants if scope_is_pod else want)
        refusal = search.take(want, chosen)
        if refusal is not None:
            return refusal, ()
    return known or search.found(), ()


class _Search:
    """What is left while one container after the other is served."""

    def __init__(
        self, machine: MachineTopology, book: ShareBook, wants: PodWants, rules: ShareRules, devices: DeviceSearch
    ) -> None:
        self._machine = machine
        self._devices = devices
        self._wants = wants
        self._rules = rules
        self._pool = shared_cpus(machine, rules, book)
        self._nodes = memory_left(machine, rules.memory, book) if rules.memory is not None else {}
        self._end_first = frozenset(each.name for each in wants.containers if each.ends_first)
        self._reusable_cpus: frozenset[int] = frozenset()
        self._cpus: dict[str, frozenset[int]] = {}
        self._memory: dict[str, tuple[MemoryBlock, ...]] = {}

    def hint_for(self, want: Want | PodWants) -> Hint | None:
        """The NUMA nodes for a container, or for the pod. None: the policy refuses it."""
        resources = [each.hints for each in self.hints_for(want)]
        return merge(resources, self._rules.topology, self._machine.nodes)

    def hints_for(self, want: Want | PodWants) -> tuple[NamedHints, ...]:
        """The hints of each resource that a container asks for, or the pod."""
        resources: list[NamedHints] = []
        who = want.name if isinstance(want, Want) else ""
        if self._rules.cpus is not None and want.cpus:
            free = self._pool - self._rules.cpus.reserved
            cpus = cpu_hints(self._machine, self._rules.cpus, free, self._reusable_cpus, want.cpus)
            resources.append(NamedHints(who, CPU, cpus))
        if self._rules.memory is not None and want.memory:
            memory: Hints = memory_hints(self._nodes, self._reusable_memory(), want.memory)
            # A kubelet takes no hint for no preference. A container is refused later; the containers of a pod would be
            # on different nodes.
            strict = want is self._wants and self._rules.topology.policy is not TopologyPolicy.BEST_EFFORT
            resources += [NamedHints(who, kind, memory if memory or strict else None) for kind in want.memory]
        if self._devices.containers:
            nodes = tuple(node.number for node in self._machine.nodes)
            named = want.name if isinstance(want, Want) else None
            resources += [NamedHints(who, name, hints) for name, hints in self._devices.hints_for(named, nodes)]
        return tuple(resources)

    def take(self, want: Want, hint: Hint) -> Rejected | None:
        """Give the container its share, or say why that is not possible."""
        refusal = self._take_cpus(want, hint) if self._rules.cpus is not None else None
        if refusal is None and self._devices.containers:
            refusal = self._devices.take(want.name, hint.mask)
        if refusal is None and self._rules.memory is not None:
            refusal = self._take_memory(want, hint)
        return refusal

    def _take_cpus(self, want: Want, hint: Hint) -> Rejected | None:
        wanted, rules = want.cpus, self._rules.cpus
        if not wanted or rules is None:
            return None
        refusal = smt_refusal(self._machine, rules, self._pool, wanted)
        if refusal is not None:
            return refusal
        free = (self._pool - rules.reserved) | self._reusable_cpus
        chosen = choose_cpus(self._machine, rules, free, wanted, hint.mask)
        if isinstance(chosen, Rejected):
            return chosen
        self._cpus[want.name] = chosen
        self._pool -= chosen
        if want.ends_first:
            self._reusable_cpus |= chosen
        else:
            self._reusable_cpus -= chosen
        return None

    def _take_memory(self, want: Want, hint: Hint) -> Rejected | None:
        reusable = self._reusable_memory()
        blocks = choose_memory(self._nodes, reusable, want.memory, hint)
        if isinstance(blocks, Rejected):
            return blocks
        over = reusable_by_nodes(reusable)
        take_blocks(
            self._nodes,
            (
                MemoryBlock(
                    each.nodes, each.kind, max(0, each.size_bytes - over.get((mask_of(each.nodes), each.kind), 0))
                )
                for each in blocks
            ),
        )
        ended = {name: each for name, each in self._memory.items() if name in self._end_first}
        self._memory |= take_over(ended, blocks)
        if blocks:
            self._memory[want.name] = blocks
        return None

    def _reusable_memory(self) -> tuple[MemoryBlock, ...]:
        return tuple(block for name, blocks in self._memory.items() if name in self._end_first for block in blocks)

    def found(self) -> PodShares:
        names = [each.name for each in self._wants.containers]
        shares = {name: Share(self._cpus.get(name, frozenset()), self._memory.get(name, ())) for name in names}
        return PodShares(FrozenMap({name: share for name, share in shares.items() if share.cpus or share.memory}))
