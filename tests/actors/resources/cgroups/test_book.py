"""The book of cgroups: what is made and removed when, over any order of events."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.admission import MakeCgroup
from actors.model.allocation import allocation_of
from actors.resources.cgroups.book import CgroupBook, Member
from actors.resources.cgroups.limits import TierDemand
from config.pods.identity import QosClass
from tests.actors.pod_pictures import pod
from tests.actors.recorders import Recorder

WORKER, _ = Recorder.spawn_in(ActorSystem(SimulatedDispatcher(1)), "worker")
SOME = Member(QosClass.BURSTABLE, TierDemand(100, 1000))


def request(uid: str) -> MakeCgroup:
    desired = pod("app", meta={"uid": uid})
    return MakeCgroup(WORKER, desired, allocation_of(desired))


def uids(turn: tuple[MakeCgroup, ...]) -> tuple[str, ...]:
    return tuple(each.pod.metadata.uid for each in turn)


def test_one_turn_at_a_time_in_the_order_of_coming() -> None:
    book = CgroupBook()
    for uid in "abc":
        book.want(request(uid))
    turn = book.begin_making(2)
    assert uids(turn) == ("a", "b")
    assert book.begin_making(2) == ()
    book.made(turn)
    assert uids(book.begin_making(2)) == ("c",)


def test_another_turn_begins_beside_one_that_is_slow() -> None:
    book = CgroupBook()
    for uid in "abc":
        book.want(request(uid))
    slow = book.begin_making(1)
    book.call_slow()
    prompt = book.begin_making(1)
    assert (uids(slow), uids(prompt)) == (("a",), ("b",))
    assert book.begin_making(1) == (), "the second turn is waited for, as any"
    book.made(prompt)
    assert uids(book.begin_making(1)) == ("c",)
    book.want(request("a"))
    book.call_slow()
    assert book.begin_making(9) == (), "nothing is made twice at a time"
    book.made(slow)
    assert uids(book.begin_making(9)) == ("a",)


def test_requests_left_over_by_a_slow_turn_go_first_in_their_newest_form() -> None:
    book = CgroupBook()
    for uid in "abcde":
        book.want(request(uid))
    turn = book.begin_making(4)
    book.call_slow()
    newer = request("c")
    book.want(newer)
    book.leave("d")
    book.take_back(turn[1:])
    assert uids(book.begin_making(9)) == ("b", "e", "c")
    assert book.begin_removing(9) == ("d",)


def test_pods_of_a_turn_that_came_to_nothing_hold_up_nobody_with_the_next_try() -> None:
    book = CgroupBook()
    for uid in "ab":
        book.want(request(uid))
    turn = book.begin_making(9)
    book.made(turn)
    book.suspect(turn)
    for each in turn:
        book.put_off(each)
    book.try_again()
    book.want(request("c"))
    turns = [uids(book.begin_making(9)) for _ in range(3)]
    assert turns == [("c",), (), ()], "who has not failed goes first, and is waited for"
    book.made((request("c"),))
    assert [uids(book.begin_making(9)) for _ in range(3)] == [("a",), ("b",), ()], "each alone, beside each other"
    book.want(request("d"))
    assert uids(book.begin_making(9)) == ("d",)
    book.put("a", SOME)
    book.made((request("a"), request("d")))
    for uid in "ad":
        book.want(request(uid))
    assert uids(book.begin_making(9)) == ("a", "d"), "the one that worked is like any other"


def test_a_pod_that_comes_again_waits_until_its_old_cgroup_is_gone() -> None:
    book = CgroupBook()
    book.put("a", SOME)
    assert book.leave("a")
    assert book.begin_removing(9) == ("a",)
    book.want(request("a"))
    assert book.begin_making(9) == ()
    book.removed(("a",), ())
    assert uids(book.begin_making(9)) == ("a",)


def test_a_pod_that_comes_again_before_its_turn_keeps_its_cgroup() -> None:
    book = CgroupBook()
    book.put("a", SOME)
    book.leave("a")
    book.want(request("a"))
    assert book.begin_removing(9) == ()


def test_a_pod_that_ends_while_its_cgroup_is_made_loses_it_after_that() -> None:
    book = CgroupBook()
    book.want(request("a"))
    turn = book.begin_making(9)
    assert book.leave("a")
    assert book.begin_removing(9) == ()
    assert not book.put("a", SOME), "it has ended meanwhile"
    book.made(turn)
    assert book.begin_removing(9) == ("a",)


def test_nothing_is_removed_of_a_pod_of_which_nothing_is_known() -> None:
    book = CgroupBook()
    assert not book.leave("a")
    book.found.add("a")
    assert book.leave("a")


def test_a_cgroup_that_could_not_be_removed_is_queued_again() -> None:
    book = CgroupBook()
    book.expel(("a", "b"))
    book.removed(book.begin_removing(9), ("b",))
    assert book.begin_removing(9) == ("b",)


def test_cgroups_of_a_removal_that_came_to_nothing_are_removed_one_by_one_beside_the_others() -> None:
    book = CgroupBook()
    book.expel(("hangs", "well"))
    first = book.begin_removing(9)
    assert book.begin_removing(9) == (), "many at a time"
    book.removed(first, first, came_to_nothing=True)
    book.expel(("new",))
    assert [book.begin_removing(9) for _ in range(4)] == [("new",), ("hangs",), ("well",), ()]
    book.removed(("well",), ())
    book.removed(("new",), ())
    book.expel(("well", "newer"))
    assert [book.begin_removing(9) for _ in range(2)] == [("well", "newer"), ()], (
        "the one that worked is like any other"
    )
    book.removed(("hangs",), ("hangs",), came_to_nothing=True)
    assert book.begin_removing(9) == ("hangs",)


def test_cgroups_of_critical_pods_are_made_first() -> None:
    book = CgroupBook()
    for uid in "abc":
        book.want(request(uid))
    desired = pod("app", meta={"uid": "d"}, priority=2_000_000_000)
    book.want(MakeCgroup(WORKER, desired, allocation_of(desired)))
    assert uids(book.begin_making(2)) == ("d", "a")


def test_cgroups_of_pods_without_a_request_are_strangers() -> None:
    book = CgroupBook()
    book.put("member", SOME)
    book.want(request("wanted"))
    book.expel(("leaving",))
    everyone = ("member", "wanted", "leaving", "known", "stranger")
    assert book.strangers(everyone, {"known"}) == ("stranger",)
    assert book.forgotten({"known"}) == ("member",)


def test_operations_under_way_at_a_failure_are_repeated() -> None:
    book = CgroupBook()
    book.want(request("a"))
    book.expel(("b",))
    book.begin_making(9)
    book.begin_removing(9)
    book.recover()
    assert uids(book.begin_making(9)) == ("a",)
    assert book.begin_removing(9) == ("b",)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["want", "leave", "make", "slow", "back", "made", "fail", "remove", "removed", "stuck", "recover"]
            ),
            st.sampled_from("abcd"),
        )
    )
)
def test_no_cgroup_is_made_and_removed_at_once_and_tier_sums_match_their_pods(steps: list[tuple[str, str]]) -> None:
    book = CgroupBook()
    turns: list[tuple[MakeCgroup, ...]] = []
    removals: list[tuple[str, ...]] = []
    members: dict[str, int] = {}
    for step, uid in steps:
        if step == "want":
            book.want(request(uid))
        elif step == "leave":
            book.leave(uid)
            members.pop(uid, None)
        elif step == "make":
            turns += [turn] if (turn := book.begin_making(2)) else []
        elif step == "slow":
            book.call_slow()
        elif step == "back" and turns:
            book.take_back(turns[0][1:])
            turns[0] = turns[0][:1]
        elif step in ("made", "fail") and turns:
            turn = turns.pop(0)
            for each in uids(turn):
                if step == "made" and book.put(each, SOME):
                    members[each] = 1
                elif step == "fail":
                    book.put_off(request(each))
            book.made(turn)
            book.try_again()
        elif step == "remove":
            removals += [gone] if (gone := book.begin_removing(2)) else []
        elif step in ("removed", "stuck") and removals:
            gone = removals.pop(0)
            book.removed(gone, [uid for uid in gone if uid == "b"], came_to_nothing=step == "stuck")
        elif step == "recover":
            book.recover()
            turns, removals = [], []
        making = [each for turn in turns for each in uids(turn)]
        assert len(making) == len(set(making))
        removing = [each for gone in removals for each in gone]
        assert len(removing) == len(set(removing))
        assert not set(making) & set(removing)
        demand: Any = book.sum_of(QosClass.BURSTABLE)
        assert demand == TierDemand(100 * len(members), 1000 * len(members))
