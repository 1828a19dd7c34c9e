"""Messages: what actors say to each other, and what the kernel says to them.

A message is a frozen struct. Facts are past participles (`PodAdded`), requests are imperatives (`SyncPod`). A message
class says how it waits in a mailbox: `coalesce_key` names what it is about (the newest of a key replaces the waiting
one), `interrupts` says that it cancels the handler that is waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

if TYPE_CHECKING:
    from actors.kernel.ref import ActorRef

logger = logging.getLogger("actorlet.kernel")


class Message(msgspec.Struct, frozen=True):
    """Base of all messages."""

    interrupts: ClassVar[bool] = False
    """True: goes to the system lane and cancels a handler that is waiting (see `Interrupted`)."""

    def coalesce_key(self) -> Hashable | None:
        """What this message is about; None (the default) keeps every message.

        Of the messages of one type and one key only one waits in a mailbox, in the place of the oldest.
        """
        return None

    def merged(self, waiting: Self) -> Self:
        """The message that waits on when this one meets `waiting` of the same key: by default the newer one."""
        return self


class Signal(Message, frozen=True):
    """A message of the kernel itself: system lane, never dropped, never a dead letter when nobody handles it."""


class ActorStopped(Signal, frozen=True):
    """To watchers: `ref` has stopped for good. `cause` is the failure that ended it, or empty."""

    ref: ActorRef
    path: str
    cause: str = ""


class ChildFailed(Signal, frozen=True):
    """To the parent: a child failed. It restarts after `delay_ns`; `parked` says its budget is used up."""

    ref: ActorRef
    name: str
    cause: str
    restarts: int
    delay_ns: int
    parked: bool
    last_message: str


class Escalated(Signal, frozen=True):
    """To the parent of a child whose strategy is to escalate: fail with this, whatever you wait for."""

    interrupts: ClassVar[bool] = True

    cause: BaseException


class MailboxOverflowed(Signal, frozen=True):
    """To the owner of a full mailbox: `dropped` messages were refused. Look at the truth again."""

    dropped: int = 0


class Heartbeat(Signal, frozen=True):
    """Somebody wants to know whether you live: whoever gets to this does. Nothing need be done about it."""

    def coalesce_key(self) -> Hashable:
        return "beat"


def describe(message: Any) -> str:
    """A message in a few words for logs: its type, and its key where it has one."""
    name = type(message).__name__
    if isinstance(message, Message):
        key = key_of(message)
        if key is not None:
            return f"{name}({key})"
    return name


def key_of(message: Message) -> Hashable | None:
    """The message's own key, or None when it has none or cannot tell: a sender never pays for a bad message."""
    try:
        key = message.coalesce_key()
        hash(key)
    except Exception:
        log_bad_key(message)
        return None
    return key


def log_bad_key(message: Message) -> None:
    """For where a message's own key has just failed."""
    logger.exception("%s.coalesce_key failed; the message is kept as one without key", type(message).__name__)
