"""Whose turn it is on a lane, and which calls may start. No clock, no threads.

Each key has a line: its waiting calls, and its calls under way. A line is ready when its next call may start. Ready
lines take turns: a turn starts one call, and the line goes to the end. So a key with very many calls delays another
key by one call. Each operation has the same cost, however many calls wait.

`lanes` says which calls are slow and which of them hang. What a key may start depends on how many of its calls hang:

    none        up to `per_key` calls
    1 or 2      one call besides them
    3           one call that ends something
    4           nothing, until one returns

With `per_key=1` the calls of a key never overlap, even if one hangs: their order may matter.

Up to `max_slow` slow calls are not counted in the size of the lane. When more than half of these places are taken, a
key that has a slow call starts only calls that end something; when all are, it starts nothing. So the places that are
left serve the keys that have no trouble.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

MAX_HUNG_PER_KEY = 4
FIRST_IN_A_ROW = 3
"""After so many turns in a row for urgent keys, another key has a turn: urgent keys starve nobody."""


class Rank(enum.IntEnum):
    """Which keys take their turns first."""

    FIRST = 0
    NORMAL = 1


@dataclass(slots=True, eq=False)
class Call:
    """A call as its line sees it.

    `ends`: it ends something, and goes before the other calls of its key.
    """

    key: Hashable
    rank: Rank
    ends: bool
    slow: bool = False
    hangs: bool = False


C = TypeVar("C", bound=Call)


def may_start(ends: bool, under_way: int, hanging: int, per_key: int) -> bool:
    """Whether a key may start its next call. `hanging` of its calls `under_way` hang."""
    if not hanging or per_key == 1:
        return under_way < per_key
    if under_way > hanging:
        return False
    return hanging < (MAX_HUNG_PER_KEY if ends else MAX_HUNG_PER_KEY - 1)


def leaves_room(ends: bool, slow: int, max_slow: int) -> bool:
    """Whether a key that has a slow call may start another. `slow`: of how many keys together."""
    return slow < max_slow and (ends or slow <= max_slow // 2)


def rank_of_turn(first: bool, normal: bool, in_a_row: int) -> Rank | None:
    """Whose turn it is; None: nobody's. `first`, `normal`: whether a key of that rank is ready.

    `in_a_row`: how many turns went to keys of the first rank while others were ready.
    """
    if first and not (normal and in_a_row >= FIRST_IN_A_ROW):
        return Rank.FIRST
    return Rank.NORMAL if normal else None


class KeyReport(msgspec.Struct, frozen=True):
    """One key of a lane: how many of its calls run, wait and hang.

    `before`: how many keys have a turn before it. None: it has no turn. None of its calls waits, or it may start none
    until one of its own returns.
    """

    key: str
    running: int
    waiting: int
    hanging: int
    before: int | None


@dataclass(slots=True, eq=False)
class Line(Generic[C]):
    """The calls of one key. `hanging` calls are slow, too. `ready`: where it waits for its turn."""

    key: Hashable
    ending: OrderedDict[C, None] = field(default_factory=OrderedDict)
    others: OrderedDict[C, None] = field(default_factory=OrderedDict)
    under_way: int = 0
    slow: int = 0
    hanging: int = 0
    ready: Rank | None = None

    def next_ones(self) -> OrderedDict[C, None]:
        """Where the next call is, if any waits."""
        return self.ending or self.others

    def report(self, before: int | None) -> KeyReport:
        running, waiting = self.under_way - self.hanging, len(self.ending) + len(self.others)
        return KeyReport(str(self.key), running, waiting, self.hanging, before)


class Turns(Generic[C]):
    """The lines of one lane.

    `waiting`, `under_way`, `slow`, `hanging`: how many calls there are, of all keys.
    """

    def __init__(self, size: int, per_key: int, max_slow: int) -> None:
        self.waiting = 0
        self.under_way = 0
        self.slow = 0
        self.hanging = 0
        self._size = size
        self._per_key = per_key
        self._max_slow = max_slow
        self._room = [True, True]
        """What a key that has a slow call may start: calls that end nothing, and those that do."""
        self._lines: dict[Hashable, Line[C]] = {}
        self._ready: dict[Rank, OrderedDict[Line[C], None]] = {rank: OrderedDict() for rank in Rank}
        self._in_a_row = 0
        self._troubled: dict[Line[C], None] = {}
        """Those that have a slow call."""

    # --- calls that wait --------------------------------------------------------------------------------------------

    def join(self, call: C) -> None:
        """The call waits from now on."""
        line = self._lines.get(call.key)
        if line is None:
            line = self._lines[call.key] = Line(call.key)
        (line.ending if call.ends else line.others)[call] = None
        self.waiting += 1
        self._settle(line)

    def leave(self, call: C) -> None:
        """The call waits no more: it was given up."""
        line = self._lines[call.key]
        del (line.ending if call.ends else line.others)[call]
        self.waiting -= 1
        self._settle(line)

    def take(self) -> C | None:
        """Take the call whose turn it is; it waits no more. None: no call may start now.

        Then call `begin`, or `takes_no_slot`.
        """
        rank = None if not self.waiting or self.is_full() else self._rank_of_turn()
        if rank is None:
            return None
        self._in_a_row = self._in_a_row + 1 if rank is Rank.FIRST and self._ready[Rank.NORMAL] else 0
        line, _ = self._ready[rank].popitem(last=False)
        line.ready = None
        call, _ = line.next_ones().popitem(last=False)
        self.waiting -= 1
        return call

    def takes_no_slot(self, call: C) -> None:
        """The call that was taken needs no slot, or none yet."""
        self._settle(self._lines[call.key])

    # --- calls under way --------------------------------------------------------------------------------------------

    def begin(self, call: C) -> None:
        """The call takes a slot. A call of a key that has a slow one is slow, too."""
        line = self._lines.get(call.key)
        if line is None:
            line = self._lines[call.key] = Line(call.key)
        call.slow = line.slow > 0
        self._count(line, 1, slow=call.slow, hangs=0)

    def is_slow(self, call: C) -> None:
        """It is not counted in the size of the lane any more."""
        if not call.slow:
            call.slow = True
            self._count(self._lines[call.key], 0, slow=1, hangs=0)

    def hangs(self, call: C) -> None:
        """It is slow, and takes no slot of its key any more."""
        if not call.hangs:
            self._count(self._lines[call.key], 0, slow=not call.slow, hangs=1)
            call.slow = call.hangs = True

    def end(self, call: C) -> None:
        """The call has returned."""
        self._count(self._lines[call.key], -1, slow=-call.slow, hangs=-call.hangs)

    def _count(self, line: Line[C], under_way: int, slow: int, hangs: int) -> None:
        line.under_way += under_way
        line.slow += slow
        line.hanging += hangs
        self.under_way += under_way
        self.slow += slow
        self.hanging += hangs
        if slow:
            self._count_trouble(line)
        self._settle(line)

    def _count_trouble(self, line: Line[C]) -> None:
        """The number of slow calls has changed: what the troubled keys may start may have changed, too."""
        if line.slow:
            self._troubled[line] = None
        else:
            self._troubled.pop(line, None)
        room = [leaves_room(ends, self.slow, self._max_slow) for ends in (False, True)]
        if room != self._room:
            self._room = room
            for each in tuple(self._troubled):
                self._settle(each)

    # --- looking ----------------------------------------------------------------------------------------------------

    def is_full(self) -> bool:
        """Whether no slot of the lane is free."""
        return self.under_way - min(self.slow, self._max_slow) >= self._size

    def is_exhausted(self) -> bool:
        """Whether calls that hang have every slot, those for slow calls too."""
        return self.hanging >= self._max_slow + self._size

    def holds_up(self) -> bool:
        """Whether a key would have a turn if the lane were not full."""
        return self.is_full() and self._rank_of_turn() is not None

    def could_start(self, call: C) -> bool:
        """Whether a call that waits has a slot."""
        return not self.is_full() and self._may_start(self._lines[call.key], call)

    def reports(self) -> tuple[KeyReport, ...]:
        """All keys that have calls: those that are ready in the order of their turns, then the others."""
        ready = [line for rank in Rank for line in self._ready[rank]]
        blocked = [line for line in self._lines.values() if line.ready is None]
        return (*(line.report(number) for number, line in enumerate(ready)), *(line.report(None) for line in blocked))

    def _rank_of_turn(self) -> Rank | None:
        return rank_of_turn(bool(self._ready[Rank.FIRST]), bool(self._ready[Rank.NORMAL]), self._in_a_row)

    def _settle(self, line: Line[C]) -> None:
        """Let the line wait for a turn exactly if its next call may start; drop it when it has no calls."""
        waiting = line.next_ones()
        call = next(iter(waiting)) if waiting else None
        rank = call.rank if call is not None and self._may_start(line, call) else None
        if rank is not line.ready:
            if line.ready is not None:
                del self._ready[line.ready][line]
            if rank is not None:
                self._ready[rank][line] = None
            line.ready = rank
        if call is None and not line.under_way:
            self._lines.pop(line.key, None)

    def _may_start(self, line: Line[C], call: C) -> bool:
        has_room = not line.slow or self._room[call.ends]
        return has_room and may_start(call.ends, line.under_way, line.hanging, self._per_key)
