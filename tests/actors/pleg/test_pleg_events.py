"""`PlegActor` and the events of a runtime: whom they reach, and what their loss costs."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import MailboxOverflowed
from actors.messages.pods import LookAgain, PlegStarted, PodWorkerStarted, RuntimeTold, WorkersKnown
from actors.model.runtime_shown import GONE
from actors.pleg.event_gatherer import EventGatherer, PodEventSeen
from actors.pleg.pleg import EVERYBODY_NS, RELIST_WITH_EVENTS_NS, DescribePleg, PlegActor, Relist
from config.frozen_map import FrozenMap
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import ContainerEventType, ContainerState, ContainerStatus
from tests.actors.pleg.hand_played import EXITED, RUNNING, SECOND_NS, World
from tests.actors.recorders import Recorder, only, replace_handler


# (spec 2.5.6)
def test_an_event_is_a_hint_to_the_worker_of_its_pod(world: World):
    first, second = world.worker("1"), world.worker("2")
    world.event("1")
    world.run()
    assert (first, second) == ([LookAgain()], [])


def test_several_events_of_a_pod_reach_its_worker_as_one_message(world: World):
    told = world.worker("1")
    world.event("1", ContainerStatus(id="a", state=RUNNING), of="a")
    world.event("1", ContainerStatus(id="a", state=EXITED), ContainerStatus(id="b", state=RUNNING), of="b")
    world.run(SECOND_NS)
    assert told == [RuntimeTold(FrozenMap({"a": EXITED, "b": RUNNING}))]


def test_a_stop_event_is_passed_on_at_once_and_other_events_within_a_second(world: World):
    told = world.worker("1")
    running, exited = ContainerStatus(id="a", state=RUNNING), ContainerStatus(id="a", state=EXITED)
    world.event("1", running, of="a", kind=ContainerEventType.CONTAINER_STARTED_EVENT)
    world.run(SECOND_NS // 2)
    assert told == []
    world.event("1", exited, of="a", kind=ContainerEventType.CONTAINER_STOPPED_EVENT)
    world.run()
    assert told == [RuntimeTold(FrozenMap({"a": EXITED}))]
    world.event("1", of="a", kind=ContainerEventType.CONTAINER_DELETED_EVENT)
    world.run(SECOND_NS)
    assert told[1:] == [RuntimeTold(FrozenMap({"a": GONE}))]


def test_a_gatherer_that_fails_loses_what_it_had_and_hears_what_comes_after_that(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    handlers = dict(EventGatherer.message_handlers)
    gathered, failures = handlers[PodEventSeen], ["a bug"]

    def fails_once(actor: Any, message: PodEventSeen) -> Any:
        if failures:
            raise RuntimeError(failures.pop())
        return gathered(actor, message)

    replace_handler(monkeypatch, EventGatherer, PodEventSeen, fails_once)
    told = world.worker("1")
    world.event("1", ContainerStatus(id="a", state=RUNNING), of="a")
    world.run(SECOND_NS)
    assert (told, failures) == ([], [])
    world.event("1", ContainerStatus(id="b", state=RUNNING), of="b")
    world.run(2 * SECOND_NS)
    assert told == [RuntimeTold(FrozenMap({"b": RUNNING}))]


@pytest.mark.parametrize("told_before", [RUNNING, EXITED, None])
def test_a_list_tells_a_worker_also_what_an_event_has_told_it_since_it_may_have_looked_too_soon(
    world: World, told_before: ContainerState | None
):
    told = world.worker("1")
    world.run(2 * SECOND_NS)
    world.runtime.containers = {"1": EXITED}
    if told_before is not None:
        world.event("1", ContainerStatus(id="1-c", state=told_before), of="1-c")
    world.run(11 * SECOND_NS)
    listed = [RuntimeTold(FrozenMap({"1-c": EXITED}))]
    assert told == ([] if told_before is None else [RuntimeTold(FrozenMap({"1-c": told_before}))]) + listed


def test_a_worker_that_has_begun_since_is_told_by_the_list_what_an_event_has_told_the_one_before_it(world: World):
    world.worker("1")
    world.run(2 * SECOND_NS)
    world.runtime.containers = {"1": EXITED}
    world.event("1", ContainerStatus(id="1-c", state=EXITED), of="1-c")
    world.run(2 * SECOND_NS)
    ref, hints = Recorder.spawn_in(world.system, "another", RuntimeTold)
    world.pleg.tell(PodWorkerStarted("1", ref))
    world.run(10 * SECOND_NS)
    assert hints == [RuntimeTold(FrozenMap({"1-c": EXITED}))]


def test_a_deleted_container_without_a_worker_causes_no_list(world: World):
    world.run(2 * SECOND_NS)
    world.runtime.lists = 0
    world.event("stranger", of="a", kind=ContainerEventType.CONTAINER_DELETED_EVENT)
    world.run(3 * SECOND_NS)
    assert world.runtime.lists == 0
    world.event("stranger", ContainerStatus(id="b", state=RUNNING), of="b")
    world.run(3 * SECOND_NS)
    assert world.runtime.lists == 1


def test_an_event_that_does_not_tell_how_its_own_container_is_makes_its_worker_look(world: World):
    told = world.worker("1")
    world.event("1", ContainerStatus(id="a", state=RUNNING), of="a")
    world.event("1", ContainerStatus(id="a", state=RUNNING), of="b")
    world.run()
    assert told == [LookAgain()]


@pytest.mark.parametrize("uid", ["stranger", ""])
def test_an_event_that_belongs_to_no_worker_brings_a_list_within_a_second(world: World, uid: str):
    world.runtime.containers = {"stranger": RUNNING}
    world.event(uid)
    world.run(SECOND_NS)
    assert world.unknown()[-1] == ["stranger"]


def test_a_storm_of_events_costs_one_hint_a_pod_and_one_list_a_second(world: World):
    hints = world.worker("1")
    world.runtime.lists = 0
    for _ in range(100):
        for _ in range(1_000):
            world.event("1")
            world.event("stranger")
        world.run(SECOND_NS // 10)
    assert len(hints) == 100
    assert world.runtime.lists <= 11


def test_an_overflow_of_the_mailbox_makes_everybody_look(world: World):
    first, second = world.worker("1"), world.worker("2")
    for number in range(PlegActor.mailbox_capacity + 100):
        world.event(f"stranger {number}")
    world.event("1")
    world.run(EVERYBODY_NS)
    assert only(world.loop, PlegStarted) == [PlegStarted()] * 2, "a worker may have been lost, too"
    unheard, third = Recorder.spawn_in(world.system, "unheard", LookAgain)
    world.pleg.tell(WorkersKnown((("3", unheard),)))
    world.run()
    assert (first, second, third) == ([], [], [LookAgain()]), "who is no more is not told"


def test_a_list_whose_time_was_lost_on_the_way_is_made_up_for(world: World):
    actor = world.pleg.actor_inbox.actor
    assert actor is not None
    actor.cancel_timer(Relist)  # as a mailbox that is full does it
    world.run(2 * RELIST_WITH_EVENTS_NS)
    world.runtime.lists = 0
    world.pleg.tell(MailboxOverflowed())
    world.run(EVERYBODY_NS)
    assert world.runtime.lists == 1
    world.run(2 * RELIST_WITH_EVENTS_NS)
    assert world.runtime.lists == 3, "and from then on as before"


# (spec 2.5.6)
def test_a_stream_that_breaks_is_listed_over_at_once_and_opened_again(world: World):
    world.worker("1")
    world.runtime.lists = 0
    world.runtime.streams[-1].on_end(CriError(StatusCode.UNAVAILABLE, "gone", "GetContainerEvents"))
    world.run()
    assert world.runtime.lists == 1
    assert world.pleg.ask(DescribePleg())[2] is False
    world.run(5 * SECOND_NS)
    assert len(world.runtime.streams) == 2
    world.event("1")
    world.run()
    assert world.hints["1"] == [LookAgain()]


def test_a_stream_is_opened_again_whose_end_and_beginning_met_a_full_mailbox(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(PlegActor, "mailbox_capacity", 1)
    world = World().start()
    assert len(world.runtime.streams) == 1, "the list that the actor wants at its start was all that its mailbox takes"
    world.event("stranger")
    world.event("another")
    world.runtime.streams[-1].on_end(CriError(StatusCode.UNAVAILABLE, "gone", "GetContainerEvents"))
    world.run(5 * SECOND_NS)
    assert len(world.runtime.streams) == 2


# (spec 2.5.6)
def test_a_runtime_without_events_is_asked_for_them_once(without_events: World):
    without_events.run(60 * SECOND_NS)
    assert len(without_events.runtime.streams) == 1


def test_stopping_closes_the_stream(worlds: list[World]):
    world = World().start()
    assert world.system.stop()
    assert world.runtime.streams[0].closed
