"""When a service account token is valid or renewed, and the back-off (spec 8.7). Pure.

All times are ns since 1970.
"""

from __future__ import annotations

import msgspec

SECOND_NS = 1_000_000_000
LONGEST_USE_NS = 24 * 3600 * SECOND_NS
REFRESH_PERCENT = 80
JITTER_NS = 10 * SECOND_NS
FIRST_BACK_OFF_NS = SECOND_NS
LONGEST_BACK_OFF_NS = 60 * SECOND_NS
BACK_OFF_JITTER = 0.5


class Token(msgspec.Struct, frozen=True):
    """An issued token. Secret: never log its text."""

    text: str
    expires_ns: int
    refresh_ns: int

    def __repr__(self) -> str:
        """Without the token itself."""
        return f"Token(expires_ns={self.expires_ns})"

    def is_fresh(self, wall_ns: int) -> bool:
        """Whether no renewal is due yet."""
        return wall_ns < self.refresh_ns

    def is_valid(self, wall_ns: int) -> bool:
        """Whether it has not expired."""
        return wall_ns < self.expires_ns


def refresh_ns(expires_ns: int, lifetime_ns: int, draw: float) -> int:
    """When to request the next token: after 80% of the lifetime, or a day, whichever comes first.

    `draw` in [0, 1) makes it a little earlier, by at most a tenth of the lifetime.
    """
    used_ns = min(lifetime_ns * REFRESH_PERCENT // 100, LONGEST_USE_NS)
    jitter_ns = min(JITTER_NS, lifetime_ns // 10)
    return expires_ns - lifetime_ns + used_ns - int(jitter_ns * draw)


def back_off_ns(failures: int, draw: float) -> int:
    """How long to wait after this many failures in a row (1, 2, ...)."""
    base_ns = min(LONGEST_BACK_OFF_NS, FIRST_BACK_OFF_NS << min(failures - 1, 10))
    return int(base_ns * (1 + BACK_OFF_JITTER * draw))
