"""The search behind shrinking: what it finds, and how few questions it asks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulation.play.minimize import minimize, smallest


@pytest.mark.parametrize(
    ("things", "needed"),
    [
        ((), ()),
        (("a",), ()),
        (("a",), ("a",)),
        (("a", "b", "c", "d", "e"), ("c",)),
        (("a", "b", "c", "d", "e"), ("a", "e")),
        (("a", "b", "c"), ("a", "b", "c")),
        (tuple("abcdefghijklmnop"), ("b", "g", "p")),
    ],
)
def test_minimizing_keeps_exactly_the_needed_things(things: tuple[str, ...], needed: tuple[str, ...]):
    assert minimize(things, lambda part: set(needed) <= set(part)) == needed


def test_one_of_a_thousand_things_is_found_in_some_dozens_of_questions():
    asked: list[int] = []

    def still(part: tuple[int, ...]) -> bool:
        asked.append(len(part))
        return 617 in part

    assert minimize(tuple(range(1000)), still) == (617,)
    assert len(asked) < 60


@pytest.mark.parametrize(
    ("still", "found"),
    [(lambda n: n >= 1, 1), (lambda n: n >= 37, 37), (lambda n: n >= 100, 100), (lambda n: n == 100, 100)],
)
def test_the_smallest_number_is_found_where_larger_ones_do_as_well(still: Callable[[int], bool], found: int):
    assert smallest(100, 1, still) == found


def test_small_numbers_are_tried_first_since_they_cost_least():
    asked: list[int] = []

    def at_least_five(n: int) -> bool:
        asked.append(n)
        return n >= 5

    assert smallest(10_000, 1, at_least_five) == 5
    assert max(asked) == 8


def test_minimizing_works_from_zero_and_of_one_thing():
    assert smallest(8, 0, lambda n: n >= 0) == 0
    assert smallest(8, 0, lambda n: n >= 1) == 1
    assert smallest(1, 1, lambda _: pytest.fail("nothing is smaller")) == 1
