"""A heap of timers, in ns of one clock.

It reads no clock and has no thread: its owner asks for the timers that are due.

A periodic timer is due on a grid: its first time and whole periods after it. A late tick does not shift the following
ones, and missed ticks are skipped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol


class Cancellable(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class TimerHandle:
    """A call to make later, once or every `every_ns`. `fn` is None once it is done or cancelled."""

    __slots__ = ("every_ns", "fn")

    def __init__(self, fn: Callable[[], object], every_ns: int | None) -> None:
        self.fn: Callable[[], object] | None = fn
        self.every_ns = every_ns

    def cancel(self) -> None:
        """Cancel the call. May be called at any time, from any thread, more than once."""
        self.fn = None


class TimerHeap:
    """Timers by due time; equal times keep their order of insertion.

    Most timers are deadlines that are cancelled. A cancelled timer stays until it is due, or until the cancelled ones
    outnumber the others. So a cancellation costs nothing, and memory is bounded.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, TimerHandle]] = []
        """(due ns, sequence number, timer)."""
        self._sequence = 0
        self._swept_at = 1024

    def push(self, due_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        handle = TimerHandle(fn, every_ns)
        self._push(due_ns, handle)
        if len(self._heap) > self._swept_at:
            self._sweep()
        return handle

    def next_due_ns(self) -> int | None:
        heap = self._heap
        while heap and heap[0][2].fn is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now_ns: int) -> Callable[[], object] | None:
        """Remove and return a timer that is due at `now_ns`, or None."""
        due_ns = self.next_due_ns()
        if due_ns is None or due_ns > now_ns:
            return None
        handle = heapq.heappop(self._heap)[2]
        fn = handle.fn
        if handle.every_ns is None:
            handle.fn = None
        else:
            periods = (now_ns - due_ns) // handle.every_ns + 1
            self._push(due_ns + periods * handle.every_ns, handle)
        return fn

    def __len__(self) -> int:
        return len(self._heap)

    def _push(self, due_ns: int, handle: TimerHandle) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (due_ns, self._sequence, handle))

    def _sweep(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2].fn is not None]
        heapq.heapify(self._heap)
        self._swept_at = max(1024, 2 * len(self._heap))
