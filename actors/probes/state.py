"""One probe of one container: a state machine without any I/O (spec 5). Rules and theory of operation:

    ABSENT     its container does not run
    GATED      it runs, but its startup probe has not succeeded yet: nothing else is asked before
    WAITING    the next check is due at a time that is known
    CHECKING   a check is under way
    HELD       it has decided for this container; nothing is asked until another runs
    OVER       the pod ends, and a probe that could only kill is over

Five kinds of events move it. `Running` and `Gone` are what the worker has seen of the container, told again whenever
it looks; `Due` is the probe's own timer; `Answered` the end of a check; `Ending` says that the pod ends, once and for
all. `TABLE` is everything, first rule that holds; `actors.probe_state_page` draws it.

A verdict needs so many answers of one kind in a row as the probe's thresholds say. What belongs to one container says
nothing of the next: with another id everything begins anew, the result at its initial value. That is why a startup
probe that has decided, and a liveness probe that has failed, are HELD: they have said what there is to say of it.

Checks are numbered. An answer to an earlier one (its container has gone meanwhile, or it was given up) meets nobody. A
check that could not be made (`UNKNOWN`) is made again at once, twice, if there is hope (`final` is not set); after that
it counts for nothing, and so does one that this node has been too slow for (`LATE`). `Due` while CHECKING means that an
answer is overdue beyond all limits: the check is given up, and counts for nothing.

Due times are a grid: first + n periods. A check that takes longer than a period is followed by the next at once; those
that were missed are not made up for.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from actors.probes.rules import MAX_TRIES, ProbeKind, Terms, next_due_ns
from runtime.probes import Outcome


class Stage(enum.StrEnum):
    """Where a probe is."""

    ABSENT = "absent"
    GATED = "gated"
    WAITING = "waiting"
    CHECKING = "checking"
    HELD = "held"
    OVER = "over"


_WAITING = Stage.WAITING  # asked at every probe: a member of an enum costs ten times a global name


class ProbeLife(msgspec.Struct, frozen=True):
    """A probe. `result`: the verdict on `container_id`, initial until there is one. `streak`: answers of one kind
    (`good` or not) in a row. `check`: number of the last check; `tries`: how often it was made. `asked_at_ns`: when.
    """

    terms: Terms
    stage: Stage = Stage.ABSENT
    container_id: str = ""
    result: bool | None = None
    good: bool = False
    streak: int = 0
    due_ns: int = 0
    check: int = 0
    tries: int = 0
    asked_at_ns: int = 0


def beginning(terms: Terms) -> ProbeLife:
    """Before its container has been seen."""
    return ProbeLife(terms, result=terms.kind.initial)


# --- events ---------------------------------------------------------------------------------------------------------


class Running(msgspec.Struct, frozen=True):
    """The container runs. `gated`: it has a startup probe that has not succeeded. `due_ns`: of the first check.

    `kept`: the result that an earlier agent has published for this very container; None: none is known.
    """

    container_id: str
    due_ns: int
    gated: bool = False
    kept: bool | None = None


class Gone(msgspec.Struct, frozen=True):
    """The container does not run."""


class Due(msgspec.Struct, frozen=True):
    """The timer has come to its end."""

    now_ns: int


class Answered(msgspec.Struct, frozen=True):
    """Check number `check` has ended. `final`: it is not to be repeated, whatever came of it."""

    check: int
    outcome: Outcome
    now_ns: int
    final: bool = False


class Ending(msgspec.Struct, frozen=True):
    """The pod ends."""


Event: TypeAlias = Running | Gone | Due | Answered | Ending
EVENTS: tuple[type[Event], ...] = (Running, Gone, Due, Answered, Ending)

# --- rules ----------------------------------------------------------------------------------------------------------

Condition: TypeAlias = Callable[[ProbeLife, Event], bool]
Effect: TypeAlias = Callable[[ProbeLife, Event], ProbeLife]


class Rule(msgspec.Struct, frozen=True):
    """When `holds` (in words: `when`, empty for always), the probe goes to `target`, because of `why`."""

    when: str
    holds: Condition
    target: Stage
    why: str
    effect: Effect


def _always(life: ProbeLife, event: Event) -> bool:
    return True


def _another(life: ProbeLife, event: Event) -> bool:
    return isinstance(event, Running) and event.container_id != life.container_id


def _gated(life: ProbeLife, event: Event) -> bool:
    return isinstance(event, Running) and event.gated and life.terms.kind is not ProbeKind.STARTUP


def _started_before(life: ProbeLife, event: Event) -> bool:
    return isinstance(event, Running) and life.terms.kind is ProbeKind.STARTUP and event.kept is True


def _both(first: Condition, second: Condition) -> Condition:
    return lambda life, event: first(life, event) and second(life, event)


def _kills(life: ProbeLife, event: Event) -> bool:
    return life.terms.kind.ends_containers


def _stale(life: ProbeLife, event: Event) -> bool:
    return isinstance(event, Answered) and event.check != life.check


def _to_repeat(life: ProbeLife, event: Event) -> bool:
    return (
        isinstance(event, Answered)
        and event.outcome is Outcome.UNKNOWN
        and not event.final
        and life.tries < MAX_TRIES
        and not _stale(life, event)
    )


def _no_verdict(life: ProbeLife, event: Event) -> bool:
    return isinstance(event, Answered) and event.outcome in (Outcome.UNKNOWN, Outcome.LATE)


def _decides(life: ProbeLife, event: Event) -> bool:
    """A startup probe with any verdict, a liveness probe with a bad one."""
    after = _counted(life, event)
    if life.terms.kind is ProbeKind.STARTUP:
        return after.result is not None
    return life.terms.kind is ProbeKind.LIVENESS and after.result is False


def _same(life: ProbeLife, event: Event) -> ProbeLife:
    return life


def _anew(life: ProbeLife, event: Event) -> ProbeLife:
    """Another container: nothing of the one before counts."""
    assert isinstance(event, Running)
    result = life.terms.kind.initial if event.kept is None else event.kept
    fresh = ProbeLife(life.terms, life.stage, event.container_id, result, due_ns=event.due_ns)
    return msgspec.structs.replace(fresh, check=life.check)


def _opened(life: ProbeLife, event: Event) -> ProbeLife:
    assert isinstance(event, Running)
    return msgspec.structs.replace(life, due_ns=event.due_ns)


def _forgotten(life: ProbeLife, event: Event) -> ProbeLife:
    return ProbeLife(life.terms, life.stage, "", life.terms.kind.initial, check=life.check)


def _ended(life: ProbeLife, event: Event) -> ProbeLife:
    """What can only kill has no objection any more. What has not started has not for all that, or it would be ready."""
    known = life.terms.kind is not ProbeKind.STARTUP or life.result is True
    return msgspec.structs.replace(life, result=True if known else None)


def _asked(life: ProbeLife, event: Event) -> ProbeLife:
    assert isinstance(event, Due)
    due_ns = next_due_ns(life.terms, life.due_ns, event.now_ns)
    return msgspec.structs.replace(life, check=life.check + 1, tries=1, asked_at_ns=event.now_ns, due_ns=due_ns)


def _asked_again(life: ProbeLife, event: Event) -> ProbeLife:
    assert isinstance(event, Answered)
    return msgspec.structs.replace(life, check=life.check + 1, tries=life.tries + 1, asked_at_ns=event.now_ns)


def _counted(life: ProbeLife, event: Event) -> ProbeLife:
    assert isinstance(event, Answered)
    good = event.outcome in (Outcome.SUCCESS, Outcome.WARNING)
    streak = life.streak + 1 if good is life.good else 1
    needed = life.terms.successes if good else life.terms.failures
    result = good if streak >= needed else life.result
    return msgspec.structs.replace(life, good=good, streak=streak, result=result)


def _renamed(life: ProbeLife, event: Event) -> ProbeLife:
    assert isinstance(event, Running)
    if life.terms.kind is ProbeKind.STARTUP and _another(life, event):
        return msgspec.structs.replace(life, container_id=event.container_id, result=event.kept)
    return msgspec.structs.replace(life, container_id=event.container_id)


def _rule(target: Stage, why: str, when: str = "", holds: Condition = _always, effect: Effect = _same) -> Rule:
    return Rule(when, holds, target, why, effect)


_S = Stage
_BEGINS = (
    _rule(_S.HELD, "an earlier agent has seen it start", "started before", _started_before, _anew),
    _rule(_S.GATED, "before it has started it is asked nothing else", "not started", _gated, _anew),
    _rule(_S.WAITING, "it runs: the first check has its time", "", _always, _anew),
)
_BEGINS_ANEW = tuple(
    _rule(
        each.target, each.why, f"another one{', ' if each.when else ''}{each.when}", _both(_another, each.holds), _anew
    )
    for each in _BEGINS
)
_GOES = (_rule(_S.ABSENT, "what does not run is not asked", effect=_forgotten),)
_ENDS = _rule(_S.OVER, "who ends is not killed for being ill", "it could only kill", _kills, _ended)
_OVER = (_rule(_S.OVER, "it is over"),)
_NOT_ASKED = (_rule(_S.ABSENT, "a timer of before"),)
_LATE = "an answer of before"


def _stays(stage: Stage, why: str) -> tuple[Rule, ...]:
    return (_rule(stage, why),)


TABLE: dict[tuple[Stage, type[Event]], tuple[Rule, ...]] = {
    (_S.ABSENT, Running): _BEGINS,
    (_S.ABSENT, Gone): _stays(_S.ABSENT, "as before"),
    (_S.ABSENT, Due): _NOT_ASKED,
    (_S.ABSENT, Answered): _stays(_S.ABSENT, _LATE),
    (_S.ABSENT, Ending): (_ENDS, _rule(_S.ABSENT, "whether it is ready is told to the last")),
    (_S.GATED, Running): (
        *_BEGINS_ANEW,
        _rule(_S.GATED, "before it has started it is asked nothing else", "not started", _gated),
        _rule(_S.WAITING, "it has started", effect=_opened),
    ),
    (_S.GATED, Gone): _GOES,
    (_S.GATED, Due): _stays(_S.GATED, "a timer of before"),
    (_S.GATED, Answered): _stays(_S.GATED, _LATE),
    (_S.GATED, Ending): (_ENDS, _rule(_S.GATED, "whether it is ready is told to the last")),
    (_S.WAITING, Running): (*_BEGINS_ANEW, _rule(_S.WAITING, "as before")),
    (_S.WAITING, Gone): _GOES,
    (_S.WAITING, Due): (_rule(_S.CHECKING, "it is time", effect=_asked),),
    (_S.WAITING, Answered): _stays(_S.WAITING, _LATE),
    (_S.WAITING, Ending): (_ENDS, _rule(_S.WAITING, "whether it is ready is told to the last")),
    (_S.CHECKING, Running): (*_BEGINS_ANEW, _rule(_S.CHECKING, "as before")),
    (_S.CHECKING, Gone): _GOES,
    (_S.CHECKING, Due): _stays(_S.WAITING, "an answer is overdue; it is given up and counts for nothing"),
    (_S.CHECKING, Answered): (
        _rule(_S.CHECKING, _LATE, "of an earlier check", _stale),
        _rule(
            _S.CHECKING, "what could not be asked is asked again", "no verdict, tries left", _to_repeat, _asked_again
        ),
        _rule(_S.WAITING, "it counts for nothing", "no verdict", _no_verdict),
        _rule(_S.HELD, "there is nothing left to say of this container", "decides", _decides, _counted),
        _rule(_S.WAITING, "one more answer", effect=_counted),
    ),
    (_S.CHECKING, Ending): (_ENDS, _rule(_S.CHECKING, "whether it is ready is told to the last")),
    (_S.HELD, Running): (*_BEGINS_ANEW, _rule(_S.HELD, "it has decided for this container")),
    (_S.HELD, Gone): _GOES,
    (_S.HELD, Due): _stays(_S.HELD, "a timer of before"),
    (_S.HELD, Answered): _stays(_S.HELD, _LATE),
    (_S.HELD, Ending): (_ENDS, _rule(_S.HELD, "whether it is ready is told to the last")),
    (_S.OVER, Running): (_rule(_S.OVER, "it is over", effect=_renamed),),
    (_S.OVER, Gone): _OVER,
    (_S.OVER, Due): _OVER,
    (_S.OVER, Answered): _OVER,
    (_S.OVER, Ending): _OVER,
}


def advance(life: ProbeLife, event: Event) -> ProbeLife:
    """The probe after the event; the very same object when nothing has changed."""
    for rule in TABLE[life.stage, type(event)]:
        if rule.holds(life, event):
            after = rule.effect(life, event)
            return after if after.stage is rule.target else msgspec.structs.replace(after, stage=rule.target)
    raise AssertionError(f"the last rule of {life.stage} on {type(event).__name__} always holds")


def is_well(life: ProbeLife) -> bool:
    """Whether one success more would say nothing new: who is asked now and succeeds in the same moment need not be
    `advance`d. The probe stays on its grid, which any of its due times tells; a good answer to a good verdict ends no
    streak and needs none; and the number of a check is of use while it is under way.
    """
    return life.stage is _WAITING and life.good and life.result is True
