"""Texts of which a schema says the `format`: dates, addresses, names. A format that is not known here fits everything.

Pure.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from ipaddress import IPv4Address, IPv6Address, ip_network
from urllib.parse import urlsplit

_HOST = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_EMAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+")
_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,7}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_DURATION = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)\s*([a-zµ]+)((\d+(\.\d*)?|\.\d+)\s*([a-zµ]+))*|0")
_COLOR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[-+]\d\d:\d\d)")


def _reads(read: Callable[[str], object]) -> Callable[[str], bool]:
    """Whether it can be read so."""

    def fits(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return fits


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


def _date_time(text: str) -> datetime:
    if _DATE_TIME.fullmatch(text) is None:
        raise ValueError(text)
    return datetime.fromisoformat(text.upper())


def _uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme or text.startswith("/"))


def _network(text: str) -> object:
    if "/" not in text:
        raise ValueError(text)
    return ip_network(text, strict=False)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": _reads(_base64),
    "cidr": _reads(_network),
    "date": _reads(date.fromisoformat),
    "date-time": _reads(_date_time),
    "datetime": _reads(_date_time),
    "duration": _matches(_DURATION),
    "email": _matches(_EMAIL),
    "hexcolor": _matches(_COLOR),
    "hostname": _matches(_HOST),
    "ipv4": _reads(IPv4Address),
    "ipv6": _reads(IPv6Address),
    "mac": _matches(_MAC),
    "uri": _uri,
    "uuid": _matches(_UUID),
}
_BITS = {"int32": 32, "int64": 64}


def text_fits(form: str, text: str) -> bool:
    """Whether a text is of that format."""
    check = _FORMATS.get(form)
    return check is None or check(text)


def number_fits(form: str, number: float) -> bool:
    """Whether a number is of that format."""
    bits = _BITS.get(form)
    return bits is None or -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
