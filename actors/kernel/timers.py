"""Things to do later, in ns of one clock. Knows no clock and no thread: its owner asks what is due.

Most of what is to be done much later never is: it is called off, or replaced, before its time. So only what is due
soon is kept in order, in a heap; the rest lies in a bag for each second, and comes into the heap when that second does
and nobody has called it off by then.

What has a period is due again and again, on a grid: its first time and whole periods after it. A late one does not
shift those that follow, and what was missed is not made up for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import msgspec

_SECOND_BITS = 30
"""What is due in the same 2**30 ns lies in one bag."""


class TimerHandle(msgspec.Struct, order=True):
    """One thing to do later, once or every `every_ns`: ordered by when, and first come first served among equals.

    `cancel` may be called at any time, from any thread, more than once.
    """

    due_ns: int
    sequence: int
    fn: Callable[[], object] | None
    every_ns: int | None

    def cancel(self) -> None:
        self.fn = None


class TimerHeap:
    """Timers in order of due time, first come first served among equals.

    A cancelled timer stays until it is due or until the cancelled ones outnumber the living, so cancelling is free and
    memory is bounded by twice the living ones.
    """

    __slots__ = ("_far", "_far_seconds", "_length", "_near", "_near_until_ns", "_sequence", "_swept_at")

    def __init__(self) -> None:
        self._near: list[TimerHandle] = []
        """A heap of all that is due before `_near_until_ns`."""
        self._near_until_ns = 0
        self._far: dict[int, list[TimerHandle]] = {}
        """The bags, by their second; none is empty."""
        self._far_seconds: list[int] = []
        """A heap of the keys of `_far`."""
        self._length = 0
        self._sequence = 0
        self._swept_at = 1024

    def push(self, due_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> TimerHandle:
        self._sequence = sequence = self._sequence + 1
        handle = TimerHandle(due_ns, sequence, fn, every_ns)
        if due_ns < self._near_until_ns:
            heapq.heappush(self._near, handle)
        else:
            # `_put_far`, mostly without its call: this is the way of every deadline.
            bag = self._far.get(due_ns >> _SECOND_BITS)
            if bag is None:
                self._put_far(handle)
            else:
                bag.append(handle)
        self._length = length = self._length + 1
        if length > self._swept_at:
            self._sweep()
        return handle

    def next_due_ns(self) -> int | None:
        while True:
            near = self._near
            while near and near[0].fn is None:
                heapq.heappop(near)
                self._length -= 1
            if near:
                return near[0].due_ns
            if not self._far:
                return None
            self._come_near()

    def pop_due(self, now_ns: int) -> Callable[[], object] | None:
        """The next thing that is due at `now_ns`, or None."""
        due_ns = self.next_due_ns()
        if due_ns is None or due_ns > now_ns:
            return None
        handle = self._near[0]
        fn, every_ns = handle.fn, handle.every_ns
        if every_ns is None:
            self._take(handle)
        else:
            late_ns = now_ns - due_ns
            self._put_off(handle, due_ns + (late_ns // every_ns + 1) * every_ns)
        return fn

    def pop_until(self, until_ns: int | None) -> tuple[int, Callable[[], object]] | None:
        """The next thing of all, with its time, unless it is due after `until_ns` (None: whenever that is)."""
        while True:
            near = self._near
            while near:
                handle = near[0]
                fn = handle.fn
                if fn is None:
                    heapq.heappop(near)
                    self._length -= 1
                    continue
                due_ns = handle.due_ns
                if until_ns is not None and due_ns > until_ns:
                    return None
                every_ns = handle.every_ns
                if every_ns is None:
                    # `_take`, without its call: this is the way of most that happens in a simulated world.
                    heapq.heappop(near)
                    handle.fn = None
                    self._length -= 1
                else:
                    self._put_off(handle, due_ns + every_ns)
                return due_ns, fn
            if not self._far or (until_ns is not None and self._far_seconds[0] << _SECOND_BITS > until_ns):
                return None
            self._come_near()

    def __len__(self) -> int:
        return self._length

    def _take(self, first: TimerHandle) -> None:
        heapq.heappop(self._near)
        first.fn = None
        self._length -= 1

    def _put_off(self, first: TimerHandle, due_ns: int) -> None:
        """The first of all has another time, a later one."""
        self._sequence += 1
        first.due_ns = due_ns
        first.sequence = self._sequence
        if due_ns < self._near_until_ns:
            heapq.heapreplace(self._near, first)
        else:
            heapq.heappop(self._near)
            self._put_far(first)

    def _put_far(self, handle: TimerHandle) -> None:
        second = handle.due_ns >> _SECOND_BITS
        bag = self._far.get(second)
        if bag is None:
            self._far[second] = [handle]
            heapq.heappush(self._far_seconds, second)
        else:
            bag.append(handle)

    def _come_near(self) -> None:
        """Nothing is near: what is due in the first second of those that are far comes into the heap."""
        second = heapq.heappop(self._far_seconds)
        bag = self._far.pop(second)
        self._near_until_ns = (second + 1) << _SECOND_BITS
        self._near = [handle for handle in bag if handle.fn is not None]
        heapq.heapify(self._near)
        self._length -= len(bag) - len(self._near)

    def _sweep(self) -> None:
        self._near = [handle for handle in self._near if handle.fn is not None]
        heapq.heapify(self._near)
        living = {second: [each for each in bag if each.fn is not None] for second, bag in self._far.items()}
        self._far = {second: bag for second, bag in living.items() if bag}
        self._far_seconds = sorted(self._far)
        self._length = len(self._near) + sum(len(bag) for bag in self._far.values())
        self._swept_at = max(1024, 2 * self._length)
