"""What counts as wrong in a run, and what is one finding."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from simulation.operators.faults import Fault, read_fault
from simulation.operators.keys import read_key
from simulation.operators.records import Asked, Record
from simulation.sweep.compare import differences
from simulation.sweep.findings import confirmed, findings, often, told
from simulation.sweep.judge import judge, reference
from simulation.sweep.known import known_text, read_known

KILL = read_fault("kill-after create services default/shop #1")
STALE = Fault("stale-write", KILL.at)


def asked(*texts: str, step: int = 0) -> tuple[Asked, ...]:
    return tuple(Asked(read_key(text), 200, step, 1, True) for text in texts)


def run(**fields: Any) -> Record:
    usual: dict[str, Any] = {"asked": asked("create services default/shop #1"), "state": {"services default/shop": {}}}
    return Record(**{**usual, **fields})


RIGHT = reference(run(), run())


@pytest.mark.parametrize(
    ("broken", "wrong"),
    [
        ({}, ()),
        ({"state": {}}, ("services default/shop is missing",)),
        ({"state": {"services default/shop": {}, "pods default/a": {}}}, ("pods default/a is left over",)),
        (
            {"state": {"services default/shop": {"spec": 1}}},
            ("services default/shop .spec is 1; it should not be there",),
        ),
        ({"settled": False}, ("it never came to rest",)),
        (
            {"runs": False, "ends": ("with exit status 1",)},
            ("it was not running at the end: it ended 1 times by itself, the last time with exit status 1",),
        ),
        ({"failure": "AssertionError: no"}, ("the scenario failed: AssertionError: no",)),
        (
            {"asked": asked(*(f"patch services default/shop #{number}" for number in range(1, 100)))},
            ("it writes on and on: patch services default/shop, 99 times",),
        ),
        (
            {
                "asked": tuple(
                    msgspec.structs.replace(one, changed=False, lagged=True)
                    for one in asked(*(f"patch services default/shop #{number}" for number in range(1, 100)))
                )
            },
            (),
        ),
    ],
)
def test_what_is_wrong_with_a_run(broken: dict[str, Any], wrong: tuple[str, ...]) -> None:
    assert judge(RIGHT, run(**broken), KILL).wrong == wrong


def test_fields_that_differ_without_a_fault_do_not_count() -> None:
    first, second = (run(state={"secrets default/key": {"data": {"key": text}}}) for text in "ab")
    third = run(state={"secrets default/key": {"data": {"key": "c"}}})
    assert judge(reference(first, second), third, KILL).wrong == ()


def test_a_list_is_compared_item_by_item() -> None:
    (found,) = differences({"pods default/a": {"x": [{"y": 1}, 2]}}, {"pods default/a": {"x": [{"y": 3}, 2]}})
    assert str(found) == "pods default/a .x[0].y is 3; it should be 1"


@pytest.mark.parametrize(
    ("texts", "fault", "is_wrong"),
    [
        (["delete services default/shop #1", "create services default/shop #2"], str(KILL), True),
        (["create services default/more #1", "delete services default/more #1"], str(KILL), False),  # its own excess
        (["delete services default/shop #1"], "pod-oom READY pods default/a #1", False),
    ],
)
def test_what_should_have_been_kept_and_was_deleted(texts: list[str], fault: str, is_wrong: bool) -> None:
    told = judge(RIGHT, run(asked=asked("create services default/shop #1", *texts)), read_fault(fault)).wrong
    assert told == (("services default/shop was deleted, and should have been kept",) if is_wrong else ())


def test_deletions_that_come_a_step_later_are_no_loss() -> None:
    made, gone = "create pods default/a #1", "delete pods default/a #1"
    first = run(asked=(*asked(made), *asked(gone, step=1), *asked("create pods default/a #2", step=2)))
    late = run(asked=(*asked(made), *asked(gone, "create pods default/a #2", step=2)))
    assert judge(reference(first, first), late, KILL).wrong == ()


def test_an_old_read_that_breaks_no_more_than_the_kill_is_part_of_its_finding() -> None:
    (found,) = findings(RIGHT, {STALE: run(state={}), KILL: run(state={})})
    assert found.faults == (KILL, STALE)
    assert found.name == "requests: services default/shop is missing"


def test_an_old_read_that_breaks_more_is_a_finding_of_its_own() -> None:
    more = run(state={"pods default/a": {}})
    assert [one.fault for one in findings(RIGHT, {KILL: run(state={}), STALE: more})] == [KILL, STALE]


def test_a_crash_and_an_error_that_leave_the_same_wrong_are_one_finding() -> None:
    error, eviction = Fault("error", KILL.at), read_fault("pod-evicted READY pods default/a #1")
    earlier = run(steps=({}, {}))
    right = reference(run(steps=({"services default/shop": {}}, {})), run(steps=({"services default/shop": {}}, {})))
    found = findings(right, {KILL: run(state={}), error: earlier, eviction: run(state={})})
    assert [one.faults for one in found] == [(KILL, error), (eviction,)]
    assert [one.name.split(":")[0] for one in found] == ["requests", "nodes"]
    assert "(and at another moment, also by error)" in next(told(found[0]))


def test_a_fault_that_did_not_strike_finds_nothing() -> None:
    assert findings(RIGHT, {KILL: run(state={}, struck=False)}) == []


def test_a_finding_says_in_three_lines_what_happened_and_how_often() -> None:
    (found,) = findings(RIGHT, {KILL: run(state={}, asked=asked("create pods default/b #1"))})
    found = confirmed(found, RIGHT, [run(state={}), run()])
    did, should, left = told(found)
    assert did.startswith("did:    it was killed before it had the answer to create services default/shop #1")
    assert did.endswith("then it did create pods default/b")
    assert should.endswith("create services default/shop never came")
    assert left == "left:   services default/shop is missing"
    assert often(found) == "2 of 3 runs"


def test_known_findings_keep_their_comments_and_get_new_ones() -> None:
    (found,) = findings(RIGHT, {KILL: run(state={})})
    text = known_text([found], "# ours\nerror: x is missing  # issue 7\n")
    assert text == f"# ours\nerror: x is missing  # issue 7\n{found.name}\n"
    assert read_known(text) == {"error: x is missing", found.name}
    assert known_text([found], text) == text


def test_records_survive_their_way_between_processes() -> None:
    record = run(output=("a",), ends=("b",))
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record
