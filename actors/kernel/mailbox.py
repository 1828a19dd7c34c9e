"""The mailbox of one actor: two lanes, bounded, coalescing by key.

The system lane (signals, interrupts, ends of effects) goes before the user lane. Signals are not bounded here: what
sends them is bounded by other means (children, effects in flight, one overflow notice). Nor are the ticks of the
owner's timers, which wait in the user lane: of each timer one may wait, and who would set a timer again whose only
tick was lost? Of interrupts, and of all else that goes to the user lane, `capacity` may wait; one more is refused,
counted, and the owner is told once by `MailboxOverflowed` to look at the truth again. It is told before what waits, but
not twice before the same message: what it tells itself about it may be refused as well, and must not keep it busy for
ever. Nothing here raises in the sender. The caller holds the cell's lock around every method that changes something.

Nearly every message comes to an actor that has nothing else to do: the one message that waits lies by itself. Lanes and
keys are made when a second one comes, and dropped with the last: an idle actor pays for none.
"""

from __future__ import annotations

import enum
import logging
from collections import deque
from collections.abc import Hashable
from typing import Any

import msgspec

from actors.kernel.actor_timers import Timer
from actors.kernel.message import MailboxOverflowed, Message, Signal, key_of, log_bad_key
from actors.kernel.promise import AskFuture

logger = logging.getLogger("actorlet.kernel")


class Item(msgspec.Struct, eq=False):
    """One waiting message: what, who wants an answer, who sent it (path), since when (ns), under which key, of which
    nature.
    """

    message: Any
    reply_to: AskFuture[Any] | None
    sender: str
    since_ns: int
    key: Hashable | None
    nature: _Nature

    def label(self) -> str:
        """The message in a few words, as `describe` says them; its key is not asked for twice."""
        nature = self.nature
        if not nature.keyed:
            return nature.name
        key = self.key
        own = key[1] if type(key) is tuple and key[0] is type(self.message) else key_of(self.message)
        return nature.name if own is None else f"{nature.name}({own})"


class Posted(enum.Enum):
    """What became of a message."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    REFUSED = "refused"
    CLOSED = "closed"


# The way of every message: a member of an enum costs ten times a global name.
_QUEUED, _COALESCED, _REFUSED, _CLOSED = Posted


class _Nature:
    """What a message's type alone says about how it waits; looked up once per type, asked once per message."""

    __slots__ = ("interrupts", "keyed", "merges", "name", "plain", "signal", "urgent")

    def __init__(self, message_type: type[Any]) -> None:
        ours = issubclass(message_type, Message)
        self.name = message_type.__name__
        self.signal = issubclass(message_type, Signal)
        self.interrupts: bool = ours and message_type.interrupts
        self.urgent = self.signal or self.interrupts
        self.plain = not self.interrupts and message_type is not MailboxOverflowed
        """It is taken as it is: nobody asks for it before, nor is it made anew then."""
        self.keyed = ours and message_type.coalesce_key is not Message.coalesce_key
        self.merges = ours and message_type.merged is not Message.merged


_natures: dict[type[Any], _Nature] = {}
PLAIN_NATURES: dict[type[Any], _Nature] = {}
"""Of the types seen so far those that are plain: what comes alone into an open mailbox just lies there."""


def _nature_of(message_type: type[Any]) -> _Nature:
    """Of a type that is seen for the first time."""
    nature = _natures[message_type] = _Nature(message_type)
    if nature.plain:
        PLAIN_NATURES[message_type] = nature
    return nature


def coalescing_key(message: Message) -> Hashable | None:
    """Under which a message that names what it is about waits; None when it cannot tell."""
    try:
        own = message.coalesce_key()
        if own is None:
            return None
        key = (type(message), own)
        if type(own) is not str:
            hash(key)
    except Exception:
        log_bad_key(message)
        return None
    return key


class Mailbox:
    """See the module. `length`: how many messages wait. `only`: the one that waits, of whichever lane, which are empty
    then. `system`: those that go before all others, None for none. `dropped_total`: those refused in its whole life.
    """

    __slots__ = (
        "_by_key",
        "_first_interrupt",
        "_user",
        "_waited_when_told",
        "capacity",
        "closed",
        "dropped_total",
        "length",
        "only",
        "overflow",
        "system",
    )

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a mailbox needs room for at least one message, not {capacity}")
        self.capacity = capacity
        self.closed = False
        self.dropped_total = 0
        self.overflow = 0
        self.length = 0
        self.only: Item | None = None
        self.system: deque[Item] | None = None
        self._user: deque[Item] | None = None
        self._by_key: dict[Hashable, Item] | None = None
        self._first_interrupt: Item | None = None
        self._waited_when_told: Item | None = None

    def post(
        self,
        message: Any,
        reply_to: AskFuture[Any] | None,
        sender: str,
        now_ns: int,
        key: Hashable | None = None,
    ) -> Posted:
        """Take a message. `key` overrides the message's own coalescing key (timers use it); all that comes under one
        key is of one type.
        """
        if self.closed:
            return _CLOSED
        message_type = type(message)
        try:
            nature = _natures[message_type]
        except KeyError:
            nature = _nature_of(message_type)
        if nature.keyed and key is None and reply_to is None:  # each question has an answer of its own
            key = coalescing_key(message)
        if not self.length and nature.plain:
            self.only = Item(message, reply_to, sender, now_ns, key, nature)
            self.length = 1
            return _QUEUED
        only = self.only
        if key is not None:
            if only is not None:
                waiting = only if only.key == key else None
            else:
                waiting = None if self._by_key is None else self._by_key.get(key)
            if waiting is not None:
                if nature.merges:
                    try:
                        message = message.merged(waiting.message)
                    except Exception:
                        logger.exception("%s.merged failed; the newer message waits on", nature.name)
                waiting.message = message
                return _COALESCED
        if only is not None:
            self._make_lane(only)
        lane = self.system if nature.urgent else self._user
        if lane is None:
            lane = deque()
            if nature.urgent:
                self.system = lane
            else:
                self._user = lane
        elif len(lane) >= self.capacity and not nature.signal and type(key) is not Timer:
            self._refuse(now_ns)
            return _REFUSED
        item = Item(message, reply_to, sender, now_ns, key, nature)
        lane.append(item)
        self.length += 1
        if key is not None:
            if self._by_key is None:
                self._by_key = {}
            self._by_key[key] = item
        if nature.interrupts and self._first_interrupt is None:
            self._first_interrupt = item
        return _QUEUED

    def _make_lane(self, only: Item) -> None:
        """The one message that waits is alone no more."""
        self.only = None
        if only.nature.urgent:
            self.system = deque((only,))
        else:
            self._user = deque((only,))
        if only.key is not None:
            self._by_key = {only.key: only}

    def take(self) -> Item | None:
        """The next message: the system lane first."""
        only = self.only
        if only is not None:
            self.only = None
            self.length = 0
            return only
        lane = self.system
        if lane and (type(lane[0].message) is not MailboxOverflowed or self._may_be_told()):
            item = lane.popleft()
            if not lane:
                self.system = None
            if item is self._first_interrupt:
                self._first_interrupt = next((it for it in lane if it.nature.interrupts), None)
            elif type(item.message) is MailboxOverflowed:
                item.message = MailboxOverflowed(self.overflow)
                self.overflow = 0
        else:
            lane = self._user
            if not lane:
                return None
            item = lane.popleft()
            if not lane:
                self._user = None
        self.length -= 1
        if item.key is not None and self._by_key is not None:
            del self._by_key[item.key]
            if not self._by_key:
                self._by_key = None
        return item

    def first_interrupt(self) -> Any | None:
        """The oldest waiting message that interrupts, left where it is."""
        item = self._first_interrupt
        return None if item is None else item.message

    def close(self) -> list[Item]:
        """Take no more; returns what was still waiting."""
        self.closed = True
        left = self.waiting() if self.length else []
        self.only = self.system = self._user = self._by_key = None
        self._first_interrupt = self._waited_when_told = None
        self.length = 0
        return left

    def has_messages(self) -> bool:
        return self.length > 0

    def waiting(self) -> list[Item]:
        """What waits, in the order in which it will be taken; left where it is."""
        only = self.only
        return [*(self.system or ()), *(self._user or ())] if only is None else [only]

    def depth(self) -> int:
        return self.length

    def oldest_since_ns(self) -> int | None:
        """When the oldest waiting message arrived, ns; None when nothing waits. May be asked without the lock."""
        only = self.only
        oldest = None if only is None else only.since_ns
        for lane in (self.system, self._user):
            try:
                since_ns = lane[0].since_ns if lane else None
            except IndexError:  # taken while we looked
                continue
            if since_ns is not None and (oldest is None or since_ns < oldest):
                oldest = since_ns
        return oldest

    def _may_be_told(self) -> bool:
        """Of an overflow; not when the message still waits that waited then, and has to go first."""
        first = self._user[0] if self._user else None
        told, self._waited_when_told = self._waited_when_told, first
        return first is None or first is not told

    def _refuse(self, now_ns: int) -> None:
        self.dropped_total += 1
        self.overflow += 1
        if self.overflow == 1:
            self.post(MailboxOverflowed(), None, "kernel", now_ns)
