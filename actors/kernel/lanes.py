"""Lanes: where calls that can hang are run.

`ThreadLane` gives them threads; `simulated_lane` has none.

A lane has a limit in total (`size`) and a limit per key (a pod, say), and every call may have a deadline. Keys take
turns; `turns` has the rules. A call is written off when it passes its deadline, or is cancelled while it runs (by the
timeout of `Actor.wait`, for example). Its caller gets the failure, and another call may run in its place.

`size` is meant for short calls. A call that has run for `PATIENCE_NS` when others wait is slow: it goes on, but is not
counted in `size` any more. So a lane may be small, and a few dead mounts hold nobody up, long before their deadlines.
A call of a key that has a slow or lost call is slow from its beginning: a thing that hangs holds others up once.

A call hangs when it is written off, or when it has run for `HANG_NS` and calls of its key or the whole lane wait. At
most 4 calls of a key hang, and of all keys `MAX_WRITTEN_OFF` beside the slots of the lane. So lost threads are bounded.
A lane in which each thread hangs refuses more calls, and its error names the lane and the call that hangs longest.
"""

from __future__ import annotations

import abc
import enum
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actors.kernel.dispatcher import Dispatcher, LaneReport
from actors.kernel.errors import DeadlineExceededError, LaneExhaustedError
from actors.kernel.promise import Promise, broken
from actors.kernel.timers import Cancellable
from actors.kernel.turns import Call, Rank, Turns

logger = logging.getLogger("actorlet.kernel")

T = TypeVar("T")

MAX_WRITTEN_OFF = 128
IDLE_THREAD_SECONDS = 2.0
"""A thread ends after this long without a call: an unused lane costs no threads."""
PATIENCE_NS = 1_000_000_000
HANG_NS = 30_000_000_000


class CallStage(enum.Enum):
    """The stage of a call. LOST: it is written off and still runs."""

    WAITING = "waiting"
    RUNNING = "running"
    LOST = "lost"
    OVER = "over"


@dataclass(slots=True, eq=False, kw_only=True)
class LaneCall(Call):
    """One call and the promise of its result."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    promise: Promise[Any] = field(default_factory=Promise)
    stage: CallStage = CallStage.WAITING
    started_ns: int = 0
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
        self._turns: Turns[LaneCall] = Turns(size, per_key, MAX_WRITTEN_OFF)
        self._running: dict[LaneCall, None] = {}
        self._lost: dict[LaneCall, None] = {}
        self._look: Cancellable | None = None
        self._look_ns = 0
        """When the next look is due, if there is to be one."""
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

    def submit(
        self,
        key: Hashable,
        fn: Callable[..., T],
        *args: Any,
        deadline_ns: int | None = None,
        rank: Rank = Rank.NORMAL,
        ends: bool = False,
    ) -> Promise[T]:
        call = LaneCall(key, rank, ends, fn=fn, args=args)
        with self._lock:
            if self._closed or self._turns.is_exhausted():
                return broken(LaneExhaustedError(f"lane {self.name} {self._why_no_more()}"))
            self._turns.join(call)
            self._start_new(call)
        if deadline_ns is not None and not call.promise.done():
            # From here, not from the start of the call: the caller does not care why there is no answer in time.
            late = DeadlineExceededError(f"{call.name} for {key}", deadline_ns)
            call.deadline = self._dispatcher.schedule(deadline_ns, lambda: call.promise.set_exception(late))
        call.promise.add_done_callback(lambda _: self._promise_ended(call))
        return call.promise

    def _why_no_more(self) -> str:
        if self._closed:
            return "is closed"
        calls = (*self._lost, *self._running)
        first = min(calls, key=lambda call: call.started_ns)
        for_s = (self._dispatcher.now_ns() - first.started_ns) // 1_000_000_000
        return f"has {len(calls)} calls that never returned, the first of them {first.name} for {first.key}, {for_s} s"

    def report(self) -> LaneReport:
        with self._lock:
            turns = self._turns
            return LaneReport(
                self.name,
                self._size,
                self._per_key,
                len(self._running),
                turns.waiting,
                self._threads,
                tuple((str(call.key), call.name, call.started_ns) for call in self._lost),
                turns.hanging,
                turns.is_exhausted(),
                turns.reports(),
            )

    def _promise_ended(self, call: LaneCall) -> None:
        """The call, its deadline or a cancel has ended the promise: give up a call that is not over."""
        if call.deadline is not None:
            call.deadline.cancel()
        with self._lock:
            if call.stage is CallStage.WAITING:
                call.stage = CallStage.OVER
                self._turns.leave(call)
            elif call.stage is CallStage.RUNNING:
                call.stage = CallStage.LOST
                del self._running[call]
                self._lost[call] = None
                self._turns.hangs(call)
                self._start_ready()

    def _start_all_with_a_slot(self) -> None:
        while (call := self._turns.take()) is not None:
            self._start(call)
        if self._turns.waiting:
            self._watch()

    def _runs(self, call: LaneCall) -> None:
        call.stage = CallStage.RUNNING
        call.started_ns = self._dispatcher.now_ns()
        self._running[call] = None
        self._turns.begin(call)

    def _returned(self, call: LaneCall) -> bool:
        """The call has returned: free its slot. Under the lock. False when it was written off before."""
        was_lost = call.stage is CallStage.LOST
        call.stage = CallStage.OVER
        del (self._lost if was_lost else self._running)[call]
        self._turns.end(call)
        return not was_lost

    # --- slow calls, and calls that hang ----------------------------------------------------------------------------

    def _watch(self) -> None:
        """While calls wait, look again when the first call under way may be slow, or may hang."""
        turns, now_ns = self._turns, self._dispatcher.now_ns()
        if self._look is not None and self._look_ns <= now_ns + PATIENCE_NS:
            return  # a call that begins now is not slow before that
        held_up = turns.under_way > turns.slow and turns.holds_up()
        if self._look is not None and not held_up:
            return  # nor does it hang before that
        due_ns: list[int] = []
        if held_up:
            due_ns.append(PATIENCE_NS + next(call.started_ns for call in self._running if not call.slow))
        if turns.under_way > turns.hanging:
            due_ns.append(HANG_NS + next(call.started_ns for call in self._running if not call.hangs))
        if not due_ns:
            return
        if self._look is not None:
            self._look.cancel()
        self._look_ns = max(now_ns, min(due_ns))
        self._look = self._dispatcher.schedule(self._look_ns - now_ns, self._look_at_calls)

    def _look_at_calls(self) -> None:
        with self._lock:
            self._look = None
            now_ns, held_up = self._dispatcher.now_ns(), self._turns.holds_up()
            for call in self._running if self._turns.waiting else ():
                runs_ns = now_ns - call.started_ns
                if runs_ns >= HANG_NS:
                    self._turns.hangs(call)
                elif held_up and runs_ns >= PATIENCE_NS:
                    self._turns.is_slow(call)
            self._start_all_with_a_slot()


class ThreadLane(LaneBase):
    """Calls on threads of their own. A lost call keeps its thread, and the lane starts another one."""

    def __init__(self, dispatcher: Dispatcher, name: str, size: int, per_key: int) -> None:
        super().__init__(dispatcher, name, size, per_key)
        self._handed_over: OrderedDict[LaneCall, None] = OrderedDict()
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
        self._handed_over[call] = None
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
                del self._handed_over[call]
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
            call, _ = self._handed_over.popitem(last=False)
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
