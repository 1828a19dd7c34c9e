"""CPUs for a container: on which NUMA nodes they could be, and which they are (spec 10.8). Pure.

`free` are always the CPUs of the shared pool that may be given, without those reserved for the system. `reusable` are
those of earlier init containers of the pod, which have ended by then.
"""

from __future__ import annotations

from dataclasses import dataclass

from actors.resources.cpus.distributing import take_distributed
from actors.resources.cpus.packing import take_packed
from actors.resources.topology.hints import Hints
from actors.resources.topology.masks import NodeMask, mask_of, nodes_of, sets_of
from actors.resources.verdict import Rejected
from runtime.host.topology import MachineTopology

SMT_ALIGNMENT = "SMTAlignmentError"
UNEXPECTED = "UnexpectedAdmissionError"
NO_CPUS: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class CpuRules:
    """Settings of `cpuManagerPolicy: static`, each option by its meaning (spec 10.8).

    `reserved`: CPUs that are never given. `strict`: they are not in the shared pool either.
    """

    reserved: frozenset[int]
    strict: bool = False
    full_cores: bool = False
    across_nodes: bool = False
    across_cores: bool = False
    by_package: bool = False
    by_cache: bool = False


def cpu_hints(
    machine: MachineTopology, rules: CpuRules, free: frozenset[int], reusable: frozenset[int], wanted: int
) -> Hints:
    """The sets of NUMA nodes with enough free CPUs; with `full_cores`, in whole cores if that is possible.

    Preferred are those with the fewest nodes that could do if every CPU were free; with `by_package`, those of the
    fewest packages.
    """
    if rules.full_cores and not wanted % threads_of_core(machine):
        whole = _whole_cores(machine, free | reusable) - reusable
        return _hints(machine, rules, whole, reusable, wanted) or _hints(machine, rules, free, reusable, wanted)
    return _hints(machine, rules, free, reusable, wanted)


def _hints(
    machine: MachineTopology, rules: CpuRules, free: frozenset[int], reusable: frozenset[int], wanted: int
) -> dict[NodeMask, bool]:
    everywhere = tuple(machine.by_node)
    must_have = mask_of({machine.by_number[cpu].node for cpu in reusable})
    in_node = {node: len(cpus & free) for node, cpus in machine.by_node.items()}
    fewest = len(everywhere)
    hints: dict[NodeMask, bool] = {}
    for mask, nodes in sets_of(everywhere):
        if len(nodes) < fewest and sum(len(machine.by_node[node]) for node in nodes) >= wanted:
            fewest = len(nodes)
        if mask & must_have == must_have and sum(in_node[node] for node in nodes) + len(reusable) >= wanted:
            hints[mask] = False
    for mask in hints:
        hints[mask] = mask.bit_count() == fewest or (rules.by_package and _in_few_packages(machine, mask, fewest))
    return hints


def _in_few_packages(machine: MachineTopology, mask: NodeMask, nodes: int) -> bool:
    """Whether the set is in as few packages as that many nodes can be."""
    nodes_of_package = len(machine.by_node) // len(machine.by_package)
    if not nodes_of_package:
        return False
    return len(_packages(machine, mask)) == -(-nodes // nodes_of_package)


def _packages(machine: MachineTopology, mask: NodeMask) -> frozenset[int]:
    return frozenset(cpu.package for cpu in machine.cpus if mask >> cpu.node & 1)


def choose_cpus(
    machine: MachineTopology, rules: CpuRules, free: frozenset[int], wanted: int, near: NodeMask | None
) -> frozenset[int] | Rejected:
    """`wanted` of the free CPUs, those on the nodes of `near` first. `free` includes what may be reused."""
    chosen = _near_first(machine, rules, free, wanted, near)
    if isinstance(chosen, Rejected) or not rules.full_cores or _are_whole_cores(machine, chosen):
        return chosen
    # Threads whose sibling is reserved, or was left on another node, are passed over. Then so are cores with an offline
    # CPU: one of them leaves an odd rest, which splits another core. No CPU is farther away for that.
    whole = _whole_cores(machine, free)
    full = _whole_cores(machine, free, at_least=threads_of_core(machine))
    aligned = whole & _cpus_near(machine, rules, near) if near is not None else NO_CPUS
    for some in (whole, full):
        again = _near_first(machine, rules, some, wanted, near)
        if isinstance(again, Rejected) or not _are_whole_cores(machine, again):
            continue
        if len(again & aligned) >= min(wanted, len(aligned)):
            return again
    return _too_few_cores(machine, len(full), wanted)


def _near_first(
    machine: MachineTopology, rules: CpuRules, free: frozenset[int], wanted: int, near: NodeMask | None
) -> frozenset[int] | Rejected:
    chosen = NO_CPUS
    if near is not None:
        aligned = free & _cpus_near(machine, rules, near)
        chosen = take_cpus(machine, rules, aligned, min(wanted, len(aligned)))
    left, missing = free - chosen, wanted - len(chosen)
    if missing > len(left):
        return unexpected(f"not enough cpus available to satisfy request: requested={missing}, available={len(left)}")
    return chosen | take_cpus(machine, rules, left, missing)


def _cpus_near(machine: MachineTopology, rules: CpuRules, near: NodeMask) -> frozenset[int]:
    if rules.by_package:
        return NO_CPUS.union(*(machine.by_package[package] for package in sorted(_packages(machine, near))))
    return NO_CPUS.union(*(machine.by_node.get(node, NO_CPUS) for node in nodes_of(near)))


def take_cpus(machine: MachineTopology, rules: CpuRules, free: frozenset[int], wanted: int) -> frozenset[int]:
    """`wanted` of the free CPUs, of which there must be enough, as the options say."""
    if rules.across_nodes:
        group = threads_of_core(machine) if rules.full_cores else 1
        return take_distributed(machine, free, wanted, group=group, spread=rules.across_cores)
    return take_packed(machine, free, wanted, spread=rules.across_cores, by_cache=rules.by_cache)


def smt_refusal(machine: MachineTopology, rules: CpuRules, pool: frozenset[int], wanted: int) -> Rejected | None:
    """Why `full-pcpus-only` forbids the request, or None. `pool`: the shared pool."""
    if not rules.full_cores:
        return None
    threads = threads_of_core(machine)
    if wanted % threads:
        message = f"SMT Alignment Error: requested {wanted} cpus not multiple cpus per core = {threads}"
        return Rejected(SMT_ALIGNMENT, message)
    beside_reserved = NO_CPUS.union(*(machine.by_core[machine.by_number[cpu].core] for cpu in sorted(rules.reserved)))
    available = len(pool - beside_reserved)
    return _too_few_cores(machine, available, wanted) if wanted > available else None


def threads_of_core(machine: MachineTopology) -> int:
    """The CPUs of a core; of the largest, if they differ."""
    return max(map(len, machine.by_core.values()), default=1)


def _too_few_cores(machine: MachineTopology, available: int, wanted: int) -> Rejected:
    return Rejected(
        SMT_ALIGNMENT,
        "SMT Alignment Error: not enough free physical CPUs: "
        f"available physical CPUs = {available}, requested CPUs = {wanted}, "
        f"CPUs per core = {threads_of_core(machine)}",
    )


def _whole_cores(machine: MachineTopology, free: frozenset[int], *, at_least: int = 1) -> frozenset[int]:
    """The free CPUs of cores that are all free, and have at least so many CPUs online."""
    return NO_CPUS.union(*(core for core in machine.by_core.values() if len(core) >= at_least and core <= free))


def _are_whole_cores(machine: MachineTopology, cpus: frozenset[int]) -> bool:
    return all(machine.by_core[machine.by_number[cpu].core] <= cpus for cpu in cpus)


def unexpected(reason: str) -> Rejected:
    """A rejection in the words of a kubelet."""
    return Rejected(UNEXPECTED, f"Allocate failed due to {reason}, which is unexpected")
