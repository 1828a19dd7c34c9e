"""A whole sweep: two runs without a fault, one for each fault of the plan, and more for each finding.

What a sweep found is a `Swept`, which is written as JSON, so that shards on other machines come together.
"""

from __future__ import annotations

import msgspec

from cli.printing import complain
from cli.simulate.play_watch import Interrupt
from cli.sweep.side_by_side import Run, play_all, rehearse
from config.values.nearest import did_you_mean
from simulation.cluster.orders import OrderError
from simulation.cluster.sweep_file import SweepFile
from simulation.operators.faults import Fault
from simulation.operators.records import Record
from simulation.sweep.findings import Finding, confirmed, findings
from simulation.sweep.judge import Reference, judge, reference
from simulation.sweep.plan import plan

PATIENCE = 2
"""How many times as long the operator must be still in runs that confirm.

On a busy machine it looks at rest too early.
"""


MOMENTS_SHOWN = 10
UNLIMITED = 1_000_000


class Options(msgspec.Struct, frozen=True):
    """`again`: more plays of each finding. `shard`: (number, of how many), for every n-th fault."""

    jobs: int
    kinds: tuple[str, ...] = ()
    runs_at_most: int = 300
    again: int = 2
    shard: tuple[int, int] = (0, 1)
    quiet: bool = False


class Swept(msgspec.Struct, frozen=True):
    """`unmet`: did not strike. `lost`: left out by an interrupt. `unsure`: never came again."""

    findings: tuple[Finding, ...] = ()
    runs: int = 0
    left_out: int = 0
    unmet: tuple[str, ...] = ()
    lost: int = 0
    unsure: tuple[str, ...] = ()
    asked: int = 0
    """Requests of the run without a fault."""
    shard: tuple[int, int] = (0, 1)


def sweep(file: SweepFile, options: Options, interrupt: Interrupt) -> Swept:
    """Raises OrderError if the scenario does not work without a fault, `DiedError` and `NoProcessError`."""

    def play(runs: list[Run], what: str) -> list[Record | None]:
        if not options.quiet and runs:
            complain(f"actorlet sweep: {what}: {len(runs)}")  # bars are for terminals only
        return play_all(file, runs, jobs=options.jobs, interrupt=interrupt, quiet=options.quiet, what=what)

    rehearse(file)
    first, second = play([Run(None, PATIENCE), Run(None, PATIENCE)], "runs without a fault")
    if first is None or second is None:
        return Swept(lost=2)
    check_first(first)
    right = reference(first, second)
    planned = plan(first, options.kinds, options.runs_at_most)
    number, of = options.shard
    faults = planned.faults[number::of]
    records = dict(zip(faults, play([Run(fault) for fault in faults], "runs with a fault"), strict=True))
    played = {fault: record for fault, record in records.items() if record is not None}
    found = findings(right, played)
    again = [Run(one.fault, PATIENCE) for one in found for _ in range(options.again)]
    more = play(again, "runs that play findings again") if again else []
    sure, unsure = _confirmed(found, right, more, options.again)
    return Swept(
        findings=tuple(sure),
        runs=2 + len(played) + len(again),
        left_out=planned.left_out,
        unmet=tuple(str(fault) for fault, record in played.items() if not record.struck),
        lost=len(records) - len(played),
        unsure=tuple(unsure),
        asked=len(first.asked),
        shard=options.shard,
    )


def check_first(first: Record) -> None:
    """Raises OrderError when the run without a fault proves nothing."""
    if first.failure:
        raise OrderError(f"the scenario fails without a fault: {first.failure}{_said(first)}")
    if not first.asked:
        raise OrderError(f"the operator has asked the API server for nothing; does it read KUBECONFIG?{_said(first)}")
    if not first.runs:
        raise OrderError(f"the operator does not run at the end without a fault{_said(first)}")


def _said(first: Record) -> str:
    return "\nits last words:\n" + "\n".join(f"  {line}" for line in first.output[-20:]) if first.output else ""


def _confirmed(
    found: list[Finding], right: Reference, records: list[Record | None], again: int
) -> tuple[list[Finding], list[str]]:
    """The findings that came again, and the names of the others."""
    sure: list[Finding] = []
    unsure = []
    for number, one in enumerate(found):
        mine = [record for record in records[number * again : (number + 1) * again] if record is not None]
        looked = confirmed(one, right, mine)
        if looked.came > 1 or not mine:
            sure.append(looked)
        else:
            unsure.append(one.name)
    return sure, unsure


def play_once(file: SweepFile, fault: Fault, times: int, options: Options, interrupt: Interrupt) -> list[Finding]:
    """Play one fault so often, beside two runs without; it is one finding, if any. Raises as `sweep`."""
    rehearse(file)
    runs = [Run(None, PATIENCE), Run(None, PATIENCE), *(Run(fault, PATIENCE) for _ in range(times))]
    first, second, *records = play_all(
        file, runs, jobs=options.jobs, interrupt=interrupt, quiet=options.quiet, what=str(fault)
    )
    if first is None or second is None:
        return []
    check_first(first)
    right = reference(first, second)
    played = [record for record in records if record is not None]
    if played and not any(record.struck for record in played):
        moments = [str(each.at) for each in plan(first, (fault.kind,), UNLIMITED).faults]
        raise OrderError(f"there is no moment {fault.at} in this scenario; {near_moment(str(fault.at), moments)}")
    wrong = [record for record in played if judge(right, record, fault).wrong]
    if not wrong:
        return []
    (found,) = findings(right, {fault: wrong[0]})
    return [msgspec.structs.replace(found, came=len(wrong), tried=len(played))]


def near_moment(wanted: str, moments: list[str]) -> str:
    """Which moment was meant, or which the fault may strike."""
    shown = ", ".join(moments[:MOMENTS_SHOWN]) or "none"
    return did_you_mean(wanted, moments, f"this fault strikes at: {shown}")


def merged(parts: list[Swept]) -> Swept:
    """What several shards found, together."""
    of: dict[str, Finding] = {}
    for part in parts:
        for one in part.findings:
            before = of.get(one.name)
            of[one.name] = one if before is None else _joined(before, one)
    return Swept(
        findings=tuple(of.values()),
        runs=sum(part.runs for part in parts),
        left_out=max((part.left_out for part in parts), default=0),
        unmet=tuple(fault for part in parts for fault in part.unmet),
        lost=sum(part.lost for part in parts),
        unsure=tuple(name for part in parts for name in part.unsure if name not in of),
        asked=max((part.asked for part in parts), default=0),
    )


def _joined(one: Finding, other: Finding) -> Finding:
    faults = tuple(dict.fromkeys((*one.faults, *other.faults)))
    return msgspec.structs.replace(one, faults=faults, came=one.came + other.came, tried=one.tried + other.tried)
