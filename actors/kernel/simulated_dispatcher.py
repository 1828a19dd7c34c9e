"""One thread, virtual time, and an order drawn from a seed.

The seed determines all random values: which ready actor runs next, what actors draw from `chance`, every uid. Two runs
of one program with one seed are the same, message by message. Time stands still while an actor is ready and then jumps
to the next timer.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, ClassVar

from actors.kernel.dispatcher import Dispatcher, LaneReport, Runnable
from actors.kernel.promise import Pending
from actors.kernel.simulated_lane import SimulatedLane
from actors.kernel.timers import TimerHandle, TimerHeap

EPOCH_WALL_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z: the time of day at which every simulation begins."""


class SimulatedDispatcher(Dispatcher):
    """`steps` counts the turns given to actors so far.

    `late_calls`, from 0 to 1, is the share of lane calls that are made only after every ready actor has had a turn. It
    may be changed at any time.
    """

    single_threaded: ClassVar[bool] = True

    def __init__(self, seed: int = 0, late_calls: float = 1.0) -> None:
        self.seed = seed
        self.late_calls = late_calls
        self.steps = 0
        self.last_turn: Runnable | None = None
        """Whose turn was the last: with it a replay says what a step did."""
        self.wall_offset_ns = EPOCH_WALL_NS
        self.chance = random.Random(f"chance {seed}")
        self._now_ns = 0
        self._order = random.Random(f"order {seed}")
        self._names = random.Random(f"names {seed}")
        self._ready: list[Runnable] = []
        self._timers = TimerHeap()
        self._lanes: dict[str, SimulatedLane] = {}

    # --- the dispatcher's interface ---------------------------------------------------------------------------------

    def enqueue(self, cell: Runnable) -> None:
        self._ready.append(cell)

    def now_ns(self) -> int:
        return self._now_ns

    def wall_ns(self) -> int:
        return self._now_ns + self.wall_offset_ns

    def new_uid(self) -> str:
        digits = f"{self._names.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        return self._timers.push(self._now_ns + max(0, after_ns), fn, every_ns)

    def lane(self, name: str, *, size: int, per_key: int) -> SimulatedLane:
        lane = self._lanes.get(name)
        if lane is None:
            draw = random.Random(f"lane {name} {self.seed}").random
            lane = SimulatedLane(self, name, size, per_key, lambda: self.late_calls >= 1 or draw() < self.late_calls)
            self._lanes[name] = lane
        return lane

    def lanes(self) -> tuple[LaneReport, ...]:
        return tuple(lane.report() for lane in self._lanes.values())

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        until_ns = None if timeout_ns is None else self._now_ns + timeout_ns
        while not pending.done():
            if not self.step(until_ns):
                break
        return pending.done()

    def close(self) -> None:
        self._ready.clear()
        self._timers = TimerHeap()

    # --- driving the world ------------------------------------------------------------------------------------------

    def step(self, until_ns: int | None = None) -> bool:
        """Give one actor a turn, or let time pass to the next timer. False: nothing is due by `until_ns`."""
        if self._ready:
            self.steps += 1
            self.last_turn = cell = self._draw_ready()
            cell.run()
            return True
        due_ns = self._timers.next_due_ns()
        if due_ns is None or (until_ns is not None and due_ns > until_ns):
            return False
        self._now_ns = max(self._now_ns, due_ns)
        fn = self._timers.pop_due(due_ns)
        if fn is not None:
            fn()
        return True

    def _draw_ready(self) -> Runnable:
        ready = self._ready
        cell = ready.pop()
        if ready:
            index = int(self._order.random() * (len(ready) + 1))
            if index < len(ready):
                cell, ready[index] = ready[index], cell
        return cell

    def run_until_idle(self) -> None:
        """Run everything that is due without letting time pass."""
        while self.step(self._now_ns):
            pass

    def run_for(self, ns: int) -> None:
        """Let `ns` ns of virtual time pass, and run everything that is due in it."""
        until_ns = self._now_ns + ns
        while self.step(until_ns):
            pass
        self._now_ns = until_ns

    def run_until(self, condition: Callable[[], bool], limit_ns: int) -> bool:
        """Run until `condition()`, checked after every step, for at most `limit_ns`. Returns whether it held."""
        until_ns = self._now_ns + limit_ns
        while not condition():
            if not self.step(until_ns):
                self._now_ns = until_ns
                return condition()
        return True
