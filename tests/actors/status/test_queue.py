"""Who waits to have a status written: once, in the most urgent place, in the order of coming."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.status.queue import WriteQueue
from actors.status.urgency import Urgency


def taken(queue: WriteQueue) -> list[str]:
    uids = []
    while (uid := queue.take()) is not None:
        uids.append(uid)
    return uids


def test_the_more_urgent_goes_first_and_who_came_first_among_equals():
    queue = WriteQueue()
    for uid, urgency in (("a", Urgency.REST), ("b", Urgency.READY), ("c", Urgency.READY), ("d", Urgency.ENDED)):
        queue.put(uid, urgency)
    assert taken(queue) == ["d", "b", "c", "a"]


def test_one_that_waits_moves_only_ahead():
    queue = WriteQueue()
    queue.put("a", Urgency.READY)
    queue.put("b", Urgency.READY)
    queue.put("a", Urgency.REST)
    assert taken(queue) == ["a", "b"]
    queue.put("a", Urgency.REST)
    queue.put("b", Urgency.READY)
    queue.put("a", Urgency.ENDED)
    assert len(queue.waiting) == 2
    assert taken(queue) == ["a", "b"]


def test_who_is_dropped_waits_no_more_and_may_come_again_at_the_end():
    queue = WriteQueue()
    queue.put("a", Urgency.READY)
    queue.put("b", Urgency.READY)
    queue.drop("a")
    assert "a" not in queue.waiting
    queue.put("a", Urgency.READY)
    assert taken(queue) == ["b", "a"]


def test_of_those_that_were_dropped_before_their_turn_nothing_is_kept():
    queue = WriteQueue()
    for _ in range(3):
        queue.put("a", Urgency.READY)
        queue.drop("a")
    assert queue.stored == 0


def test_who_is_kept_back_is_due_once_in_the_order_of_coming():
    queue = WriteQueue()
    queue.keep_back("a", 10)
    queue.keep_back("b", 20)
    queue.keep_back("a", 30)
    assert queue.next_due_ns() == 10
    assert queue.take_due(9) == ()
    assert queue.take_due(25) == ("a", "b")
    assert queue.next_due_ns() is None


def test_who_gets_its_turn_or_is_dropped_is_kept_back_no_more_and_if_it_is_again_for_its_whole_time():
    queue = WriteQueue()
    for due_ns, uid in enumerate("abc", 10):
        queue.keep_back(uid, due_ns)
    queue.put("a", Urgency.READY)
    queue.drop("b")
    assert queue.next_due_ns() == 12
    queue.keep_back("a", 20)
    assert queue.take_due(15) == ("c",)
    assert queue.next_due_ns() == 20
    queue.drop("a")
    assert queue.next_due_ns() is None


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(Urgency))))
def test_each_is_taken_once_in_the_order_of_its_highest_urgency(puts: list[tuple[str, Urgency]]):
    queue = WriteQueue()
    best: dict[str, Urgency] = {}
    for uid, urgency in puts:
        queue.put(uid, urgency)
        best[uid] = min(best.get(uid, urgency), urgency)
    order = taken(queue)
    assert sorted(order) == sorted(best)
    assert [best[uid] for uid in order] == sorted(best.values())
