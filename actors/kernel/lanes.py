"""Lanes: where calls that can hang are run, on threads of their own.

A lane has a limit in total (`size`) and a limit per key (a pod, say), and every call may have a deadline. A call that
passes its deadline is written off: its caller gets `DeadlineExceededError`, the lane gets a fresh thread in place of
the lost one, and the key keeps one slot less until the call does return. So a key with a dead mount can lose its own
slots and no others. At most `MAX_WRITTEN_OFF` lost threads are replaced; past that the lane refuses instead of eating
the machine.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from actors.kernel.errors import DeadlineExceededError, LaneExhaustedError

if TYPE_CHECKING:
    from actors.kernel.dispatcher import Dispatcher

T = TypeVar("T")

MAX_WRITTEN_OFF = 128
IDLE_THREAD_SECONDS = 2.0
"""A lane's thread ends after this long without work: lanes not in use cost no threads."""


class LaneReport(msgspec.Struct, frozen=True):
    """One lane as data. `written_off` lists what hangs past its deadline: (key, call, since ns)."""

    name: str
    size: int
    per_key: int
    running: int
    waiting: int
    threads: int
    written_off: tuple[tuple[str, str, int], ...]


class _Call:
    __slots__ = ("args", "deadline", "fn", "future", "key", "started_ns", "written_off")

    def __init__(self, key: Hashable, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.key = key
        self.fn = fn
        self.args = args
        self.future: Future[Any] = Future()
        self.deadline: Any = None
        self.started_ns: int | None = None
        self.written_off = False


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
        self._running = 0
        self._threads = 0
        self._idle = 0
        self._closed = False

    def submit(self, key: Hashable, fn: Callable[..., T], *args: Any, deadline_ns: int | None = None) -> Future[T]:
        call = _Call(key, fn, args)
        with self._condition:
            if self._closed or len(self._lost) >= MAX_WRITTEN_OFF:
                reason = "is closed" if self._closed else f"has {len(self._lost)} calls that never returned"
                call.future.set_exception(LaneExhaustedError(f"lane {self.name} {reason}"))
                return call.future
            if self._in_use.get(key, 0) < self._per_key:
                self._make_ready(call)
            else:
                self._held_back.setdefault(key, deque()).append(call)
        if deadline_ns is not None:
            # Waiting for a slot counts: who asked for an answer in time does not care why there is none.
            call.deadline = self._dispatcher.schedule(deadline_ns, lambda: self._write_off(call, deadline_ns))
        return call.future

    def report(self) -> LaneReport:
        with self._condition:
            lost = tuple((str(call.key), _name_of(call.fn), call.started_ns or 0) for call in self._lost)
            waiting = len(self._ready) + sum(map(len, self._held_back.values()))
            return LaneReport(self.name, self._size, self._per_key, self._running, waiting, self._threads, lost)

    def close(self) -> None:
        """Threads without work end at once; those that hang are left behind (they are daemons)."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _make_ready(self, call: _Call) -> None:
        self._in_use[call.key] = self._in_use.get(call.key, 0) + 1
        self._ready.append(call)
        if self._idle >= len(self._ready):
            self._condition.notify()
        elif self._threads - len(self._lost) < self._size:
            self._threads += 1
            threading.Thread(target=self._work, name=f"lane-{self.name}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._condition:
                call = self._next_call()
                if call is None:
                    self._threads -= 1
                    return
                call.started_ns = self._dispatcher.now_ns()
                self._running += 1
            self._run(call)
            with self._condition:
                if self._finish(call):
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

    def _run(self, call: _Call) -> None:
        if call.future.done():  # given up while it waited
            return
        try:
            result = call.fn(*call.args)
        except BaseException as failure:
            _settle(call.future, None, failure)
        else:
            _settle(call.future, result, None)

    def _finish(self, call: _Call) -> bool:
        """Under the lock, the call has returned: free its slot. True when this thread was replaced and must end."""
        if call.deadline is not None:
            call.deadline.cancel()
        self._free_slot(call.key)
        if call.written_off:
            self._lost.remove(call)
            self._threads -= 1
            return True
        self._running -= 1
        return False

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

    def _write_off(self, call: _Call, deadline_ns: int) -> None:
        with self._condition:
            if call.future.done():
                return
            if call.started_ns is not None and not call.written_off:
                call.written_off = True
                self._lost.append(call)
                self._running -= 1
                if self._ready and self._threads - len(self._lost) < self._size:
                    self._threads += 1
                    threading.Thread(target=self._work, name=f"lane-{self.name}", daemon=True).start()
        _settle(call.future, None, DeadlineExceededError(f"{_name_of(call.fn)} for {call.key}", deadline_ns))


def _settle(future: Future[Any], result: Any, failure: BaseException | None) -> None:
    try:
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)
    except InvalidStateError:
        return  # the deadline and the call's end met; the first of them has answered


def _name_of(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__qualname__", repr(fn))
