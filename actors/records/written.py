"""What actors do, in short: bytes to compare, and words for people.

Arguments and messages are not read again, so they need no types: they are MessagePack, which any tool reads. Actors are
paths, functions are their names, and sets are sorted. Equal values have equal bytes in every process.
"""

from __future__ import annotations

import dataclasses
import enum
import zlib
from collections.abc import Mapping, Set
from typing import Any

import msgspec

from actors.kernel.message import describe
from actors.kernel.ref import ActorRef
from config.frozen_map import FrozenMap
from config.objects.base import UnknownFields

TEXT_AT_MOST = 2_000
_LARGE = 2**63


def packed(value: Any) -> bytes:
    """The value as bytes to compare."""
    try:
        return _SORTED.encode(value)
    except Exception:  # keys that are no strings, whole numbers beyond 64 bits
        return _PLAIN.encode(_plain(value))


def checksum(data: bytes) -> int:
    """CRC-32: enough to see that something differs."""
    return zlib.crc32(data)


def label(message: Any) -> str:
    """A message in a few words: its type and key; "stop" for a stop."""
    return "stop" if message is None else describe(message)


def words(data: bytes) -> str:
    """Packed bytes for people, as JSON."""
    try:
        text = msgspec.json.encode(_shown(msgspec.msgpack.decode(data))).decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as failure:
        return f"unreadable: {failure}"
    return text if len(text) <= TEXT_AT_MOST else f"{text[:TEXT_AT_MOST]}..."


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _shown(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value


def _other(value: Any) -> Any:
    """A value that msgspec does not know."""
    if isinstance(value, ActorRef):
        return value.path
    if isinstance(value, FrozenMap):
        return dict(value)
    if isinstance(value, BaseException):
        return [type(value).__name__, str(value)]
    if isinstance(value, UnknownFields):
        return value.entries
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, Mapping):
        return dict(value)
    site = getattr(value, "site", None)
    if isinstance(site, str):
        return site
    return f"<{getattr(value, '__qualname__', type(value).__name__)}>"


_SORTED = msgspec.msgpack.Encoder(enc_hook=_other, order="deterministic")
_PLAIN = msgspec.msgpack.Encoder(enc_hook=_other)


def _plain(value: Any) -> Any:
    """The same value of lists, maps with text as keys, and scalars."""
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, str | bytes | bool | float):
        return value
    if isinstance(value, int):
        return value if -_LARGE <= value < _LARGE else str(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Set):
        return sorted((_plain(each) for each in value), key=_PLAIN.encode)
    if isinstance(value, Mapping):
        pairs = [[_plain(key), _plain(each)] for key, each in value.items()]
        return sorted(pairs, key=lambda pair: _PLAIN.encode(pair[0]))
    if isinstance(value, msgspec.Struct):
        return [_plain(getattr(value, name)) for name in value.__struct_fields__]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return _plain(_other(value))
