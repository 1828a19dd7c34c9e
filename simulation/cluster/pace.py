"""How the time of a simulated cluster passes beside the real one: not at all, at its speed, or as fast as it can.

The world is driven on the loop that serves its API server, a few milliseconds at a time, so that requests come in
between and nothing of the world needs to be safe for threads. Where the machine is too slow for the speed that is
wanted, the world's time lags behind and nothing is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.kernel import SimulatedDispatcher
from runtime.io.event_loop import leave_to_others

SLICE_S = 0.005
"""For so long nobody else has the loop."""
TURNS_BETWEEN_LOOKS = 20
"""Turns of actors between two looks at the clock."""
REST_S = 0.005
"""Between two looks at the clock when the world is where it should be."""


class Pace:
    """See the module. `speed`: seconds of the world to a real one; 0: it stands still. `clock`: real seconds."""

    def __init__(self, dispatcher: SimulatedDispatcher, speed: float, clock: Callable[[], float]) -> None:
        self._dispatcher = dispatcher
        self._speed = speed
        self._clock = clock
        self._began_s = clock()
        self._began_ns = dispatcher.now_ns()
        self._leapt_ns = 0
        self._done_ns = self._began_ns
        """Until then all has happened, at that time itself as well."""
        self._wanted = asyncio.Event()
        self._passed = asyncio.Condition()
        self._failure: Exception | None = None

    def now_ns(self) -> int:
        """The world's time."""
        return self._dispatcher.now_ns()

    async def run(self) -> None:
        """Drive the world until cancelled, or until it fails: then whoever waits is told."""
        try:
            while True:
                target_ns = self._target_ns()
                if self._done_ns < target_ns:
                    self._wanted.clear()
                    # A machine that is too slow never gets there; whoever waits for less than that is told of it.
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
        """Let so much time pass as fast as it can; over when it has passed."""
        target_ns = self._target_ns() + ns
        self._leapt_ns += ns
        # Even a leap of nothing lets happen what has been asked for since.
        self._done_ns = min(self._done_ns, target_ns - 1)
        self._wanted.set()
        await self._until(target_ns)

    async def wait(self, ns: int) -> None:
        """Wait until so much time has passed."""
        await self._until(self.now_ns() + ns)

    def _target_ns(self) -> int:
        real_s = self._clock() - self._began_s
        return self._began_ns + self._leapt_ns + int(real_s * self._speed * 1e9)

    def _slice(self, target_ns: int) -> bool:
        """Drive on towards the target for a moment; whether it is reached."""
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
