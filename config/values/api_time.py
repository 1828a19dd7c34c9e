"""Times as the API writes them: RFC 3339 in UTC, whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from config.caches import KIB, kept

_SECOND_NS = 1_000_000_000
_LAST_SECOND = 253_402_300_799  # 9999-12-31T23:59:59Z


def api_time(wall_ns: int) -> str | None:
    """Nanoseconds since 1970 as text, cut to the second; None for 0, which means "never"."""
    return second_text(wall_ns // _SECOND_NS) if wall_ns > 0 else None


@lru_cache(maxsize=1024)
def second_text(seconds: int) -> str:
    """Whole seconds since 1970 as text."""
    return datetime.fromtimestamp(min(seconds, _LAST_SECOND), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@kept(128 * KIB)
def seconds_of(text: str | None) -> int | None:
    """Seconds since 1970 of a time in an object of the API; None for an unreadable text."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return int(moment.timestamp())


def ns_of(text: str | None) -> int | None:
    """Nanoseconds since 1970, exact to the microsecond."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return None if moment.tzinfo is None else int(moment.timestamp() * 1_000_000) * 1_000
