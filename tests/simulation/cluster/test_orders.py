"""Orders as they come over the pipe: what is read, and what is refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulation.cluster.orders import Befall, Behave, OrderError, Step, ns_of, pause_of, read_order, speed_of, start_of
from simulation.scenarios.faults import RuntimeCalls


def read(**fields: Any) -> object:
    return read_order(json.dumps(fields).encode())


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        ({"order": "step", "time": "5m"}, Step("5m")),
        ({"order": "fault", "fault": {"fault": "runtime-calls", "fail": 0.5}}, Befall(RuntimeCalls(fail=0.5))),
    ],
)
def test_orders_are_known_by_their_word(fields: dict[str, Any], order: object):
    assert read(**fields) == order


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"order": "dance"}, "dance"),
        ({"order": "step"}, "time"),
        ({"order": "step", "time": "5m", "more": 1}, "more"),
        ({"order": "add-nodes", "count": 0}, "$.count"),
        ({"order": "fault", "fault": {"fault": "runtime-calls", "fail": 2}}, "$.fault.fail"),
        ({"order": "begin", "nodes": -1}, "$.nodes"),
    ],
)
def test_an_invalid_order_is_refused_with_its_place(fields: dict[str, Any], told: str):
    with pytest.raises(OrderError) as refused:
        read(**fields)
    assert told in str(refused.value)


def test_a_behave_order_becomes_annotations():
    said = Behave("web", "*", "app", {"run-for": "3s", "exit-code": "1"}).annotations()
    assert said == {"simulated.actorlet.dev/run-for.app": "3s", "simulated.actorlet.dev/exit-code.app": "1"}
    with pytest.raises(OrderError, match="no knob 'run-fro'"):
        Behave("web", "*", "", {"run-fro": "3s"}).annotations()


@pytest.mark.parametrize(("time", "speed"), [("stepped", 0), ("real", 1), ("x60", 60), ("x0.5", 0.5), ("auto", 100)])
def test_how_fast_time_goes(time: str, speed: float):
    assert speed_of(time) == speed


@pytest.mark.parametrize(
    ("text", "ns"),
    [("", None), ("2026-01-01T00:00:00Z", 1_767_225_600 * 10**9), ("2026-01-01T01:00:00+01:00", 1_767_225_600 * 10**9)],
)
def test_when_the_clock_starts(text: str, ns: int | None):
    assert start_of(text) == ns


@pytest.mark.parametrize("text", ["noon", "2026-01-01", "2026-01-01T00:00:00", "1066-10-14T09:00:00Z"])
def test_a_start_that_is_no_moment_is_refused(text: str):
    with pytest.raises(OrderError, match="write it as"):
        start_of(text)


@pytest.mark.parametrize("time", ["", "x", "x0", "x-1", "60", "x100000", "fast"])
def test_other_speeds_are_refused(time: str):
    with pytest.raises(OrderError, match="none of stepped, real, auto, and x60"):
        speed_of(time)


def test_how_long_clients_may_think():
    assert pause_of("", "auto") == 0.02
    assert pause_of("", "stepped") == 0.02
    assert pause_of("50ms", "auto") == 0.05


@pytest.mark.parametrize(
    ("pause", "time", "told"),
    [
        ("1s", "x60", "means something with the time auto only"),
        ("0s", "auto", "'0s' is not from 1ms to 10s"),
        ("1h", "auto", "'1h' is not from 1ms to 10s"),
        ("soon", "auto", "'soon' is not a duration"),
    ],
)
def test_other_pauses_are_refused(pause: str, time: str, told: str):
    with pytest.raises(OrderError, match=told):
        pause_of(pause, time)


def test_lengths_of_time():
    assert ns_of("1m30s") == 90 * 10**9
    with pytest.raises(OrderError, match="'soon' is not a duration"):
        ns_of("soon")
