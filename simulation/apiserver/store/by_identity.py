"""Results that depend on a part of a stored object (a spec, a status).

They are found by the identity of that part.

A part of a stored object never changes, and new versions share the unchanged parts. A table keeps its parts alive, so
that their ids are not reused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar
from weakref import ref

import msgspec

from config.caches import KeptBytes

T = TypeVar("T")

JSON_FACTOR = 8
"""An object takes as much more, as dicts and as a struct together: 6 to 8 times its JSON, measured."""

_encode = msgspec.json.Encoder().encode


def in_memory_bytes(json_bytes: int) -> int:
    """About what an object with that much JSON takes in memory. With long texts it takes less."""
    return JSON_FACTOR * json_bytes


class ByIdentity(Generic[T]):
    """The newest results. `most_bytes`: of all of them with their parts; `longest_bytes`: of one."""

    def __init__(self, most_bytes: int, longest_bytes: int) -> None:
        self._known: KeptBytes[int, tuple[object, T]] = KeptBytes(most_bytes, longest_bytes)

    def get(self, part: Mapping[str, Any] | None) -> T | None:
        """The result for the part; None without one."""
        try:
            return self._known[id(part)][1]
        except KeyError:
            return None

    def put(self, part: Mapping[str, Any], found: T) -> T:
        """Remember and return what was found."""
        self._known.keep(id(part), (part, found), in_memory_bytes(len(_encode(part))))
        return found


class WhileHeld(Generic[T]):
    """Results that are remembered for as long as somebody else holds them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, ref[T]]] = {}

    def get(self, part: Mapping[str, Any] | None) -> T | None:
        """The result for the part; None without one."""
        found = self._known.get(id(part))
        return None if found is None else found[1]()

    def put(self, part: Mapping[str, Any], found: T) -> T:
        """Remember and return what was found."""
        number = id(part)
        self._known[number] = part, ref(found, lambda _: self._known.pop(number, None))
        return found

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()
