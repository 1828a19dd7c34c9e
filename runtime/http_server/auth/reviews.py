"""Reviews of clients by the API server: each is asked once and kept for a while.

`ReviewCache` keeps each answer for its own time. Whoever asks for an answer that is already on its way waits for the
same one. Failures are not kept. The cache is bounded, in bytes too; the least recently used answer goes. Bad answers
have a place of their own: whoever makes up tokens pushes out no good one. It runs on one loop.

Reviews under way are bounded too, in all and for each source. The API server may be slow about some of them, such as
tokens of one issuer. When there is no room, a new review takes the place of the oldest one of the source that has the
most. If no source has more than its share, it takes the place of one that has had no answer for ten seconds. Those who
wait for that one may ask again.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

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
UNDER_WAY_AT_MOST = 64
"""Of each kind. `runtime.api.lines` has room for both kinds in flight."""
OF_SOURCE_AT_MOST = 8
ASK_LIMIT_NS = 10 * 10**9
"""For one attempt. A review that is older may give its place to another."""
PAUSES_S = (0.5, 0.75, 1.125, 1.6875)
"""Between attempts (spec 17.1), each with up to a fifth more."""


class TooManyReviewsError(Exception):
    """Too many reviews are under way to begin another one."""


class _UnderWay:
    """A review without an answer yet."""

    __slots__ = ("answer", "began_ns", "source", "task")

    def __init__(self, source: str, began_ns: int) -> None:
        self.source = source
        self.began_ns = began_ns
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None


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
        self._now_ns = now_ns
        self._under_way: dict[K, _UnderWay] = {}
        """The oldest first."""
        self._of_source: dict[str, dict[K, _UnderWay]] = {}

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
        review = self._under_way.get(key)
        if review is None:
            self._make_room(source)
            review = self._under_way[key] = _UnderWay(source, self._now_ns())
            self._of_source.setdefault(source, {})[key] = review
            # Mark a failure as seen, even if nobody waits for it any more.
            review.answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())
            review.task = asyncio.get_running_loop().create_task(self._fetch(key, review, ask))
        # A caller that gives up must not take the answer from the others.
        answer: V = await asyncio.shield(review.answer)
        return answer

    def _make_room(self, source: str) -> None:
        """Raises TooManyReviewsError if nothing gives its place to a new review of this source."""
        own = self._of_source.get(source, {})
        if len(own) >= OF_SOURCE_AT_MOST:
            in_the_way, may_go = own, False
        elif len(self._under_way) < UNDER_WAY_AT_MOST:
            return
        else:
            in_the_way = max(self._of_source.values(), key=len)
            may_go = len(in_the_way) > len(own) + 1
            if not may_go:
                in_the_way = self._under_way
        key, oldest = next(iter(in_the_way.items()))
        if not may_go and self._now_ns() - oldest.began_ns < ASK_LIMIT_NS:
            raise TooManyReviewsError
        self._forget(key, oldest)
        oldest.answer.set_exception(TooManyReviewsError())
        if oldest.task is not None:
            oldest.task.cancel()

    def _forget(self, key: K, review: _UnderWay) -> None:
        if self._under_way.get(key) is not review:
            return  # it has given its place to another
        del self._under_way[key]
        of_source = self._of_source[review.source]
        del of_source[key]
        if not of_source:
            del self._of_source[review.source]

    async def _fetch(self, key: K, review: _UnderWay, ask: Callable[[], Awaitable[V]]) -> None:
        answer = review.answer
        try:
            value = await ask()
        except BaseException as error:
            self._forget(key, review)
            if not answer.done():
                answer.set_exception(error) if isinstance(error, Exception) else answer.cancel()
            if not isinstance(error, Exception):
                raise
            return
        self._forget(key, review)
        size_bytes = size_of((key, value), LONGEST_BYTES) + ENTRY_BYTES
        if size_bytes <= LONGEST_BYTES:
            (self._good if self._is_good(value) else self._bad)[key] = value, -(-size_bytes // KIB)
        if not answer.done():
            answer.set_result(value)


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
