"""Messages that could not be delivered.

They are counted by reason and type. The last few are kept, and logged with their sender.

A dead letter is no error of its sender. The log gets the first of each kind and then every power of two, so a flood
cannot fill it.
"""

from __future__ import annotations

import enum
import logging
import threading
from collections import Counter, deque
from typing import Any

import msgspec

from actors.kernel.message import describe

logger = logging.getLogger("actorlet.kernel")

KEPT = 100


class Reason(enum.Enum):
    """Why a message could not be delivered."""

    STOPPED = "receiver has stopped"
    UNHANDLED = "receiver has no handler for it"
    OVERFLOW = "receiver's mailbox was full"
    STALE = "its effect was started before a restart"


class DeadLetter(msgspec.Struct, frozen=True):
    """One message that could not be delivered."""

    reason: str
    message: str
    sender: str
    receiver: str
    at_ns: int


class DeadLetters:
    """All dead letters of one system."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._last: deque[DeadLetter] = deque(maxlen=KEPT)
        self.ending = False
        """The system stops: dead letters are expected, and logged at debug level only."""

    def add(self, reason: Reason, message: Any, sender: str, receiver: str, at_ns: int) -> None:
        text = describe(message)
        with self._lock:
            kind = (reason.name, type(message).__name__)
            self._counts[kind] += 1
            count = self._counts[kind]
            self._last.append(DeadLetter(reason.value, text, sender, receiver, at_ns))
        if count & (count - 1) == 0:
            level = logging.DEBUG if self.ending else logging.WARNING
            logger.log(
                level, "dead letter %s from %s to %s: %s (number %d)", text, sender, receiver, reason.value, count
            )

    def total(self) -> int:
        with self._lock:
            return sum(self._counts.values())

    def counts(self) -> dict[tuple[str, str], int]:
        """Number of dead letters by (reason name, message type)."""
        with self._lock:
            return dict(self._counts)

    def last(self) -> tuple[DeadLetter, ...]:
        with self._lock:
            return tuple(self._last)
