"""`PacedCri`: a runtime that is asked to make no more at once than it can make in time.

The rules are in `runtime.cri.pace`.

Calls that wait for their place are not begun, so their deadlines do not run. Those that bring a pod nearest to its end
go first: starts of containers, then their creation, then sandboxes.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Any

from runtime.cri.capability import Cri
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.pace import Pace
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER, Req, Res, Verb
from runtime.io.pending import CancellingAnswer, PendingAnswer, Subscription, settle

LOG = logging.getLogger("actorlet.runtime")
_ORDER = (START_CONTAINER.name, CREATE_CONTAINER.name, RUN_POD_SANDBOX.name)


class _Waiting:
    """A call that has not begun, and its answer."""

    __slots__ = ("answer", "ask")

    def __init__(self, ask: Callable[[], PendingAnswer[Any]]) -> None:
        self.ask = ask
        self.answer: CancellingAnswer[Any] = CancellingAnswer()


class PacedCri:
    """Calls may come from any thread.

    `now_ns` is monotonic; `schedule` calls a function after so many nanoseconds.
    """

    def __init__(
        self, cri: Cri, now_ns: Callable[[], int], schedule: Callable[[int, Callable[[], None]], object]
    ) -> None:
        self._cri = cri
        self._now_ns = now_ns
        self._schedule = schedule
        self._lock = Lock()
        self._pace = Pace()
        self._waiting: dict[str, deque[_Waiting]] = {name: deque() for name in _ORDER}

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> PendingAnswer[Res]:
        """See `Cri.call`."""
        if verb.name not in self._waiting:
            return self._cri.call(verb, request, timeout_ns=timeout_ns)
        key = object()
        with self._lock:
            now_ns = self._now_ns()
            # Who waits already goes before.
            if self._pace.may_begin(now_ns) and not self._count():
                self._pace.begins(key, now_ns)
                waits = None
            else:
                begin = copy_context().run  # the trace to which it belongs
                waits = _Waiting(lambda: begin(self._cri.call, verb, request, timeout_ns=timeout_ns))
                self._waiting[verb.name].append(waits)
        if waits is not None:
            self._let_begin()
            # By then calls that go on now have become old, and hold no place any more.
            self._schedule(self._pace.patience_ns, self._let_begin)
            return waits.answer
        pending = self._cri.call(verb, request, timeout_ns=timeout_ns)
        pending.add_done_callback(lambda done: self._ended(key, done))
        return pending

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """See `Cri.stream`."""
        return self._cri.stream(verb, request, on_item, on_end)

    def _ended(self, key: object, done: PendingAnswer[Any]) -> None:
        try:
            failure = done.exception(0)
        except CancelledError as given_up:
            failure = given_up
        with self._lock:
            now_ns, waiting = self._now_ns(), self._count()
            if failure is None:
                self._pace.succeeded(key, now_ns, waiting)
            elif not isinstance(failure, CriError) or failure.code != StatusCode.DEADLINE_EXCEEDED:
                self._pace.failed(key)
            elif self._pace.missed_deadline(key, now_ns):
                LOG.warning(
                    "the container runtime is slow: sandboxes and containers are made %d at a time from now on",
                    self._pace.limit,
                )
        if waiting:
            self._let_begin()

    def _let_begin(self) -> None:
        """Begin what may begin."""
        while (next_one := self._take()) is not None:
            key, waits = next_one
            pending = waits.ask()
            waits.answer.follow(pending)
            pending.add_done_callback(partial(self._passed_on, key, waits.answer))

    def _passed_on(self, key: object, answer: CancellingAnswer[Any], done: PendingAnswer[Any]) -> None:
        self._ended(key, done)
        answer.let_go()
        try:
            failure = done.exception(0)
        except CancelledError:
            answer.cancel()
            return
        settle(answer, result=None if failure else done.result(0), error=failure)

    def _take(self) -> tuple[object, _Waiting] | None:
        """Enter the next one that waits, if it may begin."""
        with self._lock:
            now_ns = self._now_ns()
            for queue in self._waiting.values():
                while queue and queue[0].answer.cancelled():
                    queue.popleft()
                if queue and self._pace.may_begin(now_ns):
                    key = object()
                    self._pace.begins(key, now_ns)
                    return key, queue.popleft()
        return None

    def _count(self) -> int:
        return sum(map(len, self._waiting.values()))
