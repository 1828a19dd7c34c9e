"""How many sandboxes and containers a runtime may be asked to make at once.

As many as there are pods, until the runtime is too slow for that. After a boot every pod of a node starts at once. On a
slow machine then no call ends within its deadline; each is thrown away and made again, so nothing ever runs. A kubelet
does that too.

A call that misses its deadline says little by itself: it may hang, and a call that hangs may cost only its own pod. It
shows a slow runtime if other calls have succeeded meanwhile, and took a good part of that time. Then a quarter as many
calls go on at once. Quick successes raise the limit by one each, and it goes when nothing waits for it.

New pods wait for turns as well (`actors.sync.turns`), so that the first are Ready early. Those turns are short, and
pods that have begun take none: after a boot that is every pod.

A call older than half of the missed deadline no longer counts, so that one that hangs holds no place for long.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

LEAST = 2
"""One pod's call may hang, and the others go on."""
FEWER = 4
"""So many times fewer calls go on at once."""
SLOW = 4
"""A success was slow if it took at least a quarter of the deadline that another call missed."""
QUICK = 8
"""A success is quick if it took less than an eighth of that deadline."""


class Pace:
    """Books of the calls under way. Keys are the caller's; times are monotonic, in nanoseconds."""

    def __init__(self) -> None:
        self.limit: int | None = None
        """None: no limit."""
        self._began_ns: dict[Hashable, int] = {}
        """In the order of their begin."""
        self._successes: deque[tuple[int, int]] = deque()
        """When it ended and how long it took: those that no later one outdid, since the oldest call began."""
        self._reduced_ns = -1
        """When the limit was last reduced: calls that began before do not reduce it again."""
        self._missed_ns = 0
        """The deadline that was missed when the limit was last reduced."""

    @property
    def patience_ns(self) -> int:
        """How long a call holds a place. 0 without a limit."""
        return self._missed_ns // 2

    def may_begin(self, now_ns: int) -> bool:
        """Whether one more call may go on now."""
        if self.limit is None:
            return True
        too_old_ns = now_ns - self.patience_ns
        return sum(began_ns > too_old_ns for began_ns in self._began_ns.values()) < self.limit

    def begins(self, key: Hashable, now_ns: int) -> None:
        """Enter a call that goes on."""
        self._began_ns[key] = now_ns

    def succeeded(self, key: Hashable, now_ns: int, waiting: int) -> None:
        """Tell the success of a call. `waiting`: how many wait for a place."""
        took_ns = now_ns - self._began_ns.pop(key)
        while self._successes and self._successes[-1][1] <= took_ns:
            self._successes.pop()
        self._successes.append((now_ns, took_ns))
        oldest_ns = next(iter(self._began_ns.values()), now_ns)
        while self._successes[0][0] < oldest_ns:
            self._successes.popleft()
        if self.limit is not None and took_ns * QUICK < self._missed_ns:
            self.limit = self.limit + 1 if waiting else None

    def failed(self, key: Hashable) -> None:
        """Tell that a call has failed, or was given up."""
        self._began_ns.pop(key)

    def missed_deadline(self, key: Hashable, now_ns: int) -> bool:
        """Tell that a call got no answer in time. True if fewer may go on from now on."""
        at_once = len(self._began_ns)
        began_ns = self._began_ns.pop(key)
        took_ns = now_ns - began_ns
        slowest_ns = next((each for ended_ns, each in self._successes if ended_ns >= began_ns), 0)
        if began_ns < self._reduced_ns or slowest_ns * SLOW < took_ns:
            return False
        self._missed_ns, self._reduced_ns = took_ns, now_ns
        self.limit = max(LEAST, min(at_once, self.limit or at_once) // FEWER)
        return True
