"""`PlegActor` and its lists of what runs: who is told, how often, and what a list that hangs costs."""

from __future__ import annotations

import pytest

from actors.messages.pods import (
    ContainersDied,
    LookAgain,
    PlegStarted,
    PodWorkerStarted,
    RuntimeTold,
    SyncLoopStarted,
    UnknownPodsObserved,
)
from actors.pleg.pleg import GIVE_UP_NS, RELIST_WITH_EVENTS_NS, DescribePleg
from config.frozen_map import FrozenMap
from runtime.cri import CriError, StatusCode
from tests.actors.pleg.hand_played import EXITED, RUNNING, SECOND_NS, World
from tests.actors.recorders import Recorder, only


def test_the_first_list_is_told_even_when_nothing_runs(world: World):
    assert world.loop == [PlegStarted(), UnknownPodsObserved(())]
    assert len(world.listed) == 1


def test_a_sync_loop_that_begins_anew_is_told_that_nobody_is_unknown(world: World):
    world.pleg.tell(SyncLoopStarted())
    world.run()
    assert only(world.loop, UnknownPodsObserved) == [UnknownPodsObserved(())] * 2


# (spec 2.10.2)
def test_pods_that_run_and_have_no_worker_are_told_with_every_list(worlds: list[World]):
    world = World(serves_events=False)
    worlds.append(world)
    world.runtime.containers = {"1": RUNNING, "2": EXITED}
    world.start()
    world.run(SECOND_NS)
    assert world.unknown()[0] == ["1"]
    world.worker("1")
    count = len(world.unknown())
    world.run(5 * SECOND_NS)
    assert len(world.unknown()) == count


# (spec 2.3.2)
def test_a_change_notifies_the_worker_once_and_a_death_the_collector_once(without_events: World):
    world = without_events
    first, second = world.worker("1"), world.worker("2")
    world.runtime.containers = {"1": RUNNING, "2": RUNNING}
    world.run(SECOND_NS)
    told = ([RuntimeTold(FrozenMap({"1-c": RUNNING}))], [RuntimeTold(FrozenMap({"2-c": RUNNING}))])
    assert ((first, second), world.died) == (told, [])
    world.runtime.containers["1"] = EXITED
    world.run(SECOND_NS)
    assert (len(first), len(second), world.died) == (2, 1, [ContainersDied((("1", "web"),))])
    world.run(10 * SECOND_NS)
    assert (len(first), len(second), len(world.died)) == (2, 1, 1)


def test_a_worker_that_has_ended_is_told_no_more(without_events: World):
    hints = without_events.worker("1")
    without_events.workers["1"].stop(block=False)
    without_events.runtime.containers = {"1": EXITED}
    without_events.run(2 * SECOND_NS)
    assert hints == []


# (spec 2.1.2)
def test_lists_come_every_second_without_events_and_rarely_with_them(world: World, without_events: World):
    for each in (world, without_events):
        each.runtime.lists = 0
        each.run(30 * SECOND_NS)
    assert world.runtime.lists == 30 * SECOND_NS // RELIST_WITH_EVENTS_NS
    assert without_events.runtime.lists == 30


def test_a_failed_list_is_repeated_after_a_second_even_with_events(world: World):
    world.run(RELIST_WITH_EVENTS_NS)
    before = world.runtime.lists
    world.runtime.error = CriError(StatusCode.UNKNOWN, "no", "ListPodSandbox")
    world.run(RELIST_WITH_EVENTS_NS)
    failed = world.runtime.lists - before
    assert failed >= 1
    world.run(3 * SECOND_NS)
    assert world.runtime.lists - before == failed + 3
    world.runtime.error = None
    world.run(SECOND_NS)
    before = world.runtime.lists
    world.run(3 * RELIST_WITH_EVENTS_NS)
    assert world.runtime.lists - before == 3


def test_a_failed_list_is_not_an_empty_runtime(without_events: World, caplog: pytest.LogCaptureFixture):
    world = without_events
    hints = world.worker("1")
    world.runtime.containers = {"1": RUNNING}
    world.run(SECOND_NS)
    world.runtime.error = CriError(StatusCode.UNKNOWN, "the disk is full", "ListContainers")
    listed = len(world.listed)
    world.run(10 * SECOND_NS)
    assert (len(hints), world.died, len(world.listed)) == (1, [], listed)
    assert caplog.text.count("the disk is full") == 1
    world.runtime.error = None
    world.run(2 * SECOND_NS)
    assert (len(hints), world.died) == (1, [])
    assert len(world.listed) > listed


def test_a_list_that_hangs_stops_no_hint_and_no_announcement_and_is_given_up(world: World):
    hints = world.worker("1")
    world.runtime.hangs = True
    world.run(RELIST_WITH_EVENTS_NS)
    assert len(world.runtime.open) == 2
    world.event("1")
    late = world.worker("2")
    world.event("2")
    world.run()
    assert (hints, late) == ([LookAgain()], [LookAgain()])
    world.run(GIVE_UP_NS)
    assert all(promise.done() for _, promise in world.runtime.open[:2])
    age_ns, _, _ = world.pleg.ask(DescribePleg())
    assert age_ns is not None
    assert age_ns >= GIVE_UP_NS
    world.runtime.let_go()
    world.runtime.containers = {"1": RUNNING}
    world.run(RELIST_WITH_EVENTS_NS + SECOND_NS)
    assert len(hints) == 2
    assert world.pleg.ask(DescribePleg())[0] <= RELIST_WITH_EVENTS_NS


def test_a_list_that_ends_after_it_was_given_up_is_not_taken_for_news(without_events: World):
    world = without_events
    world.worker("1")
    world.runtime.hangs = True
    world.run(2 * SECOND_NS)
    old = list(world.runtime.open)
    world.runtime.open.clear()
    world.run(GIVE_UP_NS + SECOND_NS)
    world.runtime.containers = {"1": RUNNING}
    for verb, promise in old:
        if not promise.done():
            promise.set_result(world.runtime.answer(verb))
    listed = len(world.listed)
    world.run()
    assert len(world.listed) == listed
    world.runtime.let_go()
    world.run(SECOND_NS)
    assert len(world.listed) > listed


def test_an_event_during_a_list_causes_another_list_soon_after(world: World):
    world.runtime.hangs = True
    world.run(RELIST_WITH_EVENTS_NS)
    world.event("stranger")
    world.runtime.let_go()
    world.run()
    world.runtime.containers = {"stranger": RUNNING}
    world.run(SECOND_NS)
    assert world.unknown()[-1] == ["stranger"]


def test_a_fault_of_the_program_in_a_list_restarts_the_actor_and_workers_are_asked_for(world: World):
    hints = world.worker("1")
    world.runtime.hangs = True
    world.run(RELIST_WITH_EVENTS_NS)
    world.runtime.open[0][1].set_exception(ZeroDivisionError("a fault of the program"))
    world.runtime.let_go()
    world.run(2 * SECOND_NS)
    assert only(world.loop, PlegStarted) == [PlegStarted()] * 2
    ref, again = Recorder.spawn_in(world.system, "again", LookAgain)
    world.pleg.tell(PodWorkerStarted("1", ref))
    world.event("1")
    world.run()
    assert (hints, again) == ([], [LookAgain()])
