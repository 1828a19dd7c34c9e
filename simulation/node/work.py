"""What an agent's work costs in virtual time: one CPU, a few workers, a disk.

A turn happens at once, and then its actor is busy for as long as the turn costs. Messages to it wait meanwhile. The
other actors go on, unless all workers are busy. All share one interpreter lock: a turn takes longer by the number of
actors that are busy when it begins. A call of a lane ends later by what it computed and by what it changed on the disk,
and keeps its place in the lane until then.

So an actor that computes for one pod delays whoever needs that actor, and hardly anybody else. The prices are those of
a plain machine, within a factor of two. Without such a price list work takes no time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from actors.kernel import Cancellable, Dispatcher, Promise
from actors.kernel.dispatcher import Runnable
from simulation.host.file_tree import FileTree
from simulation.node.effort import Effort, EffortCounter

T = TypeVar("T")

MS = 1_000_000
CALL_NS = 1_000
"""A call of a Python function, with the lines that it runs itself."""
TEXT_BYTE_NS = 1
"""To format, encode or copy a byte."""
LANE_NS = 50_000
"""To hand a call to a thread and to get its result."""
CHANGE_NS = 50_000
"""A change of a directory."""
WRITTEN_BYTE_NS = 2
MOUNT_NS = 5 * MS
"""To run mount or umount, for a server that answers at once."""
LONG_NS = 10 * MS
WORKERS = 4
"""Threads of the dispatcher that takes turns on a real node."""


class AgentWork:
    """The time that one agent spends. `schedule` is the agent's, `again` gives an actor another turn.

    `disk`: where its lanes write.
    """

    def __init__(self, agent: Dispatcher, again: Callable[[Runnable], object], disk: FileTree) -> None:
        self._now_ns = agent.now_ns
        self._schedule = agent.schedule
        self._again = again
        self._disk = disk
        self._counter = EffortCounter()
        self._busy: dict[str, int] = {}
        """By path: until when that actor is busy."""
        self._ends: list[tuple[int, str]] = []
        """The same as a heap."""
        self._waiting: deque[Runnable] = deque()
        """Actors with work, for which no worker was free."""
        self._called: set[str] = set()
        """Paths of those that a worker has become free for."""
        self.longest_ns: dict[str, int] = {}
        """By path: the longest turn of that actor, of those with one of `LONG_NS`."""
        self._wake_ns = 0
        self._alarm: Cancellable | None = None

    # --- turns ------------------------------------------------------------------------------------------------------

    def may_begin(self, cell: Runnable) -> bool:
        """Whether the actor may take a turn now. If not, it gets one later."""
        now_ns = self._now_ns()
        self._end_turns(now_ns)
        busy_ns = self._busy.get(cell.path)
        if busy_ns is not None:
            self._schedule(busy_ns - now_ns, partial(self._again, cell))
            return False
        if len(self._ends) < WORKERS:
            self._called.discard(cell.path)
            return True
        if cell.path in self._called:  # another actor was faster
            self._called.discard(cell.path)
            self._waiting.appendleft(cell)
        else:
            self._waiting.append(cell)
        self._wake(now_ns)
        return False

    def turn(self, cell: Runnable, turns: int) -> None:
        """Let the actor take its turn. It is busy afterwards."""
        self._counter.begin()
        try:
            cell.run(turns)
        finally:
            cost_ns = _cost_ns(self._counter.end()) * (1 + len(self._ends))
        now_ns = self._now_ns()
        if cost_ns > max(LONG_NS, self.longest_ns.get(cell.path, 0)):
            self.longest_ns[cell.path] = cost_ns
        if cost_ns:
            self._busy[cell.path] = now_ns + cost_ns
            heapq.heappush(self._ends, (now_ns + cost_ns, cell.path))
        self._wake(now_ns)

    def _end_turns(self, now_ns: int) -> None:
        while self._ends and self._ends[0][0] <= now_ns:
            del self._busy[heapq.heappop(self._ends)[1]]

    def _wake(self, now_ns: int) -> None:
        """Set the alarm for the next free worker, if actors wait for one."""
        if not self._waiting:
            return
        due_ns = self._ends[0][0] if len(self._ends) >= WORKERS else now_ns
        if self._alarm is not None:
            if self._wake_ns <= due_ns:
                return
            self._alarm.cancel()
        self._wake_ns = due_ns
        self._alarm = self._schedule(due_ns - now_ns, self._worker_is_free)

    def _worker_is_free(self) -> None:
        self._alarm = None
        now_ns = self._now_ns()
        self._end_turns(now_ns)
        if self._waiting and len(self._ends) < WORKERS:
            cell = self._waiting.popleft()
            self._called.add(cell.path)
            self._again(cell)
        self._wake(now_ns)

    # --- calls of lanes ---------------------------------------------------------------------------------------------

    def call(self, fn: Callable[..., T], *args: Any) -> Promise[T]:
        """Make a call of a lane. Its result comes when its time is over.

        It takes time to compute, and to change the disk. A call that hangs or is late by itself takes no more.
        """
        ends: Promise[T] = Promise()
        changes, written_bytes, mounts = self._disk.version, self._disk.written_bytes, self._disk.mounts
        self._counter.begin()
        try:
            result = fn(*args)
            end = partial(ends.set_result, result)
        except Exception as failure:
            result, end = None, partial(ends.set_exception, failure)
        finally:
            effort = self._counter.end()
        if isinstance(result, Promise):
            return result
        cost_ns = LANE_NS + _cost_ns(effort) * (1 + len(self._ends))
        cost_ns += (self._disk.version - changes) * CHANGE_NS
        cost_ns += (self._disk.written_bytes - written_bytes) * WRITTEN_BYTE_NS
        cost_ns += (self._disk.mounts - mounts) * MOUNT_NS
        self._schedule(cost_ns, end)
        return ends


def _cost_ns(effort: Effort) -> int:
    return effort.calls * CALL_NS + effort.text_bytes * TEXT_BYTE_NS
