"""`MemoryNotices`: the kernel says that memory runs short.

A notice is a reason to look, never a number to decide by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec


class MemoryMark(msgspec.Struct, frozen=True):
    """Less than so many bytes is left, or less than that share (0 to 100 percent) of all.

    `pods`: of what all pods may have together; otherwise of the machine.
    """

    pods: bool = False
    left_bytes: int = 0
    left_percent: float | None = None

    def left_of(self, size_bytes: int) -> int:
        """In bytes."""
        return self.left_bytes if self.left_percent is None else int(size_bytes * self.left_percent / 100)


class MemoryWatch(Protocol):
    """Tells until closed."""

    def renew(self) -> tuple[str, ...]:
        """Go by the machine as it is now; nothing is told before the first time.

        What cannot be watched, and why.

        Touches files of the kernel: to be called on a lane.
        """

    def close(self) -> None:
        """Tell no more."""


class MemoryNotices(Protocol):
    def watch(self, marks: tuple[MemoryMark, ...], on_short: Callable[[], None]) -> MemoryWatch:
        """Call `on_short`, on any thread, when a mark may have been passed.

        Whoever watched before is told no more.

        It may be called for nothing, and many times: whoever hears it looks.
        """
