"""`EventRecorderActor` with an API server played by hand.

The tests show what the server is sent, how often, and what it is spared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from actors.events.recorder import CALL_LIMIT_NS, MAX_CALLS, MAX_TRIES, PAUSE_NS, REST_NS, EventRecorderActor
from actors.events.sending import MAX_AGE_NS, MAX_WAITING, event_name
from actors.kernel import ActorSystem, Promise, SimulatedDispatcher
from actors.messages.events import RecordEvent
from actors.messages.pods import ListEvents
from runtime.api import ApiCall, ApiError

SECOND_NS = 1_000_000_000
UNREACHABLE = ApiError(0, "Unreachable", "connection refused", "create events")


def event(
    message: str = "hello", name: str = "web", reason: str = "Created", kind: str = "Pod", severity: str = "Normal"
) -> RecordEvent:
    namespace = "" if kind == "Node" else "shop"
    uid = "" if kind == "Node" else f"uid-{name}"
    return RecordEvent(
        kind, uid, namespace, name, severity, reason, message, "" if kind == "Node" else "spec.containers{c}"
    )


class Server:
    """Keeps events by path.

    `error`: every call fails with it; `hangs`: no call is answered before `let_go`.
    """

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.calls: list[ApiCall[Any]] = []
        self.error: ApiError | None = None
        self.hangs = False
        self.open: list[tuple[ApiCall[Any], Promise[Any]]] = []
        self.most_open = 0

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        assert timeout_ns == CALL_LIMIT_NS
        self.calls.append(call)
        promise: Promise[Any] = Promise()
        self.open.append((call, promise))
        self.most_open = max(self.most_open, len(self.open))
        if not self.hangs:
            self.let_go()
        return promise

    def let_go(self, error: ApiError | None = None) -> None:
        """Answer what is open."""
        answered, self.open = self.open, []
        for call, promise in answered:
            failure = error or self.error or self.do(call)
            if failure is None:
                promise.set_result(call.read(b"not read"))
            else:
                promise.set_exception(failure)

    def do(self, call: ApiCall[Any]) -> ApiError | None:
        body = json.loads(call.body or b"")
        if call.method == "POST":
            path = f"{call.path}/{body['metadata']['name']}"
            if path in self.events:
                return ApiError(409, "AlreadyExists", "it is there", call.verb)
            self.events[path] = body
        elif call.path not in self.events:
            return ApiError(404, "NotFound", "no such event", call.verb)
        else:
            self.events[call.path] |= body
        return None

    def watch(self, *_: Any) -> Any:
        raise AssertionError("nobody watches here")

    def shown(self) -> list[tuple[str, int]]:
        return [(each["message"], each["count"]) for each in self.events.values()]


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.server = Server()
        self.recorder = self.system.spawn(EventRecorderActor, self.server, "n1", name="events")

    def tell(self, *events: RecordEvent, then_ns: int = REST_NS) -> None:
        for each in events:
            self.recorder.tell(each)
        self.run(then_ns)

    def run(self, ns: int = 0) -> None:
        self.dispatcher.run_for(ns)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


# (spec 15.2)
def test_an_event_of_a_container_says_all_that_kubectl_looks_for(world: World):
    world.tell(event())
    ((path, body),) = world.server.events.items()
    name = body["metadata"]["name"]
    assert path == f"/api/v1/namespaces/shop/events/{name}"
    stem, stamp = name.rsplit(".", 1)
    assert (stem, len(stamp), int(stamp, 16)) == ("web", 16, world.dispatcher.wall_ns())
    assert body.pop("firstTimestamp") == body.pop("lastTimestamp")
    assert body == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "shop"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web",
            "uid": "uid-web",
            "fieldPath": "spec.containers{c}",
        },
        "reason": "Created",
        "message": "hello",
        "type": "Normal",
        "count": 1,
        "source": {"component": "kubelet", "host": "n1"},
        "reportingComponent": "kubelet",
        "reportingInstance": "n1",
    }


# (spec 15.6)
def test_an_event_of_the_node_is_in_the_default_namespace_and_carries_its_name_as_uid(world: World):
    world.tell(event(kind="Node", name="n1", reason="Starting"))
    ((path, body),) = world.server.events.items()
    assert path.startswith("/api/v1/namespaces/default/events/n1.")
    assert body["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}


@pytest.mark.parametrize(
    ("first", "at_once"),
    [
        pytest.param(event("a"), [], id="good news of a pod"),
        pytest.param(event("a", severity="Warning"), [("a", 1)], id="a warning"),
        pytest.param(event("a", kind="Node", name="n1"), [("a", 1)], id="an event of the node"),
    ],
)
def test_good_news_of_a_pod_waits_for_more(world: World, first: RecordEvent, at_once: list[tuple[str, int]]):
    world.tell(first, then_ns=REST_NS - 1)
    assert world.server.shown() == at_once
    world.tell(event("b"), then_ns=1)
    assert world.server.shown()[0] == ("a", 1)
    world.run(REST_NS)
    assert world.server.shown() == [("a", 1), ("b", 1)]


def test_a_warning_takes_along_what_waits(world: World):
    world.tell(event("a"), then_ns=1)
    world.tell(event("b", severity="Warning"), then_ns=1)
    assert world.server.shown() == [("a", 1), ("b", 1)]


def test_an_event_that_comes_again_raises_the_count_of_the_one_that_is_there(world: World):
    world.tell(event("a"), then_ns=5 * SECOND_NS)
    world.tell(event("b"), then_ns=5 * SECOND_NS)
    world.tell(event("a"))
    assert world.server.shown() == [("a", 2), ("b", 1)]
    assert [call.method for call in world.server.calls] == ["POST", "POST", "PATCH"]
    assert world.server.calls[-1].content_type == "application/strategic-merge-patch+json"
    first = next(iter(world.server.events.values()))
    assert first["firstTimestamp"] < first["lastTimestamp"]


def test_similar_events_are_combined_in_one_that_shows_the_newest(world: World):
    world.tell(*(event(f"try {number}", reason="BackOff") for number in range(20)))
    shown = world.server.shown()
    assert len(shown) == 10
    assert shown[-1] == ("(combined from similar events): try 19", 11)


def test_events_held_back_by_the_spam_filter_count_in_the_next_one_sent(world: World):
    world.tell(*[event()] * 100)
    before = len(world.server.calls)
    assert before <= 25
    world.tell(event(), then_ns=300 * SECOND_NS)
    world.tell(event())
    assert len(world.server.calls) == before + 1
    assert world.server.shown() == [("hello", 102)]


def test_events_of_one_moment_have_names_of_their_own(world: World):
    world.tell(*(event(str(number)) for number in range(9)))
    assert len(world.server.events) == 9


def test_a_name_that_would_be_too_long_is_replaced():
    assert event_name("x" * 236, 255, lambda: "spare") == "x" * 236 + ".00000000000000ff"
    assert event_name("x" * 237, 255, lambda: "spare") == "spare"


def test_a_bounded_number_of_calls_is_under_way_and_one_of_each_event(world: World):
    world.server.hangs = True
    world.tell(*(event("same", name=f"p{number}") for number in range(50)))
    world.tell(*[event("same", name="p0")] * 5)
    assert len(world.server.open) == world.server.most_open == MAX_CALLS
    for _ in range(20):
        world.server.let_go()
        world.run()
    assert world.server.most_open == MAX_CALLS
    assert sorted(world.server.shown()) == [("same", 1)] * 49 + [("same", 6)]
    assert len(world.server.calls) == 51


def test_a_thousand_pods_cost_one_call_an_event(world: World):
    for number in range(1_000):
        for reason in ("Pulled", "Created", "Started"):
            world.tell(event(reason, name=f"p{number}", reason=reason))
    world.run(SECOND_NS)
    assert len(world.server.calls) == len(world.server.events) == 3_000


# --- an API server that is away -------------------------------------------------------------------------------------


def test_an_outage_is_probed_by_one_call_in_ten_seconds_and_loses_nothing(
    world: World, caplog: pytest.LogCaptureFixture
):
    world.server.error = UNREACHABLE
    for number in range(60):
        world.tell(event("again", name="web"), event("one", name=f"p{number}"), then_ns=10 * SECOND_NS)
    assert len(world.server.calls) <= 60 + MAX_CALLS
    assert caplog.text.count("events cannot be sent now") == 1
    calls = len(world.server.calls)
    world.server.error = None
    world.run(PAUSE_NS)
    assert len(world.server.calls) - calls == 61
    assert sorted(world.server.shown()) == [("again", 60)] + [("one", 1)] * 60


def test_in_an_outage_the_newest_of_each_reason_survive(world: World, caplog: pytest.LogCaptureFixture):
    world.server.error = UNREACHABLE
    world.tell(event("it was", kind="Node", name="n1", reason="Rebooted"))
    for number in range(MAX_WAITING + 500):
        world.tell(event(name=f"p{number}"))
    assert len(world.recorder.ask(ListEvents())) == 2_000
    world.server.error = None
    world.run(PAUSE_NS)
    assert len(world.server.events) == MAX_WAITING
    assert [body["reason"] for body in world.server.events.values()].count("Rebooted") == 1
    assert world.server.shown()[-1][0] == "hello"
    assert f"p{MAX_WAITING + 499}" in {body["involvedObject"]["name"] for body in world.server.events.values()}
    assert "events were not sent" in caplog.text


def test_an_event_that_outlived_the_outage_limit_is_not_sent(world: World):
    world.server.error = UNREACHABLE
    world.tell(event("old"), then_ns=MAX_AGE_NS + SECOND_NS)
    world.server.error = None
    world.tell(event("new"), then_ns=2 * PAUSE_NS)
    assert world.server.shown() == [("new", 1)]


def test_an_event_that_the_server_chokes_on_is_given_up_and_stops_no_other(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    broken = ApiError(500, "InternalError", "nil map", "create events")
    answer = world.server.do
    monkeypatch.setattr(world.server, "do", lambda call: broken if b"poison" in (call.body or b"") else answer(call))
    world.tell(event("poison", name="bad"), *(event(name=f"p{number}") for number in range(20)))
    world.run(2 * PAUSE_NS)
    assert len(world.server.events) == 20
    world.run(MAX_TRIES * PAUSE_NS)
    poisoned = [call for call in world.server.calls if b"poison" in (call.body or b"")]
    assert len(poisoned) == MAX_TRIES
    assert caplog.text.count("is given up") == 1


def test_a_server_that_is_overloaded_is_given_the_time_it_asks_for(world: World):
    world.server.error = ApiError(429, "TooManyRequests", "later", "create events", retry_after_ns=60 * SECOND_NS)
    world.tell(event())
    calls = len(world.server.calls)
    world.server.error = None
    world.run(59 * SECOND_NS)
    assert len(world.server.calls) == calls
    world.run(SECOND_NS)
    assert world.server.shown() == [("hello", 1)]


class FaultyServer(Server):
    """Answers late, loses calls and answers, is overloaded: until it is healed."""

    def __init__(self, dispatcher: SimulatedDispatcher) -> None:
        super().__init__()
        self.dispatcher = dispatcher
        self.healed = False

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        self.calls.append(call)
        promise: Promise[Any] = Promise()
        chance = self.dispatcher.chance
        fate = "well" if self.healed else chance.choice(["well", "well", "lost", "unheard", "overloaded", "broken"])
        failure = self.do(call) if fate in ("well", "lost") else None
        if fate in ("lost", "unheard"):
            failure = ApiError(0, "Timeout", "no answer", call.verb)
        elif fate in ("overloaded", "broken"):
            failure = ApiError(429 if fate == "overloaded" else 503, fate, "later", call.verb)

        def answer() -> None:
            if failure is None:
                promise.set_result(None)
            else:
                promise.set_exception(failure)

        self.dispatcher.schedule(int(chance.random() * SECOND_NS), answer)
        return promise


@pytest.mark.parametrize("seed", range(15))
def test_event_counts_are_right_after_any_failures(seed: int):
    dispatcher = SimulatedDispatcher(seed)
    system = ActorSystem(dispatcher)
    server = FaultyServer(dispatcher)
    recorder = system.spawn(EventRecorderActor, server, "n1", name="events")
    truth: Counter[tuple[str, str]] = Counter()
    for _ in range(150):
        name, message = f"p{dispatcher.chance.randrange(15)}", f"m{dispatcher.chance.randrange(3)}"
        truth[name, message] += 1
        recorder.tell(event(message, name=name))
        dispatcher.run_for(int(dispatcher.chance.random() * SECOND_NS))
    server.healed = True
    dispatcher.run_for(60 * SECOND_NS)
    shown = {
        (body["involvedObject"]["name"], body["message"]): body["count"]
        for body in sorted(server.events.values(), key=lambda body: body["count"])
    }
    assert shown == truth
    assert len(server.events) == len(truth)
    assert system.stop()


# --- answers --------------------------------------------------------------------------------------------------------


def test_a_refused_event_is_dropped_and_logged_less_and_less(world: World, caplog: pytest.LogCaptureFixture):
    world.server.error = ApiError(403, "Forbidden", "not yours", "create events")
    world.tell(*(event(name=f"p{number}") for number in range(20)), then_ns=100 * SECOND_NS)
    assert len(world.server.calls) == 20
    assert caplog.text.count("is given up") == 5
    world.server.error = None
    world.tell(event(name="p0"))
    assert world.server.shown() == [("hello", 2)]


def test_a_namespace_that_is_being_terminated_is_no_trouble_and_is_left_alone_for_a_while(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    world.tell(event("before", name="known"))
    message = "unable to create new content in namespace shop because it is being terminated"
    answer = world.server.do
    refusal = ApiError(403, "Forbidden", message, "create events")

    def refuse(call: Any) -> Any:
        return refusal if call.method == "POST" and "/shop/" in call.path else answer(call)

    monkeypatch.setattr(world.server, "do", refuse)
    for number in range(50):
        world.tell(event(name=f"p{number}"))
    world.tell(event("before", name="known"), event(kind="Node", name="n1"))
    methods = [call.method for call in world.server.calls]
    assert methods == ["POST", "POST", "PATCH", "POST"]
    assert "given up" not in caplog.text
    monkeypatch.setattr(world.server, "do", answer)
    world.run(30 * SECOND_NS)
    world.tell(event(name="p0"))
    assert world.server.shown()[-1] == ("hello", 2)


def test_an_event_that_the_server_has_forgotten_is_made_anew(world: World):
    world.tell(event())
    world.server.events.clear()
    world.tell(event())
    assert world.server.shown() == [("hello", 2)]
    assert [call.method for call in world.server.calls] == ["POST", "PATCH", "POST"]


def test_a_creation_whose_answer_got_lost_is_no_second_event(world: World):
    world.server.hangs = True
    world.tell(event())
    (call, promise) = world.server.open.pop()
    world.server.do(call)
    promise.set_exception(ApiError(0, "Timeout", "no answer", call.verb))
    world.server.hangs = False
    world.tell(event(), then_ns=2 * PAUSE_NS)
    assert world.server.shown() == [("hello", 2)]
    assert [call.method for call in world.server.calls] == ["POST", "POST", "PATCH"]
