"""When a service account token is used, renewed, and given up (spec 8.7). Pure; all times ns since 1970."""

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
    """A token as it was issued. Secret: never logged."""

    text: str
    expires_ns: int
    refresh_ns: int

    def __repr__(self) -> str:
        """Without the token itself."""
        return f"Token(expires_ns={self.expires_ns})"

    def is_fresh(self, wall_ns: int) -> bool:
        """Whether it may be given without thinking of another."""
        return wall_ns < self.refresh_ns

    def is_valid(self, wall_ns: int) -> bool:
        """Whether it may be given when there is no other."""
        return wall_ns < self.expires_ns


def refresh_ns(expires_ns: int, lifetime_ns: int, draw: float) -> int:
    """When to ask for the next: at 80% of the lifetime, after a day at most, a little earlier by `draw` in [0, 1).

    The jitter is never more than a tenth of the lifetime, so that a short one is not used up by it.
    """
    used_ns = min(lifetime_ns * REFRESH_PERCENT // 100, LONGEST_USE_NS)
    jitter_ns = min(JITTER_NS, lifetime_ns // 10)
    return expires_ns - lifetime_ns + used_ns - int(jitter_ns * draw)


def back_off_ns(failures: int, draw: float) -> int:
    """How long to leave the server alone after so many failures in a row (1, 2, ...)."""
    base_ns = min(LONGEST_BACK_OFF_NS, FIRST_BACK_OFF_NS << min(failures - 1, 10))
    return int(base_ns * (1 + BACK_OFF_JITTER * draw))
