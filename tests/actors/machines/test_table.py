"""The engine of state tables, on a door; and what every table of the agent must keep to."""

from __future__ import annotations

import enum
from typing import Any

import msgspec
import pytest

from actors.kernel import lifecycle
from actors.machines.table import IllegalTransitionError, StagedState, StateTable
from actors.pod_rules import container_start
from actors.pod_rules import lifecycle as pod_lifecycle
from actors.probes import state as probe_state
from actors.volumes import state as volume_state
from tests.actors.machines.mistakes import shadowed, undecided, unreachable

TABLES: dict[str, StateTable[Any, Any]] = {
    "a pod": pod_lifecycle.TABLE,
    "a container's start": container_start.TABLE,
    "a probe": probe_state.TABLE,
    "a thing on disk": volume_state.TABLE,
    "an actor": lifecycle.TABLE,
}
EVERY = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@EVERY
def test_every_stage_can_be_reached(table: StateTable[Any, Any]) -> None:
    assert unreachable(table) == frozenset()


@EVERY
def test_every_rule_can_apply(table: StateTable[Any, Any]) -> None:
    assert shadowed(table) == ()


@EVERY
def test_every_rule_has_a_reason(table: StateTable[Any, Any]) -> None:
    assert all(rule.why for row in table.rows for rule in row.rules)


@pytest.mark.parametrize(
    ("table", "refused"),
    [
        (pod_lifecycle.TABLE, set()),
        (lifecycle.TABLE, set()),
        (volume_state.TABLE, {volume_state.MakeBegun, volume_state.UnmakeBegun}),
    ],
    ids=["a pod", "an actor", "a thing on disk"],
)
def test_a_table_refuses_only_events_that_its_caller_can_avoid(
    table: StateTable[Any, Any], refused: set[type[Any]]
) -> None:
    assert {row.event for row in undecided(table)} == refused


class DoorStage(enum.Enum):
    OPEN = "open"
    CLOSED = "closed"
    WALLED_UP = "walled up"


class Door(StagedState[DoorStage], frozen=True):
    key: str = ""
    visitors: int = 0


class Pushed(msgspec.Struct, frozen=True):
    key: str = ""


class Slammed(msgspec.Struct, frozen=True):
    pass


def _locked(door: Door, event: Pushed) -> bool:
    return event.key != door.key


def _counted(door: Door, event: Pushed) -> Door:
    return msgspec.structs.replace(door, visitors=door.visitors + 1)


def doors(otherwise: str = "") -> StateTable[DoorStage, Door]:
    table = StateTable[DoorStage, Door]("a door", DoorStage.CLOSED, otherwise)
    (
        table.on(DoorStage.CLOSED, Pushed)
        .stay("only its key opens it", _locked)
        .to(DoorStage.OPEN, "somebody comes in", effect=_counted)
    )
    table.on(DoorStage.OPEN, Slammed).to(DoorStage.CLOSED, "the wind was strong")
    return table


CLOSED = Door(DoorStage.CLOSED, "yale")


def test_the_first_rule_that_holds_applies_with_its_effect() -> None:
    assert doors().meet(CLOSED, Pushed("yale")) == Door(DoorStage.OPEN, "yale", 1)


def test_a_rule_that_stays_gives_back_the_very_same_state() -> None:
    assert doors().meet(CLOSED, Pushed()) is CLOSED


def test_an_event_without_a_rule_is_refused_with_what_is_legal() -> None:
    with pytest.raises(IllegalTransitionError, match="a door that is closed cannot meet Slammed; it can meet Pushed"):
        doors().meet(CLOSED, Slammed())


def test_an_event_without_a_rule_that_holds_is_refused_with_the_state() -> None:
    table = StateTable[DoorStage, Door]("a door", DoorStage.CLOSED)
    table.on(DoorStage.CLOSED, Pushed).to(DoorStage.OPEN, "nobody locked it", _locked)
    with pytest.raises(IllegalTransitionError, match=r"no rule for .*yale.* holds in .*visitors=0"):
        table.meet(CLOSED, Pushed("yale"))
    assert [row.event for row in undecided(table)] == [Pushed]


def test_a_table_may_ignore_what_it_has_no_rule_for() -> None:
    table = doors(otherwise="a door takes no notice")
    assert table.meet(CLOSED, Slammed()) is CLOSED
    assert table.target(DoorStage.CLOSED, CLOSED, Slammed()) is DoorStage.CLOSED


def test_two_rows_for_one_stage_and_event_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="OPEN has two rows for Slammed"):
        doors().on((DoorStage.CLOSED, DoorStage.OPEN), Slammed)


def test_a_table_knows_its_stages_that_nothing_leads_to() -> None:
    assert unreachable(doors()) == {DoorStage.WALLED_UP}


def test_a_rule_behind_one_that_asks_for_less_is_shadowed() -> None:
    table = doors()
    (table.on(DoorStage.OPEN, Pushed).stay("it is open already").to(DoorStage.CLOSED, "this never applies", _locked))
    assert [rule.why for rule in shadowed(table)] == ["this never applies"]
