"""Takes CPUs that lie close together (spec 10.8). Pure.

Whole packages and whole NUMA nodes first, if the request is that large; then whole last-level caches, if that is
preferred; then whole cores; then single CPUs. Among equals, those with the fewest free CPUs are taken first, so that
large groups stay whole. A group is taken whole only if each of its online CPUs is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TypeAlias

from runtime.host.topology import Cpu, MachineTopology

Group: TypeAlias = Callable[[Cpu], int]
_node: Group = attrgetter("node")
_package: Group = attrgetter("package")
_core: Group = attrgetter("core")


def take_packed(
    machine: MachineTopology, free: frozenset[int], wanted: int, *, spread: bool = False, by_cache: bool = False
) -> frozenset[int]:
    """`wanted` of the free CPUs, of which there must be enough.

    `spread`: prefer the threads of different cores. `by_cache`: prefer CPUs of one last-level cache.
    """
    take = _Take(machine, free, wanted)
    if nodes_hold_packages(machine):
        take.whole(machine.by_node, take.in_order_of(_node))
        take.whole(machine.by_package, take.in_order_of(_package))
    else:
        take.whole(machine.by_package, take.in_order_of(_package))
        take.whole(machine.by_node, take.in_order_of(_node))
    if by_cache:
        take.caches()
    if spread:
        take.single(_across_cores(machine, take.free))
    else:
        take.whole(machine.by_core, take.in_order_of(_core))
        take.single(in_order(machine, take.free))
    return frozenset(take.taken)


def in_order(machine: MachineTopology, free: Iterable[int]) -> list[Cpu]:
    """The free CPUs in the order in which single ones are taken.

    By package, NUMA node and core, of which those with the fewest free CPUs come first.
    """
    cpus = [machine.by_number[number] for number in free]
    nodes = Counter(cpu.node for cpu in cpus)
    packages = Counter(cpu.package for cpu in cpus)
    cores = Counter(cpu.core for cpu in cpus)
    if nodes_hold_packages(machine):
        return sorted(
            cpus,
            key=lambda cpu: (
                *(nodes[cpu.node], cpu.node, packages[cpu.package], cpu.package),
                *(cores[cpu.core], cpu.core, cpu.number),
            ),
        )
    return sorted(
        cpus,
        key=lambda cpu: (
            *(packages[cpu.package], cpu.package, nodes[cpu.node], cpu.node),
            *(cores[cpu.core], cpu.core, cpu.number),
        ),
    )


def nodes_hold_packages(machine: MachineTopology) -> bool:
    """Whether a NUMA node is at least as large as a package."""
    return len(machine.by_package) >= len(machine.by_node)


def _across_cores(machine: MachineTopology, free: Iterable[int]) -> list[Cpu]:
    """The free CPUs by package, and there by number: those of other cores come before siblings."""
    ordered = in_order(machine, free)
    place = {package: index for index, package in enumerate(dict.fromkeys(cpu.package for cpu in ordered))}
    return sorted(ordered, key=lambda cpu: (place[cpu.package], cpu.number))


class _Take:
    """CPUs on their way from `free` to `taken`, until `wanted` is 0."""

    def __init__(self, machine: MachineTopology, free: frozenset[int], wanted: int) -> None:
        self._machine = machine
        self.free = set(free)
        self.taken: set[int] = set()
        self.wanted = wanted

    def _move(self, cpus: Iterable[int]) -> None:
        before = len(self.taken)
        self.taken.update(cpus)
        self.free -= self.taken
        self.wanted -= len(self.taken) - before

    def in_order_of(self, group: Group) -> list[int]:
        """The groups with free CPUs, in the order of these CPUs; each may stand there several times."""
        return [group(cpu) for cpu in in_order(self._machine, self.free)]

    def whole(self, groups: Mapping[int, frozenset[int]], order: Iterable[int]) -> None:
        """Take groups that are free and not too large. `order`: each group at least once."""
        for group in dict.fromkeys(order):
            if len(groups[group]) <= self.wanted and groups[group] <= self.free:
                self._move(groups[group])

    def single(self, order: Iterable[Cpu]) -> None:
        """Take the first of these, until there are enough."""
        self._move([cpu.number for cpu in order][: self.wanted])

    def caches(self) -> None:
        """Take whole last-level caches, then the rest from a single one if that is possible."""
        caches = self._machine.by_cache
        for cache in self._caches_in_order():
            if self.wanted >= len(self._machine.cpus) // len(caches):
                self.whole(caches, self._caches_in_order())
            if not self.wanted:
                return
            self._move(self._within(cache))

    def _caches_in_order(self) -> list[int]:
        """Those of the node that comes first, and there those with the fewest free CPUs."""
        cpus = [self._machine.by_number[number] for number in self.free]
        sizes = Counter(cpu.cache for cpu in cpus)
        nodes = dict.fromkeys(self.in_order_of(_node))
        caches = {node: sorted({(sizes[cpu.cache], cpu.cache) for cpu in cpus if cpu.node == node}) for node in nodes}
        return list(dict.fromkeys(cache for each in caches.values() for _, cache in each))

    def _within(self, cache: int) -> list[int]:
        """All CPUs that are still wanted, from the lowest cores of a cache; none if they do not suffice."""
        threads = len(self._machine.cpus) // len(self._machine.by_core)
        there = [self._machine.by_number[number] for number in sorted(self._machine.by_cache[cache] & self.free)]
        cores = sorted({cpu.core for cpu in there})[: -(-self.wanted // threads)]
        cpus = [cpu.number for cpu in there if cpu.core in cores]
        if self.wanted % 2 and threads > 1 and len(cpus) > self.wanted:
            cpus.pop()
        return cpus if len(cpus) == self.wanted else []
