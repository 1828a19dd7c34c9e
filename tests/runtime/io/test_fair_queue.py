"""`FairQueue`: owners take turns, and a large owner costs the others nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.io.fair_queue import FairQueue
from tests.work import lines_of


def filled(things: str, *, urgent: str = "") -> FairQueue[str]:
    """One thing for each letter, of the owner of that letter; numbered by place."""
    queue = FairQueue[str]()
    for number, owner in enumerate(things):
        queue.append(owner, f"{owner}{number}", urgent=owner in urgent)
    return queue


def drained(queue: FairQueue[str]) -> str:
    taken: list[str] = []
    while queue.first() is not None:
        taken.append(queue.take())
    return " ".join(taken)


@pytest.mark.parametrize(
    ("things", "urgent", "expected"),
    [
        ("", "", ""),
        ("aaa", "", "a0 a1 a2"),
        ("aaab", "", "a0 b3 a1 a2"),
        ("aabbcc", "", "a0 b2 c4 a1 b3 c5"),
        ("aabbcc", "c", "c4 c5 a0 b2 a1 b3"),
        ("aabbcc", "bc", "b2 c4 b3 c5 a0 a1"),
    ],
)
def test_owners_take_turns(things: str, urgent: str, expected: str) -> None:
    assert drained(filled(things, urgent=urgent)) == expected


def test_an_owner_that_comes_late_waits_for_one_turn_of_each_other() -> None:
    queue = filled("aaaabbbb")
    assert [queue.take(), queue.take(), queue.take()] == ["a0", "b4", "a1"]
    queue.append("c", "c")
    assert drained(queue) == "b5 a2 c b6 a3 b7"


def test_what_is_dropped_costs_its_owner_no_turn() -> None:
    queue = filled("aaab")
    queue.drop()
    queue.drop()
    assert drained(queue) == "a2 b3"


def test_a_thing_may_go_ahead_of_the_others_of_its_owner() -> None:
    queue = filled("aab")
    queue.append("a", "first", ahead=True)
    assert drained(queue) == "first b2 a0 a1"


def test_an_owner_may_pass_its_turn_to_those_that_wait() -> None:
    queue = filled("aabb")
    queue.pass_turn("a")
    queue.pass_turn("unknown")
    queue.pause("c")
    queue.pass_turn("c")
    assert drained(queue) == "b2 a0 b3 a1"


def test_a_paused_owner_has_no_turn_and_keeps_what_it_has() -> None:
    queue = filled("aabb")
    queue.pause("a")
    queue.pause("c")
    queue.append("a", "a4")
    queue.append("c", "c5", urgent=True)
    assert len(queue) == 6
    assert drained(queue) == "b2 b3"
    assert queue.first() is None
    with pytest.raises(LookupError):
        queue.take()
    queue.resume("a")
    queue.resume("c")
    queue.resume("unknown")
    assert drained(queue) == "c5 a0 a1 a4"


def test_the_last_word_on_urgency_counts() -> None:
    queue = filled("aab")
    queue.append("b", "b3", urgent=True)
    assert drained(queue) == "b2 b3 a0 a1"


def test_an_owner_that_is_forgotten_leaves_nothing() -> None:
    queue = filled("aabb")
    queue.forget("a")
    queue.forget("unknown")
    queue.pause("b")
    queue.forget("b")
    assert len(queue) == 0
    queue.append("b", "new")
    assert queue.first() is None, "it is still paused"
    queue.resume("b")
    assert drained(queue) == "new"


def test_clearing_gives_back_everything() -> None:
    queue = filled("aab")
    queue.pause("a")
    assert sorted(queue.clear()) == ["a0", "a1", "b2"]
    queue.append("a", "again")
    assert drained(queue) == "again"


@given(
    st.lists(
        st.tuples(st.sampled_from(["append", "take", "drop", "pause", "resume", "forget"]), st.sampled_from("abc"))
    )
)
def test_nothing_is_lost_or_seen_twice(steps: Iterable[tuple[str, str]]) -> None:
    queue, number = FairQueue[tuple[str, int]](), 0
    inside: dict[str, list[int]] = {each: [] for each in "abc"}
    paused: set[str] = set()
    for step, owner in steps:
        match step:
            case "append":
                queue.append(owner, (owner, number))
                inside[owner].append(number)
                number += 1
            case "pause":
                queue.pause(owner)
                paused.add(owner)
            case "resume":
                queue.resume(owner)
                paused.discard(owner)
            case "forget":
                queue.forget(owner)
                inside[owner].clear()
            case _ if (first := queue.first()) is not None:
                if step == "take":
                    assert queue.take() == first
                else:
                    queue.drop()
                assert inside[first[0]].pop(0) == first[1]
                assert first[0] not in paused
        assert len(queue) == sum(map(len, inside.values()))
        assert (queue.first() is None) == (not any(inside[each] for each in inside if each not in paused))


def test_a_step_costs_the_same_however_much_waits() -> None:
    def cost(things: int, owners: int) -> int:
        queue = FairQueue[int]()
        for number in range(things):
            queue.append(number % owners, number)

        def some() -> None:
            for number in range(50):
                queue.append("late", number)
                queue.take()
                queue.pause(number % owners)
                queue.resume(number % owners)

        return lines_of(some)

    assert cost(100_000, 1) <= 1.2 * cost(1_000, 1)
    assert cost(100_000, 10_000) <= 1.2 * cost(100, 10)
