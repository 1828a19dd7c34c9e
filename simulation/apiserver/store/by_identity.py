"""Results that depend on a part of a stored object (a spec, a status).

They are cached by the identity of that part.

A part of a stored object never changes, and new versions share the unchanged parts. The cache keeps its parts alive, so
that their ids are not reused. It is bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from cachetools import FIFOCache

T = TypeVar("T")


class ByIdentity(Generic[T]):
    def __init__(self, at_most: int) -> None:
        self._known: FIFOCache[int, tuple[object, T]] = FIFOCache(at_most)

    def get(self, part: Mapping[str, Any] | None) -> T | None:
        """The cached result for the part; None without one."""
        found = self._known.get(id(part))
        return None if found is None else found[1]

    def put(self, part: Mapping[str, Any], found: T) -> T:
        """Remember and return what was found."""
        self._known[id(part)] = part, found
        return found
