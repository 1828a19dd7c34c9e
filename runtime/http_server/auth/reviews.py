"""Questions to the API server about those who ask the node: asked once, kept for a while, never piled up.

A `ReviewCache` keeps answers by key for as long as each is good; who asks for what is being asked already waits for
the same answer. Failures are not kept. The number of answers is bounded: the one used least recently goes. Runs on one
loop only.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from runtime.api import Api, ApiCall, ApiError
from runtime.io.pending import Pending

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
        self._keep_ns = keep_ns
        self._now_ns = now_ns
        self._known: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._asked: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """The answer, asked for with `ask` when it is not known. Raises what asking raises."""
        found = self._known.get(key)
        if found is not None and self._now_ns() < found[1]:
            self._known.move_to_end(key)
            return found[0]
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = asyncio.get_running_loop().create_task(self._fetch(key, ask))
            # One that nobody waits for any more must not be told as never looked at.
            asked.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Who goes away does not take the answer from the others.
        return await asyncio.shield(asked)

    async def _fetch(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        try:
            value = await ask()
        finally:
            del self._asked[key]
        keep_ns = self._keep_ns(value)
        if keep_ns > 0:
            self._known[key] = (value, self._now_ns() + keep_ns)
            self._known.move_to_end(key)
            while len(self._known) > ENTRIES_AT_MOST:
                self._known.popitem(last=False)
        return value


async def settled(pending: Pending[T]) -> T:
    """What `pending` gives, on the running loop. Raises its failure."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[T] = loop.create_future()

    def hand_over(done: Any) -> None:
        if waiting.done():
            return
        try:
            waiting.set_result(done.result(0))
        except Exception as error:
            waiting.set_exception(error)

    pending.add_done_callback(lambda done: loop.call_soon_threadsafe(hand_over, done))
    try:
        return await waiting
    except asyncio.CancelledError:
        pending.cancel()
        raise


async def ask_api(api: Api, call: ApiCall[T], pauses_s: tuple[float, ...] = PAUSES_S) -> T:
    """Make a call that changes nothing; again where there is no clear answer. Raises ApiError."""
    for pause_s in pauses_s:
        try:
            return await settled(api.call(call, timeout_ns=ASK_LIMIT_NS))
        except ApiError as error:
            if not (error.outcome_unknown or error.code == 429):
                raise
        await asyncio.sleep(pause_s * (1 + 0.2 * random.random()))
    return await settled(api.call(call, timeout_ns=ASK_LIMIT_NS))
