"""How the world's time follows real time.

On a loop of its own, and with a clock that the test turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles
from simulation.cluster.pace import REST_S, Pace

SECOND_NS = 10**9


class Tick(Message, frozen=True):
    """Something is to be done."""


class Busy(Actor):
    """Has something to do a hundred times a second."""

    def on_start(self) -> None:
        self.every(SECOND_NS // 100, Tick())

    @handles(Tick)
    def tick(self, _: Tick) -> None:
        """Done."""


class Clock:
    """Goes on by so much with each look."""

    def __init__(self, tick_s: float) -> None:
        self.tick_s = tick_s
        self.seconds = 100.0

    def __call__(self) -> float:
        self.seconds += self.tick_s
        return self.seconds


def driven(
    speed: float, tick_s: float, course: Callable[[Pace, SimulatedDispatcher], Coroutine[Any, Any, None]]
) -> None:
    """Run the course beside a pace."""

    async def both() -> None:
        dispatcher = SimulatedDispatcher(1)
        pace = Pace(dispatcher, speed, Clock(tick_s))
        runner = asyncio.create_task(pace.run())
        try:
            await asyncio.wait_for(course(pace, dispatcher), 120)
        finally:
            runner.cancel()

    asyncio.run(both())


def busy(dispatcher: SimulatedDispatcher, at_ns: int, operations: int, done: list[int]) -> None:
    """So many things that happen at one moment."""
    for number in range(operations):
        dispatcher.schedule(at_ns, lambda number=number: done.append(number))  # type: ignore[misc]


def test_stepped_it_stands_still_between_leaps():
    async def course(pace: Pace, dispatcher: SimulatedDispatcher) -> None:
        for _ in range(10):
            await asyncio.sleep(0)
        assert pace.now_ns() == 0
        await pace.leap(5 * SECOND_NS)
        assert pace.now_ns() == 5 * SECOND_NS
        await pace.leap(SECOND_NS)
        assert pace.now_ns() == 6 * SECOND_NS

    driven(0, 0.001, course)


@pytest.mark.parametrize("tick_s", [0.0001, 1.0])
def test_a_leap_is_over_when_all_of_its_last_moment_has_happened(tick_s: float):
    async def course(pace: Pace, dispatcher: SimulatedDispatcher) -> None:
        done: list[int] = []
        busy(dispatcher, 2 * SECOND_NS, 1000, done)
        await pace.leap(2 * SECOND_NS)
        assert len(done) == 1000
        busy(dispatcher, 0, 50, done)
        await pace.leap(0)
        assert len(done) == 1050

    driven(0, tick_s, course)


def test_other_tasks_get_the_event_loop_during_a_leap():
    async def course(pace: Pace, dispatcher: SimulatedDispatcher) -> None:
        busy(dispatcher, SECOND_NS, 5000, [])
        leap = asyncio.create_task(pace.leap(2 * SECOND_NS))
        turns = 0
        while not leap.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 10

    driven(0, 0.001, course)


def test_scaled_it_follows_the_clock_and_can_leap():
    async def course(pace: Pace, dispatcher: SimulatedDispatcher) -> None:
        await pace.wait(30 * SECOND_NS)
        before_ns = pace.now_ns()
        assert before_ns >= 30 * SECOND_NS
        await pace.leap(3600 * SECOND_NS)
        assert pace.now_ns() >= before_ns + 3600 * SECOND_NS

    driven(60, 0.01, course)


def test_on_a_machine_that_is_too_slow_time_lags_behind_and_whoever_waits_is_told_nevertheless():
    async def course(pace: Pace, dispatcher: SimulatedDispatcher) -> None:
        ActorSystem(dispatcher).spawn(Busy, name="busy")
        before_ns = pace.now_ns()
        await pace.wait(5 * SECOND_NS)
        assert 5 * SECOND_NS <= pace.now_ns() - before_ns < 7 * SECOND_NS

    # Each look at the clock costs a second, in which the world is to be sixty on; of those it comes a fifth of one far.
    driven(60, 1.0, course)


def test_an_idle_world_in_real_time_leaves_the_processor_to_others(monkeypatch: pytest.MonkeyPatch):
    clock, rests = Clock(1e-6), 0

    async def rest(seconds: float = 0.0) -> None:
        nonlocal rests
        rests += 1
        clock.seconds += seconds
        await asyncio.sleep(0)

    monkeypatch.setattr("simulation.cluster.pace.leave_to_others", rest)

    async def course() -> None:
        pace = Pace(SimulatedDispatcher(1), 1.0, clock)
        runner = asyncio.create_task(pace.run())
        await asyncio.wait_for(pace.wait(10 * SECOND_NS), 120)
        runner.cancel()

    asyncio.run(course())
    assert rests <= 1.1 * 10 / REST_S


def test_a_world_that_fails_tells_whoever_waits():
    async def course(pace: Pace, dispatcher: SimulatedDispatcher) -> None:
        dispatcher.schedule(SECOND_NS, lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            await pace.leap(2 * SECOND_NS)
        with pytest.raises(ZeroDivisionError):
            await pace.leap(SECOND_NS)

    driven(0, 0.001, course)
