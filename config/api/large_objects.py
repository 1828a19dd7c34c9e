"""Large objects, decoded part by part.

A pod of a megabyte takes 50 ms to decode, in one call that holds the interpreter. It comes again with each change of
its status, and nearly all of it is as before. So a large object is read in three levels: the object, its `metadata`,
`spec` and `status`, and the fields of these. A part with the same bytes as last time is the part of last time.

Owns the parts of the last reading of each large object. Refuses to know what a fault means: the codec reads such a
document as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from msgspec.structs import fields

from config.caches import MIB, KeptBytes
from config.documents.codec import decode
from config.objects import ApiObject, ObjectMeta
from config.objects.base import UNKNOWN_KEY

K = TypeVar("K", bound=ApiObject)

LARGE_BYTES = 64 * 1024
"""A smaller document is decoded as a whole, within 3 ms."""
PART_BYTES = 2 * 1024
"""A smaller part is decoded anew; to look for it costs as much."""
LEVELS = 2
"""Levels of structs below the object that are read part by part."""
OBJECT_BYTES = 12
"""What a decoded object takes in memory for each byte of its JSON: 12 for volumes, 1 for long texts."""

Part = tuple[bytes, Any]
"""The digest of a part, and what it was decoded to."""
_Path = tuple[str, ...]

_LAST: KeptBytes[str, Mapping[_Path, Part]] = KeptBytes(32 * MIB, longest_bytes=32 * MIB)
"""UID to parts. The holders of an object hold its parts anyway, until it is gone: `forget`."""
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_large(body: bytes, kind: type[K]) -> K:
    """The same as `decode`, but for `managedFields`, which are left out unread. Raises DocumentError."""
    try:
        parts = _FIELDS.decode(body)
        uid = _UID.decode(parts.get("metadata", _EMPTY)).uid
        try:
            before = _LAST[uid]
        except KeyError:
            before = {}
        reading = _Reading(before)
        found: K = reading.struct(parts, kind, ())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, _UnknownFieldError):
        return decode(body, kind)  # it knows what is forgiven, and where a fault is
    if uid:
        _LAST.keep(uid, reading.parts, OBJECT_BYTES * len(body))
    return found


def forget(uid: str) -> None:
    """The object is gone."""
    _LAST.forget(uid)


class _Uid(msgspec.Struct):
    uid: str = ""


_UID = msgspec.json.Decoder(_Uid)
_EMPTY = msgspec.Raw(b"{}")


class _UnknownFieldError(Exception):
    """The struct has no such field."""


class _Reading:
    """One object, read beside the parts of its last reading. `parts` are those of this one."""

    def __init__(self, before: Mapping[_Path, Part]) -> None:
        self._before = before
        self.parts: dict[_Path, Part] = {}

    def struct(self, parts: Mapping[str, msgspec.Raw], kind: type[msgspec.Struct], path: _Path) -> Any:
        """The struct of these fields. `path`: where it is in the object."""
        known, values = _fields_of(kind), {}
        for name, raw in parts.items():
            try:
                attribute, decoder, below = known[name]
            except KeyError:
                raise _UnknownFieldError(name) from None
            if name == "managedFields" and kind is ObjectMeta:
                continue
            values[attribute] = self._part(raw, decoder, below, (*path, name))
        return kind(**values)

    def _part(
        self, raw: msgspec.Raw, decoder: msgspec.json.Decoder[Any], below: type[msgspec.Struct] | None, path: _Path
    ) -> Any:
        data = memoryview(raw)
        if len(data) < PART_BYTES:
            return decoder.decode(raw)
        digest = blake2b(data, digest_size=16).digest()
        before = self._before.get(path)
        if before is not None and before[0] == digest:
            value = before[1]
        elif below is not None and len(path) <= LEVELS:
            value = self.struct(_FIELDS.decode(raw), below, path)
        else:
            value = decoder.decode(raw)
        self.parts[path] = digest, value
        return value


@lru_cache(maxsize=64)
def _fields_of(
    kind: type[msgspec.Struct],
) -> Mapping[str, tuple[str, msgspec.json.Decoder[Any], type[msgspec.Struct] | None]]:
    """JSON name to attribute, decoder, and the struct of the value, if it is one."""
    found = {}
    for each in fields(kind):
        if each.encode_name != UNKNOWN_KEY:
            found[each.encode_name] = each.name, msgspec.json.Decoder(each.type), _struct_in(each.type)
    return found


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    """The struct of `Struct` and `Struct | None`."""
    choices = [each for each in getattr(annotation, "__args__", (annotation,)) if each is not type(None)]
    if len(choices) == 1 and isinstance(choices[0], type) and issubclass(choices[0], msgspec.Struct):
        return choices[0]
    return None
