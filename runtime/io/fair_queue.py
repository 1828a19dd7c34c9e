"""`FairQueue`: what waits, by owner. Owners take turns.

So a large owner delays each other by one turn. A step costs the same however much waits, and nothing is copied. Pure;
the caller holds a lock if threads share it.

Urgent owners go before all others, and take turns among themselves. An owner that is *paused* keeps what it has, and
gets no turn until it is resumed. The caller pauses owners that have enough under way.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class _Line(Generic[T]):
    """What waits of one owner, the oldest first."""

    __slots__ = ("paused", "things", "urgent")

    def __init__(self, urgent: bool) -> None:
        self.things: deque[T] = deque()
        self.urgent = urgent
        self.paused = False


class FairQueue(Generic[T]):
    """See the module."""

    __slots__ = ("_length", "_lines", "_turns")

    def __init__(self) -> None:
        self._lines: dict[Hashable, _Line[T]] = {}
        """Lines that are empty are kept only while their owner is paused."""
        self._turns: dict[bool, OrderedDict[Hashable, _Line[T]]] = {True: OrderedDict(), False: OrderedDict()}
        """By urgency: the owners that may have a turn. The next one comes first."""
        self._length = 0

    def __len__(self) -> int:
        """How many things wait, those of paused owners included."""
        return self._length

    def append(self, owner: Hashable, thing: T, *, urgent: bool = False, ahead: bool = False) -> None:
        """Add a thing; `ahead` of the others of its owner.

        `urgent` holds for all that waits of the owner; the last word counts.
        """
        line = self._lines.get(owner)
        if line is None:
            line = self._lines[owner] = _Line(urgent)
        elif line.urgent != urgent:
            self._turns[line.urgent].pop(owner, None)
            line.urgent = urgent
        if ahead:
            line.things.appendleft(thing)
        else:
            line.things.append(thing)
        self._length += 1
        if not line.paused:
            self._turns[urgent].setdefault(owner, line)

    def first(self) -> T | None:
        """What leaves next; None if nothing waits that may leave."""
        found = self._next()
        return None if found is None else found[1].things[0]

    def take(self) -> T:
        """Remove what is first. The turn passes to the next owner. Raises LookupError if nothing may leave."""
        owner, line = self._next_or_raise()
        thing = self._pop(owner, line)
        if line.things:
            self._turns[line.urgent].move_to_end(owner)
        return thing

    def drop(self) -> None:
        """Remove what is first, which is not wanted any more. Its owner keeps the turn."""
        self._pop(*self._next_or_raise())

    def pass_turn(self, owner: Hashable) -> None:
        """Let this owner come after those that wait now; for one whose last turn has taken long."""
        line = self._lines.get(owner)
        if line is not None and owner in self._turns[line.urgent]:
            self._turns[line.urgent].move_to_end(owner)

    def pause(self, owner: Hashable) -> None:
        """Give this owner no turn until `resume`."""
        line = self._lines.get(owner)
        if line is None:
            line = self._lines[owner] = _Line(False)
        line.paused = True
        self._turns[line.urgent].pop(owner, None)

    def resume(self, owner: Hashable) -> None:
        """Undo `pause`. The owner comes last."""
        line = self._lines.get(owner)
        if line is None or not line.paused:
            return
        line.paused = False
        if line.things:
            self._turns[line.urgent][owner] = line
        else:
            del self._lines[owner]

    def forget(self, owner: Hashable) -> None:
        """Drop all that waits of this owner. If it is paused, it stays so."""
        line = self._lines.get(owner)
        if line is None:
            return
        self._length -= len(line.things)
        line.things = deque()
        self._turns[line.urgent].pop(owner, None)
        if not line.paused:
            del self._lines[owner]

    def clear(self) -> Iterator[T]:
        """Remove everything, and resume all owners. Yields what waited, by owner."""
        lines, self._lines, self._length = self._lines, {}, 0
        for turns in self._turns.values():
            turns.clear()
        return (thing for line in lines.values() for thing in line.things)

    def _next(self) -> tuple[Hashable, _Line[T]] | None:
        for turns in (self._turns[True], self._turns[False]):
            if turns:
                return next(iter(turns.items()))
        return None

    def _next_or_raise(self) -> tuple[Hashable, _Line[T]]:
        found = self._next()
        if found is None:
            raise LookupError("nothing waits that may leave")
        return found

    def _pop(self, owner: Hashable, line: _Line[T]) -> T:
        self._length -= 1
        thing = line.things.popleft()
        if not line.things:
            del self._turns[line.urgent][owner]
            del self._lines[owner]
        return thing
