"""Who waits to have a status written, and who is kept back for a while. A data structure; knows no pods, only UIDs.

A UID waits at most once, in its most urgent place; among equally urgent ones who came first goes first. One that is
kept back is due after a time that is the same for all, so they come due in the order in which they came. Who is put
into the queue, or dropped, is kept back no more.
"""

from __future__ import annotations

import heapq
from collections import deque

from actors.status.urgency import Urgency


class WriteQueue:
    """See the module. `waiting`: who waits, and where; who is only kept back does not."""

    __slots__ = ("_heap", "_kept", "_kept_back", "_sequence", "waiting")

    def __init__(self) -> None:
        self._heap: list[tuple[Urgency, int, str]] = []
        self.waiting: dict[str, tuple[Urgency, int, str]] = {}
        self._sequence = 0
        self._kept_back: deque[tuple[int, str]] = deque()
        self._kept: dict[str, int] = {}
        """Until when, of those that are still kept back; what else stands in the line of them is over."""

    @property
    def stored(self) -> int:
        """Entries in memory, including those that were dropped or moved ahead."""
        return len(self._heap)

    def put(self, uid: str, urgency: Urgency) -> None:
        """Let it wait; one that waits already moves only ahead."""
        self._kept.pop(uid, None)
        place = self.waiting.get(uid)
        if place is not None and place[0] <= urgency:
            return
        self._sequence += 1
        place = self.waiting[uid] = (urgency, self._sequence, uid)
        heapq.heappush(self._heap, place)

    def drop(self, uid: str) -> None:
        """It waits no more, nor is it kept back."""
        if self.waiting:
            self.waiting.pop(uid, None)
            if not self.waiting:
                self._heap.clear()
        if self._kept:
            self._kept.pop(uid, None)

    def take(self) -> str | None:
        """The next one, which waits no more."""
        while self._heap:
            place = heapq.heappop(self._heap)
            uid = place[2]
            if self.waiting.get(uid) is place:
                del self.waiting[uid]
                if not self.waiting:
                    self._heap.clear()  # of those that have moved ahead or were dropped
                return uid
        return None

    def keep_back(self, uid: str, due_ns: int) -> None:
        """Hold it until `due_ns`, which never goes back from call to call; one that is held stays as it is."""
        if uid not in self._kept:
            self._kept[uid] = due_ns
            self._kept_back.append((due_ns, uid))

    def next_due_ns(self) -> int | None:
        """When the first of those kept back is due."""
        line = self._kept_back
        while line and self._kept.get(line[0][1]) != line[0][0]:
            line.popleft()
        return line[0][0] if line else None

    def take_due(self, now_ns: int) -> tuple[str, ...]:
        """Those kept back long enough, who are so no more."""
        due = []
        while (due_ns := self.next_due_ns()) is not None and due_ns <= now_ns:
            uid = self._kept_back.popleft()[1]
            del self._kept[uid]
            due.append(uid)
        return tuple(due)
