"""How the time of a simulated cluster passes.

Not at all, at a multiple of real time, as fast as it can, or while clients wait (`AutoPace`).

The world runs on the loop that serves its API server, a few milliseconds at a time. So requests come in between, and
nothing of the world must be thread-safe. On a machine that is too slow for the wanted speed, the world's time lags
behind, but nothing is left out.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import NamedTuple

from actors.kernel import SimulatedDispatcher
from runtime.io.event_loop import leave_to_others
from simulation.cluster.auto_time import decide
from simulation.cluster.clients import AutoClients

SLICE_S = 0.005
"""How long the world keeps the loop at a time."""
TURNS_BETWEEN_LOOKS = 20
"""Turns of actors between two looks at the clock."""
REST_S = 0.005
"""The pause before the next look when the world is on time."""


class Pace:
    """`speed`: seconds of the world per real second; 0: it stands still. `clock`: real seconds."""

    def __init__(self, dispatcher: SimulatedDispatcher, speed: float, clock: Callable[[], float]) -> None:
        self._dispatcher = dispatcher
        self._speed = speed
        self._clock = clock
        self._began_s = clock()
        self._began_ns = dispatcher.now_ns()
        self._leapt_ns = 0
        self._done_ns = self._began_ns
        """Everything up to this time, and at it, has happened."""
        self._until_ns = self._began_ns
        """How far the world may come now."""
        self._wanted = asyncio.Event()
        self._passed = asyncio.Condition()
        self._failure: Exception | None = None

    def now_ns(self) -> int:
        """The world's time."""
        return self._dispatcher.now_ns()

    async def run(self) -> None:
        """Drive the world until cancelled or failed; then wake all waiters."""
        try:
            while True:
                target_ns = self._target_ns()
                if self._done_ns < target_ns:
                    self._wanted.clear()
                    # A slow machine may never reach the target; waiters for an earlier time are woken anyway.
                    is_there = self._slice(target_ns)
                    reached_ns = self._until_ns if is_there else self.now_ns() - 1
                    if reached_ns > self._done_ns:
                        self._done_ns = reached_ns
                        await self._tell()
                    # Real time has gone on meanwhile: without a rest an idle world would take a whole core.
                    await leave_to_others(REST_S if is_there and self._speed else 0.0)
                else:
                    await self._rest()
        except Exception as failure:
            self._failure = failure
            await self._tell()

    async def leap(self, ns: int) -> None:
        """Let that much time pass as fast as possible; returns when it has passed."""
        target_ns = self._target_ns() + ns
        self._leapt_ns += ns
        # Even a leap of 0 runs what was requested before it.
        self._done_ns = min(self._done_ns, target_ns - 1)
        self._wanted.set()
        await self._until(target_ns)

    async def wait(self, ns: int) -> None:
        """Wait until that much time has passed."""
        await self._until(self.now_ns() + ns)

    def _target_ns(self) -> int:
        real_s = self._clock() - self._began_s
        return self._began_ns + self._leapt_ns + int(real_s * self._speed * 1e9)

    async def _rest(self) -> None:
        """The target is reached."""
        if self._speed:
            await leave_to_others(REST_S)
        else:
            await self._wanted.wait()

    def _slice(self, target_ns: int) -> bool:
        """Run towards the target for a moment; returns whether it is reached, or where it was moved to."""
        self._until_ns = target_ns
        dispatcher, until_s = self._dispatcher, self._clock() + SLICE_S
        while True:  # however slow the machine is, it goes on
            for _ in range(TURNS_BETWEEN_LOOKS):
                if not dispatcher.step(self._until_ns):
                    dispatcher.run_for(self._until_ns - dispatcher.now_ns())
                    return True
            if self._clock() >= until_s:
                return False

    async def _until(self, target_ns: int) -> None:
        async with self._passed:
            await self._passed.wait_for(lambda: self._done_ns >= target_ns or self._failure is not None)
        if self._failure is not None:
            raise self._failure

    async def _tell(self) -> None:
        async with self._passed:
            self._passed.notify_all()


class AutoPace(Pace):
    """Time moves while clients wait: `auto_time.py` has the rules.

    An event for a watch ends a move: all that happens at its moment still does. One order at a time lets time pass.
    """

    def __init__(self, dispatcher: SimulatedDispatcher, clients: AutoClients, clock: Callable[[], float]) -> None:
        super().__init__(dispatcher, 0.0, clock)
        self._clients = clients
        clients.on_work = self._wanted.set
        clients.on_event = self._stop_here
        self._order: _PassingOrder | None = None
        self._look_s: float | None = None
        self._move_began = (0.0, 0.0, 0)
        """The speed of the move, and the real and the world's time at its begin."""

    async def leap(self, ns: int) -> None:
        """Let that much time pass as fast as clients allow; returns when it has passed."""
        await self._pass(ns, leaps=True)

    async def wait(self, ns: int) -> None:
        await self._pass(ns, leaps=False)

    async def _pass(self, ns: int, *, leaps: bool) -> None:
        target_ns = self.now_ns() + ns
        self._done_ns = min(self._done_ns, target_ns - 1)
        self._order = _PassingOrder(target_ns, leaps)
        self._wanted.set()
        try:
            await self._until(target_ns)
        finally:
            self._order = None

    def _target_ns(self) -> int:
        now_ns, order = self.now_ns(), self._order
        doings = self._clients.doings(in_order=order is not None, ordered=order is not None and order.leaps)
        speed, self._look_s = decide(doings, self._clients.pause_s)
        real_s = self._clock()
        if not speed or speed != self._move_began[0]:
            self._move_began = (speed, real_s, now_ns)
        if not speed:
            return now_ns
        _, began_s, began_ns = self._move_began
        limits = [order.target_ns] if order is not None else []
        if speed != math.inf:
            limits.append(began_ns + int((real_s - began_s) * speed * 1e9))
        return max(now_ns, min(limits))

    async def _rest(self) -> None:
        if self._look_s is None:
            self._wanted.clear()
            await self._wanted.wait()
        else:
            await leave_to_others(self._look_s)

    def _stop_here(self) -> None:
        self._until_ns = min(self._until_ns, self.now_ns())


class _PassingOrder(NamedTuple):
    """An order that lets time pass. `leaps`: as fast as it can."""

    target_ns: int
    leaps: bool
