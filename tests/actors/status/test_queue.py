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


def test_urgent_writes_go_first_and_equals_in_their_order():
    queue = WriteQueue()
    for uid, urgency in (("a", Urgency.REST), ("b", Urgency.READY), ("c", Urgency.READY), ("d", Urgency.ENDED)):
        queue.put(uid, urgency)
    assert taken(queue) == ["d", "b", "c", "a"]


def test_a_waiting_write_only_moves_forward():
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


def test_a_dropped_pod_leaves_the_write_queue_and_rejoins_at_the_end():
    queue = WriteQueue()
    queue.put("a", Urgency.READY)
    queue.put("b", Urgency.READY)
    queue.drop("a")
    assert "a" not in queue.waiting
    queue.put("a", Urgency.READY)
    assert taken(queue) == ["b", "a"]


def test_dropped_pods_leave_nothing_in_the_write_queue():
    queue = WriteQueue()
    for _ in range(3):
        queue.put("a", Urgency.READY)
        queue.drop("a")
    assert queue.stored == 0


def test_held_back_pods_become_due_once_in_their_order():
    queue = WriteQueue()
    queue.keep_back("a", 10)
    queue.keep_back("b", 20)
    queue.keep_back("a", 30)
    assert queue.next_due_ns() == 10
    assert queue.take_due(9) == ()
    assert queue.take_due(25) == ("a", "b")
    assert queue.next_due_ns() is None


def test_a_written_or_dropped_pod_is_no_longer_held_back():
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
