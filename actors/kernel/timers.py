"""A heap of things to do later, in ns of one clock. Knows no clock and no thread: its owner asks what is due.

What has a period is due again and again, on a grid: its first time and whole periods after it. A late one does not
shift those that follow, and what was missed is not made up for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable


class TimerHandle:
    """One thing to do later, once or every `every_ns`. `cancel` may be called at any time, from any thread, more than
    once.
    """

    __slots__ = ("every_ns", "fn")

    def __init__(self, fn: Callable[[], object], every_ns: int | None) -> None:
        self.fn: Callable[[], object] | None = fn
        self.every_ns = every_ns

    def cancel(self) -> None:
        self.fn = None


class TimerHeap:
    """Timers in order of due time, first come first served among equals.

    A cancelled timer stays in the heap until it is due or until the cancelled ones outnumber the living, so
    cancelling is free and memory is bounded by twice the living ones.
    """

    __slots__ = ("_heap", "_sequence", "_swept_at")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerHandle]] = []
        self._sequence = 0
        self._swept_at = 1024

    def push(self, due_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        handle = TimerHandle(fn, every_ns)
        self._sequence += 1
        heapq.heappush(self._heap, (due_ns, self._sequence, handle))
        if len(self._heap) > self._swept_at:
            self._sweep()
        return handle

    def next_due_ns(self) -> int | None:
        heap = self._heap
        while heap and heap[0][2].fn is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ns: int) -> Callable[[], object] | None:
        """The next thing that is due at `now_ns`, or None."""
        due_ns = self.next_due_ns()
        if due_ns is None or due_ns > now_ns:
            return None
        handle = self._heap[0][2]
        fn, every_ns = handle.fn, handle.every_ns
        if every_ns is None:
            heapq.heappop(self._heap)
            handle.fn = None
        else:
            late_ns = now_ns - due_ns
            self._put_on(due_ns + (late_ns // every_ns + 1) * every_ns, handle)
        return fn

    def pop_until(self, until_ns: int | None) -> tuple[int, Callable[[], object]] | None:
        """The next thing of all, with its time, unless it is due after `until_ns` (None: whenever that is)."""
        heap = self._heap
        while heap:
            due_ns, _, handle = heap[0]
            fn = handle.fn
            if fn is None:
                heapq.heappop(heap)
                continue
            if until_ns is not None and due_ns > until_ns:
                return None
            every_ns = handle.every_ns
            if every_ns is None:
                heapq.heappop(heap)
                handle.fn = None
            else:
                # `_put_on`, without its call: this is the way of every message of a simulated node at rest.
                self._sequence += 1
                heapq.heapreplace(heap, (due_ns + every_ns, self._sequence, handle))
            return due_ns, fn
        return None

    def _put_on(self, due_ns: int, handle: TimerHandle) -> None:
        """The first of all has another time."""
        self._sequence += 1
        heapq.heapreplace(self._heap, (due_ns, self._sequence, handle))

    def __len__(self) -> int:
        return len(self._heap)

    def _sweep(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].fn is not None]
        heapq.heapify(self._heap)
        self._swept_at = max(1024, 2 * len(self._heap))
