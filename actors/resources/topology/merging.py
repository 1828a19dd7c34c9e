"""One hint from the hints of all resources (spec 10.10). Pure.

A kubelet tries every combination of one hint for each resource, and keeps the best intersection. With n NUMA nodes and
r resources these are up to 2**(n*r) combinations, so an admission may take hours (kubernetes/kubernetes#140730).

The result depends only on which intersections are possible. A preferred one needs the same preferred set in every
resource. The others are found resource by resource, as sets of sets: at most n * 2**n steps for each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from actors.resources.topology.hints import Hint, Hints, TopologyPolicy, TopologyRules
from actors.resources.topology.masks import NodeMask, mask_of, nodes_of
from runtime.host.topology import NumaNode

NODES_AT_MOST = 16
"""The number of NUMA nodes for which all sets can be looked at within a second."""
Rank: TypeAlias = Callable[[NodeMask], tuple[int, ...]]


def merge(resources: Sequence[Hints], rules: TopologyRules, nodes: Sequence[NumaNode]) -> Hint | None:
    """The hint for a request. None: the policy refuses the request. `nodes`: those of the machine."""
    if rules.policy is TopologyPolicy.NONE:
        return Hint()
    everywhere = mask_of(node.number for node in nodes)
    if rules.policy is TopologyPolicy.SINGLE_NODE:
        best = _single(resources, everywhere)
    else:
        best = _best(resources, everywhere, _closest(nodes) if rules.closest else _narrowest)
    return best if best.preferred or rules.policy is TopologyPolicy.BEST_EFFORT else None


def _single(resources: Sequence[Hints], everywhere: NodeMask) -> Hint:
    """The lowest node that is preferred by all; the only node of a machine is no hint."""
    alone = [
        hints if hints is None else {mask: True for mask in hints if hints[mask] and mask.bit_count() == 1}
        for hints in resources
    ]
    best = min(_preferred(alone, everywhere), key=_narrowest, default=None)
    return Hint(None if best == everywhere else best, best is not None)


def _best(resources: Sequence[Hints], everywhere: NodeMask, rank: Rank) -> Hint:
    preferred = _preferred(resources, everywhere)
    if preferred:
        return Hint(min(preferred, key=rank), True)
    possible = {everywhere}
    for hints in resources:
        if hints:
            possible = meets(possible, hints)
    possible.discard(0)
    # As many nodes as the most demanding resource needs are best; then rather fewer than more.
    wanted = max((min(map(_narrowest, hints))[0] for hints in resources if hints), default=0)
    fitting = [mask for mask in possible if mask.bit_count() <= wanted]
    if fitting:
        size = max(mask.bit_count() for mask in fitting)
        return Hint(min((mask for mask in fitting if mask.bit_count() == size), key=rank), False)
    return Hint(min(possible, key=rank, default=everywhere), False)


def _preferred(resources: Sequence[Hints], everywhere: NodeMask) -> Collection[NodeMask]:
    """The sets that every resource with a preference prefers."""
    found: set[NodeMask] | None = None
    for hints in resources:
        if hints is not None:
            preferred = {mask for mask, is_preferred in hints.items() if is_preferred}
            found = preferred if found is None else found & preferred
    return {everywhere} if found is None else found


def meets(some: Iterable[NodeMask], others: Iterable[NodeMask]) -> set[NodeMask]:
    """All intersections of one of `some` and one of `others`.

    Counts the pairs whose intersection contains a set, which is a product of two counts. What contains a set and
    equals none that is larger is the set itself (an inclusion-exclusion over each node).
    """
    first, second = list(some), list(others)
    nodes = nodes_of(_union(first) & _union(second))
    place = {1 << node: 1 << index for index, node in enumerate(nodes)}
    pairs = [one * other for one, other in zip(_supersets(first, place), _supersets(second, place), strict=True)]
    for bit in place.values():
        for mask in range(len(pairs)):
            if not mask & bit:
                pairs[mask] -= pairs[mask | bit]
    back = [mask_of(node for index, node in enumerate(nodes) if mask >> index & 1) for mask in range(len(pairs))]
    return {back[mask] for mask, count in enumerate(pairs) if count}


def _supersets(masks: Sequence[NodeMask], place: Mapping[NodeMask, int]) -> list[int]:
    """For each set of the placed nodes: how many of the masks contain it."""
    counts = [0] * (1 << len(place))
    for mask in masks:
        counts[sum(there for bit, there in place.items() if mask & bit)] += 1
    for bit in place.values():
        for mask in range(len(counts)):
            if not mask & bit:
                counts[mask] += counts[mask | bit]
    return counts


def _union(masks: Sequence[NodeMask]) -> NodeMask:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _narrowest(mask: NodeMask) -> tuple[int, ...]:
    return mask.bit_count(), mask


def _closest(nodes: Sequence[NumaNode]) -> Rank:
    place = {node.number: index for index, node in enumerate(nodes)}

    def rank(mask: NodeMask) -> tuple[int, ...]:
        chosen = nodes_of(mask)
        distances = sum(nodes[place[one]].distances[place[other]] for one in chosen for other in chosen)
        return len(chosen), distances, mask

    return rank
