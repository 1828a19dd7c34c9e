"""The states of directories, volumes and devices: the table, walked without any I/O."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.machines.table import IllegalTransitionError
from actors.volumes.state import (
    ABSENT,
    TABLE,
    UNMAKE_MAX_LOST,
    Event,
    Failed,
    Found,
    Late,
    LostEnded,
    MakeBegun,
    Succeeded,
    ThingLife,
    ThingStage,
    UnmakeBegun,
    advance,
    is_under_way,
    is_usable,
    may_make,
    may_unmake,
)
from tests.actors.machines.mistakes import moves

UNCERTAIN = ThingLife(ThingStage.UNCERTAIN)
HUNG = ThingLife(ThingStage.UNCERTAIN, 1)


def walk(*events: Event, start: ThingLife = ABSENT) -> ThingLife:
    life = start
    for event in events:
        life = advance(life, event)
    return life


@pytest.mark.parametrize(
    ("start", "events", "end"),
    [
        (ABSENT, (MakeBegun(), Succeeded()), ThingLife(ThingStage.MADE)),
        (ABSENT, (MakeBegun(), Failed()), UNCERTAIN),
        (ABSENT, (MakeBegun(), Late()), HUNG),
        (ABSENT, (Found(),), UNCERTAIN),
        (ABSENT, (MakeBegun(), Succeeded(), UnmakeBegun(), Succeeded()), ABSENT),
        (ThingLife(ThingStage.MADE), (MakeBegun(), Failed()), ThingLife(ThingStage.MADE)),
        (ThingLife(ThingStage.MADE), (MakeBegun(), Late()), ThingLife(ThingStage.MADE, 1)),
        (ThingLife(ThingStage.MADE), (MakeBegun(), Late(), LostEnded()), ThingLife(ThingStage.MADE)),
        (ThingLife(ThingStage.MADE), (UnmakeBegun(), Failed()), UNCERTAIN),
        (UNCERTAIN, (MakeBegun(), Succeeded()), ThingLife(ThingStage.MADE)),
        (UNCERTAIN, (UnmakeBegun(), Succeeded()), ABSENT),
        (HUNG, (UnmakeBegun(), Succeeded()), ThingLife(ThingStage.ABSENT, 1)),
        (HUNG, (UnmakeBegun(), Succeeded(), LostEnded()), UNCERTAIN),
        (HUNG, (UnmakeBegun(), LostEnded(), Succeeded()), UNCERTAIN),
        (HUNG, (UnmakeBegun(), LostEnded(), Late()), HUNG),
        (HUNG, (UnmakeBegun(), Late()), ThingLife(ThingStage.UNCERTAIN, 2)),
    ],
)
def test_the_table_decides_the_next_stage_of_a_volume(start: ThingLife, events: tuple[Event, ...], end: ThingLife):
    assert walk(*events, start=start) == end


@pytest.mark.parametrize(
    ("life", "event"),
    [
        (HUNG, MakeBegun()),
        (ThingLife(ThingStage.ABSENT, 1), MakeBegun()),
        (ThingLife(ThingStage.MADE, 1), MakeBegun()),
        (ThingLife(ThingStage.UNCERTAIN, 2), UnmakeBegun()),
        (ABSENT, UnmakeBegun()),
        (ThingLife(ThingStage.MAKING), UnmakeBegun()),
        (ThingLife(ThingStage.MADE), Succeeded()),
    ],
)
def test_an_illegal_volume_transition_is_refused(life: ThingLife, event: Event):
    with pytest.raises(IllegalTransitionError):
        advance(life, event)


@pytest.mark.parametrize("stage", list(ThingStage))
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_volume_operation_may_begin_only_when_the_table_allows_it(stage: ThingStage, lost: int):
    life = ThingLife(stage, lost)
    for may, begun in ((may_make, MakeBegun()), (may_unmake, UnmakeBegun())):
        try:
            advance(life, begun)
        except IllegalTransitionError:
            assert not may(life)
        else:
            assert may(life)


EVENTS: tuple[Event, ...] = (MakeBegun(), UnmakeBegun(), Succeeded(), Failed(), Late(), LostEnded(), Found())


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_running_volume_calls_are_counted_and_bounded_on_every_path(events: list[Event]):
    life, running = ABSENT, 0
    for event in events:
        if isinstance(event, LostEnded) and life.lost == 0:
            continue
        try:
            after = advance(life, event)
        except IllegalTransitionError:
            continue
        running += isinstance(event, (MakeBegun, UnmakeBegun))
        running -= isinstance(event, (Succeeded, Failed, LostEnded))
        life = after
        assert running == life.lost + is_under_way(life)
        assert running <= UNMAKE_MAX_LOST + 1
        assert not (life == ABSENT and running), "nothing is forgotten while a call runs"
        assert not (is_usable(life) and isinstance(event, Found) and life.stage is ThingStage.ABSENT)


def test_every_volume_stage_can_be_left():
    assert {stage for stage, _ in moves(TABLE)} == set(ThingStage)
