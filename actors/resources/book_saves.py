"""Which version of the book of allocations is on the disk, and which writes of it are under way. Pure.

One write at a time has the newest version. One that takes long is late: another write begins beside it, so a call that
hangs once costs a moment. A late write that ends after a newer one may have put an old version on the disk: then the
book is written again. So it is after a late write that was given up: it may still do its work.
"""

from __future__ import annotations

AT_ONCE = 2
"""Writes under way, late ones included: what hangs for ever must not pile up."""

UNKNOWN = -1


class BookSaves:
    """See the module. `version`: of the book as it is now; `saved`: the one on the disk, or `UNKNOWN`."""

    def __init__(self) -> None:
        self.version = self.saved = 0
        self._number = 0
        self._under_way: dict[int, int] = {}
        """By number of the write: the version that it writes."""
        self._late: set[int] = set()

    def changed(self) -> None:
        """The book is another now."""
        self.version += 1

    def is_saved(self) -> bool:
        return self.saved == self.version

    def begin(self) -> int | None:
        """The number of a write to begin now; None: there is nothing to write, or a write is waited for."""
        if self.is_saved() or self._is_writing() or len(self._under_way) >= AT_ONCE:
            return None
        self._number += 1
        self._under_way[self._number] = self.version
        return self._number

    def late(self, number: int) -> bool:
        """Stop waiting for a write whose time is over. Returns whether it is still under way."""
        if number in self._under_way:
            self._late.add(number)
        return number in self._late

    def ended(self, number: int, error: str) -> int:
        """Note the end of a write. Returns the version up to which no requester waits for the disk any more."""
        version = self._under_way.pop(number)
        was_late = number in self._late
        self._late.discard(number)
        if was_late:
            self.saved = UNKNOWN if error else version
        elif not error:
            self.saved = version
        if not error:
            return version
        # The disk takes nothing, unless only this write hangs.
        return version if self._is_writing() else self.version

    def _is_writing(self) -> bool:
        """Whether a write is under way that is not late."""
        return len(self._late) < len(self._under_way)
