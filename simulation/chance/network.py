"""The link between one node and the API server: delays, losses and cuts.

A lost message is sent again after a fifth of a second, then after twice as long each time, as in TCP. So the link loses
nothing for good and refuses nothing: messages come late, and callers give up by their own deadlines. Messages that are
sent during a cut arrive after it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from simulation.chance.chance import Chance

RESENT_AFTER_NS = 200 * 10**6
RESENT_AT_MOST = 8


class LinkFaults(msgspec.Struct, frozen=True):
    """Each message takes an extra delay between the shortest and the longest, in ns.

    `loss`: chance, below 1.
    """

    delay_ns: tuple[int, int] = (0, 0)
    loss: float = 0.0


class NetworkLink:
    """`latency_ns`: the least time of a call, there and back.

    `is_well`: no faults, so each call takes just that.
    """

    def __init__(self, now_ns: Callable[[], int], latency_ns: int, seed: str, faults: LinkFaults | None = None) -> None:
        self._now_ns = now_ns
        self.latency_ns = latency_ns
        self.is_well = faults is None
        self._faults = faults
        self._chance = Chance(f"network {seed}")
        self._cut_until_ns = 0
        self.lost = 0
        """Messages that were sent more than once."""

    def there_ns(self) -> int:
        """The delay of a message that is sent now."""
        return self.latency_ns if self.is_well else self.latency_ns + self._trouble_ns()

    def back_ns(self) -> int:
        """The delay of the answer to it."""
        return 0 if self.is_well else self._trouble_ns()

    def is_plain(self) -> bool:
        """Whether the link has no faults."""
        return self._faults is None and self._cut_until_ns <= self._now_ns()

    def is_cut(self) -> bool:
        """Whether the link is cut now."""
        return self._cut_until_ns > self._now_ns()

    def cut(self, lasts_ns: int) -> None:
        """Cut the link for that time."""
        self._cut_until_ns = max(self._cut_until_ns, self._now_ns() + lasts_ns)
        self.is_well = False

    def follow(self, faults: LinkFaults | None) -> None:
        """Use these faults from now on, or none."""
        self._faults = faults
        self.is_well = faults is None and not self._cut_until_ns

    def heal(self) -> None:
        """End all faults."""
        self._faults = None
        self._cut_until_ns = 0
        self.is_well = True

    def _trouble_ns(self) -> int:
        faults = self._faults
        more_ns = max(0, self._cut_until_ns - self._now_ns())
        if faults is not None:
            more_ns += self._chance.between(*faults.delay_ns)
            wait_ns = RESENT_AFTER_NS
            for _ in range(RESENT_AT_MOST):
                if not faults.loss or self._chance.share() >= faults.loss:
                    break
                self.lost += 1
                more_ns += wait_ns
                wait_ns *= 2
        return more_ns
