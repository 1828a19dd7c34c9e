"""A bound on what many connections hold together, in bytes.

A peer may hold back the rest of a message until its time is over, so the number of connections does not bound their
memory. When the sum is too large, the largest holder is given up. An honest peer holds a few hundred bytes, so it is
never the largest.
"""

from __future__ import annotations

from typing import Protocol

HELD_BYTES_AT_MOST = 16 * 1024 * 1024


class Holder(Protocol):
    """A connection, or a call."""

    def give_up(self, why: str) -> None:
        """End the connection or call, and let go of what it holds."""
        ...


class HeldBytes:
    """See the module. Everything runs on one loop."""

    def __init__(self, at_most: int = HELD_BYTES_AT_MOST) -> None:
        self._at_most = at_most
        self._held: dict[Holder, int] = {}
        self.total = 0

    def add(self, holder: Holder, count: int) -> bool:
        """`holder` holds `count` more bytes. False when it was given up for them."""
        self._held[holder] = self._held.get(holder, 0) + count
        self.total += count
        while self.total > self._at_most:
            largest = max(self._held, key=self._held.__getitem__)
            self.release(largest)
            largest.give_up(f"all that is held back takes more than {self._at_most} bytes together")
        return holder in self._held

    def release(self, holder: Holder) -> None:
        """`holder` holds nothing any more."""
        self.total -= self._held.pop(holder, 0)
