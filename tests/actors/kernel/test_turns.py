"""The rules of turns, row by row: who is next, and what a key may start."""

from __future__ import annotations

import pytest

from actors.kernel import Rank
from actors.kernel.turns import Call, Turns, leaves_room, may_start, rank_of_turn


@pytest.mark.parametrize(
    ("per_key", "under_way", "hanging", "may", "end_may"),
    [
        (3, 0, 0, True, True),
        (3, 2, 0, True, True),
        (3, 3, 0, False, False),
        (3, 1, 1, True, True),
        (3, 2, 1, False, False),
        (3, 2, 2, True, True),
        (3, 3, 2, False, False),
        (3, 3, 3, False, True),
        (3, 4, 3, False, False),
        (3, 4, 4, False, False),
        (2, 2, 2, True, True),
        (8, 6, 6, False, False),
        (1, 0, 0, True, True),
        (1, 1, 0, False, False),
        (1, 1, 1, False, False),
    ],
)
def test_what_a_key_may_start(per_key: int, under_way: int, hanging: int, may: bool, end_may: bool):
    found = [may_start(ends, under_way, hanging, per_key) for ends in (False, True)]
    assert found == [may, end_may]


@pytest.mark.parametrize(
    ("slow", "may", "end_may"), [(0, True, True), (64, True, True), (65, False, True), (128, False, False)]
)
def test_what_a_key_with_a_slow_call_may_start_in_a_lane_with_128_places_for_them(slow: int, may: bool, end_may: bool):
    assert [leaves_room(ends, slow, max_slow=128) for ends in (False, True)] == [may, end_may]


@pytest.mark.parametrize(
    ("first", "normal", "in_a_row", "rank"),
    [
        (False, False, 0, None),
        (True, False, 99, Rank.FIRST),
        (False, True, 0, Rank.NORMAL),
        (True, True, 0, Rank.FIRST),
        (True, True, 2, Rank.FIRST),
        (True, True, 3, Rank.NORMAL),
    ],
)
def test_whose_turn_it_is(first: bool, normal: bool, in_a_row: int, rank: Rank | None):
    assert rank_of_turn(first, normal, in_a_row) is rank


def call(name: str, *, ends: bool = False, rank: Rank = Rank.NORMAL) -> Call:
    return Call(name, rank, ends)


def test_a_lane_counts_slow_calls_in_its_size_when_their_places_are_taken():
    turns = Turns[Call](size=1, per_key=1, max_slow=2)
    for number in range(3):
        begun = call(f"dead{number}")
        assert not turns.is_full()
        turns.begin(begun)
        turns.is_slow(begun)
    assert turns.is_full()
    turns.end(begun)
    assert not turns.is_full()


def test_the_next_call_of_a_key_decides_its_rank():
    turns = Turns[Call](size=1, per_key=1, max_slow=2)
    urgent, end, other = call("a", rank=Rank.FIRST), call("a", ends=True), call("b")
    for each in (other, urgent, end):
        turns.join(each)
    taken: list[Call] = []
    while (next_one := turns.take()) is not None:
        turns.takes_no_slot(next_one)
        taken.append(next_one)
    assert taken == [other, end, urgent]


def test_nothing_remains_of_a_key_without_calls():
    turns = Turns[Call](size=2, per_key=2, max_slow=2)
    calls = [call("a"), call("a"), call("b")]
    for each in calls:
        turns.join(each)
    turns.leave(calls[2])
    for _ in range(2):
        taken = turns.take()
        assert taken is not None
        turns.begin(taken)
    turns.hangs(calls[0])
    assert [report.key for report in turns.reports()] == ["a"]
    for each in calls[:2]:
        turns.end(each)
    assert turns.reports() == ()
    assert (turns.waiting, turns.under_way, turns.slow, turns.hanging) == (0, 0, 0, 0)
