"""The series of events that wait to be sent: in the order they came, bounded, and fair when there are too many.

A series waits once, however often its event comes meanwhile. When the queue is full, it drops the oldest series of the
reason that has most, so that a thousand `Created` never push out the one `Rebooted`. It also drops what is older than
an API server would keep.
"""

from __future__ import annotations

from actors.events.correlation import Series

SECOND_NS = 1_000_000_000
MAX_WAITING = 5_000
MAX_AGE_NS = 3600 * SECOND_NS
"""An API server keeps an event for an hour (spec 15)."""


class EventQueue:
    """See the module. Counts what was lost in `lost`."""

    def __init__(self, limit: int = MAX_WAITING) -> None:
        self._limit = limit
        self._by_reason: dict[str, dict[int, Series]] = {}
        self.waiting: set[Series] = set()
        """Series compare by identity: one whose memory was dropped may have a younger twin of the same key."""
        self._turn = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self.waiting)

    def offer(self, series: Series) -> None:
        """Let it wait, at the end unless it waits already."""
        if series in self.waiting:
            return
        if len(self.waiting) >= self._limit:
            self._drop()
        self.waiting.add(series)
        self._turn += 1
        self._by_reason.setdefault(series.event.reason, {})[self._turn] = series

    def take(self, now_ns: int) -> Series | None:
        """The one that has waited longest and is not too old."""
        while self._by_reason:
            series = self._remove(min(self._by_reason, key=lambda reason: next(iter(self._by_reason[reason]))))
            if now_ns - series.last_ns <= MAX_AGE_NS:
                return series
            self.lost += 1
        return None

    def _drop(self) -> None:
        self._remove(max(self._by_reason, key=lambda reason: len(self._by_reason[reason])))
        self.lost += 1

    def _remove(self, reason: str) -> Series:
        """The oldest of that reason."""
        group = self._by_reason[reason]
        series = group.pop(next(iter(group)))
        if not group:
            del self._by_reason[reason]
        self.waiting.discard(series)
        return series
