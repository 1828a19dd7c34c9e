"""`Turn` between two threads: who makes what, and who gives which answer."""

from __future__ import annotations

import threading
from typing import cast

from actors.kernel import ActorRef
from actors.messages.admission import MakeCgroup
from actors.model.allocation import allocation_of
from actors.resources.cgroups.operations import PodGroup, PodGroupMade
from actors.resources.cgroups.turn import Turn
from config.pods.identity import QosClass
from runtime.cgroups.capability import CgroupLimits
from tests.actors.pod_pictures import pod

WAIT_S = 120


def turn_of(*uids: str) -> Turn:
    pods = [pod("app", meta={"uid": uid, "name": uid}) for uid in uids]
    requests = [MakeCgroup(cast(ActorRef, None), each, allocation_of(each), False) for each in pods]
    groups = [PodGroup(uid, QosClass.BEST_EFFORT, CgroupLimits(), False) for uid in uids]
    return Turn(requests, groups, 0, False)


class Lane:
    """A thread that makes the groups of a turn, and hangs at one of them until it is let go."""

    def __init__(self, turn: Turn, hangs_at: str) -> None:
        self.hangs, self.let_go = threading.Event(), threading.Event()
        self._turn, self._hangs_at = turn, hangs_at
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()
        assert self.hangs.wait(WAIT_S)

    def _make(self) -> None:
        for group in self._turn.groups():
            if group.uid == self._hangs_at:
                self.hangs.set()
                self.let_go.wait(WAIT_S)
            self._turn.made(PodGroupMade(group.uid, "/parent"))

    def end(self) -> None:
        self.let_go.set()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


def uids_of(requests: tuple[MakeCgroup, ...]) -> list[str]:
    return [request.pod.metadata.uid for request in requests]


def answers_of(turn: Turn) -> list[str]:
    return [made.uid for request, made in turn.to_answer() if request.pod.metadata.uid == made.uid]


def test_a_slow_turn_gives_back_pods_not_begun_and_answers_those_made() -> None:
    turn = turn_of("a", "b", "c", "d")
    lane = Lane(turn, "b")
    assert uids_of(turn.take_back()) == ["c", "d"]
    assert answers_of(turn) == ["a"]
    assert len(turn) == 1
    lane.end()
    assert answers_of(turn) == ["b"], "it makes no other when it goes on"
    assert turn.give_up() == ()


def test_a_call_that_is_given_up_begins_no_other_when_it_goes_on() -> None:
    turn = turn_of("a", "b", "c")
    lane = Lane(turn, "b")
    assert answers_of(turn) == ["a"]
    assert uids_of(turn.give_up()) == ["b", "c"]
    lane.end()
    assert list(turn.groups())[1:] == []


def test_the_first_pod_stays_in_a_turn_that_has_not_begun() -> None:
    turn = turn_of("a", "b")
    assert uids_of(turn.take_back()) == ["b"]
    assert [group.uid for group in turn.groups()] == ["a"]
