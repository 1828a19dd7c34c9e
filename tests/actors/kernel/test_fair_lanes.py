"""Lanes: keys take turns, and a key whose calls hang leaves slots and threads to the others."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest

from actors.kernel import LaneExhaustedError, Pending, Rank, lanes
from actors.kernel.turns import MAX_HUNG_PER_KEY
from tests.actors.kernel.cast import MS
from tests.actors.kernel.drivers import Driver, SimulatedDriver
from tests.actors.kernel.gates import Gates, key_of, report_of

MANY = 100_000
HOUR_NS = 3_600_000 * MS
KIB = 1024


@pytest.fixture
def endless_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is slow, and none hangs before it is written off: a busy test machine may stop for long."""
    monkeypatch.setattr(lanes, "PATIENCE_NS", HOUR_NS)
    monkeypatch.setattr(lanes, "HANG_NS", HOUR_NS)


def held_up(driver: Driver, gates: Gates, key: str = "first") -> Any:
    """A lane with one slot, which a call of that key has."""
    lane = driver.dispatcher.lane("lane", size=1, per_key=1)
    lane.submit(key, gates.call, "first")
    driver.until(lambda: gates.begun == ["first"])
    return lane


def let_go(driver: Driver, gates: Gates, calls: list[Pending[Any]]) -> None:
    gates.open("first")
    driver.until(lambda: all(call.done() for call in calls))


@pytest.mark.usefixtures("endless_patience")
def test_keys_take_turns(driver: Driver, gates: Gates):
    lane, ran = held_up(driver, gates), list[str]()
    names = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]
    let_go(driver, gates, [lane.submit(name[0], ran.append, name) for name in names])
    assert ran == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


@pytest.mark.usefixtures("endless_patience")
def test_very_many_calls_of_one_key_delay_another_by_one_call(driver: Driver, gates: Gates):
    lane, ran = held_up(driver, gates, "greedy"), list[str]()
    greedy = [lane.submit("greedy", ran.append, "greedy") for _ in range(MANY)]
    modest = lane.submit("modest", lambda: len(ran))
    let_go(driver, gates, [modest])
    assert modest.result() <= 1
    for call in greedy:
        call.cancel()
    driver.until(lambda: report_of(driver).waiting == 0)


@pytest.mark.usefixtures("endless_patience")
def test_calls_that_end_something_go_before_the_others_of_their_key_alone(driver: Driver, gates: Gates):
    lane, ran = held_up(driver, gates), list[str]()
    calls = [lane.submit(name[0], ran.append, name) for name in ("a1", "a2", "b1")]
    calls += [lane.submit("b", ran.append, name, ends=True) for name in ("b-end", "b-end too")]
    let_go(driver, gates, calls)
    assert ran == ["a1", "b-end", "a2", "b-end too", "b1"]


@pytest.mark.usefixtures("endless_patience")
def test_urgent_keys_go_first_and_starve_nobody(driver: Driver, gates: Gates):
    lane, ran = held_up(driver, gates), list[str]()
    calls = [lane.submit(f"other{number}", ran.append, "other") for number in range(2)]
    calls += [lane.submit(f"urgent{number % 4}", ran.append, "urgent", rank=Rank.FIRST) for number in range(8)]
    let_go(driver, gates, calls)
    assert ran == [*["urgent"] * 3, "other", *["urgent"] * 3, "other", *["urgent"] * 2]


def test_a_given_up_call_loses_its_turn_and_keeps_that_of_its_key(driver: Driver, gates: Gates):
    lane, ran = held_up(driver, gates), list[str]()
    calls = [lane.submit(name[0], ran.append, name) for name in ("a1", "b1", "a2")]
    calls[0].cancel()
    let_go(driver, gates, calls)
    assert ran == ["a2", "b1"]


# --- calls that hang ---


def lost(driver: Driver, gates: Gates, lane: Any, key: str, name: str, **how: Any) -> None:
    """A call of the key begins, and its caller gives it up."""
    call = lane.submit(key, gates.call, name, **how)
    driver.until(lambda: name in gates.begun)
    assert call.cancel()


@pytest.mark.usefixtures("endless_patience")
def test_a_key_whose_calls_hang_keeps_one_slot_and_at_most_four_threads(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=4, per_key=3)
    for name in ("call 0", "call 1", "call 2"):
        lost(driver, gates, lane, "dead", name)
        assert key_of(driver, "dead").running == 0
    waits = lane.submit("dead", int)
    driver.settle()
    assert not waits.done(), "with three that hang, only calls that end something start"
    lost(driver, gates, lane, "dead", "end 0", ends=True)
    end = lane.submit("dead", int, ends=True)
    other = lane.submit("well", int)
    driver.until(other.done)
    driver.settle()
    assert (end.done(), waits.done()) == (False, False)
    assert key_of(driver, "dead").hanging == MAX_HUNG_PER_KEY
    gates.open("call 0")
    driver.until(end.done)
    driver.settle()
    assert not waits.done()
    gates.open("call 1")
    driver.until(waits.done)


@pytest.mark.usefixtures("endless_patience")
def test_beside_a_call_that_hangs_a_key_has_one_slot(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=8, per_key=3)
    lost(driver, gates, lane, "dead", "call 0")
    for number in (1, 2):
        lane.submit("dead", gates.call, f"call {number}")
    driver.until(lambda: len(gates.begun) == 2)
    driver.settle()
    assert gates.begun == ["call 0", "call 1"]


def test_calls_of_a_key_in_a_lane_of_one_per_key_never_overlap(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=4, per_key=1)
    lost(driver, gates, lane, "file", "write 1")
    later = lane.submit("file", int, ends=True)
    other = lane.submit("other file", int)
    driver.until(other.done)
    driver.settle()
    assert not later.done()
    gates.open("write 1")
    driver.until(later.done)


def test_calls_that_run_for_long_while_others_of_their_key_wait_hang(
    driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lanes, "HANG_NS", 50 * MS)
    lane = driver.dispatcher.lane("lane", size=8, per_key=2)
    calls = [lane.submit("dead", gates.call, f"call {number}") for number in range(4)]
    end = lane.submit("dead", int, ends=True)
    driver.until(lambda: key_of(driver, "dead").hanging == 3 and end.done())
    driver.pass_time(200 * MS)
    assert (len(gates.begun), key_of(driver, "dead").waiting) == (3, 1)
    assert report_of(driver).written_off == ()
    gates.open(gates.begun[0])
    driver.until(lambda: len(gates.begun) == 4)
    gates.open_all()
    driver.until(lambda: all(call.done() for call in calls) and not report_of(driver).keys)


def test_calls_may_run_for_long_when_none_waits(driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lanes, "HANG_NS", 5 * MS)
    lane = driver.dispatcher.lane("lane", size=8, per_key=2)
    lane.submit("busy", gates.call, "long")
    driver.until(lambda: gates.begun == ["long"])
    driver.pass_time(50 * MS)
    assert report_of(driver).hanging == 0
    other = lane.submit("busy", int)
    driver.until(other.done)


def test_a_lane_looks_for_calls_that_hang_only_while_calls_wait():
    """A node at rest has no timers of its lanes."""
    simulated = SimulatedDriver()
    gates = Gates(simulated)
    lane = simulated.dispatcher.lane("lane", size=1, per_key=1)
    lane.submit("dead", gates.call, "call 0")
    waits = lane.submit("dead", int)
    simulated.pass_time(2 * lanes.HANG_NS)
    steps = 0
    while simulated.dispatcher.step():
        steps += 1
    assert (steps, waits.done()) == (0, False), "all that runs hangs: there is nothing to find out"


# --- a lane in which very many calls hang ---


@pytest.mark.usefixtures("endless_patience")
def test_in_a_crowded_lane_what_is_left_serves_keys_without_trouble(
    driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lanes, "MAX_WRITTEN_OFF", 4)
    lane = driver.dispatcher.lane("lane", size=2, per_key=2)
    for number in range(3):
        lost(driver, gates, lane, f"dead{number}", f"call {number}")
    more = lane.submit("dead0", int)
    driver.settle()
    assert not more.done(), "more than half of the places for lost calls are taken"
    for key in ("dead1", "well"):
        call = lane.submit(key, int, ends=key == "dead1")
        driver.until(call.done)
    lost(driver, gates, lane, "dead3", "call 3")
    end = lane.submit("dead1", int, ends=True)
    well = lane.submit("well", int)
    driver.until(well.done)
    driver.settle()
    assert (end.done(), more.done()) == (False, False), "all are taken"
    gates.open("call 3")
    driver.until(end.done)
    gates.open("call 2")
    driver.until(more.done)


@pytest.mark.usefixtures("endless_patience")
def test_a_lane_in_which_every_thread_hangs_names_itself(driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lanes, "MAX_WRITTEN_OFF", 3)
    lane = driver.dispatcher.lane("lane", size=2, per_key=1)
    for number in range(5):
        assert not report_of(driver).exhausted
        lost(driver, gates, lane, f"dead{number}", f"call {number}")
    assert (report_of(driver).exhausted, report_of(driver).hanging) == (True, 5)
    with pytest.raises(LaneExhaustedError, match=r"^lane lane has 5 calls that never .*Gates\.call for dead0, 0 s$"):
        lane.submit("late", int).result()
    gates.open("call 0")
    driver.until(lambda: not report_of(driver).exhausted)
    healed = lane.submit("late", int)
    driver.until(healed.done)


def test_a_lane_in_which_every_call_runs_for_long_names_itself(
    driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch
):
    """Calls without a deadline are never written off."""
    monkeypatch.setattr(lanes, "MAX_WRITTEN_OFF", 1)
    monkeypatch.setattr(lanes, "PATIENCE_NS", 20 * MS)
    monkeypatch.setattr(lanes, "HANG_NS", 50 * MS)
    lane = driver.dispatcher.lane("lane", size=1, per_key=1)
    calls = [lane.submit(f"dead{number}", gates.call, str(number)) for number in range(3)]
    driver.until(lambda: report_of(driver).exhausted)
    with pytest.raises(LaneExhaustedError, match="lane lane has 2 calls that never returned"):
        lane.submit("late", int).result()
    assert gates.begun == ["0", "1"]
    gates.open("0")
    driver.until(lambda: gates.begun == ["0", "1", "2"])
    gates.open_all()
    driver.until(lambda: all(call.done() for call in calls))


def test_a_lane_full_of_slow_calls_lets_more_wait(driver: Driver, gates: Gates, monkeypatch: pytest.MonkeyPatch):
    """Slow calls end by themselves."""
    monkeypatch.setattr(lanes, "MAX_WRITTEN_OFF", 1)
    monkeypatch.setattr(lanes, "PATIENCE_NS", 20 * MS)
    lane = driver.dispatcher.lane("lane", size=1, per_key=1)
    calls = [lane.submit(f"slow{number}", gates.call, str(number)) for number in range(3)]
    driver.until(lambda: gates.begun == ["0", "1"])
    driver.pass_time(100 * MS)
    calls.append(lane.submit("late", int))
    assert (report_of(driver).exhausted, calls[-1].done()) == (False, False)
    gates.open_all()
    driver.until(lambda: gates.begun == ["0", "1", "2"])
    gates.open_all()
    driver.until(lambda: all(call.done() and call.exception() is None for call in calls))


# --- what people see ---


@pytest.mark.usefixtures("endless_patience")
def test_a_report_tells_each_key_its_place(driver: Driver, gates: Gates):
    lane = driver.dispatcher.lane("lane", size=2, per_key=2)
    lost(driver, gates, lane, "dead", "dead")
    for name in ("one", "two"):
        lane.submit("busy", gates.call, name)
    driver.until(lambda: len(gates.begun) == 3)
    calls = [lane.submit(key, int) for key in ("busy", "dead", "dead", "late")]
    calls.append(lane.submit("urgent", int, rank=Rank.FIRST))
    found = [(key.key, key.running, key.waiting, key.hanging, key.before) for key in report_of(driver).keys]
    assert found == [
        ("urgent", 0, 1, 0, 0),
        ("dead", 0, 2, 1, 1),
        ("late", 0, 1, 0, 2),
        ("busy", 2, 1, 0, None),
    ]
    gates.open_all()
    driver.until(lambda: all(call.done() for call in calls))


# --- what a call costs ---


def work_of(action: Callable[[], object]) -> int:
    """How many lines of Python it runs, and for each KiB that it holds at its peak, ten more."""
    lines = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    tracemalloc.start()
    sys.settrace(count)
    try:
        action()
    finally:
        sys.settrace(before)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return lines + 10 * (peak // KIB)


def costs_of_calls(keys: int, calls_of_each: int) -> list[int]:
    """What it costs to submit a call, to give one up, to start the next and to end one."""
    simulated = SimulatedDriver()
    gates = Gates(simulated)
    lane = simulated.dispatcher.lane("lane", size=1, per_key=1)
    waiting = [lane.submit(key, gates.call, "it") for _ in range(calls_of_each) for key in range(keys)]
    simulated.settle()
    opened: Callable[[], object] = partial(gates.open, "it")
    steps: list[Callable[[], object]] = [
        partial(lane.submit, 0, gates.call, "it", deadline_ns=MS),
        partial(lane.submit, "new", gates.call, "it", ends=True, rank=Rank.FIRST),
        simulated.settle,
        waiting[len(waiting) // 2].cancel,
        waiting[-1].cancel,
        simulated.settle,
        *(opened, simulated.settle, opened, simulated.settle),
        partial(simulated.pass_time, MS),
    ]
    return [work_of(step) for step in steps]


@pytest.mark.parametrize(("keys", "calls_of_each"), [(1, 10_000), (10_000, 1), (100, 100)])
def test_a_call_costs_the_same_however_many_wait(keys: int, calls_of_each: int):
    few = costs_of_calls(keys=min(keys, 5), calls_of_each=min(calls_of_each, 5))
    many = costs_of_calls(keys, calls_of_each)
    assert all(after <= 1.5 * before + 20 for before, after in zip(few, many, strict=True)), (few, many)
