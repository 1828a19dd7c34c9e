"""`MemoryNotices`: the kernel says that memory runs short.

A notice is a reason to look, never a number to decide by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec


class MemoryMark(msgspec.Struct, frozen=True):
    """A mark: less than so many bytes are left, or less than that share (0 to 100 percent) of all memory.

    `pods`: of the limit of all pods together; otherwise of the machine.
    """

    pods: bool = False
    left_bytes: int = 0
    left_percent: float | None = None

    def left_of(self, size_bytes: int) -> int:
        """The free memory in bytes at this mark."""
        return self.left_bytes if self.left_percent is None else int(size_bytes * self.left_percent / 100)


class MemoryWatch(Protocol):
    """Tells until closed."""

    def renew(self) -> tuple[str, ...]:
        """Set the marks again, for the machine as it is now. Returns the errors.

        Nothing is reported before the first call. It touches files of the kernel, so call it on a lane.
        """

    def close(self) -> None:
        """Tell no more."""


class MemoryNotices(Protocol):
    def watch(self, marks: tuple[MemoryMark, ...], on_short: Callable[[], None]) -> MemoryWatch:
        """Call `on_short`, on any thread, when a mark may have been passed.

        An earlier watch gets no more calls. `on_short` may be called without reason, and many times: it has to look at
        the memory itself.
        """
