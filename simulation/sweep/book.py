"""A sweep whose runs somebody else plays: it says what to play and what was found. Pure.

`actorlet.testing` plays the runs of a scenario in Python, and knows nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from simulation.operators.faults import KINDS, Fault, read_fault
from simulation.operators.records import Record
from simulation.sweep.findings import Finding, confirmed, findings, told
from simulation.sweep.judge import Reference, reference
from simulation.sweep.plan import Plan, plan


class ToldFinding(msgspec.Struct, frozen=True):
    """A finding for programs that read it, and for people: `lines` are its three lines."""

    name: str
    fault: str
    lines: tuple[str, ...]
    came: int
    tried: int
    output: tuple[str, ...] = ()


class SweepBook:
    """Begins with two runs without a fault. Raises ValueError for kinds of faults that do not exist."""

    def __init__(self, first: Record, second: Record, kinds: Iterable[str], at_most: int) -> None:
        kinds = tuple(kinds)
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise ValueError(f"there is no fault {unknown[0]!r}; there are {', '.join(KINDS)}")
        self._right: Reference = reference(first, second)
        self._runs: dict[Fault, Record] = {}
        self._again: dict[Fault, list[Record]] = {}
        self.plan: Plan = plan(first, kinds, at_most)

    def take(self, fault: str, record: Record, *, again: bool) -> None:
        """A run was played: the first one with this fault, or `again`. Raises ValueError."""
        read = read_fault(fault)
        if again:
            self._again.setdefault(read, []).append(record)
        else:
            self._runs[read] = record

    def found(self) -> list[ToldFinding]:
        """What was found so far; what was played again and never came again is left out."""
        seen = [
            confirmed(one, self._right, self._again.get(one.fault, ())) for one in findings(self._right, self._runs)
        ]
        return [_told(one) for one in seen if one.came > 1 or one.tried == 1]

    def unmet(self) -> list[str]:
        """The faults that did not strike."""
        return [str(fault) for fault, record in self._runs.items() if not record.struck]


def _told(one: Finding) -> ToldFinding:
    return ToldFinding(one.name, str(one.fault), tuple(told(one)), one.came, one.tried, one.output)
