"""What the answers of containers may cost in bytes: for one call, and for all calls together.

`CallBytes` counts every byte that one call receives: interim answers, heads, bodies, and the answers before a redirect.
`HeldBytes` adds up the calls under way. A pod may hold its answers back for as long as its own timeouts allow, so the
number of calls says nothing of their memory. When the sum is too large, the largest call is given up. An honest answer
has a few hundred bytes, so it is never that one.
"""

from __future__ import annotations

from collections.abc import Callable

CALL_BYTES_AT_MOST = 256 * 1024
HELD_BYTES_AT_MOST = 16 * 1024 * 1024


class HttpError(Exception):
    """There is no whole answer; the text says why."""


def _nobody(_: HttpError) -> None:
    """Nothing is to be given up before a connection is there."""


class HeldBytes:
    """See the module. Everything runs on one loop."""

    def __init__(self, at_most: int = HELD_BYTES_AT_MOST) -> None:
        self._at_most = at_most
        self._held: dict[CallBytes, int] = {}
        self.total = 0

    def add(self, call: CallBytes, count: int) -> bool:
        """`call` holds `count` more bytes. False when it was given up for them."""
        self._held[call] = self._held.get(call, 0) + count
        self.total += count
        while self.total > self._at_most:
            largest = max(self._held, key=self._held.__getitem__)
            self.release(largest)
            largest.give_up(HttpError(f"the answers of containers take more than {self._at_most} bytes together"))
        return call in self._held

    def release(self, call: CallBytes) -> None:
        """`call` holds nothing any more."""
        self.total -= self._held.pop(call, 0)


class CallBytes:
    """See the module. `give_up` ends the call; the connection that carries it sets it."""

    def __init__(self, held: HeldBytes, at_most: int = CALL_BYTES_AT_MOST) -> None:
        self._held = held
        self._at_most = at_most
        self.received = 0
        self.give_up: Callable[[HttpError], None] = _nobody

    def take(self, count: int) -> bool:
        """Count `count` bytes that were received. False when they are too many: then the call has been given up."""
        self.received += count
        if self.received > self._at_most:
            self.give_up(HttpError(f"the answer has more than {self._at_most} bytes"))
            return False
        return self._held.add(self, count)

    def end(self) -> None:
        """The call is over."""
        self.give_up = _nobody
        self._held.release(self)
