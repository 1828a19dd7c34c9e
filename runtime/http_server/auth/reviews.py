"""Reviews of clients by the API server: each is asked once and kept for a while.

`ReviewCache` keeps each answer for its own time. Whoever asks for an answer that is already on its way waits for the
same one. Failures are not kept. The cache is bounded, in bytes too; the least recently used answer goes. Bad answers
have a place of their own: whoever makes up tokens pushes out no good one. Reviews under way are bounded too, in all and
for each source. It runs on one loop.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachetools import TLRUCache

from config.caches import ENTRY_BYTES, KIB, size_of
from runtime.api import Api, ApiCall, ApiError
from runtime.io.event_loop import settled
from runtime.metrics.families import Family
from runtime.metrics.meters import Meters

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

ENTRIES_AT_MOST = 4096
BAD_ENTRIES_AT_MOST = 1024
"""Of 1 KiB: an answer that takes more counts as several, and pushes out as many."""
LONGEST_BYTES = 16 * KIB
"""An answer that takes more is not kept: clients choose the paths in the questions."""
UNDER_WAY_AT_MOST = 128
OF_SOURCE_AT_MOST = 8
ASK_LIMIT_NS = 10 * 10**9
PAUSES_S = (0.5, 0.75, 1.125, 1.6875)
"""Between attempts (spec 17.1), each with up to a fifth more."""


class TooManyReviewsError(Exception):
    """Too many reviews are under way to begin another one."""


class ReviewCache(Generic[K, V]):
    """See the module.

    `keep_ns`: how long an answer is good; `is_good`: which answers let somebody do something.
    """

    def __init__(
        self,
        keep_ns: Callable[[V], int],
        now_ns: Callable[[], int] = time.monotonic_ns,
        is_good: Callable[[V], bool] = lambda _: True,
    ) -> None:
        self._is_good = is_good
        self._good, self._bad = (
            TLRUCache[K, tuple[V, int]](
                most,
                ttu=lambda _, entry, stored_ns: stored_ns + keep_ns(entry[0]),
                timer=now_ns,
                getsizeof=lambda entry: entry[1],
            )
            for most in (ENTRIES_AT_MOST, BAD_ENTRIES_AT_MOST)
        )
        self._asked: dict[K, asyncio.Task[V]] = {}
        self._of_source: Counter[str] = Counter()

    def __contains__(self, key: K) -> bool:
        """Whether the answer is known now."""
        return key in self._good or key in self._bad

    async def get(self, key: K, ask: Callable[[], Awaitable[V]], source: str = "") -> V:
        """The answer; calls `ask` if it is not known. Raises what `ask` raises, and TooManyReviewsError.

        `source`: of the client, as `guests.source_of` tells it. A source may have only a few reviews under way, so it
        delays no other for long.
        """
        for known in (self._good, self._bad):
            try:
                return known[key][0]
            except KeyError:
                pass
        asked = self._asked.get(key)
        if asked is None:
            if self._of_source[source] >= OF_SOURCE_AT_MOST or len(self._asked) >= UNDER_WAY_AT_MOST:
                raise TooManyReviewsError
            self._of_source[source] += 1
            asked = self._asked[key] = asyncio.get_running_loop().create_task(self._fetch(key, ask, source))
            # Mark a failure as seen, even if nobody waits for it any more.
            asked.add_done_callback(lambda task: task.cancelled() or task.exception())
        # A caller that gives up must not take the answer from the others.
        return await asyncio.shield(asked)

    async def _fetch(self, key: K, ask: Callable[[], Awaitable[V]], source: str) -> V:
        try:
            value = await ask()
        finally:
            del self._asked[key]
            self._of_source[source] -= 1
            if not self._of_source[source]:
                del self._of_source[source]
        size_bytes = size_of((key, value), LONGEST_BYTES) + ENTRY_BYTES
        if size_bytes <= LONGEST_BYTES:
            (self._good if self._is_good(value) else self._bad)[key] = value, -(-size_bytes // KIB)
        return value


@dataclass(frozen=True, slots=True)
class ReviewMeters:
    """Counts and times the questions of one kind, by the code of the answer."""

    meters: Meters
    count: Family
    duration: Family

    def answered(self, code: str, ns: int) -> None:
        self.meters.count(self.count, code)
        self.meters.took(self.duration, ns, code)


async def ask_api(
    api: Api, call: ApiCall[T], pauses_s: tuple[float, ...] = PAUSES_S, measured: ReviewMeters | None = None
) -> T:
    """Make a call that changes nothing; repeat it when the outcome is unknown. Raises ApiError."""
    for pause_s in pauses_s:
        try:
            return await _ask_once(api, call, measured)
        except ApiError as error:
            if not (error.outcome_unknown or error.code == 429):
                raise
        await asyncio.sleep(pause_s * (1 + 0.2 * random.random()))
    return await _ask_once(api, call, measured)


async def _ask_once(api: Api, call: ApiCall[T], measured: ReviewMeters | None) -> T:
    began_ns, code = time.monotonic_ns(), "200"
    try:
        return await settled(api.call(call, timeout_ns=ASK_LIMIT_NS))
    except ApiError as error:
        code = str(error.code) if error.code else "<error>"
        raise
    finally:
        if measured is not None:
            measured.answered(code, time.monotonic_ns() - began_ns)
