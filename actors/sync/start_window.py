"""How many pods start at a time, as the runtime allows.

A fast runtime is best used by many starts at a time, for agent and runtime then sleep less. A slow one starts no more
pods a second with 50 at a time than with 4, but with 50 all become Ready at the end.

So the window gets wider when a start ends that was quick, and narrower when one was slow. A start is quick if it takes
no longer than one of these:

- half a second;
- a fifth more than in the narrowest window: such a runtime takes as long for many pods as for few;
- two seconds in the widest window, and a share of it in a narrower one: so many pods start a second that few wait long.

A turn ends when the start does, or is late: after a second, or after twice the time of the quickest start, if that is
longer. A late start may hang. It makes the window narrower, but never narrower than `fewest`. When no start has ended
for three seconds, their number is not what holds them up, so the window doubles each second.

What was learnt is forgotten after a quiet minute. Pure.
"""

from __future__ import annotations

SECOND_NS = 1_000_000_000
QUICK_NS = SECOND_NS // 2
WIDE_NS = 2 * SECOND_NS
STUCK_NS = 3 * SECOND_NS
"""If no start ends for so long, the window gets wider. No turn and no start counts as longer."""
QUIET_NS = 60 * SECOND_NS


def most_starts(cpus: int) -> int:
    """The widest window on a machine with so many CPUs; 0: unknown.

    With 32 for each CPU, 300 pods and 1,000 pods took no more CPU time than all at once (one measurement, two CPUs).
    With 8 and 16 they took 40 to 65 % more: threads then sleep and wake up for each answer instead of for many.
    """
    return 32 * min(max(cpus, 1), 8)


class StartWindow:
    """See the module. `places`: how many pods may have a turn now, of `most`."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.fewest = min(most, max(2, most // 16))
        self._first = min(most, max(4, most // 8))
        self._news_ns = 0
        """When a start ended last, or pods began to come."""
        self.forget()

    def forget(self) -> None:
        """Begin anew: the runtime may be another."""
        self.places = self._first
        self.turn_ns = SECOND_NS
        """A start that takes so long is late."""
        self._least_ns = STUCK_NS
        """What the quickest start took."""
        self._narrow_ns: int | None = None
        """What starts take in the narrowest window: a mean to which each new one adds a quarter."""

    def pods_come(self, now_ns: int) -> None:
        """A pod has come while no other waited or had a turn."""
        if now_ns - self._news_ns >= QUIET_NS:
            self.forget()
        self._news_ns = now_ns

    def ended(self, took_ns: int, places: int, now_ns: int, others_wait: bool) -> None:
        """A pod that got its turn when there were so many places has started.

        The window only changes while others wait: otherwise it may not have been full.
        """
        took_ns = min(took_ns, STUCK_NS)
        self._news_ns = now_ns
        self._least_ns = min(took_ns, self._least_ns)
        self.turn_ns = min(max(SECOND_NS, 2 * self._least_ns), STUCK_NS)
        if places <= self.fewest:
            self._narrow_ns = took_ns if self._narrow_ns is None else (3 * self._narrow_ns + took_ns) // 4
        if others_wait:
            self._set(self.places + (1 if took_ns <= self._quick_ns(places) else -1))

    def late(self, pods: int, now_ns: int) -> None:
        """So many starts are late. Others wait."""
        if now_ns - self._news_ns >= STUCK_NS:
            self._news_ns = now_ns - STUCK_NS + SECOND_NS
            self._set(2 * self.places)
        elif self.turn_ns > self._quick_ns(self.places):
            self._set(self.places - pods)

    def _quick_ns(self, places: int) -> int:
        return max(QUICK_NS, (self._narrow_ns or 0) * 6 // 5, WIDE_NS * places // self.most)

    def _set(self, places: int) -> None:
        self.places = min(max(places, self.fewest), self.most)
