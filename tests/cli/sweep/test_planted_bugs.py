"""A sweep finds every planted bug of the sample operator, and nothing in its correct twin.

One fault for each bug is played, not the whole sweep: some thirty runs instead of a hundred. That the sweep would try
these faults by itself is a test, too. Both operators are compared with the twin without a fault: bugs show with their
fault only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from cli.simulate.play_watch import Interrupt
from cli.sweep.side_by_side import Run, play_all, rehearse
from cli.sweep.sweeping import PATIENCE
from simulation.cluster.sweep_file import SweepFile, read_sweep_file
from simulation.operators.faults import Fault, read_fault
from simulation.operators.records import Record
from simulation.sweep.judge import Reference, judge, reference
from simulation.sweep.plan import plan

SHOP = Path(__file__).parents[2] / "simulation" / "sweep" / "shop"
TILL = "pods default/corner-till-0"
STATUS = "shops.example.com default/corner .status"

BUGS: Mapping[str, tuple[str, str]] = {
    "kill": ("kill-after create configmaps default/corner-sign #1", "services default/corner is missing"),
    "stale": (
        "stale-step patch shops.example.com/status default/corner #4",
        "secrets default/corner-key was deleted, and should have been kept",
    ),
    "miss": (f"miss DELETED {TILL} #1", f"{TILL} is missing"),
    "cut": (f"cut DELETED {TILL} #1", f"{TILL} is missing"),
    "conflict": (
        "conflict update configmaps default/corner-sign #1",
        'configmaps default/corner-sign .data.sign is "open"',
    ),
    "throttle": ("throttle create services default/corner #1", "services default/corner is missing"),
    "error": ("error create secrets default/corner-key #1", "secrets default/corner-key is missing"),
    "timeout": (
        "timeout create configmaps default/corner-receipt-* #1",
        "configmaps default/corner-receipt-*1 is left over",
    ),
    "evicted": (f"pod-evicted READY {TILL} #1", f"{TILL} is missing"),
    "late": (f"pod-late READY {TILL} #1", f"{STATUS}.slow is true"),
    "no-image": (f"pod-no-image READY {TILL} #1", f"{STATUS}.broken is true"),
    "unready": (f"pod-unready READY {TILL} #1", f"{STATUS}.failed is true"),
    "oom": (f"pod-oom READY {TILL} #1", f"{STATUS}.crashed is true"),
    "stuck": (f"pod-stuck READY {TILL} #1", f"{STATUS}.killed is true"),
}
"""Word in `BUGS` of the operator -> the fault that shows it, and the beginning of what is wrong."""


class Played(NamedTuple):
    """`right`: the twin without a fault. `twin`, `bugged`: the run of each operator with a fault."""

    right: Reference
    twin: Mapping[Fault, Record]
    bugged: Mapping[Fault, Record]


@pytest.fixture(scope="module")
def played() -> Played:
    file = read_sweep_file((SHOP / "sweep.yaml").read_bytes(), str(SHOP))
    faults = [read_fault(fault) for fault, _ in BUGS.values()]
    rehearse(file)
    first, second, *twin = _records(file, "", [None, None, *faults])
    bugged = _records(file, " ".join(BUGS), faults)
    return Played(reference(first, second), _of(faults, twin), _of(faults, bugged))


def _records(file: SweepFile, bugs: str, faults: list[Fault | None] | list[Fault]) -> list[Record]:
    file = msgspec.structs.replace(file, environment={"BUGS": bugs})
    runs = [Run(fault, PATIENCE) for fault in faults]
    records = play_all(file, runs, jobs=4, interrupt=Interrupt(), quiet=True, what="runs")
    return [record for record in records if record is not None]


def _of(faults: list[Fault], records: list[Record]) -> Mapping[Fault, Record]:
    return dict(zip(faults, records, strict=True))


@pytest.mark.parametrize("bug", BUGS)
def test_the_sweep_would_try_the_fault_that_shows_a_bug(played: Played, bug: str) -> None:
    assert read_fault(BUGS[bug][0]) in plan(played.right.first).faults


@pytest.mark.parametrize("bug", BUGS)
def test_each_planted_bug_is_found_by_one_fault(played: Played, bug: str) -> None:
    fault = read_fault(BUGS[bug][0])
    run = played.bugged[fault]
    assert run.struck
    assert any(wrong.startswith(BUGS[bug][1]) for wrong in judge(played.right, run, fault).wrong), (
        judge(played.right, run, fault),
        run.output,
    )


@pytest.mark.parametrize("bug", BUGS)
def test_the_correct_twin_stands_the_same_fault(played: Played, bug: str) -> None:
    fault = read_fault(BUGS[bug][0])
    run = played.twin[fault]
    assert run.struck
    assert judge(played.right, run, fault).wrong == (), run.output
