"""`SettlingApi`: repeats calls that are refused because the API server has not seen a binding yet.

The Node authorizer lets a node read what a pod refers to, and make tokens for it, once it has seen the binding too.
On a real server that takes 10 to 100 ms. So a call that is refused (403) is repeated after 10, 20, 40, ... ms, for a
second from its beginning. Only then is the refusal told.

A call that was refused for a whole second is not repeated again within ten minutes: the node may really not read that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from hashlib import blake2b
from typing import Any

from cachetools import TTLCache

from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.api.capability import Api
from runtime.api.errors import ApiError
from runtime.api.limited import Schedule
from runtime.io.pending import CancellingAnswer, PendingAnswer, Subscription, settle

MS_NS = 1_000_000
FIRST_PAUSE_NS = 10 * MS_NS
PATIENCE_NS = 1000 * MS_NS
"""Measured from the beginning of a call. After it, a refusal is reported."""
REFUSED_NS = 600_000 * MS_NS
"""How long a call is known to be refused for good."""
REFUSED_AT_MOST = 10_000
"""Calls that are known to be refused. Each is known by a digest: pods choose the names in their paths."""


class SettlingApi:
    """See the module. May be called from any thread, if `api` and `schedule` may."""

    def __init__(self, api: Api, now_ns: Callable[[], int], schedule: Schedule) -> None:
        self._api = api
        self._now_ns = now_ns
        self._schedule = schedule
        self._lock = threading.Lock()
        self._refused: TTLCache[bytes, None] = TTLCache(REFUSED_AT_MOST, REFUSED_NS, timer=now_ns)

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        """See `Api.call`. The time limit applies to each attempt."""
        answer = CancellingAnswer[R]()
        self._attempt(answer, call, timeout_ns, self._now_ns(), FIRST_PAUSE_NS)
        return answer

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`. It follows a list, which was granted."""
        return self._api.watch(call, on_event, on_end)

    def _attempt(
        self, answer: CancellingAnswer[Any], call: ApiCall[Any], timeout_ns: int | None, began_ns: int, pause_ns: int
    ) -> None:
        if answer.cancelled():
            return

        def again() -> None:
            self._attempt(answer, call, timeout_ns, began_ns, 2 * pause_ns)

        def ended(done: PendingAnswer[Any]) -> None:
            answer.let_go()
            try:
                error = done.exception(0)
            except CancelledError as cancelled:
                error = cancelled
            if error is None:
                settle(answer, result=done.result(0))
            elif self._may_pass(call, error, began_ns, pause_ns):
                self._schedule(pause_ns, again)
            else:
                settle(answer, error=error)

        attempt = self._api.call(call, timeout_ns=timeout_ns)
        answer.follow(attempt)
        attempt.add_done_callback(ended)

    def _may_pass(self, call: ApiCall[Any], error: BaseException, began_ns: int, pause_ns: int) -> bool:
        """Whether the error is a refusal that may pass."""
        if not (isinstance(error, ApiError) and error.forbidden):
            return False
        key = blake2b(f"{call.method} {call.path} {call.query}".encode(), digest_size=16).digest()
        with self._lock:
            if key in self._refused:
                return False
            if self._now_ns() + pause_ns - began_ns < PATIENCE_NS:
                return True
            self._refused[key] = None
        return False
