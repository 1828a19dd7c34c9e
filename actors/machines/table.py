"""A state machine as a table: for each stage and type of event, the rules in order. Pure.

    DOOR = StateTable[DoorStage, Door]("a door", DoorStage.CLOSED)
    (
        DOOR.on(DoorStage.CLOSED, Pushed)
        .stay("only its key opens it", locked)
        .to(DoorStage.OPEN, "somebody comes in", effect=counted)
    )
    after = DOOR.meet(before, Pushed(hand="left"))

The first rule whose guards all hold applies. A guard is a function of the state and the event, and its name is its text
on the drawn page. An effect returns the state with its other fields changed; the engine sets the stage.

An event may meet a stage that has no rule for it, or none that holds. A table with `otherwise` then leaves the state as
it is: `otherwise` says why. A table without it raises `IllegalTransitionError`.

`docs.generators` draws a table, and `tests.actors.machines.mistakes` looks for mistakes in it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

import msgspec

StageT = TypeVar("StageT", bound=enum.Enum)
StateT = TypeVar("StateT")
EventT = TypeVar("EventT")
StagedT = TypeVar("StagedT", bound="StagedState[Any]")


class StagedState(msgspec.Struct, Generic[StageT], frozen=True):
    """The state of a machine that `StateTable.meet` can move."""

    stage: StageT


class IllegalTransitionError(ValueError):
    """The event cannot come in this stage: the caller has lost track of the machine."""


class Rule(msgspec.Struct, Generic[StageT, StateT, EventT], frozen=True):
    """When all `guards` hold, the machine goes to `target`, or stays where that is None.

    `why`: the reason.
    """

    target: StageT | None
    why: str
    guards: tuple[Callable[[StateT, EventT], bool], ...]
    effect: Callable[[StateT, EventT], StateT] | None

    @property
    def when(self) -> str:
        """The guards in words; empty when the rule always holds."""
        return ", ".join(guard.__name__.strip("_").replace("_", " ") for guard in self.guards)

    def holds(self, state: StateT, event: EventT) -> bool:
        return all(guard(state, event) for guard in self.guards)


class TransitionRow(Generic[StageT, StateT, EventT]):
    """The rules for one type of event in some stages."""

    def __init__(self, stages: tuple[StageT, ...], event: type[EventT]) -> None:
        self.stages = stages
        self.event = event
        self.rules: list[Rule[StageT, StateT, EventT]] = []

    def to(
        self,
        target: StageT,
        why: str,
        *guards: Callable[[StateT, EventT], bool],
        effect: Callable[[StateT, EventT], StateT] | None = None,
    ) -> TransitionRow[StageT, StateT, EventT]:
        """Append a rule."""
        self.rules.append(Rule(target, why, guards, effect))
        return self

    def stay(
        self,
        why: str,
        *guards: Callable[[StateT, EventT], bool],
        effect: Callable[[StateT, EventT], StateT] | None = None,
    ) -> TransitionRow[StageT, StateT, EventT]:
        """Append a rule that keeps the stage."""
        self.rules.append(Rule(None, why, guards, effect))
        return self


class StateTable(Generic[StageT, StateT]):
    """The rules of one machine. `subject` names it in errors, `first` is its first stage.

    `StateT` is what guards and effects see. Rows are added while the module loads, and never later.
    """

    def __init__(self, subject: str, first: StageT, otherwise: str = "") -> None:
        self.subject = subject
        self.first = first
        self.otherwise = otherwise
        self.rows: list[TransitionRow[StageT, StateT, Any]] = []
        self._by_pair: dict[tuple[StageT, type[Any]], TransitionRow[StageT, StateT, Any]] = {}

    def on(self, stages: StageT | Collection[StageT], event: type[EventT]) -> TransitionRow[StageT, StateT, EventT]:
        """Begin the row of `event` in `stages`. Raises ValueError when a stage already has one."""
        row = TransitionRow[StageT, StateT, EventT](
            (stages,) if isinstance(stages, enum.Enum) else tuple(stages), event
        )
        for stage in row.stages:
            if (stage, event) in self._by_pair:
                raise ValueError(f"{stage.name} has two rows for {event.__name__}")
            self._by_pair[stage, event] = row
        self.rows.append(row)
        return row

    def rule(self, stage: StageT, state: StateT, event: object) -> Rule[StageT, StateT, Any] | None:
        """The rule that applies; None when `otherwise` does. Raises IllegalTransitionError."""
        row = self._by_pair.get((stage, type(event)))
        for rule in row.rules if row is not None else ():
            if rule.holds(state, event):
                return rule
        if self.otherwise:
            return None
        legal = ", ".join(sorted(kind.__name__ for known, kind in self._by_pair if known is stage))
        why = f"it can meet {legal or 'nothing'}" if row is None else f"no rule for {event} holds in {state}"
        raise IllegalTransitionError(f"{self.subject} that is {stage.value} cannot meet {type(event).__name__}; {why}")

    def target(self, stage: StageT, state: StateT, event: object) -> StageT:
        """The stage after the event. Raises IllegalTransitionError."""
        rule = self.rule(stage, state, event)
        return stage if rule is None or rule.target is None else rule.target

    def meet(self: StateTable[StageT, StagedT], state: StagedT, event: object) -> StagedT:
        """The state after the event; the very same object when nothing changes. Raises IllegalTransitionError."""
        rule = self.rule(state.stage, state, event)
        if rule is None:
            return state
        after = rule.effect(state, event) if rule.effect is not None else state
        return after if rule.target is None else msgspec.structs.replace(after, stage=rule.target)

    # --- what it holds ----------------------------------------------------------------------------------------------

    @property
    def stages(self) -> tuple[StageT, ...]:
        return tuple(type(self.first))

    @property
    def events(self) -> frozenset[type[Any]]:
        """The types of events that some stage has a rule for."""
        return frozenset(row.event for row in self.rows)
