"""The book of a node after a start, on a machine that may have changed (spec 10.8, 10.9). Pure.

A kubelet does not start when CPUs went offline, or memory has another size (kubernetes/kubernetes#131253, #140473).
Here the pods that still fit keep what they have, and the others are told why they do not.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.model.shares import MemoryBlock, PodShares, Share, ShareBook, counted_blocks, exclusive_cpus
from actors.resources.memory.amounts import MemoryRules, NodeMemory, take_blocks, unused_memory
from actors.resources.shares.cpu_state import CpuState
from actors.resources.shares.memory_state import MemoryState
from actors.resources.shares.rules import ShareRules
from actors.resources.topology.masks import mask_of
from config.frozen_map import FrozenMap
from config.values.cpu_sets import format_cpu_set
from runtime.host.topology import MachineTopology

NO_BLOCKS: tuple[MemoryBlock, ...] = ()


def book_of(cpus: CpuState | None, memory: MemoryState | None) -> ShareBook:
    """The book that both state files make together, in the order of UIDs.

    None for a manager whose policy is `none`.
    """
    by_cpus = cpus.containers if cpus is not None else {}
    by_memory = memory.containers if memory is not None else {}
    pods: dict[str, PodShares] = {}
    for uid in sorted(by_cpus.keys() | by_memory.keys()):
        own_cpus, own_memory = by_cpus.get(uid, {}), by_memory.get(uid, {})
        shares = {
            name: Share(own_cpus.get(name, frozenset()), own_memory.get(name, NO_BLOCKS))
            for name in sorted(own_cpus.keys() | own_memory.keys())
        }
        whole = Share(
            cpus.pods.get(uid, frozenset()) if cpus is not None else frozenset(),
            memory.pods.get(uid, NO_BLOCKS) if memory is not None else NO_BLOCKS,
        )
        kept = FrozenMap({name: share for name, share in shares.items() if share.cpus or share.memory})
        if kept:
            pods[uid] = PodShares(kept, whole if whole.cpus or whole.memory else None)
    return FrozenMap(pods)


def states_of(rules: ShareRules, book: ShareBook, shared: frozenset[int]) -> tuple[CpuState, MemoryState]:
    """What the two files have to say of the book. `shared`: the shared pool."""
    cpus: dict[str, Mapping[str, frozenset[int]]] = {}
    memory: dict[str, Mapping[str, tuple[MemoryBlock, ...]]] = {}
    for uid, pod in book.items():
        own_cpus = {name: share.cpus for name, share in pod.containers.items() if share.cpus}
        own_memory = {name: share.memory for name, share in pod.containers.items() if share.memory}
        if own_cpus:
            cpus[uid] = own_cpus
        if own_memory:
            memory[uid] = own_memory
    wholes = {uid: pod.whole for uid, pod in book.items() if pod.whole is not None}
    cpu_state, memory_state = CpuState("none"), MemoryState("None")
    if rules.cpus is not None:
        pods = {uid: whole.cpus for uid, whole in wholes.items() if whole.cpus}
        cpu_state = CpuState("static", shared, cpus, pods)
    if rules.memory is not None:
        blocks = {uid: whole.memory for uid, whole in wholes.items() if whole.memory}
        memory_state = MemoryState("Static", memory, blocks)
    return cpu_state, memory_state


def what_fits(machine: MachineTopology, rules: ShareRules, book: ShareBook) -> tuple[ShareBook, Mapping[str, str]]:
    """The pods that can keep what they have; and UID -> why another pod cannot.

    A CPU or a piece of memory that two pods have, as after a change of the file by hand, stays with the first.
    """
    kept: dict[str, PodShares] = {}
    misfits: dict[str, str] = {}
    taken: frozenset[int] = frozenset()
    nodes = unused_memory(machine, rules.memory) if rules.memory is not None else {}
    for uid, pod in book.items():
        cpus, blocks = exclusive_cpus(pod), counted_blocks(pod)
        reason = _cpus_missing(machine, rules, cpus, taken) or _memory_missing(rules.memory, nodes, blocks)
        if reason:
            misfits[uid] = reason
        else:
            kept[uid] = pod
            taken |= cpus
            take_blocks(nodes, blocks)
    return FrozenMap(kept), misfits


def _cpus_missing(machine: MachineTopology, rules: ShareRules, cpus: frozenset[int], taken: frozenset[int]) -> str:
    if rules.cpus is None:
        return ""
    for missing, why in (
        (cpus - machine.online, "are not online on this machine"),
        (cpus & rules.cpus.reserved, "are reserved for the system"),
        (cpus & taken, "belong to another pod"),
    ):
        if missing:
            return f"its CPUs {format_cpu_set(missing)} {why}"
    return ""


def _memory_missing(rules: MemoryRules | None, nodes: Mapping[int, NodeMemory], blocks: tuple[MemoryBlock, ...]) -> str:
    if rules is None:
        return ""
    wanted: dict[tuple[tuple[int, ...], str], int] = {}
    for block in blocks:
        wanted[block.nodes, block.kind] = wanted.get((block.nodes, block.kind), 0) + block.size_bytes
    for (numbers, kind), size in wanted.items():
        where = f"NUMA nodes {format_cpu_set(numbers)}"
        if any(number not in nodes or kind not in nodes[number].kinds for number in numbers):
            return f"this machine has no {kind} on {where}"
        if any(nodes[number].blocks and nodes[number].group != mask_of(numbers) for number in numbers):
            return f"{where} are in use as parts of another group"
        free = sum(nodes[number].free(kind) for number in numbers)
        if free < size:
            return f"it has {size} bytes of {kind} on {where}, where {free} are left"
    return ""
