"""How the time of a simulated cluster passes.

Not at all, at a multiple of real time, or as fast as it can.

The world runs on the loop that serves its API server, a few milliseconds at a time. So requests come in between, and
nothing of the world must be thread-safe. On a machine that is too slow for the wanted speed, the world's time lags
behind, but nothing is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.kernel import SimulatedDispatcher
from runtime.io.event_loop import leave_to_others

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
                    reached_ns = target_ns if self._slice(target_ns) else self.now_ns() - 1
                    if reached_ns > self._done_ns:
                        self._done_ns = reached_ns
                        await self._tell()
                    await leave_to_others()
                elif self._speed:
                    await leave_to_others(REST_S)
                else:
                    await self._wanted.wait()
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

    def _slice(self, target_ns: int) -> bool:
        """Run towards the target for a moment; returns whether it is reached."""
        dispatcher, until_s = self._dispatcher, self._clock() + SLICE_S
        while True:  # however slow the machine is, it goes on
            for _ in range(TURNS_BETWEEN_LOOKS):
                if not dispatcher.step(target_ns):
                    dispatcher.run_for(target_ns - dispatcher.now_ns())
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
