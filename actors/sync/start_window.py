"""How many pods start at a time, as the runtime allows.

A fast runtime is best used by many starts at a time, for agent and runtime then sleep less. A slow one starts no more
pods a second with 50 at a time than with 4, or even fewer, and with 50 all become Ready at the end.

So the window gets wider when a start ends that was quick, and narrower when one was slow. A start is quick if it takes
no longer than one of these:

- a quarter of a second;
- what a start takes in the narrowest window. In a wider one it may take longer, if each further place still adds a
  quarter of what a place adds there;
- two seconds in the widest window, and a share of it in a narrower one: so many pods start a second that few wait long.

A turn ends when the start does, or is late. What a late start says depends on the others:

- Others have ended, and took half a second at most: it hangs. So it is late after four times their mean, but not
  before a quarter of a second. It costs the runtime nothing, so the window gets wider.
- Others were slow, or none has ended yet: the runtime may be slow. The window gets narrower, but never narrower than
  `fewest`. A start is late after a second, or after twice the time of the quickest, if that is longer.
- There has been no news for two seconds, or for twice their mean: all hang. The window opens. The end of a start is
  news, and so is a sandbox that took more than a second to make: the runtime is slow, and does not hang.

What was learnt is forgotten after a quiet minute. Pure.
"""

from __future__ import annotations

SECOND_NS = 1_000_000_000
QUICK_NS = SECOND_NS // 4
WIDE_NS = 2 * SECOND_NS
USUAL_NS = SECOND_NS // 2
"""If others take no longer than this, a late start hangs."""
SHORTEST_TURN_NS = SECOND_NS // 4
LONGEST_NS = 3 * SECOND_NS
"""No turn lasts longer, and no start counts as longer."""
STUCK_NS = 2 * SECOND_NS
"""If there is no news for so long, the window opens."""
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
        self._first = min(most, max(4, most * 7 // 64))
        self._news_ns = 0
        """When the last news came, or pods began to come."""
        self.forget()

    def forget(self) -> None:
        """Begin anew: the runtime may be another."""
        self.places = self._first
        self.turn_ns = SECOND_NS
        """A start that takes so long is late."""
        self._least_ns = LONGEST_NS
        """What the quickest start took."""
        self._mean_ns: int | None = None
        """What starts take."""
        self._narrow_ns: int | None = None
        """What they take in the narrowest window."""

    def pods_come(self, now_ns: int) -> None:
        """A pod has come while no other waited or had a turn."""
        if now_ns - self._news_ns >= QUIET_NS:
            self.forget()
        self._news_ns = now_ns

    def ended(self, took_ns: int, places: int, now_ns: int, others_wait: bool) -> None:
        """A pod has started. When it got its turn, starts were under way in so many places.

        The window only changes while others wait: otherwise it may not have been full.
        """
        took_ns = min(took_ns, LONGEST_NS)
        self._news_ns = now_ns
        self._least_ns = min(took_ns, self._least_ns)
        self._mean_ns = _mean(self._mean_ns, took_ns)
        if places <= self.fewest:
            self._narrow_ns = _mean(self._narrow_ns, took_ns)
        self.turn_ns = _turn_ns(self._least_ns, self._mean_ns)
        if others_wait:
            self._set(self.places + (1 if took_ns <= self._quick_ns(places) else -1))

    def goes_on(self, now_ns: int) -> None:
        """A start is slow, and does not hang."""
        self._news_ns = now_ns

    def late(self, pods: int, now_ns: int) -> None:
        """So many starts are late. Others wait."""
        if now_ns - self._news_ns >= max(STUCK_NS, 2 * (self._mean_ns or 0)):
            self.places = self.most
        elif self._mean_ns is not None and self._mean_ns <= USUAL_NS:
            self._set(self.places + pods)
        elif self._mean_ns is None or self._mean_ns > self._quick_ns(self.places):
            self._set(self.places - pods)

    def _quick_ns(self, places: int) -> int:
        used = max(places, self.fewest)
        scales_ns = 4 * used * (self._narrow_ns or 0) // (3 * self.fewest + used)
        return max(QUICK_NS, scales_ns, WIDE_NS * places // self.most)

    def _set(self, places: int) -> None:
        self.places = min(max(places, self.fewest), self.most)


def _mean(before_ns: int | None, took_ns: int) -> int:
    """A mean to which each new start adds a quarter."""
    return took_ns if before_ns is None else (3 * before_ns + took_ns) // 4


def _turn_ns(least_ns: int, mean_ns: int) -> int:
    hangs_ns = min(max(4 * mean_ns, SHORTEST_TURN_NS), SECOND_NS)
    return min(max(hangs_ns, 2 * least_ns), LONGEST_NS)
