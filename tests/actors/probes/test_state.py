"""The table of a probe's states, walked without any I/O. Names say the rule of spec 5 that they prove."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.probes.rules import ProbeKind, Terms
from actors.probes.state import (
    TABLE,
    Answered,
    CheckDue,
    ContainerGone,
    ContainerRuns,
    Event,
    PodEnding,
    ProbeLife,
    ProbeStage,
    advance,
    beginning,
    is_well,
)
from runtime.probes import ProbeOutcome

SECOND = 10**9
STARTUP, READINESS, LIVENESS = ProbeKind.STARTUP, ProbeKind.READINESS, ProbeKind.LIVENESS
GOOD, BAD, ODD = ProbeOutcome.SUCCESS, ProbeOutcome.FAILURE, ProbeOutcome.WARNING
NONE, LATE = ProbeOutcome.UNKNOWN, ProbeOutcome.LATE
BOTH = pytest.mark.parametrize("kind", [LIVENESS, READINESS])
ALL = pytest.mark.parametrize("kind", list(ProbeKind))


def probe(kind: ProbeKind, successes: int = 1, failures: int = 3) -> ProbeLife:
    return beginning(Terms(kind, period_ns=10 * SECOND, successes=successes, failures=failures))


def walk(life: ProbeLife, *events: Event) -> ProbeLife:
    for event in events:
        life = advance(life, event)
    return life


def running(kind: ProbeKind, **terms: int) -> ProbeLife:
    """Its container runs, and the first check is due at 0."""
    return walk(probe(kind, **terms), ContainerRuns("c1", 0))


def answers(life: ProbeLife, *outcomes: ProbeOutcome) -> ProbeLife:
    """One check after the other, each at its due time, none repeated."""
    for outcome in outcomes:
        if life.stage is ProbeStage.HELD:
            break
        life = walk(life, CheckDue(life.due_ns))
        life = walk(life, Answered(life.check, outcome, life.asked_at_ns, final=True))
    return life


def test_every_event_has_rules() -> None:
    assert TABLE.events == set(get_args(Event))


@pytest.mark.parametrize(("kind", "initial"), [(STARTUP, None), (READINESS, False), (LIVENESS, True)])
# (spec 5.7)
def test_spec_5_initial_results_are_that_it_lives_and_is_not_ready_and_nobody_knows_whether_it_started(
    kind: ProbeKind, initial: bool | None
) -> None:
    assert probe(kind).result is initial
    assert running(kind).result is initial


@ALL
# (spec 5.10)
def test_spec_5_a_container_that_does_not_run_is_not_probed(kind: ProbeKind) -> None:
    life = probe(kind)
    assert walk(life, ContainerGone(), CheckDue(5)).stage is ProbeStage.ABSENT
    assert walk(running(kind), ContainerGone()).stage is ProbeStage.ABSENT
    assert walk(running(kind), CheckDue(0), ContainerGone()).stage is ProbeStage.ABSENT


@BOTH
# (spec 5.13)
def test_spec_5_startup_gates_the_others(kind: ProbeKind) -> None:
    gated = walk(probe(kind), ContainerRuns("c1", 5, gated=True))
    assert walk(gated, CheckDue(5)).stage is ProbeStage.GATED
    assert walk(gated, ContainerRuns("c1", 7, gated=True)).stage is ProbeStage.GATED
    opened = walk(gated, ContainerRuns("c1", 9))
    assert (opened.stage, opened.due_ns) == (ProbeStage.WAITING, 9)


def test_spec_5_a_startup_probe_does_not_gate_itself() -> None:
    assert walk(probe(STARTUP), ContainerRuns("c1", 5, gated=True)).stage is ProbeStage.WAITING


@pytest.mark.parametrize(
    ("kind", "successes", "failures", "outcomes", "result", "stage"),
    [
        (READINESS, 1, 3, [GOOD], True, ProbeStage.WAITING),
        (READINESS, 1, 3, [ODD], True, ProbeStage.WAITING),
        (READINESS, 3, 3, [GOOD, GOOD], False, ProbeStage.WAITING),
        (READINESS, 3, 3, [GOOD, GOOD, GOOD], True, ProbeStage.WAITING),
        (READINESS, 3, 3, [GOOD, GOOD, BAD, GOOD, GOOD], False, ProbeStage.WAITING),
        (READINESS, 2, 3, [GOOD, ODD], True, ProbeStage.WAITING),
        (READINESS, 1, 3, [GOOD, BAD, BAD], True, ProbeStage.WAITING),
        (READINESS, 1, 3, [GOOD, BAD, BAD, BAD], False, ProbeStage.WAITING),
        (READINESS, 1, 3, [GOOD, BAD, BAD, GOOD, BAD, BAD], True, ProbeStage.WAITING),
        (READINESS, 1, 3, [GOOD, BAD, NONE, BAD, NONE, BAD], False, ProbeStage.WAITING),
        (READINESS, 1, 1, [NONE] * 9, False, ProbeStage.WAITING),
        (LIVENESS, 1, 3, [BAD, BAD], True, ProbeStage.WAITING),
        (LIVENESS, 1, 3, [BAD, BAD, BAD], False, ProbeStage.HELD),
        (LIVENESS, 1, 1, [BAD], False, ProbeStage.HELD),
        (LIVENESS, 1, 3, [BAD, BAD, GOOD, BAD, BAD], True, ProbeStage.WAITING),
        (LIVENESS, 1, 1, [NONE] * 9, True, ProbeStage.WAITING),
        (LIVENESS, 1, 1, [LATE] * 9, True, ProbeStage.WAITING),
        (STARTUP, 1, 3, [BAD, BAD], None, ProbeStage.WAITING),
        (STARTUP, 1, 3, [BAD, BAD, GOOD], True, ProbeStage.HELD),
        (STARTUP, 1, 3, [BAD, BAD, BAD], False, ProbeStage.HELD),
        (STARTUP, 1, 3, [GOOD], True, ProbeStage.HELD),
        (STARTUP, 1, 1, [NONE] * 9, None, ProbeStage.WAITING),
    ],
)
# (spec 5.15)
def test_spec_5_a_verdict_needs_so_many_answers_of_one_kind_in_a_row(
    kind: ProbeKind, successes: int, failures: int, outcomes: list[ProbeOutcome], result: bool | None, stage: ProbeStage
) -> None:
    life = answers(running(kind, successes=successes, failures=failures), *outcomes)
    assert (life.result, life.stage) == (result, stage)


@ALL
# (spec 5.17)
def test_spec_5_a_probe_that_has_decided_is_on_hold_until_the_container_changes(kind: ProbeKind) -> None:
    held = answers(running(kind, failures=1), BAD)
    if kind is READINESS:
        assert held.stage is ProbeStage.WAITING
        return
    assert walk(held, CheckDue(10**12), ContainerRuns("c1", 5)) == held
    after = walk(held, ContainerRuns("c2", 77))
    assert (after.stage, after.result, after.due_ns) == (ProbeStage.WAITING, kind.initial, 77)


@ALL
# (spec 5.8)
def test_spec_5_with_another_container_everything_begins_anew(kind: ProbeKind) -> None:
    life = answers(running(kind, failures=3), BAD, BAD)
    again = answers(walk(life, ContainerRuns("c2", 0)), BAD)
    assert (again.container_id, again.result, again.streak) == ("c2", kind.initial, 1)


# (spec 5.14)
def test_spec_5_errors_are_retried_three_times_in_all_and_then_count_for_nothing() -> None:
    life = walk(running(LIVENESS, failures=1), CheckDue(0))
    checks = []
    while life.stage is ProbeStage.CHECKING:
        checks.append(life.check)
        life = walk(life, Answered(life.check, NONE, 5))
    assert checks == [1, 2, 3]
    assert (life.stage, life.result, life.streak, life.due_ns) == (ProbeStage.WAITING, True, 0, 10 * SECOND)


def test_spec_5_a_check_that_the_node_was_too_slow_for_is_not_retried() -> None:
    life = walk(running(LIVENESS, failures=1), CheckDue(0), Answered(1, LATE, 5))
    assert (life.stage, life.check, life.streak) == (ProbeStage.WAITING, 1, 0)


# (spec 5.14)
def test_spec_5_a_retry_that_answers_counts() -> None:
    life = walk(running(LIVENESS, failures=1), CheckDue(0), Answered(1, NONE, 5), Answered(2, BAD, 6))
    assert life.result is False


@ALL
def test_spec_5_an_answer_to_an_earlier_check_is_ignored(kind: ProbeKind) -> None:
    life = walk(running(kind, failures=1), CheckDue(0))
    gone = walk(life, ContainerRuns("c2", 0))
    assert walk(gone, Answered(life.check, BAD, 5)) == gone
    asked = walk(gone, CheckDue(0))
    assert asked.check != life.check
    assert walk(asked, Answered(life.check, BAD, 5)) == asked


@ALL
def test_spec_5_a_check_without_an_answer_is_given_up_and_counts_for_nothing(kind: ProbeKind) -> None:
    life = walk(running(kind, failures=1), CheckDue(0))
    given_up = walk(life, CheckDue(30 * SECOND))
    assert (given_up.stage, given_up.result, given_up.streak) == (ProbeStage.WAITING, kind.initial, 0)
    assert walk(given_up, Answered(life.check, BAD, 31 * SECOND)) == given_up


def test_spec_5_due_times_are_a_grid_and_what_was_missed_is_not_made_up_for() -> None:
    life = walk(running(READINESS), CheckDue(3))
    assert life.due_ns == 10 * SECOND
    late = walk(life, Answered(1, GOOD, 4), CheckDue(64 * SECOND))
    assert late.due_ns == 70 * SECOND


@pytest.mark.parametrize(("kind", "result"), [(STARTUP, None), (LIVENESS, True)])
# (spec 2.8.1, 5.11)
def test_spec_5_liveness_and_startup_probes_of_an_ending_pod_stop(kind: ProbeKind, result: bool | None) -> None:
    for life in (probe(kind), running(kind), walk(running(kind), CheckDue(0)), answers(running(kind, failures=1), BAD)):
        over = walk(life, PodEnding())
        assert (over.stage, over.result) == (ProbeStage.OVER, result)
        later = (ContainerRuns("c2", 0), CheckDue(5), Answered(1, BAD, 6), ContainerGone(), PodEnding())
        assert walk(over, *later).stage is ProbeStage.OVER


def test_the_end_of_a_pod_freezes_whether_its_container_has_started() -> None:
    started = walk(answers(running(STARTUP), GOOD), PodEnding())
    assert (started.stage, started.result) == (ProbeStage.OVER, True)
    assert walk(started, ContainerRuns("c1", 0)).result is True
    assert walk(started, ContainerRuns("c2", 0)).result is None
    # An agent that is there only since the pod ends keeps to what was published.
    assert walk(probe(STARTUP), PodEnding(), ContainerRuns("c1", 0, kept=True)).result is True
    assert walk(probe(STARTUP), PodEnding(), ContainerRuns("c1", 0)).result is None


# (spec 2.8.1, 5.12)
def test_spec_5_readiness_probes_of_an_ending_pod_continue() -> None:
    life = answers(walk(running(READINESS), PodEnding()), GOOD)
    assert (life.stage, life.result) == (ProbeStage.WAITING, True)
    assert answers(life, BAD, BAD, BAD).result is False


# (spec 5.9)
def test_spec_5_earlier_readiness_is_kept_until_an_answer_differs() -> None:
    life = walk(probe(READINESS), ContainerRuns("c1", 0, kept=True))
    assert life.result is True
    assert answers(life, BAD, BAD).result is True
    assert answers(life, BAD, BAD, BAD).result is False
    assert walk(life, ContainerRuns("c2", 0)).result is False


# (spec 5.9)
def test_spec_5_a_container_known_to_have_started_gets_no_startup_probe() -> None:
    life = walk(probe(STARTUP), ContainerRuns("c1", 0, kept=True))
    assert (life.stage, life.result) == (ProbeStage.HELD, True)


_EVENTS = st.one_of(
    st.builds(
        ContainerRuns,
        container_id=st.sampled_from(["c1", "c2"]),
        due_ns=st.integers(0, 50 * SECOND),
        gated=st.booleans(),
    ),
    st.just(ContainerGone()),
    st.builds(CheckDue, now_ns=st.integers(0, 100 * SECOND)),
    st.builds(
        Answered,
        check=st.integers(0, 4),
        outcome=st.sampled_from(list(ProbeOutcome)),
        now_ns=st.integers(0, 100 * SECOND),
        final=st.booleans(),
    ),
    st.just(PodEnding()),
)


@given(st.sampled_from(list(ProbeKind)), st.lists(_EVENTS, max_size=30))
def test_spec_5_whatever_happens_a_kill_takes_a_failed_check_of_the_very_container(
    kind: ProbeKind, events: list[Event]
) -> None:
    life = probe(kind, failures=2)
    failed: list[str] = []
    ended = False
    for event in events:
        before, life = life, advance(life, event)
        ended = ended or isinstance(event, PodEnding)
        if isinstance(event, Answered) and event.outcome is BAD and before.stage is ProbeStage.CHECKING:
            failed.append(before.container_id)
        if life.result is False and kind is not READINESS:
            assert failed.count(life.container_id) >= 2
            assert life.stage is ProbeStage.HELD
        assert not (ended and kind is not READINESS and life.stage is not ProbeStage.OVER)
        assert life.check >= before.check
        assert (life.container_id == "") is (life.stage is ProbeStage.ABSENT) or life.stage is ProbeStage.OVER


@given(
    st.sampled_from(list(ProbeKind)),
    st.integers(1, 3),
    st.lists(st.sampled_from([GOOD, BAD, ODD]), max_size=8),
    st.integers(0, 200 * SECOND),
    st.lists(st.sampled_from([GOOD, BAD, ODD, LATE]), max_size=8),
)
def test_skipping_a_success_without_news_changes_no_later_verdict(
    kind: ProbeKind, successes: int, outcomes: list[ProbeOutcome], now_ns: int, later: list[ProbeOutcome]
) -> None:
    short = answers(running(kind, successes=successes, failures=2), *outcomes)
    if not is_well(short):
        return
    whole = walk(short, CheckDue(now_ns), Answered(short.check + 1, GOOD, now_ns))
    for outcome in [*later, GOOD]:
        assert (whole.stage, whole.result) == (short.stage, short.result)
        due_ns = whole.due_ns
        whole, short = walk(whole, CheckDue(due_ns)), walk(short, CheckDue(due_ns))
        assert whole.due_ns == short.due_ns, "both are on the same grid"
        whole = walk(whole, Answered(whole.check, outcome, due_ns))
        short = walk(short, Answered(short.check, outcome, due_ns))
        if whole.stage is ProbeStage.HELD:
            break
    assert (whole.stage, whole.result) == (short.stage, short.result)


@ALL
def test_a_success_that_may_change_a_verdict_is_not_left_out(kind: ProbeKind) -> None:
    assert not is_well(probe(kind))
    assert not is_well(running(kind))
    assert not is_well(answers(running(kind), BAD))
    well = answers(running(kind), GOOD)
    assert is_well(well) is (kind is not STARTUP), "which has decided, and is asked no more"
    assert not is_well(walk(well, CheckDue(5)))


def test_an_event_without_news_returns_the_same_probe_object() -> None:
    life = running(READINESS)
    assert advance(life, ContainerRuns("c1", 99)) is life
    assert msgspec.structs.replace(life) is not life
