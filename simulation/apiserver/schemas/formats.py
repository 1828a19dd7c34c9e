"""Patterns and formats of texts in the schemas of custom resources.

Patterns are those of Go. Formats are those of OpenAPI; the ones that begin with `x-` are for `definition.yaml` alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_network
from urllib.parse import urlsplit

from jsonschema import FormatChecker

from config.caches import KIB, MIB, KeptBytes
from config.values.go_pattern import GoPattern
from config.values.name_rules import dns_subdomain
from simulation.apiserver.schemas.json_paths import names_of, parse_path

PATTERNS_BYTES, PATTERN_BYTES = 16 * MIB, 32 * KIB
"""For the patterns of all definitions, and for a short one: RE2 keeps what it has learnt from texts."""
PATTERNS: KeptBytes[str, GoPattern | None] = KeptBytes(PATTERNS_BYTES, 4 * PATTERN_BYTES)


def compiled(pattern: str) -> GoPattern | None:
    """The pattern; None where there is no RE2 to match it. Raises InvalidGoPatternError."""
    try:
        return PATTERNS[pattern]
    except KeyError:
        pass
    try:
        made = GoPattern(pattern)
    except ImportError:
        return None
    return PATTERNS.keep(pattern, made, PATTERN_BYTES + 8 * len(pattern))


_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_AMOUNT = r"(\d+(\.\d*)?|\.\d+)\s*[a-zµ]+"


EXPRESSIONS = {
    "duration": rf"[-+]?({_AMOUNT})+|0",
    "hexcolor": r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})",
    "hostname": rf"{_LABEL}(\.{_LABEL})*",
    "mac": r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,7}",
}
"""Formats that are expressions, for the whole text."""


def _matches(name: str) -> Callable[[str], bool]:
    expression = re.compile(EXPRESSIONS[name], re.ASCII)
    return lambda text: expression.fullmatch(text) is not None


def _date_time(text: str) -> bool:
    return "T" in text.upper() and datetime.fromisoformat(text.upper()).tzinfo is not None


def _dns_subdomain(text: str) -> bool:
    refusal = dns_subdomain(text)
    if refusal is not None:
        raise ValueError(" ".join(refusal))
    return True


def _regex(text: str) -> bool:
    compiled(text)
    return True


_is_host_name = _matches("hostname")
_OF_TEXT: dict[str, Callable[[str], object]] = {
    "byte": lambda text: base64.b64decode(text, validate=True),
    "cidr": lambda text: "/" in text and ip_network(text, strict=False),
    "date-time": _date_time,
    "datetime": _date_time,
    "duration": _matches("duration"),
    "hexcolor": _matches("hexcolor"),
    "hostname": lambda text: len(text) <= 253 and _is_host_name(text),
    "mac": _matches("mac"),
    "uri": lambda text: bool(urlsplit(text).scheme or text.startswith("/")),
    "x-dns-subdomain": _dns_subdomain,
    "x-field-path": lambda text: bool(names_of(parse_path(text))),
    "x-json-path": lambda text: bool(parse_path(text)),
    "x-regex": _regex,
}
"""By format: a function that returns False, or raises ValueError, for a text without the format."""
FORMATS = FormatChecker(("date", "email", "ipv4", "ipv6", "uuid"))
for _name, _read in _OF_TEXT.items():
    FORMATS.checks(_name, ValueError)(lambda value, read=_read: not isinstance(value, str) or read(value) is not False)
for _name, _bits in (("int32", 32), ("int64", 64)):
    FORMATS.checks(_name)(
        lambda value, limit=2 ** (_bits - 1): (
            isinstance(value, bool) or not isinstance(value, int | float) or -limit <= value < limit
        )
    )
