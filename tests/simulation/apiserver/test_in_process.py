"""The server in a simulated world: virtual time, latency, faults, outages."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Promise, SimulatedDispatcher
from config.api_resources import PODS
from config.objects import Container, ObjectMeta, Pod, PodSpec
from runtime.api import ApiCall, ApiError, WatchEvent, create, get, patch, watch_objects
from simulation.apiserver.in_process import InProcessApi
from simulation.apiserver.server import ApiServer
from simulation.faults import CallFaults, EventFaultPlan, FaultPlan, Faults

MS = 10**6
SECOND_NS = 10**9


class World:
    def __init__(self, plan: FaultPlan | None = None, latency_ns: int = 5 * MS, seed: int = 7) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.server = ApiServer(self.dispatcher)
        self.faults = None if plan is None else Faults(plan, seed)
        self.api = InProcessApi(self.dispatcher, self.server, latency_ns=latency_ns, faults=self.faults)
        self.direct = InProcessApi(self.dispatcher, self.server)
        self.events: list[str] = []
        self.ends: list[ApiError | None] = []

    def make(self, name: str = "web") -> Any:
        containers = (Container(name="main", image="nginx:1"),)
        pod = Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=PodSpec(containers=containers))
        return self.direct.call(create(PODS, "default", pod)).result()

    def follow(self, since: str = "0") -> Any:
        def take(event: WatchEvent[Pod]) -> None:
            self.events.append(f"{event.type} {event.object.metadata.name}" if event.object else event.type)

        return self.api.watch(watch_objects(PODS, resource_version=since), take, self.ends.append)

    def error_of(self, call: ApiCall[Any], after_ns: int = 60 * SECOND_NS, **options: Any) -> ApiError:
        answer = self.api.call(call, **options)
        self.dispatcher.run_for(after_ns)
        error = answer.exception()
        assert isinstance(error, ApiError)
        return error


GET = get(PODS, "default", "web")
RUNNING = patch(PODS, "default", "web", {"status": {"phase": "Running"}}, subresource="status")


def test_an_answer_takes_the_latency() -> None:
    world = World()
    world.make()
    answer = world.api.call(GET)
    world.dispatcher.run_for(5 * MS - 1)
    assert not answer.done()
    world.dispatcher.run_for(1)
    assert answer.result().metadata.name == "web"


def test_events_come_after_the_latency_in_their_order() -> None:
    world = World()
    world.follow()
    world.dispatcher.run_for(5 * MS)
    for name in ("a", "b"):
        world.make(name)
    assert world.events == []
    world.dispatcher.run_for(5 * MS)
    assert world.events == ["ADDED a", "ADDED b"]


def test_in_an_outage_nothing_arrives_and_afterwards_everything_is_as_it_was() -> None:
    world = World()
    world.make()
    world.follow()
    world.dispatcher.run_for(SECOND_NS)
    on_its_way = world.api.call(RUNNING)
    world.api.down(10 * SECOND_NS)
    error = on_its_way.exception()
    assert isinstance(error, ApiError)
    assert (error.code, error.reason) == (0, "Unreachable")
    refused = world.error_of(GET, SECOND_NS)
    assert refused.outcome_unknown
    assert [end.reason if end else None for end in world.ends] == ["Unreachable"]
    world.dispatcher.run_for(10 * SECOND_NS)
    answer = world.api.call(GET)
    world.dispatcher.run_for(SECOND_NS)
    assert answer.result().status.phase == "Pending"
    assert world.api.in_flight == 0


@pytest.mark.parametrize(
    ("faults", "reason", "done"),
    [
        (CallFaults(fail=1), "", False),
        (CallFaults(lose=1), "Unreachable", True),
        (CallFaults(hang=1), "Timeout", False),
    ],
)
def test_a_call_that_fails_may_have_been_done(faults: CallFaults, reason: str, done: bool) -> None:
    world = World(FaultPlan(calls={"patch pods/status": faults}))
    world.make()
    error = world.error_of(RUNNING, timeout_ns=20 * SECOND_NS)
    assert error.outcome_unknown
    assert not reason or error.reason == reason
    assert (world.direct.call(GET).result().status.phase == "Running") is done
    assert world.faults is not None
    world.faults.heal()
    healed = world.api.call(RUNNING)
    world.dispatcher.run_for(SECOND_NS)
    assert healed.result().status.phase == "Running"


def test_a_watch_is_cut_and_can_be_resumed_where_it_was() -> None:
    world = World(FaultPlan(events=EventFaultPlan(cut=1)))
    made = world.make("a")
    world.follow(made.metadata.resource_version)
    world.dispatcher.run_for(SECOND_NS)
    world.make("b")
    world.dispatcher.run_for(SECOND_NS)
    assert (world.events, [end.code if end else None for end in world.ends]) == ([], [0])
    assert world.faults is not None
    world.faults.heal()
    world.follow(made.metadata.resource_version)
    world.dispatcher.run_for(SECOND_NS)
    assert world.events == ["ADDED b"]


def test_a_closed_watch_tells_its_end_once_and_nothing_more() -> None:
    world = World()
    watch = world.follow()
    world.dispatcher.run_for(SECOND_NS)
    world.make()
    watch.close()
    watch.close()
    world.dispatcher.run_for(SECOND_NS)
    assert (world.events, world.ends) == ([], [None])


def test_bookmarks_come_once_a_minute() -> None:
    world = World()
    world.follow()
    world.dispatcher.run_for(150 * SECOND_NS)
    assert world.events == ["BOOKMARK", "BOOKMARK"]


def test_what_is_asked_is_counted() -> None:
    world = World(latency_ns=0)
    world.make()
    for _ in range(2):
        world.api.call(RUNNING)
    world.api.call(GET)
    assert world.api.calls == {"patch pods/status": 2, "get pods": 1}


def test_the_same_seed_gives_the_same_world() -> None:
    def trace(seed: int) -> list[object]:
        world = World(FaultPlan(calls={"*": CallFaults(fail=0.2, lose=0.2, late=0.5)}), seed=seed)
        made = world.make()
        answers: list[Promise[Pod]] = [world.api.call(RUNNING) for _ in range(20)]
        world.dispatcher.run_for(60 * SECOND_NS)
        outcomes: list[object] = [made.metadata.uid, made.spec.volumes[0].name]
        return outcomes + [str(answer.exception()) for answer in answers]

    assert trace(3) == trace(3)
    assert trace(3) != trace(4)
