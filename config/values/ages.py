"""Ages as `kubectl` prints them (`3m20s`), and durations as people say them (`12 s`). Pure.

Owns the text of a duration and of a time stamp's age. An unreadable time stamp gives `?`, so that the rest of a table
is still printed. The caller gives the current time.
"""

from __future__ import annotations

from datetime import UTC, datetime

SECOND_NS = 1_000_000_000
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def short_duration(seconds: int) -> str:
    """A rounded duration in at most two units: `95s`, `3m20s`, `45m`, `5h10m`, `3d`, `2y20d`."""
    seconds = max(seconds, 0)
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    return _two(seconds, _YEAR, "y", _DAY, "d") if seconds < 8 * _YEAR else f"{seconds // _YEAR}y"


def since(timestamp: str | None, wall_ns: int) -> str:
    """The age of a time stamp (RFC3339) at that time of day; empty for an empty one.

    A time stamp up to a second ahead of our clock counts as now; one further ahead gives `<invalid>`.
    """
    if not timestamp:
        return ""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return "?"
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    seconds = int(wall_ns / SECOND_NS - then.timestamp())
    return "<invalid>" if seconds < -1 else short_duration(seconds)


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_name}" + (f"{rest}{small_name}" if rest else "")


def spoken(ns: int) -> str:
    """A duration as people say it: 0.4 s, 12 s, 3 min 20 s."""
    if ns < 10 * SECOND_NS:
        return f"{max(ns, 0) / SECOND_NS:.1f} s"
    whole = ns // SECOND_NS
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
