"""`KeptEvents`: the last events of the node, for people who ask.

Events of objects that still exist can come again, and then are counted. Those of removed pods cannot. They are kept as
encoded bytes, some hundred in one piece. As objects they would lie scattered over the memory that a burst of pods used,
and none of it could be given back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set

import msgspec

from actors.messages.events import RecordedEvent, RecordEvent

KEPT = 2_000
GONE_BYTES = 2 * 2**20
"""Of the events of removed pods."""
PIECE = 100
"""Events in one piece of bytes; a piece is dropped whole."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[RecordedEvent, ...]).decode


class KeptEvents:
    """At most `KEPT` events. The oldest are dropped first, and those of removed pods before the others.

    Those of removed pods have at most `GONE_BYTES`.
    """

    def __init__(self) -> None:
        self._here: dict[RecordEvent, RecordedEvent] = {}
        """In the order of the last time each came."""
        self._gone: deque[tuple[int, bytes]] = deque()
        """How many, and which."""
        self._gone_count = self._gone_bytes = 0

    def add(self, event: RecordEvent, wall_ns: int) -> RecordedEvent:
        """Count the event; as it is kept now."""
        known = self._here.pop(event, None)
        if known is None:
            recorded = RecordedEvent(event, 1, wall_ns, wall_ns)
        else:
            recorded = msgspec.structs.replace(known, count=known.count + 1, last_wall_ns=wall_ns)
        if len(self._here) >= KEPT:
            del self._here[next(iter(self._here))]
        self._here[event] = recorded
        self._make_room()
        return recorded

    def set_aside(self, uids: Set[str]) -> None:
        """Encode the events of pods that are gone."""
        over = tuple(each for event, each in self._here.items() if event.uid in uids)
        for each in over:
            del self._here[each.event]
        for first in range(0, len(over), PIECE):
            piece = over[first : first + PIECE]
            written = _encode(piece)
            self._gone.append((len(piece), written))
            self._gone_count += len(piece)
            self._gone_bytes += len(written)
        self._make_room()

    def all(self) -> tuple[RecordedEvent, ...]:
        """All kept events, by the time of their last occurrence."""
        every = [each for _, piece in self._gone for each in _decode(piece)]
        every += self._here.values()
        return tuple(sorted(every, key=lambda each: each.last_wall_ns))

    def _make_room(self) -> None:
        while self._gone and (self._gone_count + len(self._here) > KEPT or self._gone_bytes > GONE_BYTES):
            count, written = self._gone.popleft()
            self._gone_count -= count
            self._gone_bytes -= len(written)
