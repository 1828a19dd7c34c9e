"""`MachineTopology`: which CPUs share what, and which memory is near to them (spec 10.8 to 10.10).

A value, of whatever machine: `topology_files.py` reads that of a real one, `simulation.host.topologies` makes others
of one line of text. All numbers are those of the kernel. CPUs that are offline are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Cpu:
    """One logical CPU that is online.

    `core`: the lowest CPU of its core, since the kernel's number of a core is unique in its package only. `cache`: the
    last-level cache, if the CPUs of its NUMA node do not all share one; else the package.
    """

    number: int
    core: int
    package: int
    node: int
    cache: int


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A NUMA node.

    `huge_pages`: number of pages by their size in bytes. `distances`: to each node, in the order of nodes.
    """

    number: int
    memory_bytes: int
    huge_pages: tuple[tuple[int, int], ...] = ()
    distances: tuple[int, ...] = ()


@dataclass(frozen=True)
class MachineTopology:
    """`cpus` and `nodes` are in the order of their numbers. A node may have no CPUs, or no memory."""

    cpus: tuple[Cpu, ...] = ()
    nodes: tuple[NumaNode, ...] = ()

    @cached_property
    def by_number(self) -> Mapping[int, Cpu]:
        """The CPUs by their numbers."""
        return {cpu.number: cpu for cpu in self.cpus}

    @cached_property
    def online(self) -> frozenset[int]:
        """The numbers of all CPUs."""
        return frozenset(self.by_number)

    @cached_property
    def by_node(self) -> Mapping[int, frozenset[int]]:
        """NUMA node -> its CPUs; nodes without CPUs are left out."""
        return _grouped((cpu.node, cpu.number) for cpu in self.cpus)

    @cached_property
    def by_package(self) -> Mapping[int, frozenset[int]]:
        """Package -> its CPUs."""
        return _grouped((cpu.package, cpu.number) for cpu in self.cpus)

    @cached_property
    def by_cache(self) -> Mapping[int, frozenset[int]]:
        """Last-level cache -> its CPUs."""
        return _grouped((cpu.cache, cpu.number) for cpu in self.cpus)

    @cached_property
    def by_core(self) -> Mapping[int, frozenset[int]]:
        """Core -> its CPUs, which are its threads."""
        return _grouped((cpu.core, cpu.number) for cpu in self.cpus)


def _grouped(pairs: Iterable[tuple[int, int]]) -> Mapping[int, frozenset[int]]:
    groups: dict[int, set[int]] = {}
    for group, cpu in pairs:
        groups.setdefault(group, set()).add(cpu)
    return {group: frozenset(groups[group]) for group in sorted(groups)}
