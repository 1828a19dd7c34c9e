"""Long answers in parts, for the streaming lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")

PART = 500


def parts_of(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """`items` in runs of at most `PART`; nothing for no items."""
    for start in range(0, len(items), PART):
        yield items[start : start + PART]
