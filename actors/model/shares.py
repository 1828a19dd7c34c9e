"""Which CPUs and which memory each pod of a node has for itself (spec 10.8, 10.9).

The book of a node is all that has to be remembered: the shared pool and the free memory follow from it and from the
machine. Values, pure.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from config.frozen_map import FrozenMap


class MemoryBlock(msgspec.Struct, frozen=True):
    """Memory of one kind on a group of NUMA nodes.

    `kind`: a resource, "memory" or "hugepages-<size>". The nodes are in ascending order. A size of zero is possible:
    another container of the pod has taken the memory over, or none was asked for.
    """

    nodes: tuple[int, ...]
    kind: str
    size_bytes: int


class Share(msgspec.Struct, frozen=True):
    """What a container has, or a pod as a whole.

    Without `cpus` it runs in the node's shared pool. Without `memory` its memory comes from all nodes.
    """

    cpus: frozenset[int] = frozenset()
    memory: tuple[MemoryBlock, ...] = ()


class PodShares(msgspec.Struct, frozen=True):
    """What a pod has: by container, and as a whole.

    With `whole`, the containers have parts of it, and only it counts for the node.
    """

    containers: FrozenMap[str, Share] = FrozenMap()
    whole: Share | None = None


ShareBook: TypeAlias = FrozenMap[str, PodShares]
"""UID -> what the pod has, in the order of admission."""
NOTHING = Share()
NO_SHARES: ShareBook = FrozenMap()


def exclusive_cpus(pod: PodShares) -> frozenset[int]:
    """The CPUs that no other pod may use."""
    if pod.whole is not None and pod.whole.cpus:
        return pod.whole.cpus
    return frozenset().union(*(share.cpus for share in pod.containers.values()))


def counted_blocks(pod: PodShares) -> tuple[MemoryBlock, ...]:
    """The blocks that the node has less of memory for this pod."""
    if pod.whole is not None and pod.whole.memory:
        return pod.whole.memory
    return tuple(block for share in pod.containers.values() for block in share.memory)
