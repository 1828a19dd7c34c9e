"""What is known of one thing on disk: a state machine without any I/O (spec 8.3). Rules and theory of operation:

Three kinds of things are made for volumes and taken down again: the directory of a pod, a volume of a pod, and a device
that pods share. All three live by the same rules, because they have the same trouble: they are made by calls that may
fail half-way and may never return.

    ABSENT          nothing is there, as far as anybody knows
    MAKING          a call that makes it is under way
    MADE            it is there and can be used
    REMAKING        it is there and can be used, while a call gives it another content
    UNCERTAIN       something may be there: a call has failed or is late, or a former life of the agent has left it
    UNMAKING        a call that takes it down is under way
    UNMAKING_AGAIN  the same, but a late call has ended meanwhile and may have made something behind its back

Calls are repeatable, so UNCERTAIN needs no inquiry: what is wanted is made once more, what is not is taken down. One
call is under way at a time. A call that takes too long is `Late`: it is waited for no more but still under way
(`lost`), because a thread that hangs in the kernel cannot be called back. While one is lost nothing is made, for two
calls that make the same thing would meet; but it may be taken down, so that the end of a pod does not depend on a dead
server (`may_unmake`). Whatever a lost call does when it returns, perhaps after all was taken down, leads to UNCERTAIN,
and so to another look. Nothing that was ever begun is forgotten before its last call has ended (`ABSENT`).

The ugly corner is the agent's own restart: calls of its former life have died with it, those of a former life of the
actor alone may still be under way. Both have left what the next listing of the disk finds (`Found`).

`TABLE` is everything: for each stage and event the rules in order; the first whose condition holds applies. A pair
without rules is a mistake of the caller. `actors.volume_state_page` draws it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeAlias

import msgspec

UNMAKE_MAX_LOST = 1
"""With one call lost a thing may still be taken down; with two of them a third would only be one more thread."""


class Stage(enum.StrEnum):
    """See the module."""

    ABSENT = "absent"
    MAKING = "making"
    MADE = "made"
    REMAKING = "remaking"
    UNCERTAIN = "uncertain"
    UNMAKING = "unmaking"
    UNMAKING_AGAIN = "unmaking again"


class ThingLife(msgspec.Struct, frozen=True):
    """Where a thing is. `lost`: how many calls are under way that nobody waits for any more."""

    stage: Stage = Stage.ABSENT
    lost: int = 0


_WITHOUT_LOST = {stage: ThingLife(stage) for stage in Stage}
ABSENT = _WITHOUT_LOST[Stage.ABSENT]
"""Nothing is there and nothing comes: it may be forgotten."""


class MakeBegun(msgspec.Struct, frozen=True):
    """A call that makes it has been begun."""


class UnmakeBegun(msgspec.Struct, frozen=True):
    """A call that takes it down has been begun."""


class Succeeded(msgspec.Struct, frozen=True):
    """The call has done what it should."""


class Failed(msgspec.Struct, frozen=True):
    """The call has ended with an error, and may have done anything."""


class Late(msgspec.Struct, frozen=True):
    """The call has not ended in its time."""


class LostEnded(msgspec.Struct, frozen=True):
    """A call that was late has ended after all, in whatever way."""


class Found(msgspec.Struct, frozen=True):
    """Something is on disk."""


Event: TypeAlias = MakeBegun | UnmakeBegun | Succeeded | Failed | Late | LostEnded | Found
Condition = Callable[[ThingLife], bool]


class Rule(msgspec.Struct, frozen=True):
    """One line of the table. `when` says the condition for people."""

    target: Stage
    why: str
    when: str = ""
    holds: Condition | None = None


class IllegalTransitionError(Exception):
    """An event that cannot come now: a mistake of the caller."""


def _none_is_lost(life: ThingLife) -> bool:
    return life.lost == 0


def _few_are_lost(life: ThingLife) -> bool:
    return life.lost <= UNMAKE_MAX_LOST


NONE_LOST = "no call is lost"
FEW_LOST = "at most one call is lost"
AS_BEFORE = "as before"
_S = Stage

TABLE: dict[tuple[Stage, type[Event]], tuple[Rule, ...]] = {
    (_S.ABSENT, MakeBegun): (Rule(_S.MAKING, "it is wanted", NONE_LOST, _none_is_lost),),
    (_S.ABSENT, LostEnded): (Rule(_S.UNCERTAIN, "it may have been made after it was taken down"),),
    (_S.ABSENT, Found): (Rule(_S.UNCERTAIN, "a former life has left it"),),
    (_S.MAKING, Succeeded): (Rule(_S.MADE, "it is there"),),
    (_S.MAKING, Failed): (Rule(_S.UNCERTAIN, "some of it may be there"),),
    (_S.MAKING, Late): (Rule(_S.UNCERTAIN, "the call may still make it"),),
    (_S.MAKING, Found): (Rule(_S.MAKING, AS_BEFORE),),
    (_S.MADE, MakeBegun): (Rule(_S.REMAKING, "its content is to be another", NONE_LOST, _none_is_lost),),
    (_S.MADE, UnmakeBegun): (Rule(_S.UNMAKING, "nobody wants it any more", FEW_LOST, _few_are_lost),),
    (_S.MADE, LostEnded): (
        Rule(_S.MADE, "only what gives another content can be lost here, and that is all or nothing"),
    ),
    (_S.MADE, Found): (Rule(_S.MADE, AS_BEFORE),),
    (_S.REMAKING, Succeeded): (Rule(_S.MADE, "it has the new content"),),
    (_S.REMAKING, Failed): (Rule(_S.MADE, "it has the old content"),),
    (_S.REMAKING, Late): (Rule(_S.MADE, "it has the old content, and may get the new one"),),
    (_S.REMAKING, Found): (Rule(_S.REMAKING, AS_BEFORE),),
    (_S.UNCERTAIN, MakeBegun): (Rule(_S.MAKING, "to make it again makes it sure", NONE_LOST, _none_is_lost),),
    (_S.UNCERTAIN, UnmakeBegun): (Rule(_S.UNMAKING, "nobody wants it any more", FEW_LOST, _few_are_lost),),
    (_S.UNCERTAIN, LostEnded): (Rule(_S.UNCERTAIN, "whatever it has done"),),
    (_S.UNCERTAIN, Found): (Rule(_S.UNCERTAIN, AS_BEFORE),),
    (_S.UNMAKING, Succeeded): (Rule(_S.ABSENT, "it is gone"),),
    (_S.UNMAKING, Failed): (Rule(_S.UNCERTAIN, "some of it is still there"),),
    (_S.UNMAKING, Late): (Rule(_S.UNCERTAIN, "the call may still take it down"),),
    (_S.UNMAKING, LostEnded): (
        Rule(_S.UNMAKING_AGAIN, "it may have made something behind the call that is under way"),
    ),
    (_S.UNMAKING, Found): (Rule(_S.UNMAKING, AS_BEFORE),),
    (_S.UNMAKING_AGAIN, Succeeded): (Rule(_S.UNCERTAIN, "it was gone, but may be there again"),),
    (_S.UNMAKING_AGAIN, Failed): (Rule(_S.UNCERTAIN, "some of it is still there"),),
    (_S.UNMAKING_AGAIN, Late): (Rule(_S.UNCERTAIN, "the call may still take it down"),),
    (_S.UNMAKING_AGAIN, LostEnded): (Rule(_S.UNMAKING_AGAIN, AS_BEFORE),),
    (_S.UNMAKING_AGAIN, Found): (Rule(_S.UNMAKING_AGAIN, AS_BEFORE),),
}
_UNDER_WAY = frozenset({_S.MAKING, _S.REMAKING, _S.UNMAKING, _S.UNMAKING_AGAIN})
_USABLE = frozenset({_S.MADE, _S.REMAKING})


def advance(life: ThingLife, event: Event) -> ThingLife:
    """The life after the event. Raises IllegalTransitionError."""
    kind = type(event)
    for rule in TABLE.get((life.stage, kind), ()):
        if rule.holds is None or rule.holds(life):
            if kind is Late or kind is LostEnded or life.lost:
                lost = life.lost + (kind is Late) - (kind is LostEnded)
                return ThingLife(rule.target, lost)
            return _WITHOUT_LOST[rule.target]
    raise IllegalTransitionError(f"{kind.__name__} cannot come to a thing that is {life}")


def is_under_way(life: ThingLife) -> bool:
    """A call is awaited."""
    return life.stage in _UNDER_WAY


def is_usable(life: ThingLife) -> bool:
    """Containers may have it."""
    return life.stage in _USABLE


def may_make(life: ThingLife) -> bool:
    """A call that makes it, or makes it anew, can begin."""
    return life.stage not in _UNDER_WAY and life.lost == 0


def may_unmake(life: ThingLife) -> bool:
    """A call that takes it down can begin."""
    return life.stage in (_S.MADE, _S.UNCERTAIN) and life.lost <= UNMAKE_MAX_LOST
