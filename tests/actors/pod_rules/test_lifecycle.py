"""The life of a pod: every rule of spec 2.6, walked without any worker."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.machines.table import IllegalTransitionError
from actors.pod_rules import lifecycle
from actors.pod_rules.lifecycle import (
    BEGINNING,
    TABLE,
    CleanedUp,
    ContainersStopped,
    Event,
    KillRequested,
    NameFree,
    NameTaken,
    Orphaned,
    PodDesired,
    PodLife,
    PodStage,
    Synced,
    advance,
)
from config.objects import PodStatus
from tests.actors.machines.mistakes import has_rules
from tests.actors.pod_pictures import pod

W, S, T, D, F = PodStage.WAITING, PodStage.SYNCING, PodStage.TERMINATING, PodStage.TERMINATED, PodStage.FINISHED


def walk(*events: Event, life: PodLife = BEGINNING) -> PodLife:
    for moment, event in enumerate(events, 1):
        life = advance(life, event, moment).life
    return life


@pytest.mark.parametrize(
    ("events", "stage"),
    [
        pytest.param([PodDesired(created=True)], S, id="a desired pod is synced"),
        pytest.param([PodDesired(), Synced()], S, id="a pod that is as desired stays synced"),
        # (spec 2.6.21)
        pytest.param([PodDesired(), Synced(terminal=True)], T, id="a final phase makes it terminating at once"),
        # (spec 2.6.6)
        pytest.param([PodDesired(), PodDesired(deleting=True)], T, id="a deletion timestamp makes it terminating"),
        # (spec 2.6.7)
        pytest.param([PodDesired(), PodDesired(over=True)], T, id="a final phase in its object makes it terminating"),
        # (spec 2.6.8)
        pytest.param([PodDesired(), KillRequested()], T, id="a kill makes it terminating"),
        # (spec 2.6.5)
        pytest.param([Orphaned()], T, id="a pod that only the runtime knows is terminating from the start"),
        # (spec 2.6.6)
        pytest.param([PodDesired(deleting=True)], T, id="a pod first seen deleting is ended, whatever ran before"),
        # (spec 2.6.10)
        pytest.param(
            [PodDesired(over=True, nothing_runs=True)], D, id="first seen over with nothing running: cleaned up"
        ),
        # (spec 2.6.10)
        pytest.param([PodDesired(over=True)], T, id="first seen over while something may run: ended first"),
        pytest.param([KillRequested()], T, id="a kill before the first sync still ends what an old agent left"),
        # (spec 2.6.18)
        pytest.param([NameTaken(), PodDesired()], W, id="a static pod waits while its name is taken"),
        # (spec 2.6.18)
        pytest.param([NameTaken(), PodDesired(), NameFree()], S, id="a static pod starts when its name is free"),
        # (spec 2.6.19)
        pytest.param([NameTaken(), KillRequested()], F, id="a static pod ended before its turn is finished"),
        # (spec 2.6.22)
        pytest.param(
            [PodDesired(), KillRequested(), ContainersStopped()], D, id="stopped containers make it terminated"
        ),
        # (spec 2.6.23)
        pytest.param([Orphaned(), ContainersStopped()], F, id="an orphan is finished when it has stopped"),
        # (spec 2.6.24)
        pytest.param([PodDesired(), KillRequested(), ContainersStopped(), CleanedUp()], F, id="clean means finished"),
        # (spec 2.6.3)
        pytest.param([PodDesired(), KillRequested(), PodDesired()], T, id="an update does not bring it back"),
        # (spec 2.6.3)
        pytest.param(
            [PodDesired(), KillRequested(), ContainersStopped(), PodDesired(created=True)], D, id="nor an addition"
        ),
    ],
)
def test_spec_2_6_stage(events: list[Event], stage: PodStage) -> None:
    assert walk(*events).stage is stage


@pytest.mark.parametrize(
    ("events", "grace"),
    [
        # (spec 2.6.13)
        pytest.param([KillRequested(spec_grace_seconds=30)], 30, id="the spec's when nobody asks"),
        # (spec 2.6.12)
        pytest.param([KillRequested(grace_seconds=5, spec_grace_seconds=30)], 5, id="an override wins over the spec"),
        # (spec 2.6.12)
        pytest.param(
            [PodDesired(deleting=True, deletion_grace_seconds=20, spec_grace_seconds=30)], 20, id="the deletion's"
        ),
        # (spec 2.6.12)
        pytest.param(
            [KillRequested(grace_seconds=50, deletion_grace_seconds=20)], 20, id="the least of override and deletion"
        ),
        # (spec 2.6.15)
        pytest.param([KillRequested(grace_seconds=5), KillRequested(grace_seconds=50)], 5, id="it never grows"),
        # (spec 2.6.15)
        pytest.param([KillRequested(grace_seconds=50), KillRequested(grace_seconds=5)], 5, id="it shrinks"),
        # (spec 2.6.14)
        pytest.param([KillRequested(grace_seconds=0)], 1, id="never less than a second"),
        pytest.param([KillRequested()], 1, id="a second when nothing at all is said"),
        pytest.param([Orphaned()], 1, id="a second for what only the runtime knows"),
    ],
)
def test_spec_2_6_grace(events: list[Event], grace: int) -> None:
    assert walk(*events).grace_seconds == grace


@pytest.mark.parametrize(
    ("before", "event", "cancelled"),
    [
        # (spec 2.6.16)
        pytest.param([PodDesired()], KillRequested(), True, id="becoming terminating cancels the sync"),
        # (spec 2.6.16)
        pytest.param([PodDesired()], PodDesired(deleting=True), True, id="so does a deletion"),
        pytest.param([PodDesired()], PodDesired(), False, id="an update does not"),
        # (spec 2.6.25)
        pytest.param([PodDesired()], Synced(terminal=True), False, id="a sync that ended need not be cancelled"),
        # (spec 2.6.17)
        pytest.param([KillRequested(grace_seconds=30)], KillRequested(grace_seconds=5), True, id="less grace cancels"),
        # (spec 2.6.17)
        pytest.param([KillRequested(grace_seconds=5)], KillRequested(grace_seconds=30), False, id="more does not"),
        # (spec 2.6.17)
        pytest.param([KillRequested(grace_seconds=5)], KillRequested(grace_seconds=5), False, id="nor does the same"),
    ],
)
def test_spec_2_6_cancelling_the_pass(before: list[Event], event: Event, cancelled: bool) -> None:
    assert advance(walk(*before), event, 9).cancel_pass is cancelled


@pytest.mark.parametrize("end", [[], [ContainersStopped()], [ContainersStopped(), CleanedUp()]])
# (spec 2.6.11)
def test_spec_2_6_a_pod_brought_anew_while_it_ends_asks_for_a_restart(end: list[Event]) -> None:
    life = walk(PodDesired(), KillRequested(), *end)
    assert not life.restart_requested
    assert walk(PodDesired(created=True), life=life).restart_requested


def test_spec_2_6_an_orphan_that_is_desired_after_all_gets_a_life_of_its_own_later() -> None:
    assert walk(Orphaned(), PodDesired()).restart_requested


# (spec 2.6.4, 2.6.9)
def test_spec_2_6_marks_are_kept_and_times_are_set_once() -> None:
    life = walk(
        PodDesired(static=True),
        KillRequested(evicted=True, reason="Evicted", message="low on memory"),
        KillRequested(removed=True),
        ContainersStopped(),
        CleanedUp(),
    )
    assert (life.static, life.evicted, life.deleted) == (True, True, True)
    assert (life.reason, life.message) == ("Evicted", "low on memory")
    times = (life.started_at_ns, life.terminating_at_ns, life.terminated_at_ns, life.finished_at_ns)
    assert times == (1, 2, 4, 5)


@pytest.mark.parametrize("stage", list(PodStage))
@pytest.mark.parametrize("event", [CleanedUp(), ContainersStopped(), Synced(), Orphaned(), NameTaken(), NameFree()])
def test_spec_2_6_an_illegal_event_is_refused_with_the_legal_ones(stage: PodStage, event: Event) -> None:
    life = msgspec.structs.replace(BEGINNING, stage=stage)
    if has_rules(TABLE, stage, type(event)):
        advance(life, event, 1)
        return
    with pytest.raises(IllegalTransitionError, match=r"it can meet .*Desired"):
        advance(life, event, 1)


def test_spec_2_6_every_stage_hears_of_desire_and_of_the_order_to_end() -> None:
    assert all(has_rules(TABLE, stage, kind) for stage in PodStage for kind in (PodDesired, KillRequested))


_UNKNOWN_POD = [
    (lifecycle.should_content_be_removed, False, True),
]


@pytest.mark.parametrize(("query", "before", "after"), _UNKNOWN_POD, ids=lambda each: getattr(each, "__name__", None))
# (spec 2.6.27)
def test_spec_2_6_queries_about_an_unknown_pod_depend_on_the_sources(query, before: bool, after: bool) -> None:
    assert (query(None, False), query(None, True)) == (before, after)


# (spec 2.6.27)
def test_spec_2_6_an_unknown_pod_is_not_known_to_end() -> None:
    assert not lifecycle.is_termination_requested(None)


_SYNCING = walk(PodDesired(static=True))
_ENDING = walk(PodDesired(static=True), KillRequested())
_ENDED = walk(PodDesired(static=True), KillRequested(), ContainersStopped())
_DELETED = walk(PodDesired(), KillRequested(removed=True), ContainersStopped())
_EVICTED = walk(PodDesired(), KillRequested(evicted=True))
_FINISHED = walk(PodDesired(), KillRequested(), ContainersStopped(), CleanedUp())


@pytest.mark.parametrize(
    ("life", "answers"),
    [
        # termination requested, content away
        pytest.param(_SYNCING, (0, 0), id="syncing"),
        pytest.param(_ENDING, (1, 0), id="terminating"),
        pytest.param(_ENDED, (1, 0), id="terminated"),
        pytest.param(_DELETED, (1, 1), id="terminated and deleted"),
        pytest.param(_EVICTED, (1, 1), id="evicted"),
        pytest.param(_FINISHED, (1, 0), id="finished"),
    ],
)
# (spec 2.6.26)
def test_spec_2_6_truth_table_of_queries(life: PodLife, answers: tuple[int, ...]) -> None:
    assert (
        lifecycle.is_termination_requested(life),
        lifecycle.should_content_be_removed(life, True),
    ) == answers


def test_spec_2_6_events_are_made_from_the_pod() -> None:
    deleting = pod(
        "a",
        meta={"deletion_timestamp": "2026-01-01T00:00:00Z", "deletion_grace_period_seconds": 7},
        termination_grace_period_seconds=30,
        status=PodStatus(phase="Failed"),
    )
    made = lifecycle.desired(deleting, created=True, nothing_runs=True)
    assert made == PodDesired(True, True, True, True, False, 7, 30)
    kill = lifecycle.kill_requested(deleting, grace_seconds=3, removed=True)
    assert (kill.grace_seconds, kill.deletion_grace_seconds, kill.spec_grace_seconds) == (3, 7, 30)
    assert lifecycle.kill_requested(None).spec_grace_seconds is None


_EVENTS = st.one_of(
    st.builds(
        PodDesired, created=st.booleans(), deleting=st.booleans(), over=st.booleans(), nothing_runs=st.booleans()
    ),
    st.builds(KillRequested, grace_seconds=st.none() | st.integers(0, 60), removed=st.booleans()),
    st.builds(Synced, terminal=st.booleans()),
    st.sampled_from([Orphaned(), NameTaken(), NameFree(), ContainersStopped(), CleanedUp()]),
)


@given(st.lists(_EVENTS, max_size=25))
# (spec 2.6.3)
def test_spec_2_6_whatever_happens_a_life_only_goes_on_and_the_grace_only_shrinks(events: list[Event]) -> None:
    order = list(PodStage)
    life = BEGINNING
    for moment, event in enumerate(events):
        try:
            after = advance(life, event, moment).life
        except IllegalTransitionError:
            continue
        assert order.index(after.stage) >= order.index(life.stage)
        if life.grace_seconds is not None:
            assert after.grace_seconds is not None
            assert after.grace_seconds <= life.grace_seconds
        life = after
