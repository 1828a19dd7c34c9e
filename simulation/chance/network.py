"""The way between one node and the API server: how long a message takes, when some are lost, and when it is cut.

A message that is lost is sent again after a fifth of a second, and after twice as long each time, as TCP does it; so on
this way nothing is ever lost for good, and nothing is refused: it comes late, and whoever asks gives up by its own
deadline. What is sent while the way is cut arrives when it is whole again.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from simulation.chance.chance import Chance

RESENT_AFTER_NS = 200 * 10**6
RESENT_AT_MOST = 8


class LinkFaults(msgspec.Struct, frozen=True):
    """Each message takes from the shortest to the longest delay, in ns, more than it must; `loss`: chance, below 1."""

    delay_ns: tuple[int, int] = (0, 0)
    loss: float = 0.0


class NetworkLink:
    """See the module. `latency_ns`: what a call takes at least, there and back. `is_well`: nothing is wrong, and it
    takes just that.
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
        """How long what is sent now takes to arrive."""
        return self.latency_ns if self.is_well else self.latency_ns + self._trouble_ns()

    def back_ns(self) -> int:
        """How long the answer to it takes."""
        return 0 if self.is_well else self._trouble_ns()

    def is_plain(self) -> bool:
        """Nothing is wrong with it."""
        return self._faults is None and self._cut_until_ns <= self._now_ns()

    def is_cut(self) -> bool:
        """Nothing arrives now."""
        return self._cut_until_ns > self._now_ns()

    def cut(self, lasts_ns: int) -> None:
        """For so long nothing arrives."""
        self._cut_until_ns = max(self._cut_until_ns, self._now_ns() + lasts_ns)
        self.is_well = False

    def follow(self, faults: LinkFaults | None) -> None:
        """From now on this is wrong with it, or nothing."""
        self._faults = faults
        self.is_well = faults is None and not self._cut_until_ns

    def heal(self) -> None:
        """It is as it should be."""
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
