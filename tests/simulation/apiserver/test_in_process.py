"""The server in a simulated world: virtual time, latency, faults, outages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.kernel import Promise, SimulatedDispatcher
from config.api.resources import EVENTS, PODS
from config.documents.codec import unknown_fields
from config.objects import Container, ObjectMeta, Pod, PodSpec
from runtime.api import ApiCall, ApiError, WatchEvent, create, get, patch, watch_objects
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.chance.call_faults import CallFaults, EventFaultPlan, FaultPlan, Faults

MS = 10**6
SECOND_NS = 10**9


def phase_of(answer: Promise[Pod]) -> str | None:
    status = answer.result().status
    assert status is not None
    return status.phase


class World:
    def __init__(self, plan: FaultPlan | None = None, latency_ns: int = 5 * MS, seed: int = 7) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.server = ApiServer(self.dispatcher)
        self.faults = None if plan is None else Faults(plan, seed)
        self.api = InProcessApi(self.dispatcher, self.server, latency_ns=latency_ns, faults=self.faults)
        self.direct = InProcessApi(self.dispatcher, self.server)
        self.events: list[str] = []
        self.ends: list[ApiError | None] = []

    def make(self, name: str = "web", *, token: bool = True) -> Any:
        """A pod; without a token volume, whose name is drawn, it is like any other."""
        spec = PodSpec(containers=(Container(name="main", image="nginx:1"),), automount_service_account_token=token)
        pod = Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec)
        return self.direct.call(create(PODS, "default", pod)).result()

    def follow(self, since: str = "1") -> Any:
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
    assert phase_of(answer) == "Pending"
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
    assert (phase_of(world.direct.call(GET)) == "Running") is done
    assert world.faults is not None
    world.faults.heal()
    healed = world.api.call(RUNNING)
    world.dispatcher.run_for(SECOND_NS)
    assert phase_of(healed) == "Running"


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


def test_api_calls_are_counted_by_verb_and_resource() -> None:
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


def test_a_caller_gives_up_when_its_own_time_is_over_and_the_others_wait_on() -> None:
    world = World(FaultPlan(calls={"get pods": CallFaults(hang=1.0)}))
    ends: list[tuple[int, int, str]] = []

    def ask(after_s: int, timeout_s: int) -> None:
        def ended(done: Any) -> None:
            ends.append((world.dispatcher.now_ns() // SECOND_NS, timeout_s, str(done.exception())))

        def call() -> None:
            world.api.call(GET, timeout_ns=timeout_s * SECOND_NS).add_done_callback(ended)

        world.dispatcher.schedule(after_s * SECOND_NS, call)

    for after_s, timeout_s in ((0, 30), (1, 5), (2, 40), (3, 3), (20, 10)):
        ask(after_s, timeout_s)
    world.dispatcher.run_for(60 * SECOND_NS)
    assert [(at_s, timeout_s) for at_s, timeout_s, _ in ends] == [(6, 5), (6, 3), (30, 30), (30, 10), (42, 40)]
    assert all(f"no answer within {timeout_s} s" in why for _, timeout_s, why in ends)
    assert world.api.in_flight == 0


def test_pods_of_one_template_share_their_spec_and_nothing_that_may_change() -> None:
    world = World(latency_ns=0)
    made = [world.make(name, token=False) for name in ("a", "b")]
    stored = [world.server.store.get("pods", "default", name) for name in ("a", "b")]
    assert stored[0] is not None
    assert stored[1] is not None
    assert stored[0].object["spec"] is stored[1].object["spec"]
    assert made[0].spec is made[1].spec
    assert made[0].spec.containers[0].image_pull_policy == "IfNotPresent"
    world.api.call(patch(PODS, "default", "a", {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}))
    images = [world.api.call(get(PODS, "default", name)).result().spec.containers[0].image for name in ("a", "b")]
    assert images == ["nginx:2", "nginx:1"]
    assert made[0].spec.containers[0].image == "nginx:1"


def test_unknown_fields_of_a_pod_reach_an_in_process_reader() -> None:
    world = World(latency_ns=0)
    pod = {"metadata": {"name": "odd"}, "spec": {"newField": 1, "containers": [{"name": "main", "image": "a:1"}]}}
    world.server.handle(ApiRequest("POST", "/api/v1/namespaces/default/pods", body=msgspec.json.encode(pod)))
    read = world.api.call(get(PODS, "default", "odd")).result()
    assert unknown_fields(read) == ("$.spec.newField",)


def test_a_stored_event_keeps_its_reason_and_can_be_patched() -> None:
    world = World(latency_ns=0)
    path = "/api/v1/namespaces/default/events"
    for name in ("first", "second"):
        event = {"metadata": {"name": name}, "reason": name, "involvedObject": {"name": "web"}}
        world.server.handle(ApiRequest("POST", path, body=msgspec.json.encode(event)))
    for name in ("first", "second"):
        assert world.api.call(get(EVENTS, "default", name)).result().reason == name
    world.api.call(patch(EVENTS, "default", "first", {"count": 2}))
    assert world.api.call(get(EVENTS, "default", "first")).result().count == 2
    new_group = world.server.handle(ApiRequest("GET", f"/apis/events.k8s.io/v1/namespaces/default/events/{name}"))
    assert msgspec.json.decode(new_group.body())["regarding"] == {"name": "web"}  # type: ignore[union-attr]  # a get
