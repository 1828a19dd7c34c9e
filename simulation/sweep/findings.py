"""Puts what a sweep found together: one finding for each thing that is broken in one way. Pure.

Runs that leave the same wrong are one finding, if their faults are about the same: about what the operator asks, what
it sees, or its nodes. A crash and an error often end alike, since one bug lets them. A fault that breaks no more than
its milder one at the same moment counts as that one.

A finding is told in three lines: what happened, what the operator should have seen, what is left wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from simulation.operators.faults import KINDS, Fault, Target, target_of
from simulation.operators.records import Record
from simulation.sweep.judge import AFTER_STEP, Reference, Verdict, judge
from simulation.sweep.plan import shape

WRITES_SHOWN, WRONGS_SHOWN, MOMENTS_SHOWN = 3, 4, 3


class Finding(msgspec.Struct, frozen=True):
    """`name`: the same in each sweep, for files of known findings. `faults`: the one to look at first.

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
    groups: dict[tuple[Target, tuple[str, ...]], list[Fault]] = {}
    simplest = {}
    for fault, verdict in judged.items():
        if verdict.wrong:
            simplest[fault] = _simplest(fault, verdict, judged)
            groups.setdefault((target_of(simplest[fault]), _shapes(verdict.wrong)), []).append(fault)
    found = []
    for (target, wrong), faults in groups.items():
        faults.sort(key=lambda fault: (fault.kind != simplest[fault], list(runs).index(fault)))
        verdict = judged[faults[0]]
        name = f"{target}: {wrong[0]}"
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
    """The wrongs as other sweeps tell them, too; when they were seen first does not matter."""
    return tuple(dict.fromkeys(shape(one.partition(AFTER_STEP)[0]) for one in wrong))


def confirmed(found: Finding, right: Reference, again: Sequence[Record]) -> Finding:
    """The finding after more runs with its first fault, which count if anything is wrong in them."""
    came = sum(bool(run.struck and judge(right, run, found.fault).wrong) for run in again)
    return msgspec.structs.replace(found, came=found.came + came, tried=found.tried + len(again))


def told(found: Finding) -> Iterator[str]:
    """The three lines, without the command."""
    kind = KINDS[found.fault.kind]
    yield f"did:    {kind.did.format(at=found.fault.at)}{_others(found)}{_then(found)}"
    yield f"should: have seen {kind.sees}{_never(found)}"
    more = len(found.wrong) - WRONGS_SHOWN
    left = "; ".join(found.wrong[:WRONGS_SHOWN])
    yield f"left:   {left}{f'; and {more} more' if more > 0 else ''}"


def _others(found: Finding) -> str:
    """The other moments and kinds of faults with which it came."""
    count = len(found.faults) - 1
    kinds = dict.fromkeys(fault.kind for fault in found.faults if fault.kind != found.fault.kind)
    by = f", also by {', '.join(kinds)}" if kinds else ""
    return f" (and at {count} other moments{by})" if count > 1 else f" (and at another moment{by})" if count else ""


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
