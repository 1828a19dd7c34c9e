"""One thread, virtual time, and an order drawn from a seed.

All that is random comes from the seed: which of the ready actors runs next, what actors draw from `chance`, every
uid. Two runs with one seed and one program are the same, message by message. Time stands still while anything is
ready and then jumps to the next timer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actors.kernel.dispatcher import Dispatcher, StandingClock, Trace
from actors.kernel.lanes import LaneReport
from actors.kernel.promise import Pending
from actors.kernel.simulated_lane import SimulatedLane
from actors.kernel.timers import TimerHandle, TimerHeap

if TYPE_CHECKING:
    from actors.kernel.cell import Cell

EPOCH_WALL_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z: the time of day at which every simulation begins."""


class SimulatedDispatcher(Dispatcher):
    """See the module. `steps` counts the slices given to actors so far. `late_calls`: which share of the calls of lanes
    is made only when everybody who is ready has had a turn, from 0 to 1; it may be changed at any time.
    """

    clock: StandingClock
    trace: Trace | None = None

    def __init__(self, seed: int = 0, late_calls: float = 1.0) -> None:
        self.seed = seed
        self.late_calls = late_calls
        self.steps = 0
        self.clock = StandingClock()
        self.wall_offset_ns = EPOCH_WALL_NS
        self.chance = random.Random(f"chance {seed}")
        self._order = random.Random(f"order {seed}")
        self._names = random.Random(f"names {seed}")
        self._ready: list[Cell] = []  # all of them `LoneCell`s
        self.enqueue = self._ready.append  # no call between
        self._timers = TimerHeap()
        self._lanes: dict[str, SimulatedLane] = {}
        # One of each for all actors, who ask them without a call between.
        self.now_ns = self.now_ns  # type: ignore[method-assign]
        self.wall_ns = self.wall_ns  # type: ignore[method-assign]

    # --- the dispatcher's interface ---------------------------------------------------------------------------------

    def now_ns(self) -> int:
        return self.clock.now_ns

    def wall_ns(self) -> int:
        return self.clock.now_ns + self.wall_offset_ns

    def new_uid(self) -> str:
        digits = f"{self._names.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        now_ns = self.clock.now_ns
        return self._timers.push(now_ns + after_ns if after_ns > 0 else now_ns, fn, every_ns)

    def lane(self, name: str, *, size: int, per_key: int) -> SimulatedLane:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = SimulatedLane(self, name, size, per_key)
        return lane

    def lanes(self) -> tuple[LaneReport, ...]:
        return tuple(lane.report() for lane in self._lanes.values())

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        until_ns = None if timeout_ns is None else self.clock.now_ns + timeout_ns
        while not pending.done():
            if not self.step(until_ns):
                break
        return pending.done()

    def close(self) -> None:
        self._ready.clear()
        self._timers = TimerHeap()

    # --- driving the world ------------------------------------------------------------------------------------------

    def step(self, until_ns: int | None = None) -> bool:
        """Give one actor one turn, or let time pass to the next timer. False when nothing is left before `until_ns`."""
        ready = self._ready
        if ready:
            cell = ready.pop()
            if ready:
                index = int(self._order.random() * (len(ready) + 1))
                if index < len(ready):
                    cell, ready[index] = ready[index], cell
            self.steps += 1
            try:
                cell.run()
            finally:
                self.clock.cell = None
            return True
        timer = self._timers.pop_until(until_ns)
        if timer is None:
            return False
        due_ns, fn = timer
        if due_ns > self.clock.now_ns:
            self.clock.now_ns = due_ns
        fn()
        return True

    def run_until_idle(self) -> None:
        """Let everything happen that needs no time to pass."""
        while self.step(self.clock.now_ns):
            pass

    def run_for(self, ns: int) -> None:
        """Let `ns` ns of virtual time pass, with all that happens in them."""
        clock, ready, draw = self.clock, self._ready, self._order.random
        until_ns = clock.now_ns + ns
        while True:
            # `step`, without its calls: this is the way of every message and of every timer.
            try:
                while ready:
                    cell = ready.pop()
                    if ready:  # who is alone is next without a draw
                        others = len(ready)
                        index = int(draw() * (others + 1))
                        if index < others:
                            cell, ready[index] = ready[index], cell
                    self.steps += 1
                    cell.run()
            finally:
                clock.cell = None
            timer = self._timers.pop_until(until_ns)
            if timer is None:
                break
            due_ns, fn = timer
            if due_ns > clock.now_ns:
                clock.now_ns = due_ns
            fn()
        clock.now_ns = until_ns

    def run_until(self, condition: Callable[[], bool], limit_ns: int) -> bool:
        """Run until `condition()` holds, asked after every step, or `limit_ns` have passed. Whether it held."""
        until_ns = self.clock.now_ns + limit_ns
        while not condition():
            if not self.step(until_ns):
                self.clock.now_ns = until_ns
                return condition()
        return True
