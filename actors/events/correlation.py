"""Which events leave the node, and as what: the correlation rules of client-go (spec 15), with their memory.

Three rules, in this order. *Combining*: after nine different messages of one object, type and reason, further ones go
into one combined event, until none came for ten minutes. *Counting*: an event that equals a known one raises its count
(a combined one equals itself). *The spam filter*: each object may send 25 events of a type, and one more every five
minutes; the rest is counted and not sent. Types are apart, so warnings of a failing probe do not hold back the event
that its container ends.

Each memory is bounded; the least recently used goes first. Time comes in with each event; nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import attrgetter
from typing import TypeVar

import msgspec
from cachetools import LRUCache

from actors.messages.events import RecordEvent

SECOND_NS = 1_000_000_000
REMEMBERED = 4096
"""Of each rule: series, objects, and kinds of events of objects."""
PLAIN_MESSAGES = 9
"""Different messages of one object, type and reason that are events of their own."""
COMBINING_NS = 600 * SECOND_NS
BURST = 25
REFILL_NS = 300 * SECOND_NS
"""One more event of an object and type every so often."""
FULL_NS = BURST * REFILL_NS
"""What it saves up at most."""
COMBINED = "(combined from similar events): "

T = TypeVar("T")


class Series(msgspec.Struct, eq=False):
    """One event as the API server will know it: what came of it, and how far that has been sent.

    `key` is the same for the same series; `count`, `message` and `last_wall_ns` are of the newest event. The fields
    below them belong to whoever sends.
    """

    key: Hashable
    event: RecordEvent
    message: str
    first_wall_ns: int
    last_wall_ns: int = 0
    last_ns: int = 0
    count: int = 0
    name: str = ""
    """Of its object, once there is one."""
    known: bool = False
    """The API server has it."""
    sending: bool = False
    raised: bool = False
    """It is to be sent again, for it changed on the way."""
    tries: int = 0

    __repr__ = object.__repr__  # a close look shows the fields, each in short


_about = attrgetter("kind", "namespace", "name", "uid")


class EventCorrelation:
    """See the module."""

    def __init__(self) -> None:
        self._kinds: LRUCache[Hashable, _Kind] = LRUCache(REMEMBERED)
        self._series: LRUCache[Hashable, Series] = LRUCache(REMEMBERED)
        self._objects: LRUCache[Hashable, _Allowance] = LRUCache(REMEMBERED)

    def observe(self, event: RecordEvent, now_ns: int, wall_ns: int) -> tuple[Series, bool]:
        """The series that `event` belongs to, with it counted in, and whether that is to be sent now."""
        about = _about(event)
        kind_key = (about, event.type, event.reason)
        key: Hashable = event
        message = event.message
        if _used(self._kinds, kind_key, _Kind).combines(message, now_ns):
            key, message = kind_key, COMBINED + message
        series = _used(self._series, key, lambda: Series(key, event, message, wall_ns))
        series.message = message
        series.count += 1
        series.last_ns, series.last_wall_ns = now_ns, wall_ns
        allowance = _used(self._objects, (about, event.type), lambda: _Allowance(now_ns))
        return series, allowance.take(now_ns)


def _used(recent: LRUCache[Hashable, T], key: Hashable, make: Callable[[], T]) -> T:
    """The value of that key, made if there is none."""
    try:
        return recent[key]
    except KeyError:
        value = recent[key] = make()
        return value


class _Kind(msgspec.Struct, eq=False):
    """The messages of one object, type and reason that are events of their own."""

    _messages: tuple[str, ...] = ()
    _last_ns: int = 0

    __repr__ = object.__repr__

    def combines(self, message: str, now_ns: int) -> bool:
        if now_ns - self._last_ns > COMBINING_NS:
            self._messages = ()
        self._last_ns = now_ns
        if message in self._messages:
            return False
        if len(self._messages) == PLAIN_MESSAGES:
            return True
        self._messages = (*self._messages, message)
        return False


class _Allowance(msgspec.Struct, eq=False):
    """What one object may still send of one type, as time saved up."""

    _at_ns: int
    _saved_ns: int = FULL_NS

    __repr__ = object.__repr__

    def take(self, now_ns: int) -> bool:
        saved_ns = self._saved_ns + now_ns - self._at_ns
        if saved_ns > FULL_NS:
            saved_ns = FULL_NS
        self._at_ns = now_ns
        may = saved_ns >= REFILL_NS
        self._saved_ns = saved_ns - REFILL_NS if may else saved_ns
        return may
