"""The mode auto: the rule by which time moves, and a world that follows it.

On a clock that the test turns.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from actors.kernel import SimulatedDispatcher
from simulation.cluster.auto_time import LINGER_S, PAUSE_S, SPEED, SPEED_AFTER_REQUESTS, WORK_S, Doings, decide
from simulation.cluster.clients import AutoClients
from simulation.cluster.pace import AutoPace

SECOND_NS = 10**9
LONG_S = 1000.0
PAUSE = 0.5
STANDS = 0.0

# Served requests, waiting clients, seconds since the last doing, since the last request, and since work began.
RULES = [
    pytest.param(Doings(0, 0, math.inf, math.inf, math.inf), STANDS, id="nobody has ever come"),
    pytest.param(Doings(1, 0, 0.0, 0.0, 0.0), STANDS, id="a request is served"),
    pytest.param(Doings(1, 1, LONG_S, LONG_S, 0.1), STANDS, id="a request is served beside a watch"),
    pytest.param(Doings(0, 1, PAUSE / 2, PAUSE / 2, 0.1), STANDS, id="a watch got an event and its client may think"),
    pytest.param(Doings(0, 1, PAUSE / 2, PAUSE / 2, 0.1, True), STANDS, id="a step waits for that client, too"),
    pytest.param(Doings(0, 1, PAUSE, PAUSE, 1.0), SPEED, id="a watch is idle"),
    pytest.param(Doings(0, 1, LONG_S, LONG_S, LONG_S), SPEED, id="a watch is idle for long"),
    pytest.param(Doings(0, 0, PAUSE, PAUSE, 1.0), SPEED_AFTER_REQUESTS, id="a client may ask again"),
    pytest.param(Doings(0, 0, PAUSE, PAUSE + LINGER_S, 1.0), STANDS, id="it did not ask again"),
    pytest.param(Doings(0, 1, PAUSE, PAUSE, 1.0, True), math.inf, id="a step has no limit of speed"),
    pytest.param(Doings(0, 1, 0.0, 0.0, PAUSE + WORK_S + 0.1), 1.0, id="clients leave no pause"),
    pytest.param(Doings(2, 0, 0.0, 0.0, PAUSE + WORK_S + 0.1), 1.0, id="requests take long"),
    pytest.param(Doings(0, 1, PAUSE, PAUSE, 1.0, True, True), STANDS, id="time is held"),
]


@pytest.mark.parametrize(("doings", "speed"), RULES)
def test_how_time_moves(doings: Doings, speed: float):
    assert decide(doings, PAUSE).speed == speed


def test_time_that_nobody_waits_for_is_looked_at_after_the_next_request_only():
    assert decide(Doings(0, 0, LONG_S, LONG_S, LONG_S), PAUSE).look_s is None
    assert decide(Doings(0, 1, PAUSE / 2, PAUSE / 2, 0.1), PAUSE).look_s == PAUSE_S
    assert decide(Doings(0, 1, PAUSE - 0.001, PAUSE, 0.1), PAUSE).look_s == pytest.approx(0.001)


class Scene:
    """A world with a pace in the mode auto."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.dispatcher = SimulatedDispatcher(1)
        self.clients = AutoClients(PAUSE, lambda: self.seconds)
        self.pace = AutoPace(self.dispatcher, self.clients, lambda: self.seconds)

    async def turn(self, seconds: float) -> None:
        """Turn the clock, and let the pace follow."""
        self.seconds += seconds
        for _ in range(3):
            await asyncio.sleep(PAUSE_S)


def played(course: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def both() -> None:
        scene = Scene()
        runner = asyncio.create_task(scene.pace.run())
        try:
            await asyncio.wait_for(course(scene), 120)
        finally:
            runner.cancel()

    asyncio.run(both())


def test_time_stands_at_an_event_until_its_client_has_paused():
    async def course(scene: Scene) -> None:
        heard: list[float] = []

        def event() -> None:
            heard.append(scene.pace.now_ns() / SECOND_NS)
            scene.clients.told()

        for at_s in (5, 5, 7):
            scene.dispatcher.schedule(at_s * SECOND_NS, event)
        with scene.clients.serving(), scene.clients.waiting():
            await scene.turn(0.1)
            assert heard == []
            await scene.turn(PAUSE)
            await scene.turn(1.0)
            # All of a moment happens, and nothing after it.
            assert heard == [5, 5]
            assert scene.pace.now_ns() == 5 * SECOND_NS
            with scene.clients.serving():
                await scene.turn(0.9)
                assert scene.pace.now_ns() == 5 * SECOND_NS
            await scene.turn(PAUSE - 0.1)
            assert scene.pace.now_ns() == 5 * SECOND_NS
            await scene.turn(0.2)
            await scene.turn(1.0)
            assert heard == [5, 5, 7]

    played(course)


def test_a_client_that_thinks_for_too_long_loses_a_limited_time():
    async def course(scene: Scene) -> None:
        with scene.clients.serving(), scene.clients.waiting():
            await scene.turn(PAUSE)
            await scene.turn(0.25)
            assert scene.pace.now_ns() == 0.25 * SPEED * SECOND_NS

    played(course)


def test_a_step_passes_at_once_and_stops_for_clients():
    async def course(scene: Scene) -> None:
        scene.dispatcher.schedule(60 * SECOND_NS, scene.clients.told)
        await scene.pace.leap(50 * SECOND_NS)
        assert scene.pace.now_ns() == 50 * SECOND_NS
        # The test thinks of its next order, and no client thinks: the order need not wait.
        scene.clients.order_answered()
        step = asyncio.create_task(scene.pace.leap(3600 * SECOND_NS))
        await scene.turn(0.0)
        assert scene.pace.now_ns() == 60 * SECOND_NS
        await scene.turn(PAUSE)
        await step
        assert scene.pace.now_ns() == 3650 * SECOND_NS

    played(course)


def test_time_that_is_held_stands_and_goes_on_afterwards():
    async def course(scene: Scene) -> None:
        with scene.clients.serving(), scene.clients.waiting():
            with scene.clients.held():
                await scene.turn(60.0)
                assert scene.pace.now_ns() == 0
            await scene.turn(0.0)
            await scene.turn(0.25)
            assert scene.pace.now_ns() == 0.25 * SPEED * SECOND_NS

    played(course)


def test_a_wait_ends_at_its_moment():
    async def course(scene: Scene) -> None:
        wait = asyncio.create_task(scene.pace.wait(7 * SECOND_NS))
        await scene.turn(0.0)
        await scene.turn(60.0)
        await wait
        assert scene.pace.now_ns() == 7 * SECOND_NS

    played(course)


def test_clients_that_leave_no_pause_do_not_stop_time_for_ever():
    async def course(scene: Scene) -> None:
        for _ in range(40):
            with scene.clients.serving():
                scene.seconds += 0.1
                await asyncio.sleep(0.01)
        assert 0 < scene.pace.now_ns() <= 4 * SECOND_NS

    played(course)


def test_orders_alone_move_no_time():
    async def course(scene: Scene) -> None:
        for _ in range(3):
            scene.clients.order_answered()
            await scene.turn(1.0)
        assert scene.pace.now_ns() == 0

    played(course)
