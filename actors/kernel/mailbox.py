"""The mailbox of one actor: two lanes, bounded, coalescing by key.

The system lane (signals, interrupts, ends of effects) goes before the user lane and is not bounded by the capacity:
what enters it is bounded by other means (children, effects in flight, one overflow notice). The user lane takes
`capacity` messages; one more is refused, counted, and the owner is told once by `MailboxOverflowed` to look at the
truth again. Nothing here raises in the sender. The caller holds the cell's lock around every method.

Deques are made on the first message and dropped with the last: an idle actor pays for none.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Hashable
from typing import Any

from actors.kernel.message import MailboxOverflowed, Message, Signal
from actors.kernel.promise import AskFuture


class Item:
    """One waiting message: what, who wants an answer, who sent it (path), since when (ns)."""

    __slots__ = ("key", "message", "reply_to", "sender", "since_ns")

    def __init__(
        self, message: Any, reply_to: AskFuture[Any] | None, sender: str, since_ns: int, key: Hashable | None
    ) -> None:
        self.message = message
        self.reply_to = reply_to
        self.sender = sender
        self.since_ns = since_ns
        self.key = key


class Posted(enum.Enum):
    """What became of a message."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    REFUSED = "refused"
    CLOSED = "closed"


class Mailbox:
    """See the module. `dropped_total` counts refused messages over the mailbox's whole life."""

    __slots__ = ("_by_key", "_system", "_user", "capacity", "closed", "dropped_total", "overflow")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a mailbox needs room for at least one message, not {capacity}")
        self.capacity = capacity
        self.closed = False
        self.dropped_total = 0
        self.overflow = 0
        self._system: deque[Item] | None = None
        self._user: deque[Item] | None = None
        self._by_key: dict[Hashable, Item] | None = None

    def post(
        self,
        message: Any,
        reply_to: AskFuture[Any] | None,
        sender: str,
        now_ns: int,
        key: Hashable | None = None,
    ) -> Posted:
        """Take a message. `key` overrides the message's own coalescing key (timers use it)."""
        if self.closed:
            return Posted.CLOSED
        if isinstance(message, Message):
            if isinstance(message, Signal) or message.interrupts:
                self.post_system(Item(message, reply_to, sender, now_ns, None))
                return Posted.QUEUED
            if key is None and reply_to is None:
                own = message.coalesce_key()
                if own is not None:
                    key = (type(message), own)
        if key is not None:
            waiting = self._by_key.get(key) if self._by_key else None
            if waiting is not None:
                newer = message.merged(waiting.message) if isinstance(message, Message) else message
                waiting.message = newer
                return Posted.COALESCED
        user = self._user
        if user is None:
            user = self._user = deque()
        elif len(user) >= self.capacity:
            self._refuse(now_ns)
            return Posted.REFUSED
        item = Item(message, reply_to, sender, now_ns, key)
        user.append(item)
        if key is not None:
            if self._by_key is None:
                self._by_key = {}
            self._by_key[key] = item
        return Posted.QUEUED

    def post_system(self, item: Item) -> None:
        if self._system is None:
            self._system = deque()
        self._system.append(item)

    def take(self) -> Item | None:
        """The next message: the system lane first."""
        if self._system:
            item = self._system.popleft()
            if not self._system:
                self._system = None
            if type(item.message) is MailboxOverflowed:
                item.message = MailboxOverflowed(self.overflow)
                self.overflow = 0
            return item
        user = self._user
        if not user:
            return None
        item = user.popleft()
        if item.key is not None and self._by_key is not None:
            self._by_key.pop(item.key, None)
        if not user:
            self._user = None
            self._by_key = None
        return item

    def first_interrupt(self) -> Message | None:
        """The oldest waiting message that interrupts, left where it is."""
        if self._system:
            for item in self._system:
                if isinstance(item.message, Message) and item.message.interrupts:
                    return item.message
        return None

    def close(self) -> list[Item]:
        """Take no more; returns what was still waiting."""
        self.closed = True
        left = [*(self._system or ()), *(self._user or ())]
        self._system = self._user = self._by_key = None
        return left

    def has_messages(self) -> bool:
        return bool(self._system or self._user)

    def depth(self) -> int:
        return (len(self._system) if self._system else 0) + (len(self._user) if self._user else 0)

    def oldest_since_ns(self) -> int | None:
        """When the oldest waiting message arrived, ns; None when nothing waits."""
        heads = [lane[0].since_ns for lane in (self._system, self._user) if lane]
        return min(heads) if heads else None

    def _refuse(self, now_ns: int) -> None:
        self.dropped_total += 1
        self.overflow += 1
        if self.overflow == 1:
            self.post_system(Item(MailboxOverflowed(), None, "kernel", now_ns, None))
