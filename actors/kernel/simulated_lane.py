"""A lane in a world without threads: calls happen in zero time, under the same limits as on threads.

A call that would take long, or hang, is played by a function that returns a `Promise`: the call ends when that does.
Deadlines, write-offs and refusals are those of `lanes`. Most calls end at the moment at which they come: only one that
waits for its turn, or does not return at once, has a timer for its deadline.

A call is made when everybody who is ready has had a turn: each is a place where others come in between, where an agent
may die. A thread may also be done with it before whoever has submitted it goes on; a dispatcher that has fewer
`late_calls` makes the others at once, within the turn of the caller, and the seed draws which. They cost a fifth. While
any waits none is made at once: calls begin in the order in which they come.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from actors.kernel.errors import DeadlineExceededError, LaneExhaustedError
from actors.kernel.lanes import MAX_WRITTEN_OFF, PATIENCE_NS, LaneReport, Stage
from actors.kernel.promise import Promise, broken, kept

if TYPE_CHECKING:
    from actors.kernel.dispatcher import Cancellable
    from actors.kernel.simulated_dispatcher import SimulatedDispatcher

T = TypeVar("T")

# The way of every call: a member of an enum costs ten times a global name.
_HELD, _RUNNING, _LOST, _OVER = Stage.HELD, Stage.RUNNING, Stage.LOST, Stage.OVER


class _Call:
    __slots__ = ("args", "deadline", "deadline_ns", "fn", "key", "promise", "slow", "stage", "started_ns")

    def __init__(self, key: Hashable, fn: Callable[..., Any], args: tuple[Any, ...], deadline_ns: int | None) -> None:
        self.key = key
        self.fn = fn
        self.args = args
        self.promise: Promise[Any] = Promise()
        self.stage = _HELD
        self.started_ns = 0
        self.slow = False
        self.deadline_ns = deadline_ns
        self.deadline: Cancellable | None = None


class SimulatedLane:
    """See the module."""

    def __init__(self, dispatcher: SimulatedDispatcher, name: str, size: int, per_key: int) -> None:
        self.name = name
        self._dispatcher = dispatcher
        self._draw = random.Random(f"lane {name} {dispatcher.seed}").random
        self._size = size
        self._per_key = per_key
        self._in_use: dict[Hashable, int] = {}
        """By key: how many calls run that did not return at once, or are lost."""
        self._running: dict[_Call, None] = {}
        """Those that did not return at once."""
        self._slow = 0
        self._watching = False
        self._is_due = False
        """What is ready starts in a moment."""
        self._lost: list[_Call] = []
        self._waiting: dict[_Call, None] = {}
        self._new: list[_Call] = []
        """Of those that wait: who has come since it was last seen who can start."""

    def submit(self, key: Hashable, fn: Callable[..., T], *args: Any, deadline_ns: int | None = None) -> Promise[T]:
        if len(self._lost) >= MAX_WRITTEN_OFF:
            return broken(LaneExhaustedError(f"lane {self.name} has {len(self._lost)} calls that never returned"))
        dispatcher = self._dispatcher
        late_calls = dispatcher.late_calls
        if late_calls >= 1 or self._waiting or (self._in_use and not self._has_room(key)) or self._draw() < late_calls:
            call = _Call(key, fn, args, deadline_ns)
            self._waiting[call] = None
            self._new.append(call)
            if not self._is_due:
                self._start_soon()
            return call.promise
        # Called now, it is nobody's turn meanwhile: what it tells it tells as by itself.
        clock = dispatcher.clock
        caller, clock.cell = clock.cell, None
        try:
            result = fn(*args)
        except BaseException as failure:
            return broken(failure)
        finally:
            clock.cell = caller
        if not isinstance(result, Promise):
            return kept(result)
        call = _Call(key, fn, args, deadline_ns)
        self._goes_on(call, result)
        if call.stage is not _OVER:
            self._watch(call)
        return call.promise

    def report(self) -> LaneReport:
        lost = tuple((str(call.key), _name_of(call.fn), call.started_ns) for call in self._lost)
        return LaneReport(self.name, self._size, self._per_key, len(self._running), len(self._waiting), 0, lost)

    def _has_room(self, key: Hashable) -> bool:
        """While others run; when nobody does there is."""
        return len(self._running) - self._slow < self._size and self._in_use.get(key, 0) < self._per_key

    def _start_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._dispatcher.schedule(0, self._start_ready)

    def _watch(self, call: _Call) -> None:
        """It has not ended at once. Whoever ends its promise before that has given it up: the deadline, or a cancel."""
        if call.deadline_ns is not None:
            call.deadline = self._dispatcher.schedule(call.deadline_ns, lambda: self._time_is_up(call))
        call.promise.add_done_callback(lambda _: self._give_up(call))

    def _start_ready(self) -> None:
        self._is_due = False
        in_use, new, self._new = self._in_use, self._new, []
        for call in list(self._waiting):
            if call.promise.done():
                self._give_up(call)
            elif len(self._running) - self._slow >= self._size:
                self._watch_for_slow()
                break
            elif not in_use or in_use.get(call.key, 0) < self._per_key:
                del self._waiting[call]
                self._run(call)
        for call in new:
            if call.stage is not _OVER:
                self._watch(call)

    def _watch_for_slow(self) -> None:
        if not self._watching:
            self._watching = True
            self._dispatcher.schedule(PATIENCE_NS, self._look_for_slow)

    def _look_for_slow(self) -> None:
        self._watching = False
        since_ns = self._dispatcher.now_ns() - PATIENCE_NS
        for call in self._running if self._waiting else ():
            if not call.slow and call.started_ns <= since_ns and self._slow + len(self._lost) < MAX_WRITTEN_OFF:
                call.slow = True
                self._slow += 1
        self._start_ready()

    def _runs_no_more(self, call: _Call) -> None:
        del self._running[call]
        if call.slow:
            self._slow -= 1

    def _run(self, call: _Call) -> None:
        """Nobody looks while it is called: only what goes on afterwards takes a place, and is written down."""
        call.stage = _OVER
        promise = call.promise
        try:
            result = call.fn(*call.args)
        except BaseException as failure:
            self._let_deadline_go(call)
            promise.set_exception(failure)
            return
        if isinstance(result, Promise):
            self._goes_on(call, result)
            return
        if call.deadline is not None:
            self._let_deadline_go(call)
        promise.set_result(result)

    def _goes_on(self, call: _Call, inner: Promise[Any]) -> None:
        """It runs until the promise that it gave is kept."""
        self._in_use[call.key] = self._in_use.get(call.key, 0) + 1
        self._running[call] = None
        call.stage = _RUNNING
        call.started_ns = self._dispatcher.now_ns()
        if call.promise.done():
            self._give_up(call)

        def ended(_: object) -> None:
            self._returned(call)
            failure = inner.exception()
            if failure is None:
                call.promise.set_result(inner.result())
            else:
                call.promise.set_exception(failure)

        inner.add_done_callback(ended)

    def _returned(self, call: _Call) -> None:
        if call.stage is _LOST:
            self._lost.remove(call)
        else:
            self._runs_no_more(call)
        call.stage = _OVER
        self._let_deadline_go(call)
        self._in_use[call.key] -= 1
        if not self._in_use[call.key]:
            del self._in_use[call.key]
        if self._waiting:
            self._start_soon()

    def _let_deadline_go(self, call: _Call) -> None:
        if call.deadline is not None:
            call.deadline.cancel()

    def _give_up(self, call: _Call) -> None:
        if call.stage is _HELD:
            call.stage = _OVER
            del self._waiting[call]
        elif call.stage is _RUNNING:
            call.stage = _LOST
            self._runs_no_more(call)
            self._lost.append(call)
            self._start_soon()

    def _time_is_up(self, call: _Call) -> None:
        assert call.deadline_ns is not None, "only a deadline can be over"
        call.promise.set_exception(DeadlineExceededError(f"{_name_of(call.fn)} for {call.key}", call.deadline_ns))


def _name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
