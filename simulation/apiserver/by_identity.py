"""What was found out about parts of objects, kept by which part it is.

A part of a stored object never changes, and new versions share what stayed the same; so what follows from a part (a
spec, a status) need not be worked out for each version, nor its content be compared. Whatever is known here is kept
alive here, so that nothing else can take its place in memory; a bounded number is, and at the bound all are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """See the module."""

    __slots__ = ("_at_most", "_known")

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self._known: dict[int, tuple[object, T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, part: object) -> T | None:
        """What is known of that very part."""
        known = self._known.get(id(part))
        return None if known is None else known[1]

    def put(self, part: Mapping[str, Any], found: T) -> T:
        """Keep what was found; gives it back."""
        if len(self._known) >= self._at_most:
            self._known.clear()
        self._known[id(part)] = (part, found)
        return found
