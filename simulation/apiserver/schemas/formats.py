"""Patterns and formats of texts in the schemas of custom resources.

Patterns are those of RE2. Formats are those of OpenAPI; the ones that begin with `x-` are for `definition.yaml` alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import datetime
from ipaddress import ip_network
from urllib.parse import urlsplit

from jsonschema import FormatChecker

from config.caches import KIB, MIB, kept
from config.values.expressions import Cost, Use, cost_of
from config.values.name_rules import dns_subdomain
from simulation.apiserver.schemas.json_paths import names_of, parse_path

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*\]|\$|.", re.DOTALL)
PATTERN_CHARACTERS_AT_MOST = 4096
SLOW_TEXT_AT_MOST = 500
"""Characters of a text that is read with a pattern whose time grows with a power of the length."""


@kept(2 * MIB, 64 * KIB)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern of RE2 in Python; None where Python lacks its classes or quotes. Raises re.error.

    RE2 takes linear time for every pattern, and Python does not. A pattern that may take exponential time is refused.
    `$` is the very end in RE2. Flags at the beginning, or behind `^` there, hold for the whole pattern.
    """
    if len(pattern) > PATTERN_CHARACTERS_AT_MOST:
        raise re.error(f"it has more than {PATTERN_CHARACTERS_AT_MOST} characters")
    if re.search(r"(?<!\\)(?:\\\\)*\\[pPQC]", pattern):
        return None
    flags = re.match(r"\^?(\(\?[ims]+\))", pattern)
    if flags is not None:
        pattern = flags[1] + pattern.replace(flags[1], "", 1)

    def translated(token: str) -> str:
        if token in ("$", r"\z"):
            return r"\Z"
        return (
            re.sub(r"\[:([a-z]+):\]", lambda name: _CLASSES.get(name[1], name[0]), token) if token[0] == "[" else token
        )

    try:
        expression = re.compile("".join(translated(match[0]) for match in _TOKEN.finditer(pattern)), re.ASCII)
    except (OverflowError, RecursionError):
        raise re.error("it is nested too deeply, or repeats too often") from None
    if cost_of(expression.pattern, Use.SEARCH, expression.flags) in (Cost.EXPONENTIAL, Cost.UNKNOWN):
        raise re.error("it can be read in too many ways; nest no repetition in another one")
    return expression


def takes_long(expression: re.Pattern[str], text: str) -> bool:
    """Whether the text is too long for the pattern, which is not linear."""
    if len(text) <= SLOW_TEXT_AT_MOST:
        return False
    return cost_of(expression.pattern, Use.SEARCH, expression.flags) is not Cost.LINEAR


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
    try:
        compiled(text)
    except re.error as error:
        raise ValueError(str(error)) from None
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
