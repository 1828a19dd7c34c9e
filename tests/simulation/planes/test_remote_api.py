"""What happens to the calls of an agent on their way to a real API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actors.kernel import Promise, SimulatedDispatcher
from config.api.resources import PODS
from config.objects import Pod
from runtime.api import ApiCall, ApiError, WatchCall, WatchEvent, get, watch_objects
from runtime.cri.errors import StatusCode
from simulation.chance.call_faults import CallFaults, EventFaultPlan, FaultPlan, Faults
from simulation.chance.network import NetworkLink
from simulation.planes.remote_api import RemoteApi

SECOND = 10**9
CALL = get(PODS, "default", "web")
WATCH = watch_objects(PODS, resource_version="1")


class Server:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.calls: list[Promise[Any]] = []
        self.watches: list[tuple[Callable[[WatchEvent[Any]], None], Callable[[ApiError | None], None]]] = []
        self.closed = 0

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        self.calls.append(Promise())
        return self.calls[-1]

    def watch(self, call: WatchCall[Any], on_event: Any, on_end: Any) -> Server:
        self.watches.append((on_event, on_end))
        return self

    def close(self) -> None:
        self.closed += 1


class Way:
    """An agent, the way, and the server at its end."""

    def __init__(self, faults: CallFaults | None = None, events: EventFaultPlan | None = None) -> None:
        self.clock = SimulatedDispatcher(1)
        self.server = Server()
        self.link = NetworkLink(self.clock.now_ns, 1000, "seed")
        plan = FaultPlan({} if faults is None else {"*": faults}, events)
        self.api = RemoteApi(self.clock, self.server, faults=Faults(plan, 1), link=self.link)
        self.told: list[object] = []

    def call(self, timeout_s: int = 30) -> Promise[Any]:
        return self.api.call(CALL, timeout_ns=timeout_s * SECOND)

    def follow(self) -> Any:
        return self.api.watch(WATCH, lambda event: self.told.append(event.resource_version), self.told.append)

    def run(self, seconds: float = 1) -> None:
        self.clock.run_for(int(seconds * SECOND))


def error_of(answer: Promise[Any]) -> str:
    failure = answer.exception()
    assert isinstance(failure, ApiError)
    return str(failure)


def event(version: str) -> WatchEvent[Pod]:
    return WatchEvent("MODIFIED", None, version)


def test_an_answer_comes_back_as_it_is():
    way = Way()
    good, bad = way.call(), way.call()
    way.run()
    way.server.calls[0].set_result("pod")
    way.server.calls[1].set_exception(ApiError(404, "NotFound", "no such pod", "get pods"))
    assert not good.done(), "actors run in the turns of the world only"
    way.run()
    assert good.result() == "pod"
    assert "no such pod" in error_of(bad)


def test_a_cut_holds_calls_and_events_back_until_it_is_over():
    way = Way()
    way.follow()
    way.run()
    way.link.cut(60 * SECOND)
    late, in_vain = way.call(100), way.call(30)
    way.server.watches[0][0](event("7"))
    way.run(40)
    assert way.server.calls == []
    assert way.told == []
    assert "no answer within 30 s" in error_of(in_vain)
    way.run(40)
    assert len(way.server.calls) == 1, "the caller of the other one has given up"
    assert way.told == ["7"]
    way.server.calls[0].set_result("pod")
    way.run()
    assert late.result() == "pod"


@pytest.mark.parametrize(
    ("faults", "arrives", "told"),
    [
        (CallFaults(fail=1, codes=(StatusCode.UNAVAILABLE,)), 0, "a fault of the simulated API server"),
        (CallFaults(lose=1), 1, "the connection broke before the answer was there"),
        (CallFaults(hang=1), 0, "no answer within 30 s"),
    ],
)
def test_a_drawn_fault_befalls_a_call(faults: CallFaults, arrives: int, told: str):
    way = Way(faults)
    answer = way.call()
    way.run()
    assert len(way.server.calls) == arrives
    for each in way.server.calls:
        each.set_result("pod")
    way.run(40)
    assert told in error_of(answer)


def test_an_outage_breaks_what_is_under_way_and_ends_by_itself():
    way = Way()
    answer = way.call()
    way.follow()
    way.run()
    way.api.down(10 * SECOND)
    way.run(1)
    assert "connection broke" in error_of(answer)
    assert "connection broke" in str(way.told[-1])
    assert way.server.closed == 1
    refused = way.call()
    way.run(1)
    assert "connection refused" in error_of(refused)
    assert way.api.is_down
    way.run(10)
    assert not way.api.is_down
    way.call()
    way.run()
    assert len(way.server.calls) == 2


def test_a_watch_tells_events_in_order_and_then_its_one_end():
    way = Way()
    way.follow()
    way.run()
    on_event, on_end = way.server.watches[0]
    on_event(event("1"))
    on_event(event("2"))
    on_end(None)
    on_event(event("3"))
    way.run()
    assert way.told == ["1", "2", None]


def test_who_closes_a_watch_hears_of_no_more_events():
    way = Way()
    subscription = way.follow()
    way.run()
    way.server.watches[0][0](event("1"))
    subscription.close()
    way.run()
    assert way.told == [None]
    assert way.server.closed == 1


def test_a_dead_agent_sends_nothing_more():
    way = Way()
    way.call()
    way.api.hang_up()
    way.run()
    assert way.server.calls == []


def test_a_drawn_cut_ends_a_watch():
    way = Way(events=EventFaultPlan(cut=1))
    way.follow()
    way.run()
    way.server.watches[0][0](event("1"))
    way.run()
    assert "connection broke" in str(way.told[0])
