"""The CPUs and the memory of a pod with resources of its own (PodLevelResourceManagers). Pure.

The pod gets one share on the NUMA nodes of one hint. Containers whose own requests equal their limits get a part of it
for themselves; the others share what is left. An init container may use all that no sidecar before it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from actors.model.shares import MemoryBlock, PodShares, Share, ShareBook
from actors.resources.cpus.static import NO_CPUS, CpuRules, choose_cpus, cpu_hints, smt_refusal, take_cpus, unexpected
from actors.resources.memory.amounts import Memory, memory_left
from actors.resources.memory.static import choose_memory, memory_hints
from actors.resources.shares.book import shared_cpus
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import CPU, PodWants, Want
from actors.resources.topology.hints import Hints
from actors.resources.topology.masks import NodeMask
from actors.resources.topology.merging import merge
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from runtime.host.topology import MachineTopology

EMPTY_POOL = "EmptyPodSharedPoolError"
NO_LOCALITY = Rejected(
    "TopologyAffinityError", "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
)


@dataclass(frozen=True, slots=True)
class _Parts:
    """CPUs of the pod, and of each container by name."""

    whole: frozenset[int] = frozenset()
    of: Mapping[str, frozenset[int]] = field(default_factory=dict)


def assign_whole(machine: MachineTopology, book: ShareBook, wants: PodWants, rules: ShareRules) -> PodShares | Rejected:
    """What the pod gets as a whole, and each container of it."""
    wanted_cpus = wants.cpus if rules.cpus is not None else 0
    wanted_memory: Memory = wants.memory if rules.memory is not None else {}
    no_cpus = _no_cpus_to_share(wants) if wanted_cpus else ""
    no_memory = _no_memory_to_share(wants) if wanted_memory else ""
    nodes = memory_left(machine, rules.memory, book) if rules.memory is not None else {}
    pool = shared_cpus(machine, rules, book)
    # Without a set that suffices the pod is refused below, in a kubelet's words.
    hints: list[Hints] = [{} if no_memory else memory_hints(nodes, (), wanted_memory) or None] * len(wanted_memory)
    if rules.cpus is not None and wanted_cpus:
        free = pool - rules.cpus.reserved
        hints.append({} if no_cpus else cpu_hints(machine, rules.cpus, free, NO_CPUS, wanted_cpus))
    hint = merge(hints, rules.topology, machine.nodes)
    if hint is None:
        return NO_LOCALITY
    cpus: _Parts | Rejected = _Parts()
    if rules.cpus is not None and wanted_cpus:
        refusal = Rejected(EMPTY_POOL, no_cpus) if no_cpus else smt_refusal(machine, rules.cpus, pool, wanted_cpus)
        cpus = refusal or _cpus(machine, rules.cpus, wants, pool, hint.mask)
    if isinstance(cpus, Rejected):
        return cpus
    if no_memory:
        return Rejected(EMPTY_POOL, no_memory)
    blocks = choose_memory(nodes, (), wanted_memory, hint)
    if isinstance(blocks, Rejected):
        return blocks
    memory = _divided_memory(wants, blocks)
    names = [each.name for each in wants.containers]
    shares = {name: Share(cpus.of.get(name, NO_CPUS), memory.get(name, ())) for name in names}
    kept = FrozenMap({name: share for name, share in shares.items() if share.cpus or share.memory})
    return PodShares(kept, Share(cpus.whole, blocks) if kept else None)


def _no_cpus_to_share(wants: PodWants) -> str:
    return _nothing_to_share(wants, lambda want: {CPU: want.cpus} if want.cpus else {}, CPU, wants.cpus, "cpus", "cpus")


def _no_memory_to_share(wants: PodWants) -> str:
    found = (
        _nothing_to_share(wants, lambda want: want.memory, kind, size, kind, "memory")
        for kind, size in wants.memory.items()
    )
    return next(filter(None, found), "")


def _nothing_to_share(
    wants: PodWants, own: Callable[[Want], Memory], kind: str, whole: int, missing: str, left: str
) -> str:
    """Why a container that needs the shared part would have none of it, or empty."""
    lasting, sharers = 0, 0
    for want in wants.containers:
        amounts = own(want)
        if not want.ends_first:
            lasting += amounts.get(kind, 0)
            sharers += not amounts
        elif not amounts and lasting >= whole:
            return f"pod rejected, pod has shared init containers but no {missing} available for them"
    if not sharers or lasting < whole:
        return ""
    return (
        f"pod rejected, sum of exclusive container {kind} requests equals pod budget, "
        f"leaving no {left} for shared containers"
    )


def _cpus(
    machine: MachineTopology, rules: CpuRules, wants: PodWants, pool: frozenset[int], near: NodeMask | None
) -> _Parts | Rejected:
    whole = choose_cpus(machine, rules, pool - rules.reserved, wants.cpus, near)
    if isinstance(whole, Rejected):
        return whole
    parts: dict[str, frozenset[int]] = {}
    shared = whole
    for want in wants.containers:
        if want.cpus > len(shared):
            return unexpected(
                f"not enough cpus available to satisfy request: requested={want.cpus}, available={len(shared)}"
            )
        if want.cpus:
            parts[want.name] = take_cpus(machine, rules, shared, want.cpus)
            if not want.ends_first:
                shared -= parts[want.name]
        elif want.ends_first:
            parts[want.name] = shared
    return _Parts(whole, {want.name: parts.get(want.name, shared) for want in wants.containers})


def _divided_memory(wants: PodWants, whole: tuple[MemoryBlock, ...]) -> dict[str, tuple[MemoryBlock, ...]]:
    parts: dict[str, tuple[MemoryBlock, ...]] = {}
    shared = whole
    for want in wants.containers:
        if want.memory:
            parts[want.name] = _with_sizes(whole, want.memory)
            if not want.ends_first:
                left = {block.kind: max(0, block.size_bytes - want.memory.get(block.kind, 0)) for block in shared}
                shared = _with_sizes(shared, left)
        elif want.ends_first:
            parts[want.name] = shared
    return {want.name: parts.get(want.name, shared) for want in wants.containers}


def _with_sizes(blocks: tuple[MemoryBlock, ...], sizes: Memory) -> tuple[MemoryBlock, ...]:
    """The blocks with these sizes, without empty ones."""
    return tuple(MemoryBlock(each.nodes, each.kind, sizes[each.kind]) for each in blocks if sizes.get(each.kind))
