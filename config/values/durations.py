"""Durations in Go's notation ("1m30s", "100ms"), as whole nanoseconds.

Owns parsing and formatting. Pure. Only parsing can fail (`DurationError`).
"""

from __future__ import annotations

import re

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

# Two characters are in use for micro: U+00B5 and U+03BC.
_UNITS_NS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,
    "\u03bcs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)
_LARGEST_NS = 2**63 - 1
_TEXT_AT_MOST = 128


class DurationError(ValueError):
    """The text is no duration; `reason` tells its author why."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is not a duration: {reason}")
        self.text = text
        self.reason = reason


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of a Go duration: a sign, then numbers with units, such as "-1.5h" or "1m30s".

    "0" needs no unit.

    Parts finer than a nanosecond are dropped. Raises DurationError, also beyond 64 bits (292 years).
    """
    if len(text) > _TEXT_AT_MOST:
        raise DurationError(text[:20] + "...", f"it is longer than {_TEXT_AT_MOST} characters")
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0
    if not unsigned:
        raise DurationError(text, "it has no number; write one with a unit, such as 10s or 1m30s")
    total_ns, at = 0, 0
    while at < len(unsigned):
        match = _PART.match(unsigned, at)
        assert match is not None, "every part of the pattern may be empty"
        total_ns += _part_ns(text, match[1], match[2] or "", match[3])
        at = match.end()
    negative = text[0] == "-"
    if total_ns > _LARGEST_NS + negative:
        raise DurationError(text, "it is beyond 292 years")
    return -total_ns if negative else total_ns


def format_duration_ns(duration_ns: int) -> str:
    """The text Go prints: "0s", "1.5ms", "1m30s", "2h0m0s". `parse_duration_ns` returns the same number."""
    if duration_ns == 0:
        return "0s"
    sign, left_ns = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    if left_ns < SECOND:
        unit, size_ns = next(
            (unit, size_ns)
            for unit, size_ns in (("ms", MILLISECOND), ("\u00b5s", MICROSECOND), ("ns", NANOSECOND))
            if left_ns >= size_ns
        )
        return f"{sign}{_decimal(left_ns, size_ns)}{unit}"
    minutes, seconds_ns = divmod(left_ns, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(seconds_ns, SECOND)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _part_ns(text: str, whole: str, fraction: str, unit: str) -> int:
    """Nanoseconds of one number with its unit."""
    if not (whole or fraction):
        raise DurationError(text, "a number must stand before each unit")
    if not unit:
        raise DurationError(
            text, f"the unit after {whole or '0'}{'.' + fraction if fraction else ''} is missing; write 10s"
        )
    size_ns = _UNITS_NS.get(unit)
    if size_ns is None:
        raise DurationError(text, f"{unit!r} is not a unit; use one of ns us ms s m h")
    part_ns = int(whole or "0") * size_ns
    if fraction:
        part_ns += int(fraction) * size_ns // 10 ** len(fraction)
    return part_ns


def _decimal(number: int, size: int) -> str:
    """`number / size` exactly, without trailing zeros; `size` is a power of ten."""
    whole, rest = divmod(number, size)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).zfill(len(str(size)) - 1).rstrip('0')}"
