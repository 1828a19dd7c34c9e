"""What each NUMA node has left of memory. Pure.

It follows from the machine, the reservation for the system, and the blocks of all pods.

A container whose memory is on several nodes makes a group of them. While it lives, these nodes give memory only to the
whole group: otherwise a container on one of them could use up what the group counts on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from actors.model.shares import MemoryBlock, ShareBook, counted_blocks
from actors.resources.topology.masks import NodeMask, mask_of
from config.pods.requests import HUGE_PAGES
from config.values.quantity import NANOS, Quantity, Suffixes
from runtime.host.topology import MachineTopology

Memory: TypeAlias = Mapping[str, int]
"""Bytes by kind: "memory" and "hugepages-<size>"."""
MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """Settings of `memoryManagerPolicy: Static`.

    `reserved`: NUMA node -> kind -> bytes that are never given.
    """

    reserved: Mapping[int, Memory]


@dataclass(slots=True)
class Amount:
    """One kind of memory of one node, in bytes.

    `allocatable`: all that pods may have. `free`: all that is left.
    """

    total: int
    reserved: int
    allocatable: int
    free: int


@dataclass(slots=True)
class NodeMemory:
    """One node. `blocks`: how many blocks are on it. `group`: the nodes of these blocks, or this one."""

    group: NodeMask
    blocks: int = 0
    kinds: dict[str, Amount] = field(default_factory=dict)

    def free(self, kind: str) -> int:
        return self.kinds[kind].free if kind in self.kinds else 0

    def allocatable(self, kind: str) -> int:
        return self.kinds[kind].allocatable if kind in self.kinds else 0


def huge_pages_kind(page_bytes: int) -> str:
    """The resource of huge pages of a size."""
    return f"{HUGE_PAGES}{Quantity(page_bytes * NANOS, Suffixes.BINARY)}"


def memory_left(machine: MachineTopology, rules: MemoryRules, book: ShareBook) -> dict[int, NodeMemory]:
    """NUMA node -> what it has left, in ascending order of nodes."""
    nodes = unused_memory(machine, rules)
    take_blocks(nodes, (block for pod in book.values() for block in counted_blocks(pod)))
    return nodes


def unused_memory(machine: MachineTopology, rules: MemoryRules) -> dict[int, NodeMemory]:
    """NUMA node -> what it has without any pod."""
    nodes: dict[int, NodeMemory] = {}
    for node in machine.nodes:
        totals = {huge_pages_kind(size): size * pages for size, pages in node.huge_pages}
        in_pages = sum(totals.values())
        totals[MEMORY] = node.memory_bytes
        reserved = rules.reserved.get(node.number, {})
        found = nodes[node.number] = NodeMemory(mask_of([node.number]))
        for kind, total in totals.items():
            usable = max(0, total - reserved.get(kind, 0) - (in_pages if kind == MEMORY else 0))
            found.kinds[kind] = Amount(total, reserved.get(kind, 0), usable, usable)
    return nodes


def take_blocks(nodes: Mapping[int, NodeMemory], blocks: Iterable[MemoryBlock]) -> None:
    """Take blocks off what is left.

    A block takes from the lowest of its nodes as much as that has, and so on.

    Nodes and kinds that the machine no longer has are passed over.
    """
    for block in blocks:
        missing = block.size_bytes
        group = mask_of(block.nodes)
        for number in block.nodes:
            node = nodes.get(number)
            if node is None:
                continue
            node.blocks += 1
            node.group = group
            if block.kind in node.kinds:
                taken = min(missing, node.kinds[block.kind].free)
                node.kinds[block.kind].free -= taken
                missing -= taken
