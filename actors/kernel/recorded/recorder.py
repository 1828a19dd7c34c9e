"""`RecordedDispatcher`: records everything that its actors learn, on any dispatcher.

Theory of operation:

Actors decide by four things: the messages they take, what capabilities return, time, and chance. So a record needs
these, in one order. What actors send each other needs no record: it follows, and a replay compares it.

1. **One order.** Everything happens in *steps*, one after the other. A step is a slice of turns of one actor, or
   something from outside. The dispatcher beneath has one worker, so turns do not overlap. What comes from another
   thread (the end of an effect, a callback, a message) waits in the queue of the worker, and is a step of its own.
2. **One time.** The clock stands still within a step. Each step is noted with its time.
3. **One chance.** Actors draw from a generator with a recorded seed.
4. **One edge.** Actors reach capabilities through `edges`, which note each call in a step, with its result. Work of
   lanes runs outside of steps: a lane call is an effect like others, and nothing inside it is noted.

Timers of actors have a heap here, and fire in steps. Timers of what is beneath actors (deadlines of lanes, rate limits)
are those of the dispatcher beneath.

A system of actors can hand over to the next one in the same process: `hand_over`, then `close`. Nothing comes from it
afterwards, and the dispatcher beneath lives on.

What wakes an actor in another way breaks the order. That is noted as `Lost`, and the actors go on as without a record.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Any, TypeVar

from pykka.messages import _ActorStop

from actors.kernel.context import context
from actors.kernel.dispatcher import Dispatcher, LaneReport, Runnable
from actors.kernel.incarnation import EffectEnded
from actors.kernel.promise import Pending, Promise
from actors.kernel.recorded.edges import Edges, RecordedLane
from actors.kernel.recorded.entries import (
    Began,
    ClockSet,
    Closed,
    Entry,
    Lost,
    MessageCame,
    Sent,
    StopCame,
    TimersFired,
    Turn,
)
from actors.kernel.timers import TimerHandle, TimerHeap

T = TypeVar("T")

Note = Callable[[Entry], object]
"""Takes the entries in their order, on the thread of the step. It must not block or raise."""
CLOCK_DRIFT_NS = 1_000_000
"""The time of day is noted anew when it is off by this much."""
NO_THREAD = 0
HAND_OVER_NS = 30_000_000_000
"""How long to wait for the worker beneath. It replaces a thread that hangs before that."""


class RecordedDispatcher(Dispatcher):
    """See the module. `inner` has one worker at most. `seed`: of chance and names; draw it at random.

    Everything up to `release` is one step on the thread that made this dispatcher: it makes the actors.
    """

    def __init__(self, inner: Dispatcher, note: Note, seed: int) -> None:
        self.chance = random.Random(f"chance {seed}")
        self._names = random.Random(f"names {seed}")
        self._inner = inner
        self._note = note
        self._timers = TimerHeap()
        self._armed_ns: int | None = None
        """When the dispatcher beneath calls for the timers of actors, if it does."""
        self._held: list[Runnable] | None = []
        self._lanes: dict[str, RecordedLane] = {}
        self._lock = threading.Lock()
        self._own_trace = inner.trace
        self.trace = inner.trace
        self.tap = self._taps
        self.edges = Edges(self, note)
        self._now_ns = inner.now_ns()
        wall_ns = inner.wall_ns()
        self._offset_ns = wall_ns - self._now_ns
        self._thread = threading.get_ident()
        """The thread of the step that runs now."""
        self._hands_over = False
        self._is_over = False
        """Its actors have handed over: whatever still comes is for nobody."""
        self.lost = ""
        """Why the record cannot be played from some step on; empty while it can."""
        note(Began(self._now_ns, wall_ns, seed))

    def release(self) -> None:
        """The actors are made: let them run."""
        held, self._held = self._held or [], None
        self._thread = NO_THREAD
        for runnable in held:
            self._inner.enqueue(runnable)
        self._arm()

    # --- the dispatcher's interface ---------------------------------------------------------------------------------

    def enqueue(self, cell: Runnable) -> None:
        if self._is_over:
            return
        turn = _Turn(self, cell)
        if self._held is not None:
            self._held.append(turn)
            return
        if not self.in_step():
            self.lose(f"{cell.path} was woken by something that is not recorded")
        self._inner.enqueue(turn)

    def now_ns(self) -> int:
        return self._now_ns if self.in_step() else self._inner.now_ns()

    def wall_ns(self) -> int:
        return self._now_ns + self._offset_ns if self.in_step() else self._inner.wall_ns()

    def work_ns(self) -> int:
        return self._inner.now_ns()

    def beneath(self) -> Dispatcher:
        return self._inner

    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> Any:
        if not self.in_step():
            return self._inner.schedule(after_ns, fn, every_ns)
        handle: TimerHandle = self._timers.push(self._now_ns + max(0, after_ns), fn, every_ns)
        if self._held is None:
            self._arm()
        return handle

    def new_uid(self) -> str:
        if not self.in_step():
            return self._inner.new_uid()
        digits = f"{self._names.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"

    def observe(self, what: str, look: Callable[[], T]) -> T:
        seen: T = self.edges.call(f"observed {what}", look, (), {}) if self.in_step() else look()
        return seen

    def new_mailbox(self, actor_class: Any) -> Any:
        return self._inner.new_mailbox(actor_class)

    def handlers_of(self, actor_class: Any) -> Any:
        return self._inner.handlers_of(actor_class)

    def lane(self, name: str, *, size: int, per_key: int) -> RecordedLane:
        with self._lock:
            lane = self._lanes.get(name)
            if lane is None:
                beneath = self._inner.lane(name, size=size, per_key=per_key)
                lane = self._lanes[name] = RecordedLane(self.edges, name, beneath)
            return lane

    def lanes(self) -> tuple[LaneReport, ...]:
        return self._inner.lanes()

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        return self._inner.wait_until_done(pending, timeout_ns)

    def stuck(self) -> tuple[tuple[str, int], ...]:
        return self._inner.stuck()

    def hand_over(self) -> None:
        """At its end, leave the dispatcher beneath to the next one."""
        self._hands_over = True

    def close(self) -> None:
        if not self._hands_over:
            if not self.lost:
                self._note(Closed(self._inner.now_ns()))
            self._inner.close()
            return
        last: Promise[None] = Promise()
        self.come(Closed, lambda: last.set_result(None))  # a step, since the worker may still be in one
        self._inner.wait_until_done(last, HAND_OVER_NS)
        self._is_over = True
        self._note = self.edges.note = _drop
        self.edges.close()

    # --- steps ------------------------------------------------------------------------------------------------------

    def in_step(self) -> bool:
        """Whether this thread runs a step: what it does is recorded."""
        return self._thread == threading.get_ident()

    def outside(self) -> _Outside:
        """`with outside():` what this thread does meanwhile is no part of its step."""
        return _Outside(self)

    def come(self, step: Callable[[int], Entry | None], then: Callable[[], object]) -> None:
        """Something has come from outside, on any thread: note it and do `then`, in a step of its own.

        `step` gets the time; None: it is nothing any more.
        """
        if not self._is_over:
            self._inner.enqueue(_Arrival(self, step, then))

    def lose(self, why: str) -> None:
        """Something cannot be recorded. The first time counts."""
        if not self.lost:
            self.lost = why
            self._note(Lost(why))
            self._note = self.edges.note = _drop

    def begin_step(self) -> int:
        thread = threading.get_ident()
        if self._thread not in (NO_THREAD, thread):
            self.lose("two actors had turns at the same time")
        self._thread = thread
        inner = self._inner
        now_ns = self._now_ns = max(self._now_ns, inner.now_ns())
        offset_ns = inner.wall_ns() - now_ns
        if abs(offset_ns - self._offset_ns) > CLOCK_DRIFT_NS:
            self._offset_ns = offset_ns
            self._note(ClockSet(offset_ns))
        return now_ns

    def end_step(self) -> None:
        if self.in_step():
            self._thread = NO_THREAD

    def take_turns(self, cell: Runnable, turns: int) -> None:
        if self._is_over:
            return
        self._note(Turn(self.begin_step(), cell.path, turns))
        try:
            cell.run(turns)
        finally:
            self.end_step()

    def arrive(self, step: Callable[[int], Entry | None], then: Callable[[], object]) -> None:
        if self._is_over:
            return
        entry = step(self.begin_step())
        try:
            if entry is not None:
                self._note(entry)
                then()
        finally:
            self.end_step()

    # --- timers -----------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the dispatcher beneath call for the first timer."""
        due_ns = self._timers.next_due_ns()
        if due_ns is None or (self._armed_ns is not None and self._armed_ns <= due_ns):
            return
        self._armed_ns = due_ns
        self._inner.schedule(max(0, due_ns - self._inner.now_ns()), lambda: self._call_for_timers(due_ns))

    def _call_for_timers(self, armed_ns: int) -> None:
        if self._armed_ns == armed_ns:  # otherwise an earlier one came in between
            self.come(self._timers_fire, self._fire)

    def _timers_fire(self, now_ns: int) -> TimersFired | None:
        self._armed_ns = None
        due_ns = self._timers.next_due_ns()
        if due_ns is not None and due_ns <= now_ns:
            return TimersFired(now_ns)
        self._arm()
        return None

    def _fire(self) -> None:
        fire_due(self._timers, self._now_ns)
        self._arm()

    # --- messages ---------------------------------------------------------------------------------------------------

    def _taps(self, cell: Any, message: Any, reply_to: Any, key: Hashable | None) -> bool:
        is_stop = isinstance(message, _ActorStop)
        if self.in_step() or self._held is not None:
            if context.cell is not None and not isinstance(message, EffectEnded):
                self._note(Sent(cell.path, None if is_stop else message))
            return False
        if self._is_over:
            return False
        if is_stop:
            self.come(lambda now_ns: StopCame(now_ns, cell.path), lambda: cell.request_stop(reply_to))
        else:
            asked = reply_to is not None

            def came(now_ns: int) -> MessageCame | None:
                if not cell.has_stopped():
                    return MessageCame(now_ns, cell.path, message, asked)
                cell.post(message, reply_to, key)  # it says so itself; no actor hears of it
                return None

            self.come(came, lambda: cell.post(message, reply_to, key))
        return True


def _drop(entry: Entry) -> None:
    """Nothing is noted any more."""


def fire_due(timers: TimerHeap, now_ns: int) -> None:
    """Call all timers that are due, those that become due meanwhile included."""
    while (fn := timers.pop_due(now_ns)) is not None:
        fn()


class _Turn:
    """A slice of an actor, as the dispatcher beneath sees it."""

    __slots__ = ("_cell", "_dispatcher", "path")

    def __init__(self, dispatcher: RecordedDispatcher, cell: Runnable) -> None:
        self._dispatcher = dispatcher
        self._cell = cell
        self.path = cell.path

    @property
    def slice_since_ns(self) -> int | None:
        """See `Runnable`."""
        return self._cell.slice_since_ns

    @slice_since_ns.setter
    def slice_since_ns(self, _: int | None) -> None:
        """The cell has its own."""

    def run(self, turns: int = 1) -> None:
        """See `Runnable`."""
        self._dispatcher.take_turns(self._cell, turns)


class _Arrival:
    """Something from outside, as the dispatcher beneath sees it."""

    __slots__ = ("_dispatcher", "_step", "_then", "path", "slice_since_ns")

    def __init__(
        self, dispatcher: RecordedDispatcher, step: Callable[[int], Entry | None], then: Callable[[], object]
    ) -> None:
        self._dispatcher = dispatcher
        self._step = step
        self._then = then
        self.path = "what comes from outside"
        self.slice_since_ns: int | None = None

    def run(self, turns: int = 1) -> None:
        """See `Runnable`."""
        self.slice_since_ns = self._dispatcher.work_ns()
        self._dispatcher.arrive(self._step, self._then)
        self.slice_since_ns = None


class _Outside:
    __slots__ = ("_before", "_dispatcher")

    def __init__(self, dispatcher: RecordedDispatcher) -> None:
        self._dispatcher = dispatcher
        self._before = NO_THREAD

    def __enter__(self) -> None:
        if self._dispatcher.in_step():
            self._before, self._dispatcher._thread = self._dispatcher._thread, NO_THREAD

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before == NO_THREAD:
            return
        if self._dispatcher._thread == NO_THREAD:
            self._dispatcher._thread = self._before
        else:  # this thread was away for so long that it was replaced
            self._dispatcher.lose("a call held the thread of an actor for too long")
