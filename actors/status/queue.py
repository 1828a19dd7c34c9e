"""The queue of UIDs whose status waits to be written, and of those held back for a while.

A data structure.

A UID waits at most once, with its highest urgency; equal urgencies are first in, first out. The time of holding back is
the same for all, so they become due in order of arrival. A UID that is put into the queue or dropped is not held back
any more.
"""

from __future__ import annotations

import heapq
from collections import deque

from actors.status.urgency import Urgency


class WriteQueue:
    """See the module. `waiting`: UID -> its place; without those only held back."""

    __slots__ = ("_heap", "_kept", "_kept_back", "_sequence", "waiting")

    def __init__(self) -> None:
        self._heap: list[tuple[Urgency, int, str]] = []
        self.waiting: dict[str, tuple[Urgency, int, str]] = {}
        self._sequence = 0
        self._kept_back: deque[tuple[int, str]] = deque()
        self._kept: dict[str, int] = {}
        """UID -> due time of those held back; other entries in `_kept_back` are obsolete."""

    @property
    def stored(self) -> int:
        """Entries in memory, including those that were dropped or moved ahead."""
        return len(self._heap)

    def put(self, uid: str, urgency: Urgency) -> None:
        """Let the UID wait; if it waits already, it can only move ahead."""
        self._kept.pop(uid, None)
        place = self.waiting.get(uid)
        if place is not None and place[0] <= urgency:
            return
        self._sequence += 1
        place = self.waiting[uid] = (urgency, self._sequence, uid)
        heapq.heappush(self._heap, place)

    def drop(self, uid: str) -> None:
        """Remove the UID from the queue and from those held back."""
        if self.waiting:
            self.waiting.pop(uid, None)
            if not self.waiting:
                self._heap.clear()
        if self._kept:
            self._kept.pop(uid, None)

    def take(self) -> str | None:
        """Remove and return the next UID, or None."""
        while self._heap:
            place = heapq.heappop(self._heap)
            uid = place[2]
            if self.waiting.get(uid) is place:
                del self.waiting[uid]
                if not self.waiting:
                    self._heap.clear()  # obsolete entries
                return uid
        return None

    def keep_back(self, uid: str, due_ns: int) -> None:
        """Hold the UID back until `due_ns`, which must not decrease between calls.

        No effect if already held back.
        """
        if uid not in self._kept:
            self._kept[uid] = due_ns
            self._kept_back.append((due_ns, uid))

    def next_due_ns(self) -> int | None:
        """When the first held-back UID is due, or None."""
        line = self._kept_back
        while line and self._kept.get(line[0][1]) != line[0][0]:
            line.popleft()
        return line[0][0] if line else None

    def take_due(self, now_ns: int) -> tuple[str, ...]:
        """Remove and return the held-back UIDs that are due."""
        due = []
        while (due_ns := self.next_due_ns()) is not None and due_ns <= now_ns:
            uid = self._kept_back.popleft()[1]
            del self._kept[uid]
            due.append(uid)
        return tuple(due)
