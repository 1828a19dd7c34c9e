"""Puts what a sweep found together: one finding for each thing that is broken in one way. Pure.

Runs with faults of one kind and the same wrongs are one finding, with several moments. A fault that breaks no more than
its milder one at the same moment is part of that one's finding. A finding is told in three lines: what happened, what
the operator should have seen, what is left wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from simulation.operators.faults import KINDS, Fault
from simulation.operators.records import Record
from simulation.sweep.judge import Reference, Verdict, judge
from simulation.sweep.plan import shape

WRITES_SHOWN, WRONGS_SHOWN, MOMENTS_SHOWN = 3, 4, 3


class Finding(msgspec.Struct, frozen=True):
    """`name`: the same in each sweep, for files of known findings. `faults`: that show it, simplest first.

    `came`, `tried`: in how many of the runs with the first fault it came.
    """

    name: str
    faults: tuple[Fault, ...]
    wrong: tuple[str, ...]
    never: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    came: int = 1
    tried: int = 1
    output: tuple[str, ...] = ()

    @property
    def fault(self) -> Fault:
        return self.faults[0]


def findings(right: Reference, runs: Mapping[Fault, Record]) -> list[Finding]:
    """What the runs found. Runs whose fault did not strike prove nothing."""
    judged = {fault: judge(right, run, fault) for fault, run in runs.items() if run.struck}
    groups: dict[tuple[str, tuple[str, ...]], list[Fault]] = {}
    for fault, verdict in judged.items():
        if verdict.wrong:
            kind = _simplest(fault, verdict, judged)
            groups.setdefault((kind, _shapes(verdict.wrong)), []).append(fault)
    found = []
    for (kind, wrong), faults in groups.items():
        faults.sort(key=lambda fault: (fault.kind != kind, list(runs).index(fault)))
        verdict = judged[faults[0]]
        name = f"{kind}: {wrong[0]}"
        output = runs[faults[0]].output
        found.append(Finding(name, tuple(faults), verdict.wrong, verdict.never, verdict.more, output=output))
    return found


def _simplest(fault: Fault, verdict: Verdict, judged: Mapping[Fault, Verdict]) -> str:
    """The kind of the mildest fault at that moment which breaks as much."""
    kind, milder = fault.kind, fault.milder
    while milder is not None:
        if milder in judged and set(_shapes(judged[milder].wrong)) >= set(_shapes(verdict.wrong)):
            kind = milder.kind
        milder = milder.milder
    return kind


def _shapes(wrong: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(shape, wrong)))


def confirmed(found: Finding, right: Reference, again: Sequence[Record]) -> Finding:
    """The finding after more runs with its first fault, which count if anything is wrong in them."""
    came = sum(bool(run.struck and judge(right, run, found.fault).wrong) for run in again)
    return msgspec.structs.replace(found, came=found.came + came, tried=found.tried + len(again))


def told(found: Finding) -> Iterator[str]:
    """The three lines, without the command."""
    kind = KINDS[found.fault.kind]
    others = len(found.faults) - 1
    where = f" (and at {others} other moments)" if others > 1 else " (and at another moment)" if others else ""
    yield f"did:    {kind.did.format(at=found.fault.at)}{where}{_then(found)}"
    yield f"should: have seen {kind.sees}{_never(found)}"
    more = len(found.wrong) - WRONGS_SHOWN
    left = "; ".join(found.wrong[:WRONGS_SHOWN])
    yield f"left:   {left}{f'; and {more} more' if more > 0 else ''}"


def often(found: Finding) -> str:
    """How often it came."""
    return f"{found.came} of {found.tried} runs"


def _then(found: Finding) -> str:
    return f"; then it did {_some(found.more)}" if found.more else ""


def _never(found: Finding) -> str:
    return f"; {_some(found.never)} never came" if found.never else ""


def _some(words: Sequence[str]) -> str:
    rest = len(words) - WRITES_SHOWN
    return ", ".join(words[:WRITES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
