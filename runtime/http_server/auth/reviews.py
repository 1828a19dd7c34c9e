"""Reviews of clients by the API server: each is asked once and kept for a while.

`ReviewCache` keeps each answer for its own time. Whoever asks for an answer that is already on its way waits for the
same one. Failures are not kept. The cache is bounded; the least recently used answer goes. It runs on one loop.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from cachetools import TLRUCache

from runtime.api import Api, ApiCall, ApiError
from runtime.io.event_loop import settled

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

ENTRIES_AT_MOST = 4096
ASK_LIMIT_NS = 10 * 10**9
PAUSES_S = (0.5, 0.75, 1.125, 1.6875)
"""Between attempts (spec 17.1), each with up to a fifth more."""


class ReviewCache(Generic[K, V]):
    """See the module. `keep_ns`: how long an answer is good."""

    def __init__(self, keep_ns: Callable[[V], int], now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._known: TLRUCache[K, V] = TLRUCache(
            ENTRIES_AT_MOST, ttu=lambda _, value, stored_ns: stored_ns + keep_ns(value), timer=now_ns
        )
        self._asked: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer; calls `ask` if it is not known. Raises what `ask` raises."""
        try:
            return self._known[key]
        except KeyError:
            pass
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.get_running_loop().create_task(self._fetch(key, ask))
            # Mark a failure as seen, even if nobody waits for it any more.
            asked.add_done_callback(lambda task: task.cancelled() or task.exception())
        # A caller that gives up must not take the answer from the others.
        return await asyncio.shield(asked)

    async def _fetch(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        try:
            value = await ask()
        finally:
            del self._asked[key]
        self._known[key] = value
        return value


async def ask_api(api: Api, call: ApiCall[T], pauses_s: tuple[float, ...] = PAUSES_S) -> T:
    """Make a call that changes nothing; repeat it when the outcome is unknown. Raises ApiError."""
    for pause_s in pauses_s:
        try:
            return await settled(api.call(call, timeout_ns=ASK_LIMIT_NS))
        except ApiError as error:
            if not (error.outcome_unknown or error.code == 429):
                raise
        await asyncio.sleep(pause_s * (1 + 0.2 * random.random()))
    return await settled(api.call(call, timeout_ns=ASK_LIMIT_NS))
