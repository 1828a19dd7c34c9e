"""One probe of one container: a state machine without I/O (spec 5). Theory of operation:

    ABSENT     its container does not run
    GATED      the container runs, but its startup probe has not succeeded: no other probe checks before
    WAITING    the next check is due at a known time
    CHECKING   a check is under way
    HELD       it has decided for this container, and checks no more until another one runs
    OVER       the pod ends, and the probe could only kill it

The worker reports what it has seen of the container (`ContainerRuns`, `ContainerGone`) whenever it looks. `CheckDue` is
the probe's own timer, `Answered` the end of a check. `PodEnding` comes once. `TABLE` holds all rules;
`docs/reference/probe-states.md` draws it. An event without a rule changes nothing.

A verdict needs as many equal answers in a row as the probe's thresholds say. It belongs to one container: with another
id everything starts anew, and the result is the initial one. That is why a startup probe that has decided, and a
liveness probe that has failed, are HELD: they have nothing more to say about this container.

Checks are numbered, and an answer to an earlier check is ignored: its container is gone, or the check was given up. A
check without a verdict (`UNKNOWN`) is repeated at once, at most twice, unless it is `final`. After that it does not
count. Nor does a check for which this node was too slow (`LATE`). `CheckDue` while CHECKING means that an answer is
overdue beyond all limits: the check is given up and does not count.

Due times are a grid: first + n periods. A check that takes longer than a period is followed by the next at once; missed
checks are not made up for.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from actors.machines.table import StagedState, StateTable, TransitionRow
from actors.probes.rules import MAX_TRIES, ProbeKind, Terms, next_due_ns
from runtime.probes import ProbeOutcome


class ProbeStage(enum.StrEnum):
    """The stage of a probe."""

    ABSENT = "absent"
    GATED = "gated"
    WAITING = "waiting"
    CHECKING = "checking"
    HELD = "held"
    OVER = "over"


class ProbeLife(StagedState[ProbeStage], frozen=True):
    """A probe.

    `result`: the verdict on `container_id`, or the initial one. `streak`: the number of equal answers in a row, good
    ones if `good`. `check`: the number of the last check, begun at `asked_at_ns`; `tries`: how often it was made.
    """

    terms: Terms
    container_id: str = ""
    result: bool | None = None
    good: bool = False
    streak: int = 0
    due_ns: int = 0
    check: int = 0
    tries: int = 0
    asked_at_ns: int = 0


def beginning(terms: Terms) -> ProbeLife:
    """A probe whose container has not been seen."""
    return ProbeLife(ProbeStage.ABSENT, terms, result=terms.kind.initial)


# --- events ---------------------------------------------------------------------------------------------------------


class ContainerRuns(msgspec.Struct, frozen=True):
    """The container runs.

    `gated`: it has a startup probe that has not succeeded. `due_ns`: of the first check.

    `kept`: the result that an earlier agent published for this very container, or None.
    """

    container_id: str
    due_ns: int
    gated: bool = False
    kept: bool | None = None


class ContainerGone(msgspec.Struct, frozen=True):
    """The container does not run."""


class CheckDue(msgspec.Struct, frozen=True):
    """The timer has fired."""

    now_ns: int


class Answered(msgspec.Struct, frozen=True):
    """Check number `check` has ended. `final`: do not repeat it, whatever its outcome."""

    check: int
    outcome: ProbeOutcome
    now_ns: int
    final: bool = False


class PodEnding(msgspec.Struct, frozen=True):
    """The pod ends."""


Event: TypeAlias = ContainerRuns | ContainerGone | CheckDue | Answered | PodEnding

# --- rules ----------------------------------------------------------------------------------------------------------

_replace = msgspec.structs.replace


def _another_one(life: ProbeLife, event: ContainerRuns) -> bool:
    return event.container_id != life.container_id


def _not_started(life: ProbeLife, event: ContainerRuns) -> bool:
    return event.gated and life.terms.kind is not ProbeKind.STARTUP


def _started_before(life: ProbeLife, event: ContainerRuns) -> bool:
    return life.terms.kind is ProbeKind.STARTUP and event.kept is True


def _it_could_only_kill(life: ProbeLife, event: PodEnding) -> bool:
    return life.terms.kind.ends_containers


def _of_an_earlier_check(life: ProbeLife, event: Answered) -> bool:
    return event.check != life.check


def _no_verdict(life: ProbeLife, event: Answered) -> bool:
    return event.outcome in (ProbeOutcome.UNKNOWN, ProbeOutcome.LATE)


def _no_verdict_and_tries_left(life: ProbeLife, event: Answered) -> bool:
    return event.outcome is ProbeOutcome.UNKNOWN and not event.final and life.tries < MAX_TRIES


def _it_decides(life: ProbeLife, event: Answered) -> bool:
    """Any verdict of a startup probe, a bad one of a liveness probe."""
    after = _counted(life, event)
    if life.terms.kind is ProbeKind.STARTUP:
        return after.result is not None
    return life.terms.kind is ProbeKind.LIVENESS and after.result is False


def _begun(life: ProbeLife, event: ContainerRuns) -> ProbeLife:
    """Another container: start anew, but keep counting checks."""
    result = life.terms.kind.initial if event.kept is None else event.kept
    return ProbeLife(life.stage, life.terms, event.container_id, result, due_ns=event.due_ns, check=life.check)


def _opened(life: ProbeLife, event: ContainerRuns) -> ProbeLife:
    return _replace(life, due_ns=event.due_ns)


def _forgotten(life: ProbeLife, event: ContainerGone) -> ProbeLife:
    return _replace(beginning(life.terms), check=life.check)


def _ended(life: ProbeLife, event: PodEnding) -> ProbeLife:
    """A probe that could only kill is satisfied from now on.

    One whose container has not started keeps its result, because otherwise the container would count as ready.
    """
    known = life.terms.kind is not ProbeKind.STARTUP or life.result is True
    return _replace(life, result=True if known else None)


def _asked(life: ProbeLife, event: CheckDue) -> ProbeLife:
    due_ns = next_due_ns(life.terms, life.due_ns, event.now_ns)
    return _replace(life, check=life.check + 1, tries=1, asked_at_ns=event.now_ns, due_ns=due_ns)


def _asked_again(life: ProbeLife, event: Answered) -> ProbeLife:
    return _replace(life, check=life.check + 1, tries=life.tries + 1, asked_at_ns=event.now_ns)


def _counted(life: ProbeLife, event: Answered) -> ProbeLife:
    good = event.outcome in (ProbeOutcome.SUCCESS, ProbeOutcome.WARNING)
    streak = life.streak + 1 if good is life.good else 1
    needed = life.terms.successes if good else life.terms.failures
    result = good if streak >= needed else life.result
    return _replace(life, good=good, streak=streak, result=result)


def _renamed(life: ProbeLife, event: ContainerRuns) -> ProbeLife:
    if life.terms.kind is ProbeKind.STARTUP and _another_one(life, event):
        return _replace(life, container_id=event.container_id, result=event.kept)
    return _replace(life, container_id=event.container_id)


_S = ProbeStage
TABLE = StateTable[ProbeStage, ProbeLife]("a probe", _S.ABSENT, otherwise="it says nothing new")
_Row: TypeAlias = TransitionRow[ProbeStage, ProbeLife, ContainerRuns]


def _begins(row: _Row, *guards: Callable[[ProbeLife, ContainerRuns], bool]) -> _Row:
    return (
        row.to(_S.HELD, "an earlier agent has seen it start", *guards, _started_before, effect=_begun)
        .to(_S.GATED, "only its startup probe checks before it has started", *guards, _not_started, effect=_begun)
        .to(_S.WAITING, "it runs: the first check has its time", *guards, effect=_begun)
    )


_begins(TABLE.on(_S.ABSENT, ContainerRuns))
(
    _begins(TABLE.on(_S.GATED, ContainerRuns), _another_one)
    .stay("only its startup probe checks before it has started", _not_started)
    .to(_S.WAITING, "it has started", effect=_opened)
)
_begins(TABLE.on((_S.WAITING, _S.CHECKING, _S.HELD), ContainerRuns), _another_one)
_SEEN = (_S.GATED, _S.WAITING, _S.CHECKING, _S.HELD)
TABLE.on(_SEEN, ContainerGone).to(_S.ABSENT, "a container that does not run is not checked", effect=_forgotten)
TABLE.on(_S.WAITING, CheckDue).to(_S.CHECKING, "it is time", effect=_asked)
TABLE.on(_S.CHECKING, CheckDue).to(_S.WAITING, "an answer is overdue; the check is given up and does not count")
(
    TABLE.on(_S.CHECKING, Answered)
    .stay("it says nothing of this check", _of_an_earlier_check)
    .stay("a check without a verdict is repeated", _no_verdict_and_tries_left, effect=_asked_again)
    .to(_S.WAITING, "it does not count", _no_verdict)
    .to(_S.HELD, "there is nothing left to say of this container", _it_decides, effect=_counted)
    .to(_S.WAITING, "one more answer", effect=_counted)
)
_UNTIL_THE_END = (_S.ABSENT, *_SEEN)
TABLE.on(_UNTIL_THE_END, PodEnding).to(
    _S.OVER, "a pod that ends is not killed for being unwell", _it_could_only_kill, effect=_ended
)
TABLE.on(_S.OVER, ContainerRuns).stay("it is over, and knows its container", effect=_renamed)


def advance(life: ProbeLife, event: Event) -> ProbeLife:
    """The probe after the event; the very same object when nothing has changed."""
    return TABLE.meet(life, event)


def is_well(life: ProbeLife) -> bool:
    """Whether one more success would change nothing.

    Then a check that succeeds at once needs no `advance`.

    The probe stays on its grid, which any due time gives. A good answer ends no streak after a good verdict. The number
    of a check matters only while it is under way.
    """
    return life.stage is ProbeStage.WAITING and life.good and life.result is True
