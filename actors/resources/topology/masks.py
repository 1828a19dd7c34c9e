"""Sets of NUMA nodes as numbers: bit n stands for node n. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

from config.caches import MIB, kept

NodeMask: TypeAlias = int


def mask_of(nodes: Iterable[int]) -> NodeMask:
    """The set of these nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def nodes_of(mask: NodeMask) -> tuple[int, ...]:
    """The nodes of the set, in ascending order."""
    return tuple(node for node in range(mask.bit_length()) if mask >> node & 1)


@kept(MIB, longest_bytes=MIB // 4)
def sets_of(nodes: tuple[int, ...]) -> Sequence[tuple[NodeMask, tuple[int, ...]]]:
    """All sets of some of the nodes as mask and nodes, small ones first. There are 2**n - 1."""
    return tuple((mask_of(some), some) for size in range(1, len(nodes) + 1) for some in combinations(nodes, size))
