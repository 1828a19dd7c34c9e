"""Takes CPUs evenly from as few NUMA nodes as can give them (`distribute-cpus-across-numa`).

It looks at single nodes, then at pairs, and so on (KEP-2902). Each node of a set gives the same number of CPUs; some
give a group more where the number cannot be divided. Of the sets of one size, it takes the one that leaves the nodes of
the machine most alike. CPUs come in groups: a core, if only whole cores are given, or a single CPU. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from actors.resources.cpus.packing import in_order, take_packed
from runtime.host.topology import MachineTopology


@dataclass(frozen=True, slots=True)
class _Plan:
    """Each of `nodes` gives `each` CPUs.

    Then those of `more` give a group each in turn, until there are enough.
    """

    unevenness: float
    nodes: tuple[int, ...]
    each: int
    more: tuple[int, ...] = ()


def take_distributed(
    machine: MachineTopology, free: frozenset[int], wanted: int, *, group: int = 1, spread: bool = False
) -> frozenset[int]:
    """`wanted` of the free CPUs, of which there must be enough. `group`: how many CPUs stay together."""
    if not wanted or wanted % group:
        return take_packed(machine, free, wanted, spread=spread)
    nodes = tuple(dict.fromkeys(cpu.node for cpu in in_order(machine, free)))
    sizes = {node: len(machine.by_node[node] & free) for node in nodes}
    for count in _counts_of_nodes(machine, len(nodes), wanted, group):
        plans = (plan for some in combinations(nodes, count) for plan in _plans(some, sizes, wanted, group))
        best = min(plans, key=lambda plan: plan.unevenness, default=None)
        if best is not None:
            return _carry_out(best, machine, free, wanted, group, spread)
    return take_packed(machine, free, wanted, spread=spread)


def _counts_of_nodes(machine: MachineTopology, available: int, wanted: int, group: int) -> range:
    """From the fewest nodes that could have so many CPUs, to one node for each group."""
    groups_of_node = math.ceil(math.ceil(len(machine.cpus) / group) / len(machine.by_node))
    groups = wanted // group
    return range(math.ceil(groups / groups_of_node), min(groups, available) + 1)


def _plans(nodes: Sequence[int], sizes: Mapping[int, int], wanted: int, group: int) -> Iterator[_Plan]:
    """The ways to take the CPUs evenly from all of these nodes."""
    each = wanted // len(nodes) // group * group
    if sum(sizes[node] // group for node in nodes) * group < wanted or any(sizes[node] < each for node in nodes):
        return
    left = {node: size - each if node in nodes else size for node, size in sizes.items()}
    rest = wanted - each * len(nodes)
    if not rest:
        yield _Plan(_unevenness(left.values()), tuple(nodes), each)
        return
    with_more = [node for node in nodes if left[node] >= group]
    for count in range(len(with_more), 0, -1):
        for more in combinations(with_more, count):
            if sum(left[node] // group for node in more) * group >= rest:
                after = dict(left)
                for node in _turns(more, after, rest, group):
                    after[node] -= group
                yield _Plan(_unevenness(after.values()), tuple(nodes), each, more)


def _turns(nodes: Sequence[int], left: Mapping[int, int], rest: int, group: int) -> Iterator[int]:
    """The nodes that give a group each, in turn, until nothing is left to take."""
    while rest > 0:
        for node in nodes:
            if rest > 0 and left[node] >= group:
                rest -= group
                yield node


def _unevenness(counts: Iterable[int]) -> float:
    """The standard deviation to three places, as a kubelet rounds it."""
    values = list(counts)
    mean = _rounded(sum(values) / len(values))
    return _rounded(math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)))


def _rounded(value: float) -> float:
    return math.floor(value * 1000 + 0.5) / 1000


def _carry_out(
    plan: _Plan, machine: MachineTopology, free: frozenset[int], wanted: int, group: int, spread: bool
) -> frozenset[int]:
    taken: frozenset[int] = frozenset()
    for node in plan.nodes:
        taken |= take_packed(machine, machine.by_node[node] & free, plan.each, spread=spread)
    left = {node: len(machine.by_node[node] & free - taken) for node in plan.more}
    for node in _turns(plan.more, left, wanted - len(taken), group):
        taken |= take_packed(machine, machine.by_node[node] & free - taken, group, spread=spread)
        left[node] -= group
    return taken
