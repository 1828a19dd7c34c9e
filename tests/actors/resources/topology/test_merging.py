"""One hint out of the hints of all resources."""

from __future__ import annotations

from functools import reduce
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.resources.topology.hints import Hint, Hints, TopologyPolicy, TopologyRules
from actors.resources.topology.masks import mask_of, sets_of
from actors.resources.topology.merging import NODES_AT_MOST, meets, merge
from runtime.host.topology import NumaNode
from tests.work import lines_of

BEST, RESTRICTED, SINGLE = TopologyPolicy.BEST_EFFORT, TopologyPolicy.RESTRICTED, TopologyPolicy.SINGLE_NODE
N0, N1, N2, N3 = 1, 2, 4, 8


def nodes(count: int, *rows: tuple[int, ...]) -> list[NumaNode]:
    return [NumaNode(number, 0, (), rows[number] if rows else ()) for number in range(count)]


def both(policy: TopologyPolicy, *resources: Hints, count: int = 2) -> Hint | None:
    return merge(resources, TopologyRules(policy), nodes(count))


@pytest.mark.parametrize(
    ("policy", "resources", "hint"),
    [
        (TopologyPolicy.NONE, [{N0: True}], Hint()),
        # No preference leaves every node.
        (RESTRICTED, [], Hint(N0 | N1, True)),
        (RESTRICTED, [None, {N1: True}], Hint(N1, True)),
        (SINGLE, [None], Hint(None, True)),
        # What all prefer wins, the lowest first.
        (RESTRICTED, [{N0: True, N1: True}, {N1: True}], Hint(N1, True)),
        (RESTRICTED, [{N0: True, N1: True, N0 | N1: False}] * 2, Hint(N0, True)),
        # Preferred sets that differ are no preferred hint.
        (BEST, [{N0: True}, {N0 | N1: True}], Hint(N0, False)),
        (RESTRICTED, [{N0: True}, {N0 | N1: True}], None),
        # Sets without a common node leave every node.
        (BEST, [{N0: True}, {N1: True}], Hint(N0 | N1, False)),
        # A request that nothing can meet.
        (BEST, [{}, {N1: True}], Hint(N1, False)),
        (RESTRICTED, [{}, {N1: True}], None),
        (SINGLE, [{N0 | N1: True}], None),
        (SINGLE, [{N0: False, N1: True}], Hint(N1, True)),
    ],
)
# (spec 10.10.1)
def test_hints_are_merged_by_policy(policy: TopologyPolicy, resources: list[Hints], hint: Hint | None) -> None:
    assert both(policy, *resources) == hint


def test_the_only_node_of_a_machine_is_no_hint() -> None:
    assert both(SINGLE, {N0: True}, count=1) == Hint(None, True)


def test_without_a_preferred_set_as_many_nodes_as_the_most_demanding_resource_needs_are_best() -> None:
    wide: Hints = {N0 | N1 | N2: False, N1 | N2: False}
    assert both(BEST, wide, {N0: False, N1: False, N1 | N2: False}, count=3) == Hint(N1 | N2, False)


# (spec 10.10.3)
def test_of_equally_many_nodes_the_closest_can_be_preferred() -> None:
    far = nodes(3, (10, 40, 20), (40, 10, 30), (20, 30, 10))
    hints: Hints = {N0 | N1: True, N0 | N2: True, N1 | N2: True}
    assert merge([hints], TopologyRules(BEST), far) == Hint(N0 | N1, True)
    assert merge([hints], TopologyRules(BEST, closest=True), far) == Hint(N0 | N2, True)


MASKS = st.sets(st.integers(1, 31), max_size=6)


@given(MASKS, MASKS)
def test_all_intersections_are_found(some: set[int], others: set[int]) -> None:
    assert meets(some, others) == {one & other for one in some for other in others}


@given(st.lists(st.one_of(st.none(), st.dictionaries(st.integers(1, 15), st.booleans(), max_size=5)), max_size=3))
# (spec 10.10.1)
def test_the_hint_is_the_best_of_all_combinations(resources: list[Hints]) -> None:
    found = both(BEST, *resources, count=4)
    assert found is not None
    assert found.mask is not None
    choices = [
        [(15, hints is None, None)] if not hints else [(m, p, m) for m, p in hints.items()] for hints in resources
    ]
    merged = []
    for combination in product(*choices):
        sets = {mask for _, _, mask in combination if mask is not None}
        preferred = len(sets) < 2 and all(each for _, each, _ in combination)
        merged.append((reduce(int.__and__, (mask for mask, _, _ in combination), 15), preferred))
    possible = [(mask, preferred) for mask, preferred in merged if mask]
    assert (found.mask, found.preferred) in (possible or [(15, False)])
    if found.preferred:
        assert found.mask == min((m for m, p in possible if p), key=lambda m: (m.bit_count(), m))
    else:
        assert not any(preferred for _, preferred in possible)


def test_the_work_grows_with_the_resources_and_not_with_their_combinations() -> None:
    # kubernetes/kubernetes#140730: 255 hints for each of 6 resources are 2**48 combinations.
    hints: Hints = {mask: False for mask, _ in sets_of(tuple(range(8)))}
    three = lines_of(lambda: both(BEST, *[hints] * 3, count=8))
    six = lines_of(lambda: both(BEST, *[hints] * 6, count=8))
    assert six < 2.5 * three


def test_the_largest_machine_is_merged() -> None:
    everywhere = mask_of(range(NODES_AT_MOST))
    hints: Hints = {everywhere ^ (1 << node): False for node in range(NODES_AT_MOST)}
    found = both(BEST, hints, hints, count=NODES_AT_MOST)
    assert found is not None
    assert found.mask == everywhere ^ (1 << NODES_AT_MOST - 1)
