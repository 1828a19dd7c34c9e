"""`PlegActor` against a runtime played by hand.

Lists come, hang and fail; events come, storm and break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from actors.kernel import ActorRef, ActorSystem, MailboxOverflowed, Promise, SimulatedDispatcher, kept
from actors.messages.node import RuntimeListed
from actors.messages.pods import (
    ContainersDied,
    LookAgain,
    PlegStarted,
    PodWorkerStarted,
    RuntimeTold,
    SyncLoopStarted,
    UnknownPodsObserved,
    WorkersKnown,
)
from actors.model.runtime_shown import GONE
from actors.pleg.event_gatherer import EventGatherer, PodEventSeen
from actors.pleg.pleg import (
    EVERYBODY_NS,
    GIVE_UP_NS,
    LIST_TIMEOUT_NS,
    RELIST_WITH_EVENTS_NS,
    DescribePleg,
    PlegActor,
    Relist,
)
from config.frozen_map import FrozenMap
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import (
    Container,
    ContainerEventResponse,
    ContainerEventType,
    ContainerState,
    ContainerStatus,
    ListContainersResponse,
    ListPodSandboxResponse,
    PodSandboxMetadata,
    PodSandboxStatus,
)
from runtime.cri.verbs import LIST_CONTAINERS, LIST_POD_SANDBOX
from tests.actors.recorders import Recorder, only, replace_handler

SECOND_NS = 1_000_000_000
RUNNING, EXITED = ContainerState.CONTAINER_RUNNING, ContainerState.CONTAINER_EXITED
CREATED = ContainerEventType.CONTAINER_CREATED_EVENT


class Stream:
    def __init__(self, on_item: Callable[[Any], None], on_end: Callable[[CriError | None], None]) -> None:
        self.on_item = on_item
        self.on_end = on_end
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self.on_end(None)


class Runtime:
    """Lists what it is told to have. `hangs`: answers of lists stay open; `error`: they fail."""

    def __init__(self) -> None:
        self.containers: dict[str, ContainerState] = {}
        self.hangs = False
        self.error: CriError | None = None
        self.lists = 0
        self.open: list[tuple[Any, Promise[Any]]] = []
        self.streams: list[Stream] = []
        self.serves_events = True

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        assert timeout_ns == LIST_TIMEOUT_NS
        self.lists += verb is LIST_CONTAINERS
        promise: Promise[Any] = Promise()
        if self.hangs:
            self.open.append((verb, promise))
        elif self.error is not None:
            promise.set_exception(self.error)
        else:
            return kept(self.answer(verb))
        return promise

    def answer(self, verb: Any) -> Any:
        if verb is LIST_POD_SANDBOX:
            return ListPodSandboxResponse()
        listed = tuple(
            Container(
                id=f"{uid}-c",
                state=state,
                labels={
                    "io.kubernetes.pod.uid": uid,
                    "io.kubernetes.container.name": "web",
                    "io.kubernetes.pod.name": f"pod-{uid}",
                    "io.kubernetes.pod.namespace": "default",
                },
            )
            for uid, state in self.containers.items()
        )
        return ListContainersResponse(containers=listed)

    def let_go(self) -> None:
        self.hangs = False
        for verb, promise in self.open:
            if not promise.done():
                promise.set_result(self.answer(verb))
        self.open.clear()

    def stream(self, verb: Any, request: Any, on_item: Any, on_end: Any) -> Stream:
        stream = Stream(on_item, on_end)
        self.streams.append(stream)
        if not self.serves_events:
            on_end(CriError(StatusCode.UNIMPLEMENTED, "no such verb", "GetContainerEvents"))
        return stream


class World:
    def __init__(self, *, serves_events: bool = True) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.runtime = Runtime()
        self.runtime.serves_events = serves_events
        self.sync_loop, self.loop = Recorder.spawn_in(self.system, "loop", PlegStarted, UnknownPodsObserved)
        self.gc, self.died = Recorder.spawn_in(self.system, "gc", ContainersDied)
        self.node, self.listed = Recorder.spawn_in(self.system, "node", RuntimeListed)
        self.hints: dict[str, list[Any]] = {}
        self.workers: dict[str, ActorRef] = {}

    def start(self) -> World:
        self.pleg: ActorRef = self.system.spawn(
            PlegActor, self.runtime, self.sync_loop, self.gc, self.node, name="pleg"
        )
        self.run()
        return self

    def worker(self, uid: str) -> list[Any]:
        self.workers[uid], self.hints[uid] = Recorder.spawn_in(self.system, uid, LookAgain, RuntimeTold)
        self.pleg.tell(PodWorkerStarted(uid, self.workers[uid]))
        self.run()
        return self.hints[uid]

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    def event(self, uid: str, *containers: ContainerStatus, of: str = "", kind: ContainerEventType = CREATED) -> None:
        status = PodSandboxStatus(metadata=PodSandboxMetadata(uid=uid)) if uid else None
        event = ContainerEventResponse(
            container_id=of,
            container_event_type=kind,
            pod_sandbox_status=status,
            containers_statuses=containers,
        )
        self.runtime.streams[-1].on_item(event)

    def unknown(self) -> list[list[str]]:
        return [[pod.uid for pod in each.pods] for each in only(self.loop, UnknownPodsObserved)]


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World())
    return worlds[-1].start()


@pytest.fixture
def without_events(worlds: list[World]) -> World:
    worlds.append(World(serves_events=False))
    return worlds[-1].start()


# --- lists ----------------------------------------------------------------------------------------------------------


def test_the_first_list_is_told_even_when_nothing_runs(world: World):
    assert world.loop == [PlegStarted(), UnknownPodsObserved(())]
    assert len(world.listed) == 1


def test_a_sync_loop_that_begins_anew_is_told_that_nobody_is_unknown(world: World):
    world.pleg.tell(SyncLoopStarted())
    world.run()
    assert only(world.loop, UnknownPodsObserved) == [UnknownPodsObserved(())] * 2


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


def test_lists_come_every_second_without_events_and_rarely_with_them(world: World, without_events: World):
    for each in (world, without_events):
        each.runtime.lists = 0
        each.run(30 * SECOND_NS)
    assert world.runtime.lists == 30 * SECOND_NS // RELIST_WITH_EVENTS_NS
    assert without_events.runtime.lists == 30


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


# --- events ---------------------------------------------------------------------------------------------------------


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


def test_a_runtime_without_events_is_asked_for_them_once(without_events: World):
    without_events.run(60 * SECOND_NS)
    assert len(without_events.runtime.streams) == 1


def test_stopping_closes_the_stream(worlds: list[World]):
    world = World().start()
    assert world.system.stop()
    assert world.runtime.streams[0].closed
