"""When a service account token is valid or renewed, and the back-off (spec 8.7). Pure.

Times are in ns.
"""

from __future__ import annotations

import msgspec

from actors.cluster.moments import Moment

SECOND_NS = 1_000_000_000
LONGEST_USE_NS = 24 * 3600 * SECOND_NS
REFRESH_PERCENT = 80
JITTER_NS = 10 * SECOND_NS
FIRST_BACK_OFF_NS = SECOND_NS
LONGEST_BACK_OFF_NS = 60 * SECOND_NS
BACK_OFF_JITTER = 0.5


class Token(msgspec.Struct, frozen=True):
    """An issued token. Secret: never log its text.

    Its age counts from its request, by the clocks of this node.
    """

    text: str
    expires_ns: int
    """By the clock of the API server."""
    lifetime_ns: int
    use_ns: int
    """The age at which its renewal is due."""
    asked: Moment

    def __repr__(self) -> str:
        """Without the token itself."""
        return f"Token(expires_ns={self.expires_ns})"

    def fresh_for_ns(self, moment: Moment) -> int:
        """How long until its renewal is due; not positive once it is."""
        return self.use_ns - moment.since_ns(self.asked)

    def is_valid(self, moment: Moment) -> bool:
        """Whether it has not expired."""
        return moment.since_ns(self.asked) < self.lifetime_ns


def use_ns(lifetime_ns: int, draw: float) -> int:
    """How old a token is when the next is requested: 80% of its lifetime, or a day, whichever comes first.

    `draw` in [0, 1) makes it a little less, by at most a tenth of the lifetime.
    """
    used_ns = min(lifetime_ns * REFRESH_PERCENT // 100, LONGEST_USE_NS)
    jitter_ns = min(JITTER_NS, lifetime_ns // 10)
    return used_ns - int(jitter_ns * draw)


def back_off_ns(failures: int, draw: float) -> int:
    """How long to wait after this many failures in a row (1, 2, ...)."""
    base_ns = min(LONGEST_BACK_OFF_NS, FIRST_BACK_OFF_NS << min(failures - 1, 10))
    return int(base_ns * (1 + BACK_OFF_JITTER * draw))
