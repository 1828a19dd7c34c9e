"""Lanes: where calls that can hang are run.

`ThreadLane` gives them threads; `simulated_lane` has none.

A lane has a limit in total (`size`) and a limit per key (a pod, say), and every call may have a deadline. A call is
written off when it passes its deadline, or is cancelled while it runs (by the timeout of `Actor.wait`, for example).
Its caller gets the failure, and another call may run in its place. The key keeps one slot less until the call does
return. So a dead mount can take the slots of its own key and no others. A lane that has written off `MAX_WRITTEN_OFF`
calls refuses more, so lost threads are bounded.

`size` is meant for short calls. A call that has run for `PATIENCE_NS` when others wait is slow: it goes on, but is not
counted in `size` any more. So a lane may be small, and a few dead mounts hold nobody up, long before their deadlines.
A call of a key that has a slow or lost call is slow from its beginning: a thing that hangs holds others up once.
"""

from __future__ import annotations

import abc
import enum
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actors.kernel.dispatcher import Dispatcher, LaneReport
from actors.kernel.errors import DeadlineExceededError, LaneExhaustedError
from actors.kernel.promise import Promise, broken
from actors.kernel.timers import Cancellable

logger = logging.getLogger("actorlet.kernel")

T = TypeVar("T")

MAX_WRITTEN_OFF = 128
IDLE_THREAD_SECONDS = 2.0
"""A thread ends after this long without a call: an unused lane costs no threads."""
PATIENCE_NS = 1_000_000_000


class CallStage(enum.Enum):
    """The stage of a call. LOST: it is written off and still runs."""

    WAITING = "waiting"
    RUNNING = "running"
    LOST = "lost"
    OVER = "over"


@dataclass(slots=True, eq=False)
class LaneCall:
    """One call and the promise of its result. `slow`: it does not count towards the size of its lane."""

    key: Hashable
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    promise: Promise[Any] = field(default_factory=Promise)
    stage: CallStage = CallStage.WAITING
    started_ns: int = 0
    slow: bool = False
    deadline: Cancellable | None = None

    @property
    def name(self) -> str:
        return getattr(self.fn, "__qualname__", repr(self.fn))


class LaneBase(abc.ABC):
    """The rules of all lanes. On threads, no call and no callback of a promise runs under the lock."""

    def __init__(self, dispatcher: Dispatcher, name: str, size: int, per_key: int) -> None:
        self.name = name
        self._dispatcher = dispatcher
        self._size = size
        self._per_key = per_key
        self._lock = threading.Condition()
        self._waiting: dict[LaneCall, None] = {}
        self._running: dict[LaneCall, None] = {}
        self._lost: list[LaneCall] = []
        self._in_use: dict[Hashable, int] = {}
        """By key: how many calls run or are lost."""
        self._slow = 0
        self._watching = False
        self._threads = 0
        self._closed = False

    @abc.abstractmethod
    def _start_ready(self) -> None:
        """Start the waiting calls that have a slot, at once or soon. Under the lock."""

    def _start_new(self, call: LaneCall) -> None:
        """Start a call that has just come, if it has a slot. Under the lock."""
        self._start_ready()

    @abc.abstractmethod
    def _start(self, call: LaneCall) -> None:
        """Start a call that has a slot. Under the lock."""

    def submit(self, key: Hashable, fn: Callable[..., T], *args: Any, deadline_ns: int | None = None) -> Promise[T]:
        call = LaneCall(key, fn, args)
        with self._lock:
            if self._closed or len(self._lost) >= MAX_WRITTEN_OFF:
                reason = "is closed" if self._closed else f"has {len(self._lost)} calls that never returned"
                return broken(LaneExhaustedError(f"lane {self.name} {reason}"))
            self._waiting[call] = None
            self._start_new(call)
        if deadline_ns is not None and not call.promise.done():
            # From here, not from the start of the call: the caller does not care why there is no answer in time.
            late = DeadlineExceededError(f"{call.name} for {key}", deadline_ns)
            call.deadline = self._dispatcher.schedule(deadline_ns, lambda: call.promise.set_exception(late))
        call.promise.add_done_callback(lambda _: self._promise_ended(call))
        return call.promise

    def report(self) -> LaneReport:
        with self._lock:
            lost = tuple((str(call.key), call.name, call.started_ns) for call in self._lost)
            return LaneReport(
                self.name, self._size, self._per_key, len(self._running), len(self._waiting), self._threads, lost
            )

    def _promise_ended(self, call: LaneCall) -> None:
        """The call, its deadline or a cancel has ended the promise: give up a call that is not over."""
        if call.deadline is not None:
            call.deadline.cancel()
        with self._lock:
            if call.stage is CallStage.WAITING:
                call.stage = CallStage.OVER
                del self._waiting[call]
            elif call.stage is CallStage.RUNNING:
                call.stage = CallStage.LOST
                self._lost.append(call)
                self._runs_no_more(call)
                self._start_ready()

    def _has_slot(self, key: Hashable) -> bool:
        return not self._is_full() and self._in_use.get(key, 0) < self._per_key

    def _is_full(self) -> bool:
        return len(self._running) - self._slow >= self._size

    def _start_all_with_a_slot(self) -> None:
        """Start waiting calls in their order. A call that waits for its key lets the others pass."""
        for call in list(self._waiting):
            if self._is_full():
                self._watch_for_slow()
                return
            if self._has_slot(call.key) and call.stage is CallStage.WAITING:
                del self._waiting[call]
                self._start(call)

    def _runs(self, call: LaneCall) -> None:
        call.stage = CallStage.RUNNING
        call.started_ns = self._dispatcher.now_ns()
        if self._hangs(call.key):
            self._now_slow(call)
        self._running[call] = None
        self._in_use[call.key] = self._in_use.get(call.key, 0) + 1

    def _hangs(self, key: Hashable) -> bool:
        """Whether a call of this key is slow or lost. Few keys have more than one call under way."""
        if not self._in_use.get(key) or not self._may_have_more_slow():
            return False
        return any(call.key == key for call in self._lost) or any(
            call.slow and call.key == key for call in self._running
        )

    def _now_slow(self, call: LaneCall) -> None:
        call.slow = True
        self._slow += 1

    def _may_have_more_slow(self) -> bool:
        return self._slow + len(self._lost) < MAX_WRITTEN_OFF

    def _runs_no_more(self, call: LaneCall) -> None:
        del self._running[call]
        if call.slow:
            self._slow -= 1

    def _returned(self, call: LaneCall) -> bool:
        """The call has returned: free its slot. Under the lock. False when it was written off before."""
        was_lost = call.stage is CallStage.LOST
        call.stage = CallStage.OVER
        if was_lost:
            self._lost.remove(call)
        else:
            self._runs_no_more(call)
        self._in_use[call.key] -= 1
        if not self._in_use[call.key]:
            del self._in_use[call.key]
        return not was_lost

    def _watch_for_slow(self) -> None:
        """Calls wait and the lane is full: check for slow calls when the first may be one."""
        if self._watching or not self._may_have_more_slow():
            return
        first_ns = next((call.started_ns for call in self._running if not call.slow), None)
        if first_ns is not None:
            self._watching = True
            after_ns = max(0, first_ns + PATIENCE_NS - self._dispatcher.now_ns())
            self._dispatcher.schedule(after_ns, self._look_for_slow)

    def _look_for_slow(self) -> None:
        with self._lock:
            self._watching = False
            since_ns = self._dispatcher.now_ns() - PATIENCE_NS
            for call in self._running if self._waiting else ():
                if not call.slow and call.started_ns <= since_ns and self._may_have_more_slow():
                    self._now_slow(call)
            self._start_all_with_a_slot()


class ThreadLane(LaneBase):
    """Calls on threads of their own. A lost call keeps its thread, and the lane starts another one."""

    def __init__(self, dispatcher: Dispatcher, name: str, size: int, per_key: int) -> None:
        super().__init__(dispatcher, name, size, per_key)
        self._handed_over: deque[LaneCall] = deque()
        """Calls that have a slot, until a thread takes them."""

    def close(self) -> None:
        """Idle threads end at once; those that hang are left behind (they are daemons)."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def _start_ready(self) -> None:
        self._start_all_with_a_slot()

    def _start(self, call: LaneCall) -> None:
        self._runs(call)
        self._handed_over.append(call)
        if self._threads - len(self._lost) >= len(self._running):
            self._lock.notify()
            return
        self._threads += 1
        try:
            threading.Thread(target=self._work, name=f"lane-{self.name}", daemon=True).start()
        except RuntimeError:
            self._threads -= 1
            logger.exception("lane %s gets no more threads; calls wait for the %d it has", self.name, self._threads)

    def _promise_ended(self, call: LaneCall) -> None:
        with self._lock:
            if call in self._handed_over:  # no thread has taken it
                self._handed_over.remove(call)
                self._returned(call)
                self._start_ready()
        super()._promise_ended(call)

    def _work(self) -> None:
        while self._make_next_call():
            pass

    def _make_next_call(self) -> bool:
        """False when this thread ends: nothing came for a while, or its call was written off."""
        with self._lock:
            self._lock.wait_for(lambda: self._handed_over or self._closed, IDLE_THREAD_SECONDS)
            if not self._handed_over:
                self._threads -= 1
                return False
            call = self._handed_over.popleft()
            call.started_ns = self._dispatcher.now_ns()
        result: Any = None
        failure: BaseException | None = None
        try:
            result = call.fn(*call.args)
        except BaseException as raised:
            failure = raised
        with self._lock:
            goes_on = self._returned(call)
            if not goes_on:
                self._threads -= 1
            self._start_ready()
        if failure is None:
            call.promise.set_result(result)
        else:
            call.promise.set_exception(failure)
        return goes_on
