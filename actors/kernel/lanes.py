"""Lanes: where calls that can hang are run, on threads of their own.

A lane has a limit in total (`size`) and a limit per key (a pod, say), and every call may have a deadline. A call that
passes its deadline, or is cancelled while it runs (as the timeout of `Actor.wait` does), is written off: its caller
gets `DeadlineExceededError`, the lane gets a fresh thread in place of the lost one, and the key keeps one slot less
until the call does return. So a key with a dead mount can lose its own slots and no others. At most `MAX_WRITTEN_OFF`
lost threads are replaced; past that the lane refuses instead of eating the machine.

`size` is for calls that are as short as they should be. One that has run for `PATIENCE_NS` while others wait is slow:
it keeps its thread and is counted no more, so a lane may be small and a few dead mounts still hold up nobody else,
long before their deadlines.
"""

from __future__ import annotations

import enum
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

from actors.kernel.context import context
from actors.kernel.dispatcher import Dispatcher, LaneReport
from actors.kernel.errors import BlockingInHandlerError, DeadlineExceededError, LaneExhaustedError
from actors.kernel.timers import Cancellable

logger = logging.getLogger("actorlet.kernel")

T = TypeVar("T")

MAX_WRITTEN_OFF = 128
IDLE_THREAD_SECONDS = 2.0
"""A lane's thread ends after this long without work: lanes not in use cost no threads."""
PATIENCE_NS = 1_000_000_000
"""From then on a call that runs while others wait takes no place from them."""


class CallStage(enum.Enum):
    """Where a call is: HELD waits for a slot of its key, READY has it and waits for a thread, LOST hangs."""

    HELD = "held"
    READY = "ready"
    RUNNING = "running"
    LOST = "lost"
    OVER = "over"


class LaneFuture(Future[T]):
    """What `submit` gives. Await it; to cancel it takes the call from the queue, or writes it off when it runs."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        super().__init__()
        self._give_up = give_up

    def cancel(self) -> bool:
        cancelled = not self.done() and super().cancel()
        if cancelled:
            self._give_up()
        return cancelled

    def result(self, timeout: float | None = None) -> T:
        self._refuse_to_block()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self._refuse_to_block()
        return super().exception(timeout)

    def _refuse_to_block(self) -> None:
        if context.cell is not None and not self.done():
            raise BlockingInHandlerError(f"{context.cell.path} would block its thread on a lane: await self.wait(...)")


class _Call:
    __slots__ = ("args", "deadline", "fn", "future", "key", "slow", "stage", "started_ns")

    def __init__(self, lane: ThreadLane, key: Hashable, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.key = key
        self.fn = fn
        self.args = args
        self.stage = CallStage.HELD
        self.started_ns = 0
        self.slow = False
        self.deadline: Cancellable | None = None
        self.future: LaneFuture[Any] = LaneFuture(lambda: lane.give_up(self))


class ThreadLane:
    """See the module. All state is under one lock that is never held while a call runs."""

    def __init__(self, dispatcher: Dispatcher, name: str, size: int, per_key: int) -> None:
        self.name = name
        self._dispatcher = dispatcher
        self._size = size
        self._per_key = per_key
        self._condition = threading.Condition()
        self._ready: deque[_Call] = deque()
        self._held_back: dict[Hashable, deque[_Call]] = {}
        self._in_use: dict[Hashable, int] = {}
        self._lost: list[_Call] = []
        self._running: dict[_Call, None] = {}
        self._slow = 0
        self._watching = False
        self._threads = 0
        self._idle = 0
        self._closed = False

    def submit(self, key: Hashable, fn: Callable[..., T], *args: Any, deadline_ns: int | None = None) -> LaneFuture[T]:
        call = _Call(self, key, fn, args)
        with self._condition:
            if self._closed or len(self._lost) >= MAX_WRITTEN_OFF:
                reason = "is closed" if self._closed else f"has {len(self._lost)} calls that never returned"
                call.stage = CallStage.OVER
                call.future.set_exception(LaneExhaustedError(f"lane {self.name} {reason}"))
                return call.future
            if self._in_use.get(key, 0) < self._per_key:
                self._make_ready(call)
            else:
                self._held_back.setdefault(key, deque()).append(call)
        if deadline_ns is not None:
            # Waiting for a slot counts: who asked for an answer in time does not care why there is none.
            call.deadline = self._dispatcher.schedule(deadline_ns, lambda: self._time_is_up(call, deadline_ns))
            if call.stage is CallStage.OVER:
                call.deadline.cancel()
        return call.future

    def report(self) -> LaneReport:
        with self._condition:
            lost = tuple((str(call.key), name_of(call.fn), call.started_ns) for call in self._lost)
            waiting = len(self._ready) + sum(map(len, self._held_back.values()))
            return LaneReport(self.name, self._size, self._per_key, len(self._running), waiting, self._threads, lost)

    def close(self) -> None:
        """Threads without work end at once; those that hang are left behind (they are daemons)."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def give_up(self, call: _Call) -> None:
        """Nobody waits for this call any more: take it from its queue, or write its thread off."""
        with self._condition:
            if call.stage is CallStage.HELD:
                call.stage = CallStage.OVER
                held_back = self._held_back[call.key]
                held_back.remove(call)
                if not held_back:
                    del self._held_back[call.key]
            elif call.stage is CallStage.READY:
                call.stage = CallStage.OVER
                self._ready.remove(call)
                self._free_slot(call.key)
            elif call.stage is CallStage.RUNNING:
                call.stage = CallStage.LOST
                self._lost.append(call)
                self._runs_no_more(call)
                if self._ready:
                    self._add_thread()

    def _time_is_up(self, call: _Call, deadline_ns: int) -> None:
        self.give_up(call)
        _settle(call.future, None, DeadlineExceededError(f"{name_of(call.fn)} for {call.key}", deadline_ns))

    def _make_ready(self, call: _Call) -> None:
        call.stage = CallStage.READY
        self._in_use[call.key] = self._in_use.get(call.key, 0) + 1
        self._ready.append(call)
        if self._idle >= len(self._ready):
            self._condition.notify()
        else:
            self._add_thread()

    def _add_thread(self) -> None:
        if self._surplus() >= 0:
            self._watch_for_slow()
            return
        self._threads += 1
        try:
            threading.Thread(target=self._work, name=f"lane-{self.name}", daemon=True).start()
        except RuntimeError:
            self._threads -= 1
            logger.exception("lane %s gets no more threads; calls wait for the %d it has", self.name, self._threads)

    def _surplus(self) -> int:
        """How many threads there are beyond `size`, not counting those that lost and slow calls hold."""
        return self._threads - len(self._lost) - self._slow - self._size

    def _watch_for_slow(self) -> None:
        """Calls wait and every thread is taken: look in a while whether that is because of slow ones."""
        if not self._watching and self._slow + len(self._lost) < MAX_WRITTEN_OFF:
            self._watching = True
            self._dispatcher.schedule(PATIENCE_NS, self._look_for_slow)

    def _look_for_slow(self) -> None:
        with self._condition:
            self._watching = False
            if not self._ready or self._closed:
                return
            since_ns = self._dispatcher.now_ns() - PATIENCE_NS
            for call in self._running:
                if not call.slow and call.started_ns <= since_ns:
                    call.slow = True
                    self._slow += 1
            for _ in range(min(len(self._ready), -self._surplus())):
                self._add_thread()
            if self._surplus() >= 0:
                self._watch_for_slow()

    def _runs_no_more(self, call: _Call) -> None:
        del self._running[call]
        if call.slow:
            self._slow -= 1

    def _work(self) -> None:
        while True:
            with self._condition:
                call = self._next_call()
                if call is None:
                    self._threads -= 1
                    return
                call.stage = CallStage.RUNNING
                call.started_ns = self._dispatcher.now_ns()
                self._running[call] = None
            must_end = self._run(call)
            del call  # an idle thread keeps nobody's arguments
            if must_end:
                return

    def _next_call(self) -> _Call | None:
        until = time.monotonic() + IDLE_THREAD_SECONDS
        while not self._ready:
            left = until - time.monotonic()
            if self._closed or left <= 0:
                return None
            self._idle += 1
            self._condition.wait(left)
            self._idle -= 1
        return self._ready.popleft()

    def _run(self, call: _Call) -> bool:
        try:
            result = call.fn(*call.args)
        except BaseException as failure:
            return self._finish(call, None, failure)
        return self._finish(call, result, None)

    def _finish(self, call: _Call, result: Any, failure: BaseException | None) -> bool:
        """The call has returned: free its slot, answer. True when this thread has been replaced and must end."""
        with self._condition:
            lost = call.stage is CallStage.LOST
            call.stage = CallStage.OVER
            self._free_slot(call.key)
            if lost:
                self._lost.remove(call)
            else:
                self._runs_no_more(call)
            must_end = lost or self._surplus() > 0
            if must_end:
                self._threads -= 1
        if call.deadline is not None:
            call.deadline.cancel()
        _settle(call.future, result, failure)
        return must_end

    def _free_slot(self, key: Hashable) -> None:
        held_back = self._held_back.get(key)
        self._in_use[key] -= 1
        if held_back:
            call = held_back.popleft()
            if not held_back:
                del self._held_back[key]
            self._make_ready(call)
        elif not self._in_use[key]:
            del self._in_use[key]


def _settle(future: Future[Any], result: Any, failure: BaseException | None) -> None:
    try:
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
    except InvalidStateError:
        return  # the deadline and the call's end met; the first of them has answered


def name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
