"""`RuntimeMonitorActor` on the simulated runtime: what it tells, when, and how often it asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, kept
from actors.messages.node import RuntimeDescribed
from actors.messages.pods import RuntimeStateObserved, SyncLoopStarted
from actors.pleg.runtime_monitor import POLL_NS, TIMEOUT_NS, DescribeRuntime, RuntimeMonitorActor
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import StatusRequest, VersionResponse
from runtime.cri.verbs import STATUS, VERSION
from simulation.cri import SimulatedCri
from tests.actors.recorders import Recorder, only

SECOND_NS = 1_000_000_000


class Between:
    """Stands between the monitor and a runtime: counts, answers for it, and lets calls hang."""

    def __init__(self, cri: Cri) -> None:
        self.cri = cri
        self.counts: dict[str, int] = {}
        self.version: VersionResponse | None = None
        self.hangs: set[str] = set()

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        assert timeout_ns == TIMEOUT_NS
        self.counts[verb.name] = self.counts.get(verb.name, 0) + 1
        if verb.name in self.hangs:
            return Promise[Any]()
        if verb is VERSION and self.version is not None:
            return kept(self.version)
        return self.cri.call(verb, request, timeout_ns=timeout_ns)

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.cri = SimulatedCri(self.dispatcher)
        self.between = Between(self.cri)
        loop, self.words = Recorder.spawn_in(self.system, "loop", RuntimeStateObserved)
        node, self.node = Recorder.spawn_in(self.system, "node", RuntimeStateObserved, RuntimeDescribed)
        self.spawn = lambda: self.system.spawn(RuntimeMonitorActor, self.between, loop, node, name="monitor")

    def start(self) -> World:
        self.monitor: ActorRef = self.spawn()
        self.run()
        return self

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)

    @property
    def told(self) -> list[RuntimeStateObserved]:
        """The messages with news that the sync loop got."""
        before = [None, *self.words]
        return [each for last, each in zip(before, self.words, strict=False) if each != last]

    def errors(self) -> list[tuple[bool, bool]]:
        """(runtime error, network error) of each of these messages."""
        return [(bool(each.error), bool(each.network_error)) for each in self.told]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_a_ready_runtime_is_told_with_each_answer_and_described(world: World):
    world.start().run(60 * SECOND_NS)
    assert world.errors() == [(False, False)]
    assert world.told[0].runtime_name
    # Both are told each time: they may have been restarted.
    assert world.words == world.told * 13
    assert only(world.node, RuntimeStateObserved) == world.told * 13
    described, *others = only(world.node, RuntimeDescribed)
    assert others == [described] * 12
    version = world.monitor.ask(DescribeRuntime())
    assert (described.name, described.version) == (version.runtime_name, version.runtime_version)
    assert [handler.name for handler in described.handlers] == sorted(handler.name for handler in described.handlers)
    assert world.between.counts == {"Version": 1, "Status": 13}


def test_a_sync_loop_that_begins_anew_is_told_at_once_what_is_known(world: World):
    monitor = world.spawn()
    monitor.tell(SyncLoopStarted())
    world.run(SECOND_NS)
    world.words.clear()
    monitor.tell(SyncLoopStarted())
    world.run(SECOND_NS)
    assert [each.error for each in world.words] == [""]


# (spec 2.2.5)
def test_trouble_of_the_network_and_of_the_runtime_is_told_when_it_changes(world: World):
    world.start()
    world.cri.set_ready(network=False)
    world.run(2 * POLL_NS)
    world.cri.set_ready(runtime=False, network=False)
    world.run(2 * POLL_NS)
    world.cri.set_ready()
    world.run(2 * POLL_NS)
    assert world.errors() == [(False, False), (False, True), (True, True), (False, False)]
    assert len(set(map(str, only(world.node, RuntimeDescribed)))) == 1


def test_a_missing_runtime_is_waited_for_every_second_and_said_once(world: World, caplog: pytest.LogCaptureFixture):
    world.cri.go_down()
    world.start().run(30 * SECOND_NS)
    assert world.errors() == [(True, True)]
    assert world.between.counts == {"Version": 31}
    assert caplog.text.count("waiting for the runtime") == 1
    world.cri.come_back()
    world.run(SECOND_NS)
    assert world.errors()[-1] == (False, False)


def test_runtime_trouble_is_reported_with_the_time_of_its_last_answer(world: World):
    world.start().run(12 * SECOND_NS)
    world.cri.go_down()
    world.run(10 * SECOND_NS)
    # The trouble is told again when its words change: first the status failed, then the version.
    assert [each.silent_since_ns for each in world.told] == [None, 10 * SECOND_NS, 10 * SECOND_NS]
    assert {each.runtime_name for each in world.told} == {"simulated"}
    world.cri.come_back()
    world.run(5 * SECOND_NS)
    assert world.told[-1].silent_since_ns is None


def test_a_report_says_since_when_it_is_so(world: World):
    world.start().run(SECOND_NS)
    world.cri.set_ready(network=False)
    world.run(3 * POLL_NS)
    assert [each.since_ns for each in world.words] == [0, POLL_NS, POLL_NS, POLL_NS]


def test_a_runtime_that_comes_back_is_asked_for_its_version(world: World):
    world.start()
    world.cri.go_down()
    world.run(POLL_NS)
    world.cri.come_back()
    other = VersionResponse(version="0.1.0", runtime_name="other", runtime_version="2", runtime_api_version="v1")
    world.between.version = other
    world.run(POLL_NS)
    assert world.told[-1].runtime_name == "other"
    assert only(world.node, RuntimeDescribed)[-1].version == "2"


# (spec 3.14.3)
def test_a_runtime_of_another_interface_is_waited_for_and_said_once(world: World, caplog: pytest.LogCaptureFixture):
    world.between.version = VersionResponse(version="0.0.9", runtime_name="old", runtime_version="1")
    world.start().run(20 * SECOND_NS)
    assert world.errors() == [(True, True)]
    assert "old 1 says interface version 0.0.9" in world.told[0].error
    assert world.told[0].silent_since_ns is None
    assert caplog.text.count("waiting for the runtime") == 1
    world.between.version = None
    world.run(SECOND_NS)
    assert world.errors()[-1] == (False, False)


def test_a_status_that_hangs_is_trouble_after_its_deadline_and_the_monitor_is_named_late(
    monkeypatch: pytest.MonkeyPatch,
):
    world = World().start()
    dispatcher, system = world.dispatcher, world.system
    # The runtime's own deadline: the call fails with DEADLINE_EXCEEDED.
    world.run(POLL_NS)
    late = CriError(StatusCode.DEADLINE_EXCEEDED, "no answer within 30 s", "Status")
    answers: list[Promise[Any]] = []

    def hang(verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        if verb is not STATUS:
            return world.cri.call(verb, request, timeout_ns=timeout_ns)
        promise: Promise[Any] = Promise()
        answers.append(promise)
        dispatcher.schedule(timeout_ns or 0, lambda: promise.set_exception(late))
        return promise

    monkeypatch.setattr(world.between, "call", hang)
    world.run(POLL_NS + TIMEOUT_NS)
    assert world.errors() == [(False, False), (True, True)]
    assert world.told[-1].silent_since_ns == POLL_NS
    assert system.stop()


def test_the_status_of_the_simulated_runtime_is_what_the_monitor_reads(world: World):
    response = world.cri.call(STATUS, StatusRequest()).result()
    assert response.status is not None
    assert {each.type for each in response.status.conditions} >= {"RuntimeReady", "NetworkReady"}
