"""Which events leave the node, in which order, and as what (spec 15). Nothing is sent here.

`EventCorrelation` holds the correlation rules of client-go, and `EventQueue` the series that wait to be sent. The
functions at the end make the API calls. Time comes in with each event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Set
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from actors.messages.events import RecordEvent
from config.api.resources import EVENTS
from config.values.api_time import api_time
from runtime.api import ApiCall, create_unread, in_turn_of, patch, unread

SECOND_NS = 1_000_000_000
REMEMBERED = 4096
"""Limit of each rule: series, objects, and kinds of events per object."""
PLAIN_MESSAGES = 9
"""Different messages of one object, type and reason that are events of their own."""
COMBINING_NS = 600 * SECOND_NS
BURST = 25
REFILL_NS = 300 * SECOND_NS
"""An object may send one more event of a type every so often."""
FULL_NS = BURST * REFILL_NS
"""The time that an object can save up at most."""
COMBINED = "(combined from similar events): "
MAX_WAITING = 5_000
MAX_AGE_NS = 3600 * SECOND_NS
"""An API server keeps an event for an hour (spec 15)."""
COMPONENT = "kubelet"
LONGEST_NAME = 253
NAMESPACE_OF_NODES = "default"

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_About = tuple[str, str, str, str]
"""Kind, namespace, name and UID of an object."""


class Series(msgspec.Struct, eq=False):
    """One event as the API server will know it, and how far it has been sent.

    `count`, `message` and `last_wall_ns` are of the newest event. Only the sender uses the fields below them.
    """

    key: Hashable
    event: RecordEvent
    message: str
    first_wall_ns: int
    last_wall_ns: int = 0
    last_ns: int = 0
    count: int = 0
    name: str = ""
    """The name of its API object, once there is one."""
    known: bool = False
    """The API server has it."""
    sending: bool = False
    raised: bool = False
    """It changed while it was sent, so it is sent again."""
    tries: int = 0

    __repr__ = object.__repr__  # a close look shows the fields, each in short


_about = attrgetter("kind", "namespace", "name", "uid")


class EventCorrelation:
    """Three rules, in this order.

    *Combining*: after nine different messages of one object, type and reason, further ones go into one combined event,
    until none came for ten minutes. *Counting*: an event that equals a known one raises its count (a combined one
    equals itself). *The spam filter*: each object may send 25 events of a type, and one more every five minutes; the
    rest is counted and not sent. Types are apart, so warnings of a failing probe do not hold back the event that its
    container ends.

    Each memory is bounded; the least recently used goes first. `forget` drops all of objects that are gone.
    """

    def __init__(self) -> None:
        self._kinds: dict[tuple[_About, str, str], _Kind] = {}
        self._series: dict[Hashable, Series] = {}
        self._objects: dict[tuple[_About, str], _Allowance] = {}

    def observe(self, event: RecordEvent, now_ns: int, wall_ns: int) -> tuple[Series, bool]:
        """Count `event` in its series. Returns the series, and whether to send it now."""
        about: _About = _about(event)
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

    def forget(self, uids: Set[str]) -> None:
        """Drop what is known of the objects with these UIDs."""
        _drop(self._kinds, [key for key in self._kinds if key[0][3] in uids])
        _drop(self._series, [key for key, series in self._series.items() if series.event.uid in uids])
        _drop(self._objects, [key for key in self._objects if key[0][3] in uids])

    def __len__(self) -> int:
        """How much is remembered, of all rules together."""
        return len(self._kinds) + len(self._series) + len(self._objects)


def _drop(memory: dict[K, T], keys: Iterable[K]) -> None:
    for key in keys:
        del memory[key]


def _used(recent: dict[K, T], key: K, make: Callable[[], T]) -> T:
    """The value of that key, made if there is none.

    It is the last now, and the first one goes when there are too many. A dict in that order takes a third of the memory
    of an `LRUCache`, and each pod has some nine entries.
    """
    value = recent.pop(key, None)
    if value is None:
        value = make()
        if len(recent) >= REMEMBERED:
            del recent[next(iter(recent))]
    recent[key] = value
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
    """How many events of one type an object may still send, as saved-up time."""

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


class EventQueue:
    """The series that wait to be sent: in the order they came, bounded, and fair when there are too many.

    A series waits once, however often its event comes meanwhile. When the queue is full, it drops the oldest series of
    the reason that has most, so that a thousand `Created` never push out the one `Rebooted`. It also drops what is
    older than an API server would keep. `lost` counts what was dropped.
    """

    def __init__(self, limit: int = MAX_WAITING) -> None:
        self._limit = limit
        self._by_reason: dict[str, dict[int, Series]] = {}
        self.waiting: set[Series] = set()
        """Series compare by identity: one whose memory was dropped may have a younger twin of the same key."""
        self._turn = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self.waiting)

    def offer(self, series: Series) -> None:
        """Add it at the end, unless it waits already."""
        if series in self.waiting:
            return
        if len(self.waiting) >= self._limit:
            self._drop()
        self.waiting.add(series)
        self._turn += 1
        self._by_reason.setdefault(series.event.reason, {})[self._turn] = series

    def take(self, now_ns: int) -> Series | None:
        """The series that has waited longest. Drops those that are too old."""
        while self._by_reason:
            series = self._remove(min(self._by_reason, key=lambda reason: next(iter(self._by_reason[reason]))))
            if now_ns - series.last_ns <= MAX_AGE_NS:
                return series
            self.lost += 1
        return None

    def _drop(self) -> None:
        self._remove(max(self._by_reason, key=lambda reason: len(self._by_reason[reason])))
        self.lost += 1

    def _remove(self, reason: str) -> Series:
        """The oldest of that reason."""
        group = self._by_reason[reason]
        series = group.pop(next(iter(group)))
        if not group:
            del self._by_reason[reason]
        self.waiting.discard(series)
        return series


# --- the calls: their answers are not read, since a thousand pods make thousands of events ----------------------------


def event_name(object_name: str, stamp_ns: int, spare: Callable[[], str]) -> str:
    """`<object>.<16 hex digits>`; what `spare` gives where that would be too long."""
    name = f"{object_name}.{stamp_ns:016x}"
    return name if len(name) <= LONGEST_NAME else spare()


def creation(series: Series, node_name: str) -> ApiCall[None]:
    """Make the event. An event of the node itself refers to it by its name, also where a UID stands."""
    event = series.event
    namespace = event.namespace or NAMESPACE_OF_NODES
    metadata: dict[str, Any] = {"name": series.name, "namespace": namespace}
    if event.annotations:
        metadata["annotations"] = dict(event.annotations)
    about = {"apiVersion": "v1", "kind": event.kind, "name": event.name, "uid": event.uid or event.name}
    if event.namespace:
        about["namespace"] = event.namespace
    if event.field_path:
        about["fieldPath"] = event.field_path
    last = api_time(series.last_wall_ns)
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "reason": event.reason,
        "message": series.message,
        "type": event.type,
        "count": series.count,
        "firstTimestamp": last if series.count == 1 else api_time(series.first_wall_ns),
        "lastTimestamp": last,
        "source": {"component": COMPONENT, "host": node_name},
        "reportingComponent": COMPONENT,
        "reportingInstance": node_name,
    }
    return _of(event, create_unread(EVENTS, namespace, series.name, body))


def raising(series: Series) -> ApiCall[Any]:
    """Bring the count, the time and the message of an event that the API server has up to date."""
    changed = {"count": series.count, "lastTimestamp": api_time(series.last_wall_ns), "message": series.message}
    event = series.event
    return _of(event, unread(patch(EVENTS, event.namespace or NAMESPACE_OF_NODES, series.name, changed)))


def _of(event: RecordEvent, call: ApiCall[T]) -> ApiCall[T]:
    return in_turn_of(call, event.uid) if event.kind == "Pod" else call
