"""Memory for a container: on which NUMA nodes it could be, and on which it is (spec 10.9). Pure.

`reusable` are the blocks of earlier init containers of the pod, which have ended by then. A later container on the same
nodes takes their memory over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from actors.model.shares import MemoryBlock
from actors.resources.cpus.static import unexpected
from actors.resources.memory.amounts import Memory, NodeMemory
from actors.resources.topology.hints import Hint
from actors.resources.topology.masks import NodeMask, mask_of, nodes_of, sets_of
from actors.resources.verdict import Rejected

OF_MEMORY = "[memorymanager]"
"""In the message of each refusal for lack of memory, as with a kubelet."""


def choose_memory(
    nodes: Mapping[int, NodeMemory], reusable: Iterable[MemoryBlock], wanted: Memory, hint: Hint
) -> tuple[MemoryBlock, ...] | Rejected:
    """Blocks for what is wanted: on the nodes of the hint, or on more of them if these do not suffice."""
    if not wanted:
        return ()
    reusable = tuple(reusable)
    mask = hint.mask
    in_order = mask is not None and _respects_groups([nodes[number] for number in nodes_of(mask)], mask)
    if mask is None or not in_order or not _suffices(nodes, mask, wanted):
        possible = {
            each: preferred
            for each, preferred in memory_hints(nodes, reusable, wanted).items()
            if mask is None or each & mask == mask
        }
        best = min(possible, key=lambda each: (not possible[each], each.bit_count(), each), default=None)
        if best is None or (hint.preferred and not possible[best]):
            breaks_group = mask is not None and not in_order and _suffices(nodes, mask, wanted)
            return _refusal(mask, found=best is not None, breaks_group=breaks_group)
        mask = best
    return tuple(MemoryBlock(nodes_of(mask), kind, amount) for kind, amount in wanted.items())


def _refusal(mask: NodeMask | None, *, found: bool, breaks_group: bool) -> Rejected:
    """The words of a kubelet."""
    if breaks_group:
        return unexpected(f"{OF_MEMORY} preferred hint violates NUMA node allocation")
    if mask is None:
        if found:
            return unexpected(f"{OF_MEMORY} failed to find the default preferred hint")
        what = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
        return unexpected(f"{OF_MEMORY} {what}")
    if found:
        return unexpected(f"{OF_MEMORY} failed to find the extended preferred hint")
    return unexpected(f"{OF_MEMORY} failed to find NUMA nodes to extend the current topology hint")


def memory_hints(
    nodes: Mapping[int, NodeMemory], reusable: Iterable[MemoryBlock], wanted: Memory
) -> dict[NodeMask, bool]:
    """The sets of NUMA nodes with enough free memory of all kinds.

    Preferred are those with the fewest nodes that could do if all memory were free.
    """
    taken_over = reusable_by_nodes(reusable)
    numbers = tuple(nodes)
    fewest = len(numbers)
    found: dict[NodeMask, bool] = {}
    for mask, members in sets_of(numbers):
        group = [nodes[number] for number in members]
        if any(sum(node.allocatable(kind) for node in group) < amount for kind, amount in wanted.items()):
            continue
        fewest = min(fewest, len(group))
        if _respects_groups(group, mask) and all(
            sum(node.free(kind) for node in group) + taken_over.get((mask, kind), 0) >= amount
            for kind, amount in wanted.items()
        ):
            found[mask] = False
    return {mask: mask.bit_count() == fewest for mask in found}


def _respects_groups(members: Sequence[NodeMemory], mask: NodeMask) -> bool:
    """Whether all members of the set are unused, or used for just this set."""
    alone = len(members) == 1
    return all(node.group == mask or (not alone and not node.blocks) for node in members)


def _suffices(nodes: Mapping[int, NodeMemory], mask: NodeMask, wanted: Memory) -> bool:
    """Whether the nodes of the set have enough free, without what may be taken over."""
    return all(sum(nodes[number].free(kind) for number in nodes_of(mask)) >= size for kind, size in wanted.items())


def reusable_by_nodes(blocks: Iterable[MemoryBlock]) -> dict[tuple[NodeMask, str], int]:
    """The bytes that may be taken over, by nodes and kind."""
    sums: dict[tuple[NodeMask, str], int] = {}
    for block in blocks:
        key = mask_of(block.nodes), block.kind
        sums[key] = sums.get(key, 0) + block.size_bytes
    return sums


def take_over(
    ended: Mapping[str, tuple[MemoryBlock, ...]], taken: Iterable[MemoryBlock]
) -> dict[str, tuple[MemoryBlock, ...]]:
    """The blocks of ended containers, by name, less what a later container of the pod takes over of them."""
    over = reusable_by_nodes(taken)

    def shrunk(block: MemoryBlock) -> MemoryBlock:
        key = mask_of(block.nodes), block.kind
        part = min(block.size_bytes, over.get(key, 0))
        over[key] = over.get(key, 0) - part
        return MemoryBlock(block.nodes, block.kind, block.size_bytes - part)

    return {name: tuple(map(shrunk, blocks)) for name, blocks in ended.items()}
