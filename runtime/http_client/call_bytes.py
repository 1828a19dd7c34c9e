"""Bounds the bytes that one call may receive from a container.

Every byte counts: interim answers, heads, bodies, and the answers before a redirect. The memory of all calls under way
has its own bound (`runtime.io.held_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable

from runtime.io.held_bytes import HeldBytes

CALL_BYTES_AT_MOST = 256 * 1024


class HttpError(Exception):
    """No whole and valid answer came; the text says why. Also the base of failures to connect."""


def _nobody(_: HttpError) -> None:
    """Ends nothing: there is no connection yet."""


class CallBytes:
    """See the module. `end_call` ends the call; the connection that carries it sets it."""

    def __init__(self, held: HeldBytes, at_most: int = CALL_BYTES_AT_MOST) -> None:
        self._held = held
        self._at_most = at_most
        self.received = 0
        self.end_call: Callable[[HttpError], None] = _nobody

    def take(self, count: int) -> bool:
        """Count `count` bytes that were received.

        False when they are too many: then the call has been given up.
        """
        self.received += count
        if self.received > self._at_most:
            self.give_up(f"the answer has more than {self._at_most} bytes")
            return False
        return self._held.add(self, count)

    def give_up(self, why: str) -> None:
        self.end_call(HttpError(why))

    def end(self) -> None:
        """The call is over."""
        self.end_call = _nobody
        self._held.release(self)
