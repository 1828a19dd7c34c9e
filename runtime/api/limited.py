"""A rate limit in front of any API server: calls over the limit wait, and take turns.

Kinds of calls take turns, such as "patch pods/status" and "create serviceaccounts/token". Within a kind the pods take
turns that the calls are for (`in_turn_of`), critical pods first. So a thousand calls of one kind, or of one pod, do not
hold up the others. Calls for the node itself have kinds of their own, or the turns of one more pod.

Owns the queue, its one timer, and the bucket of tokens that is the limit. The clock and the timer are handed in, so the
same limit holds for the real client (`LoopThread.post_later`) and, in virtual time, for a simulated server. A call that
finds a token and nobody waiting goes straight on and costs nothing more. One that is cancelled while it waits takes no
token.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeAlias

from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.api.capability import Api
from runtime.api.errors import UNREACHABLE, ApiError
from runtime.api.observer import UNOBSERVED, ApiObserver
from runtime.api.token_bucket import PodShares, TokenBucket
from runtime.io.fair_queue import FairQueue
from runtime.io.pending import CancellingAnswer, PendingAnswer, Subscription, SubscriptionEnded, settle

GET = "GET"
"""The method of a watch."""
CLOSED = "the client was closed"
LONG_NS = 1_000_000_000
Schedule = Callable[[int, Callable[[], None]], object]
"""Run a function after so many nanoseconds, never inside the call itself."""


class LimitedApi:
    """An `Api` before another one. A watch counts as one call, when it begins.

    May be called from any thread, if `api` and `schedule` may. `close` fails what still waits, and all that comes.

    A pod that has had more than its share of late leaves half of the burst to the others. So pods with few calls find a
    token at once beside one with thousands, and no token is lost while nobody else wants it.

    `together_ns`: calls that wait do so for so long at least, and then leave together. It costs less to send and to
    receive several at a time. As many leave a second as without.
    """

    def __init__(
        self, api: Api, bucket: TokenBucket, now_ns: Callable[[], int], schedule: Schedule, *, together_ns: int = 0
    ) -> None:
        self._api = api
        self._bucket = bucket
        self._shares = PodShares(bucket)
        self._together_ns = bucket.spared_ns(together_ns)
        self._now_ns = now_ns
        self._schedule = schedule
        self._lock = threading.Lock()
        self._line = _Line(0)
        self._line_of_greedy = _Line(bucket.burst // 2)
        self._closed = False
        self.observer: ApiObserver = UNOBSERVED

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        """See `Api.call`."""
        with self._lock:
            line = self._line_of(call)
            if line is not None:
                waiting = _WaitingCall(call, timeout_ns, self._now_ns())
                line.queue.append(waiting)
        if line is None:
            self.observer.waited(call.method, 0)
            return self._api.call(call, timeout_ns=timeout_ns)
        self._tick(line)
        return waiting.answer

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`."""
        with self._lock:
            line = self._line_of(call)
            if line is not None:
                waiting = _WaitingWatch(call, on_event, on_end, self._now_ns())
                line.queue.append(waiting)
        if line is None:
            self.observer.waited(GET, 0)
            return self._api.watch(call, on_event, on_end)
        self._tick(line)
        return waiting

    def close(self) -> None:
        """See the class."""
        with self._lock:
            self._closed = True
            waiting = [*self._line.queue.cleared(), *self._line_of_greedy.queue.cleared()]
        for each in waiting:
            each.fail(CLOSED)

    @property
    def waiting(self) -> int:
        """How many calls wait now."""
        return len(self._line.queue) + len(self._line_of_greedy.queue)

    def _line_of(self, call: ApiCall[Any] | WatchCall[Any]) -> _Line | None:
        """Where the call has to wait; None: it has a token, and leaves at once."""
        if self._closed:  # what is behind a closed limit is closed too, and says so
            return None
        now_ns = self._now_ns()
        greedy = bool(call.turn_of) and not call.urgent and not self._shares.take(call.turn_of, now_ns)
        line = self._line_of_greedy if greedy else self._line
        may_leave = not line.queue and self._bucket.take(now_ns, spare=line.spare)
        return None if may_leave else line

    def _tick(self, line: _Line) -> None:
        """See to it that somebody looks at the line when its next token comes."""
        with self._lock:
            if line.ticking or not line.queue:
                return
            line.ticking = True
            after_ns = self._bucket.wait_ns(self._now_ns(), spare=line.spare) + self._together_ns
        try:
            self._schedule(after_ns, lambda: self._let_go(line))
        except RuntimeError:  # the thread that would run it has ended
            self.close()

    def _let_go(self, line: _Line) -> None:
        leaving: list[_Waiting] = []
        with self._lock:
            line.ticking = False
            now_ns = self._now_ns()
            while (first := line.queue.first()) is not None:
                # One that has waited long needs no spare, so that many small pods do not stop a large one.
                spare = line.spare if leaving or now_ns - first.began_ns < LONG_NS else 0
                if not first.wanted():
                    line.queue.drop()
                elif self._bucket.take(now_ns, spare=spare):
                    leaving.append(line.queue.take())
                else:
                    break
        for each in leaving:
            self.observer.waited(each.method, self._now_ns() - each.began_ns)
            each.leave(self._api)
        self._tick(line)


class _Line:
    """Calls that wait for a token beside `spare` others."""

    def __init__(self, spare: int) -> None:
        self.spare = spare
        self.queue = _Queue()
        self.ticking = False


class _Queue:
    """What waits, by kind of call and then by pod. The kinds take turns, and so do the pods within a kind."""

    def __init__(self) -> None:
        self._of_kind: OrderedDict[str, FairQueue[_Waiting]] = OrderedDict()
        """No queue is empty. The kind whose turn it is comes first."""
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, each: _Waiting) -> None:
        call = each.call
        queue = self._of_kind.get(call.what)
        if queue is None:
            queue = self._of_kind[call.what] = FairQueue()
        queue.append(call.turn_of, each, urgent=call.urgent)
        self._length += 1

    def first(self) -> _Waiting | None:
        return next(iter(self._of_kind.values())).first() if self._of_kind else None

    def take(self) -> _Waiting:
        """Remove what is first. The next turn is that of another kind, if one waits, and of another pod."""
        kind, queue = next(iter(self._of_kind.items()))
        taken = queue.take()
        self._of_kind.move_to_end(kind)
        self._removed(kind, queue)
        return taken

    def drop(self) -> None:
        """Remove what is first, which is not wanted any more. It has had no turn."""
        kind, queue = next(iter(self._of_kind.items()))
        queue.drop()
        self._removed(kind, queue)

    def _removed(self, kind: str, queue: FairQueue[_Waiting]) -> None:
        self._length -= 1
        if not queue:
            del self._of_kind[kind]

    def cleared(self) -> list[_Waiting]:
        """All that waited; nothing waits any more."""
        waiting = [each for queue in self._of_kind.values() for each in queue.clear()]
        self._of_kind.clear()
        self._length = 0
        return waiting


class _WaitingCall:
    __slots__ = ("answer", "began_ns", "call", "method", "timeout_ns")

    def __init__(self, call: ApiCall[Any], timeout_ns: int | None, began_ns: int) -> None:
        self.call = call
        self.method = call.method
        self.began_ns = began_ns
        self.timeout_ns = timeout_ns
        self.answer: CancellingAnswer[Any] = CancellingAnswer()

    def wanted(self) -> bool:
        return not self.answer.cancelled()

    def leave(self, api: Api) -> None:
        inner = api.call(self.call, timeout_ns=self.timeout_ns)
        self.answer.follow(inner)
        inner.add_done_callback(self._copy)

    def _copy(self, inner: Any) -> None:
        self.answer.let_go()
        if inner.cancelled():
            self.fail(CLOSED)
        elif (error := inner.exception(0)) is not None:
            settle(self.answer, error=error)
        else:
            settle(self.answer, result=inner.result(0))

    def fail(self, why: str) -> None:
        settle(self.answer, error=ApiError(0, UNREACHABLE, why, self.call.verb))


class _WaitingWatch:
    """A watch that has not begun; closing it ends it, or the real one behind it."""

    __slots__ = ("_inner", "_lock", "_over", "began_ns", "call", "on_end", "on_event")
    method = GET

    def __init__(
        self,
        call: WatchCall[Any],
        on_event: Callable[[Any], None],
        on_end: Callable[[Any], None],
        began_ns: int,
    ) -> None:
        self.call = call
        self.began_ns = began_ns
        self.on_event = on_event
        self.on_end = on_end
        self._lock = threading.Lock()
        self._inner: Subscription | None = None
        self._over = False

    def wanted(self) -> bool:
        return not self._over

    def leave(self, api: Api) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
        inner = api.watch(self.call, self.on_event, self.on_end)
        with self._lock:
            closed, self._inner = self._inner is not None, inner
        if closed:
            inner.close()

    def close(self) -> None:
        with self._lock:
            waiting, self._over = not self._over, True
            inner, self._inner = self._inner, SubscriptionEnded() if self._inner is None else self._inner
        if waiting:
            self.on_end(None)
        elif inner is not None:
            inner.close()

    def fail(self, why: str) -> None:
        with self._lock:
            over, self._over = self._over, True
        if not over:
            self.on_end(ApiError(0, UNREACHABLE, why, self.call.verb))


_Waiting: TypeAlias = _WaitingCall | _WaitingWatch
