"""The mailbox of one actor: two lanes, bounded, coalescing by key.

Messages of the urgent lane (signals, interrupts, ends of effects) are taken first. `capacity` bounds the ordinary lane
and the interrupts. Signals always fit, because other limits bound their number: children, effects that run, one
overflow notice. The ticks of the owner's timers fit too: at most one of each timer waits.

A message that does not fit is refused and counted. `MailboxOverflowed` then tells the owner, once, to look at the
current state again. The notice is taken before the waiting messages, but not twice before the same one. Otherwise an
owner whose own messages are refused would handle notices for ever.

Nothing here raises in the sender. The caller holds the cell's lock.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from typing import Any

from actors.kernel.dead_letters import Reason
from actors.kernel.incarnation import Timer
from actors.kernel.message import MailboxOverflowed, Message, Signal, key_of
from actors.kernel.promise import AskFuture

logger = logging.getLogger("actorlet.kernel")


@dataclass(frozen=True, slots=True)
class Nature:
    """How messages of a type wait."""

    signal: bool
    interrupts: bool
    urgent: bool
    keyed: bool


@cache
def nature_of(message_type: Any) -> Nature:
    """Cached: `isinstance` is slow for msgspec types. This makes `benchmarks.kernel` a fifth faster."""
    ours = issubclass(message_type, Message)
    signal = issubclass(message_type, Signal)
    interrupts = ours and message_type.interrupts
    keyed = ours and message_type.coalesce_key is not Message.coalesce_key
    return Nature(signal, interrupts, signal or interrupts, keyed)


@dataclass(slots=True, eq=False)
class Item:
    """One waiting message. `sender` is a path, `since_ns` its arrival, `key` its coalescing key."""

    message: Any
    reply_to: AskFuture[Any] | None
    sender: str
    since_ns: int
    key: Hashable | None
    nature: Nature


class Mailbox:
    """The messages that wait for one actor.

    `dropped_total` counts all refused messages; `overflow` counts those since the last notice to the owner.
    """

    __slots__ = (
        "_closed",
        "_interrupts",
        "_ordinary",
        "_told_before",
        "_urgent",
        "capacity",
        "dropped_total",
        "overflow",
    )

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a mailbox needs room for at least one message, not {capacity}")
        self.capacity = capacity
        self.dropped_total = 0
        self.overflow = 0
        self._closed = False
        # The key is the coalescing key, or else the item itself. An OrderedDict finds the oldest in constant time.
        self._urgent: OrderedDict[Hashable, Item] = OrderedDict()
        self._ordinary: OrderedDict[Hashable, Item] = OrderedDict()
        self._interrupts = 0
        self._told_before: Item | None = None
        """The oldest ordinary message when the owner was last told of an overflow."""

    def post(
        self,
        message: Any,
        reply_to: AskFuture[Any] | None,
        sender: str,
        now_ns: int,
        key: Hashable | None = None,
    ) -> Reason | None:
        """Take a message; returns why it was refused, or None. The ticks of timers come with a `key`."""
        if self._closed:
            return Reason.STOPPED
        message_type: Any = type(message)
        nature = nature_of(message_type)
        if nature.keyed and key is None and reply_to is None:  # each question gets its own answer
            own = key_of(message)
            key = None if own is None else (type(message), own)
        lane = self._urgent if nature.urgent else self._ordinary
        if key is not None and key in lane:
            _replace(lane[key], message)
            return None
        if len(lane) >= self.capacity and not nature.signal and not isinstance(key, Timer):
            self.refuse(now_ns)
            return Reason.OVERFLOW
        item = Item(message, reply_to, sender, now_ns, key, nature)
        lane[item if key is None else key] = item
        if nature.interrupts:
            self._interrupts += 1
        return None

    def take(self) -> Item:
        """The next message: the urgent lane first. Raises KeyError when nothing waits."""
        lane = self._urgent or self._ordinary
        if self.overflow and lane and _is_notice(_oldest(lane)) and not self._may_be_told():
            lane = self._ordinary
        _, item = lane.popitem(last=False)
        if not lane:
            lane.clear()  # frees the memory of a burst
        if item.nature.interrupts:
            self._interrupts -= 1
        elif self.overflow and _is_notice(item):
            item.message = MailboxOverflowed(self.overflow)
            self.overflow = 0
        return item

    def first_interrupt(self) -> Any | None:
        """The oldest waiting message that interrupts; it stays in the mailbox."""
        if not self._interrupts:
            return None
        return next(item.message for item in self._urgent.values() if item.nature.interrupts)

    def close(self) -> list[Item]:
        """Refuse all later messages; returns the waiting ones."""
        self._closed = True
        left = self.waiting()
        self._urgent.clear()
        self._ordinary.clear()
        self._interrupts = 0
        self._told_before = None
        return left

    def refuse(self, now_ns: int) -> None:
        """Count a refused message, and notify the owner."""
        self.dropped_total += 1
        self.overflow += 1
        if self.overflow == 1:
            self.post(MailboxOverflowed(), None, "kernel", now_ns)

    def has_messages(self) -> bool:
        return bool(self._urgent or self._ordinary)

    def has_urgent(self) -> bool:
        return bool(self._urgent)

    def waiting(self) -> list[Item]:
        """The waiting messages in the order in which `take` returns them."""
        return [*self._urgent.values(), *self._ordinary.values()]

    def depth(self) -> int:
        return len(self._urgent) + len(self._ordinary)

    def oldest_since_ns(self) -> int | None:
        """When the oldest waiting message arrived, ns; None when nothing waits."""
        return min((_oldest(lane).since_ns for lane in (self._urgent, self._ordinary) if lane), default=None)

    def _may_be_told(self) -> bool:
        """Whether the oldest ordinary message has changed since the last notice."""
        first = _oldest(self._ordinary) if self._ordinary else None
        told_before, self._told_before = self._told_before, first
        return first is None or first is not told_before


def _oldest(lane: OrderedDict[Hashable, Item]) -> Item:
    return next(iter(lane.values()))


def _is_notice(item: Item) -> bool:
    return isinstance(item.message, MailboxOverflowed)


def _replace(waiting: Item, newer: Any) -> None:
    """Replace the message of a waiting item. All messages of one key have one type."""
    if isinstance(newer, Message):
        try:
            newer = newer.merged(waiting.message)
        except Exception:
            logger.exception("%s.merged failed; the newer message waits on", type(newer).__name__)
    waiting.message = newer
