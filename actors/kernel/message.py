"""Messages: what actors say to each other, and what the kernel says to them.

A message is a frozen struct. Facts are past participles (`PodAdded`), requests are imperatives (`SyncPod`). A message
class says how it waits in a mailbox. `coalesce_key` names what it is about: the newest of a key replaces the waiting
one (a `SoleMessage` needs no name). `interrupts` cancels the handler that is waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from typing import Any, ClassVar, Self

import msgspec

from actors.kernel.ref import ActorRef

logger = logging.getLogger("actorlet.kernel")


class Message(msgspec.Struct, frozen=True):
    """Base of all messages."""

    interrupts: ClassVar[bool] = False
    """True: goes to the urgent lane and interrupts a waiting handler (see `Interrupted`)."""

    def coalesce_key(self) -> Hashable | None:
        """What this message is about; None (the default) keeps every message.

        Only one message of a type and key waits in a mailbox, in the place of the oldest.
        """
        return None

    def merged(self, waiting: Self) -> Self:
        """The message that waits on when this one meets `waiting` of the same key: by default the newer one."""
        return self


class SoleMessage(Message, frozen=True):
    """A message about its receiver as a whole: only the newest of its type waits."""

    def coalesce_key(self) -> Hashable:
        return ()


class Signal(Message, frozen=True):
    """A message of the kernel itself: urgent, never refused, and never a dead letter."""


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
    """To the parent of a failed child with the strategy ESCALATE: the parent fails with the same cause."""

    interrupts: ClassVar[bool] = True

    cause: BaseException


class MailboxOverflowed(Signal, frozen=True):
    """To the owner of a full mailbox: `dropped` messages were refused. Read the real state again."""

    dropped: int = 0


class Heartbeat(Signal, frozen=True):
    """Asks whether the actor lives. Handling it is the answer; no handler needs to do anything."""

    def coalesce_key(self) -> Hashable:
        return "beat"


def describe(message: Any) -> str:
    """A message in a few words for logs: its type, and its key where it has one."""
    name = type(message).__name__
    if isinstance(message, Message):
        key = key_of(message)
        if key is not None and key != ():
            return f"{name}({key})"
    return name


def key_of(message: Message) -> Hashable | None:
    """The message's own key. None without one, or when it fails: that must not harm the sender."""
    try:
        key = message.coalesce_key()
        hash(key)
    except Exception:
        logger.exception("%s.coalesce_key failed; the message is kept as one without key", type(message).__name__)
        return None
    return key
