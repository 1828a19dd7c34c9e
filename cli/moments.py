"""Moments of a run as people write them: `03:00`, `03:00:12.5`, `2026-11-29T03:00:12Z`.

Pure. Times are UTC.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

SECOND_NS = 10**9
DAY_NS = 24 * 3600 * SECOND_NS
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_moment(text: str) -> bool:
    """Whether the text is a time of day, or a date and time."""
    return _time_of_day(text) is not None or _moment(text) is not None


def wall_ns_of(text: str, began_wall_ns: int) -> int:
    """The moment, in ns since 1970.

    A time of day is the first one since `began_wall_ns`. Raises ValueError.
    """
    moment = _moment(text)
    if moment is not None:
        return _ns(moment - _EPOCH)
    of_day = _time_of_day(text)
    if of_day is None:
        raise ValueError(f"{text!r} is not a time; write 03:00:12 or 2026-11-29T03:00:12Z (UTC)")
    midnight_ns = began_wall_ns - began_wall_ns % DAY_NS
    at_ns = midnight_ns + _ns(datetime.combine(_EPOCH.date(), of_day, UTC) - _EPOCH)
    return at_ns if at_ns >= began_wall_ns - began_wall_ns % SECOND_NS else at_ns + DAY_NS


def shown(wall_ns: int) -> str:
    """`2026-11-29 03:00:12.345 UTC`."""
    moment = _EPOCH + timedelta(microseconds=wall_ns // 1000)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03} UTC"


def _ns(since: timedelta) -> int:
    return (since.days * 86_400 + since.seconds) * SECOND_NS + since.microseconds * 1000


def _moment(text: str) -> datetime | None:
    if "-" not in text:
        return None
    try:
        moment = datetime.fromisoformat(text.strip().replace(" ", "T", 1))
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _time_of_day(text: str) -> time | None:
    if ":" not in text or "-" in text:
        return None
    try:
        return time.fromisoformat(text.strip().removesuffix("Z"))
    except ValueError:
        return None
