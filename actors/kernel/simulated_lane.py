"""A lane in a world without threads: calls happen in zero time, under the same limits as on threads.

A call that would take long, or hang, is played by a function that returns a `Promise`: the call ends when that does.
Deadlines, write-offs and refusals are those of `lanes`. Most calls end at once: only one that waits for a slot, or does
not return at once, has a timer for its deadline.

A late call is made when every ready actor has had a turn: others come in between, and an agent may die there. An
early call is made within the turn of its caller, as a fast thread would. The dispatcher draws which. While any call
waits none is early: calls begin in the order in which they come.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from actors.kernel.context import context
from actors.kernel.dispatcher import Dispatcher, LaneReport
from actors.kernel.errors import DeadlineExceededError, LaneExhaustedError
from actors.kernel.lanes import MAX_WRITTEN_OFF, PATIENCE_NS, CallStage, name_of
from actors.kernel.promise import Promise, broken, kept
from actors.kernel.timers import Cancellable

T = TypeVar("T")


class _Call:
    __slots__ = ("args", "deadline", "deadline_ns", "fn", "key", "promise", "slow", "stage", "started_ns")

    def __init__(self, key: Hashable, fn: Callable[..., Any], args: tuple[Any, ...], deadline_ns: int | None) -> None:
        self.key = key
        self.fn = fn
        self.args = args
        self.promise: Promise[Any] = Promise()
        self.stage = CallStage.HELD
        self.started_ns = 0
        self.slow = False
        self.deadline_ns = deadline_ns
        self.deadline: Cancellable | None = None


class SimulatedLane:
    """See the module."""

    def __init__(self, dispatcher: Dispatcher, name: str, size: int, per_key: int, is_late: Callable[[], bool]) -> None:
        self.name = name
        self._dispatcher = dispatcher
        self._is_late = is_late
        self._size = size
        self._per_key = per_key
        self._in_use: dict[Hashable, int] = {}
        """By key: how many calls run on, or are lost."""
        self._running: dict[_Call, None] = {}
        """Calls that did not return at once."""
        self._slow = 0
        self._watching = False
        self._is_due = False
        """A timer will start the ready calls."""
        self._lost: list[_Call] = []
        self._waiting: dict[_Call, None] = {}
        self._new: list[_Call] = []
        """Calls that came since the ready ones were last started."""

    def submit(self, key: Hashable, fn: Callable[..., T], *args: Any, deadline_ns: int | None = None) -> Promise[T]:
        if len(self._lost) >= MAX_WRITTEN_OFF:
            return broken(LaneExhaustedError(f"lane {self.name} has {len(self._lost)} calls that never returned"))
        if self._waiting or (self._in_use and not self._has_room(key)) or self._is_late():
            call = _Call(key, fn, args, deadline_ns)
            self._waiting[call] = None
            self._new.append(call)
            self._start_soon()
            return call.promise
        # It is called outside of its caller's turn, as on a thread: what it tells comes from no actor.
        caller, context.cell = context.cell, None
        try:
            result = fn(*args)
        except BaseException as failure:
            return broken(failure)
        finally:
            context.cell = caller
        if not isinstance(result, Promise):
            return kept(result)
        call = _Call(key, fn, args, deadline_ns)
        self._goes_on(call, result)
        if call.stage is not CallStage.OVER:
            self._watch(call)
        return call.promise

    def report(self) -> LaneReport:
        lost = tuple((str(call.key), name_of(call.fn), call.started_ns) for call in self._lost)
        return LaneReport(self.name, self._size, self._per_key, len(self._running), len(self._waiting), 0, lost)

    def _has_room(self, key: Hashable) -> bool:
        """Whether one more call with that key may run."""
        return len(self._running) - self._slow < self._size and self._in_use.get(key, 0) < self._per_key

    def _start_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._dispatcher.schedule(0, self._start_ready)

    def _watch(self, call: _Call) -> None:
        """Set its deadline. A promise that ends before the call does was given up: by the deadline, or a cancel."""
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
            if call.stage is not CallStage.OVER:
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
        """Make the call. It takes a slot only when it does not return at once."""
        call.stage = CallStage.OVER
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
        """The call runs until the promise that it returned is kept."""
        self._in_use[call.key] = self._in_use.get(call.key, 0) + 1
        self._running[call] = None
        call.stage = CallStage.RUNNING
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
        if call.stage is CallStage.LOST:
            self._lost.remove(call)
        else:
            self._runs_no_more(call)
        call.stage = CallStage.OVER
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
        if call.stage is CallStage.HELD:
            call.stage = CallStage.OVER
            del self._waiting[call]
        elif call.stage is CallStage.RUNNING:
            call.stage = CallStage.LOST
            self._runs_no_more(call)
            self._lost.append(call)
            self._start_soon()

    def _time_is_up(self, call: _Call) -> None:
        assert call.deadline_ns is not None, "only a deadline can be over"
        call.promise.set_exception(DeadlineExceededError(f"{name_of(call.fn)} for {call.key}", call.deadline_ns))
