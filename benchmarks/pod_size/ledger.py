"""Who has worked how much: what a clock counts, by account, in nested turns.

`CpuClock` counts the time of the processor, `StepClock` the lines of Python that actors run. Steps are the same on
every machine, idle or busy, so tests count them. They leave out what the interpreter does in one line, however long it
takes.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time_ns
from types import FrameType
from typing import Any, Protocol

import msgspec

WORLD = "world"
"""The account of all that no actor does: the API server, timers, the simulated machine."""
RUNTIME = "runtime"
OTHERS = (WORLD, RUNTIME)
"""Accounts that are no part of the agent."""


class Clock(Protocol):
    def now(self) -> int: ...

    def runs(self, account: str) -> None:
        """From now on this account works; empty: none."""


class CpuClock:
    """CPU time of this thread in ns."""

    def now(self) -> int:
        return thread_time_ns()

    def runs(self, account: str) -> None:
        pass


class StepClock:
    """Lines of Python that the agent has run."""

    def __init__(self) -> None:
        self._steps = 0

    def now(self) -> int:
        return self._steps

    def runs(self, account: str) -> None:
        sys.settrace(None if not account or account in OTHERS else self._trace)
        # Frames that run already are asked for their own function.
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            frame.f_trace = None
            frame = frame.f_back

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        self._steps += 1
        return self._trace


class Entry(msgspec.Struct):
    """What one account has spent on one kind of turn, in how many turns, and on the longest of them."""

    spent: int = 0
    turns: int = 0
    longest: int = 0


class Ledger:
    """What is spent counts for the innermost open turn."""

    def __init__(self, clock: Clock) -> None:
        self.entries: dict[tuple[str, str], Entry] = defaultdict(Entry)
        """By account, and what the turn was for."""
        self._clock = clock
        self._open: list[str] = []
        self._spent: list[int] = []
        self._since = 0

    @contextmanager
    def turn(self, account: str) -> Iterator[list[str]]:
        """A turn of that account. Whoever takes it puts into the list what it is for."""
        self._switch()
        self._open.append(account)
        self._spent.append(0)
        self._clock.runs(account)
        purpose: list[str] = []
        try:
            yield purpose
        finally:
            self._switch()
            self._open.pop()
            entry, spent = self.entries[account, "".join(purpose)], self._spent.pop()
            entry.spent += spent
            entry.turns += 1
            entry.longest = max(entry.longest, spent)
            self._clock.runs(self._open[-1] if self._open else "")
            self._since = self._clock.now()

    def _switch(self) -> None:
        now = self._clock.now()
        if self._open:
            self._spent[-1] += now - self._since
        self._since = now

    def by_account(self) -> dict[str, Entry]:
        """All turns of an account together, those first that have spent most."""
        sums: dict[str, Entry] = defaultdict(Entry)
        for (account, _), entry in self.entries.items():
            total = sums[account]
            total.spent += entry.spent
            total.turns += entry.turns
            total.longest = max(total.longest, entry.longest)
        return dict(sorted(sums.items(), key=lambda each: -each[1].spent))

    def of_agent(self) -> int:
        """What the agent has spent."""
        return sum(entry.spent for (account, _), entry in self.entries.items() if account not in OTHERS)
