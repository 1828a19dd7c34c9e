"""Differences of a replay become decisions: each once, without what follows from it."""

from __future__ import annotations

import pytest

from actors.kernel.recorded.differences import Difference, DifferenceKind
from actors.replays.rehearsal import DecisionKind, Expected, Rehearsal, kind_of, split

UID, OTHER_UID = "0fbf3e9e-6777-48f9-a68f-08728a50c19d", "18a68ce3a81ddb36b61c10941ab38b53"
WORKER, OTHER_WORKER = f"/node/sync-loop/{UID}", f"/node/sync-loop/{OTHER_UID}"
CREATE = "cri.call CreateContainer"


def difference(actor: str, kind: DifferenceKind, what: str, step: int = 1, expected: str = "") -> Difference:
    return Difference(step, 0, 0, actor, kind, what, expected, "now")


@pytest.mark.parametrize(
    ("kind", "what", "decision"),
    [
        (DifferenceKind.CALL, CREATE, DecisionKind.RUNTIME),
        (DifferenceKind.CALL_NEW, "api.main.call patch pods/status default/web", DecisionKind.STATUS),
        (DifferenceKind.CALL_LEFT_OUT, "api.main.call get nodes n", DecisionKind.API),
        (DifferenceKind.CALL, "lane disk: files.read_node_file", DecisionKind.DISK),
        (DifferenceKind.CALL, "prober.check", DecisionKind.OTHER),
        (DifferenceKind.MESSAGE, "/node/events", DecisionKind.MESSAGE),
        (DifferenceKind.NO_TURN, WORKER, DecisionKind.TIME),
        (DifferenceKind.NO_ACTOR, WORKER, DecisionKind.TIME),
    ],
)
def test_a_difference_has_a_kind(kind: DifferenceKind, what: str, decision: DecisionKind):
    assert kind_of(difference(WORKER, kind, what)) is decision


def test_the_same_of_many_pods_is_one_decision_with_its_earliest_step():
    rehearsal = Rehearsal()
    rehearsal.begin(1)
    rehearsal.differs(difference(WORKER, DifferenceKind.CALL, CREATE, step=7))
    rehearsal.differs(difference(OTHER_WORKER, DifferenceKind.CALL, CREATE, step=9))
    (decision,) = rehearsal.sorted()
    assert (decision.what, decision.times, decision.first.step) == (f"/node/sync-loop/*: call: {CREATE}", 2, 7)


def test_what_an_actor_does_after_its_first_difference_follows():
    rehearsal = Rehearsal()
    rehearsal.begin(1)
    rehearsal.differs(difference(WORKER, DifferenceKind.CALL, CREATE))
    rehearsal.differs(difference(WORKER, DifferenceKind.NO_TURN, WORKER))
    assert (len(rehearsal.decisions), rehearsal.followed) == (1, 1)


def test_who_was_told_something_else_follows_too():
    rehearsal = Rehearsal()
    rehearsal.begin(1)
    told = difference(WORKER, DifferenceKind.MESSAGE, "/node/status-manager", expected="PodStatusChanged(...)")
    rehearsal.differs(told)
    rehearsal.differs(difference("/node/status-manager", DifferenceKind.CALL, "api.main.call patch pods/status a/b"))
    (decision,) = rehearsal.sorted()
    assert decision.what == "/node/sync-loop/* sends PodStatusChanged to /node/status-manager"
    assert rehearsal.followed == 1


def test_the_actors_of_the_next_run_begin_anew():
    rehearsal = Rehearsal()
    for run in (1, 2):
        rehearsal.begin(run)
        rehearsal.differs(difference(WORKER, DifferenceKind.CALL, CREATE))
    (decision,) = rehearsal.sorted()
    assert (decision.run, decision.times, rehearsal.followed) == (1, 2, 0)


def test_decisions_come_by_kind_and_then_by_step():
    rehearsal = Rehearsal()
    rehearsal.begin(1)
    rehearsal.differs(difference("/node/b", DifferenceKind.NO_TURN, "/node/b", step=1))
    rehearsal.differs(difference("/node/c", DifferenceKind.CALL, "cri.call StopContainer", step=5))
    rehearsal.differs(difference("/node/d", DifferenceKind.CALL, CREATE, step=3))
    assert [each.first.step for each in rehearsal.sorted()] == [3, 5, 1]


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        (Expected("*CreateContainer"), True),
        (Expected("*CreateContainer", kind="calls of the *"), True),
        (Expected("*CreateContainer", kind="statuses"), False),
        (Expected("CreateContainer"), False),
    ],
)
def test_a_row_of_the_table_expects_what_fits_its_patterns(row: Expected, fits: bool):
    rehearsal = Rehearsal()
    rehearsal.begin(1)
    rehearsal.differs(difference(WORKER, DifferenceKind.CALL, CREATE))
    ((_, found),) = split(rehearsal.sorted(), (row,))
    assert (found is row) is fits
