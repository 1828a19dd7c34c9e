"""`EventRecorderActor`: the events of this node, kept for a while and said in the log (spec 15).

It never makes anybody wait: events are told, not asked for, and when too many come at once some are dropped and
counted. Equal events are one with a count. The last `KEPT` are held in memory, and nothing is on disk. An event is
logged when it is new and then each time its count has doubled, so that what repeats for ever is still seen.

Events do not leave the node yet. With an API server they will leave from `_record`, correlated and at a limited rate.
"""

from __future__ import annotations

import logging
from typing import ClassVar

import msgspec

from actors.kernel import Actor, MailboxOverflowed, handles
from actors.messages import ListEvents, RecordedEvent, RecordEvent

SECOND_NS = 1_000_000_000
KEPT = 2_000


class EventRecorderActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 20_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self) -> None:
        super().__init__()
        self._events: dict[RecordEvent, RecordedEvent] = {}
        """In the order of the last time each came."""

    @handles(RecordEvent)
    def record(self, message: RecordEvent) -> None:
        recorded = self._record(message)
        if recorded.count & (recorded.count - 1) == 0:
            self._say(recorded)

    @handles(MailboxOverflowed)
    def overflowed(self, message: MailboxOverflowed) -> None:
        self.log.warning("%d events came too fast and were dropped", message.dropped)

    @handles(ListEvents)
    def list_events(self, _: ListEvents) -> tuple[RecordedEvent, ...]:
        return tuple(self._events.values())

    def _record(self, event: RecordEvent) -> RecordedEvent:
        now_ns = self.wall_ns()
        known = self._events.pop(event, None)
        if known is None:
            recorded = RecordedEvent(event, 1, now_ns, now_ns)
        else:
            recorded = msgspec.structs.replace(known, count=known.count + 1, last_wall_ns=now_ns)
        self._events[event] = recorded
        if len(self._events) > KEPT:
            del self._events[next(iter(self._events))]
        return recorded

    def _say(self, recorded: RecordedEvent) -> None:
        level = logging.WARNING if recorded.event.type == "Warning" else logging.INFO
        if self.log.isEnabledFor(level):
            self.log.log(level, "%s", sentence(recorded))


def sentence(recorded: RecordedEvent) -> str:
    """An event as a line for people."""
    event = recorded.event
    about = f"{event.kind} {event.namespace}/{event.name}" if event.namespace else f"{event.kind} {event.name}"
    place = f" {event.field_path}" if event.field_path else ""
    times = f" (x{recorded.count})" if recorded.count > 1 else ""
    return f"{about}{place}: {event.reason}: {event.message}{times}"
