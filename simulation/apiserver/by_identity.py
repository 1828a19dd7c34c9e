"""What was found out about parts of objects, kept by which part it is.

A part of a stored object never changes, and new versions share what stayed the same; so what follows from a part (a
spec, a status) need not be worked out for each version, nor its content be compared. Whatever is known here is kept
alive here, so that nothing else can take its place in memory; a bounded number is, and at the bound all are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")

NOT_KNOWN = (None, None)


class ByIdentity(dict[int, tuple[object, T]]):
    """See the module. What is known of a part: `known.get(id(part), NOT_KNOWN)[1]`, asked so often that no function of
    ours is between.
    """

    __slots__ = ("_at_most",)

    def __init__(self, at_most: int) -> None:
        super().__init__()
        self._at_most = at_most

    def put(self, part: Mapping[str, Any], found: T) -> T:
        """Keep what was found; gives it back."""
        if len(self) >= self._at_most:
            self.clear()
        self[id(part)] = part, found
        return found
