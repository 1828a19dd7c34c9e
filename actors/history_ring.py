"""A bounded history: the beginning stays, the newest stays, what repeats itself is counted. Pure.

A pod that crashes and is started again does the same few things for ever. An entry that says the same as one of the
last few is that entry again, with a higher count. What is over the limit goes from the middle: how it began and how it
is now explain more than what lies between.

Of most pods nobody asks, and little happens to them: what is new is only laid aside, until somebody asks or it is much.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from actors.history_messages import HistoryEntry, HistoryKind

FIRST = 12
"""Entries that are never dropped."""
LAST = 28
WINDOW = 16
"""How far back an entry is looked for: longer than one round of a crash loop."""
LAID_ASIDE = 32
"""New entries that wait to be put with the others: more than come of a pod that starts, runs and ends."""


@dataclass(slots=True, eq=False, repr=False)
class HistoryRing:
    """See the module. At most `FIRST + LAST` entries."""

    _entries: list[HistoryEntry] = field(default_factory=list)
    _new: list[HistoryEntry] = field(default_factory=list)
    _dropped: int = 0

    @property
    def dropped(self) -> int:
        """How many entries were forgotten."""
        self._take_in()
        return self._dropped

    def entries(self) -> tuple[HistoryEntry, ...]:
        """By the time at which they came last, oldest first."""
        self._take_in()
        return tuple(sorted(self._entries, key=lambda entry: entry.last_wall_ns))

    def add(self, entries: Iterable[HistoryEntry]) -> None:
        new = self._new
        new += entries
        if len(new) > LAID_ASIDE:
            self._take_in()

    def _take_in(self) -> None:
        """It comes to the same in whatever portions."""
        known, new = self._entries, self._new
        self._new = []
        recent = {entry.text for entry in known[-WINDOW:]}
        for entry in new:
            # Only what was said lately is looked for: most of what happens to a pod happens to it once.
            if entry.text in recent and entry.kind is not HistoryKind.STAGE:
                known.append(self._with_those_before(entry))
            else:
                known.append(entry)
                recent.add(entry.text)
        over = len(known) - FIRST - LAST
        if over > 0:
            del known[FIRST : FIRST + over]
            self._dropped += over

    def _with_those_before(self, entry: HistoryEntry) -> HistoryEntry:
        """The entry with the count of an equal one among the last few, which is taken out."""
        known = self._entries
        for index in range(len(known) - 1, max(-1, len(known) - 1 - WINDOW), -1):
            other = known[index]
            if other.text == entry.text and other.kind is entry.kind:
                del known[index]
                return msgspec.structs.replace(
                    entry, first_wall_ns=other.first_wall_ns, count=other.count + entry.count
                )
        return entry
