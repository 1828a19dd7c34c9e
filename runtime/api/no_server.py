"""The API of a node that stands alone: every call fails at once and says that there is no server."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable

from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.api.errors import UNREACHABLE, ApiError
from runtime.io.pending import PendingAnswer, Subscription, SubscriptionEnded

REASON = "this node stands alone, it has no API server"


class NoApiServer:
    """`runtime.api.capability.Api`."""

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        ended: concurrent.futures.Future[R] = concurrent.futures.Future()
        ended.set_exception(ApiError(0, UNREACHABLE, REASON, call.verb))
        return ended

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        on_end(ApiError(0, UNREACHABLE, REASON, call.verb))
        return SubscriptionEnded()
