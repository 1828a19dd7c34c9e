"""The state machine of one thing on disk, without I/O (spec 8.3). Theory of operation:

Volumes need three kinds of things on disk: the directory of a pod, a volume of a pod, and a device that pods share. All
follow the same rules, because they share a problem: the calls that make them may fail half-way or never return.

    ABSENT          nothing is there, as far as anybody knows
    MAKING          a call that makes it is under way
    MADE            it is there and can be used
    REMAKING        it is there and can be used, while a call replaces its content
    UNCERTAIN       something may be there: a call has failed or is late, or an earlier agent left it
    UNMAKING        a call that takes it down is under way
    UNMAKING_AGAIN  the same, but a late call has ended meanwhile and may have made something again

Calls are idempotent, so UNCERTAIN needs no inspection: a wanted thing is made again, an unwanted one is taken down.
One call is under way at a time. A call that takes too long is `Late`: nobody waits for it, but it is still under way
(`lost`), because a thread that hangs in the kernel cannot be cancelled. While a call is lost nothing is made, because
two calls would make the same thing at once. It may still be taken down, so that the end of a pod does not depend on a
dead server (`may_unmake`). When a lost call returns, the thing is UNCERTAIN again, even if it was taken down before.
A thing is forgotten only when it is ABSENT and its last call has ended.

The ugly corner is a restart. Calls of an earlier agent died with it. Calls of an earlier life of the actor may still be
under way. The next disk scan finds what both have left (`Found`).

`TABLE` holds all rules; `docs/reference/volume-states.md` draws it. An event without a rule is the caller's error and
is refused.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import msgspec

from actors.machines.table import StagedState, StateTable

UNMAKE_MAX_LOST = 1
"""With one call lost a thing may still be taken down.

With two, a third would only cost one more thread.
"""


class ThingStage(enum.StrEnum):
    """The stage of a thing."""

    ABSENT = "absent"
    MAKING = "making"
    MADE = "made"
    REMAKING = "remaking"
    UNCERTAIN = "uncertain"
    UNMAKING = "unmaking"
    UNMAKING_AGAIN = "unmaking again"


class ThingLife(StagedState[ThingStage], frozen=True):
    """The stage of a thing. `lost`: late calls that are still under way."""

    lost: int = 0


ABSENT = ThingLife(ThingStage.ABSENT)
"""Nothing is there and no call is under way; the record may be forgotten."""


class MakeBegun(msgspec.Struct, frozen=True):
    """A call that makes it has begun."""


class UnmakeBegun(msgspec.Struct, frozen=True):
    """A call that takes it down has begun."""


class Succeeded(msgspec.Struct, frozen=True):
    """The call has succeeded."""


class Failed(msgspec.Struct, frozen=True):
    """The call has failed, and may have done part of its work."""


class Late(msgspec.Struct, frozen=True):
    """The call has passed its time limit."""


class LostEnded(msgspec.Struct, frozen=True):
    """A late call has ended, with success or failure."""


class Found(msgspec.Struct, frozen=True):
    """A scan has found it on disk."""


Event: TypeAlias = MakeBegun | UnmakeBegun | Succeeded | Failed | Late | LostEnded | Found


def _no_call_is_lost(life: ThingLife, event: MakeBegun) -> bool:
    return life.lost == 0


def _at_most_one_call_is_lost(life: ThingLife, event: UnmakeBegun) -> bool:
    return life.lost <= UNMAKE_MAX_LOST


def _one_more_lost(life: ThingLife, event: Late) -> ThingLife:
    return ThingLife(life.stage, life.lost + 1)


def _one_less_lost(life: ThingLife, event: LostEnded) -> ThingLife:
    return ThingLife(life.stage, life.lost - 1)


_S = ThingStage
TABLE = StateTable[ThingStage, ThingLife]("a thing on disk", _S.ABSENT)
TABLE.on(_S.ABSENT, MakeBegun).to(_S.MAKING, "it is wanted", _no_call_is_lost)
TABLE.on(_S.MADE, MakeBegun).to(_S.REMAKING, "its content is replaced", _no_call_is_lost)
TABLE.on(_S.UNCERTAIN, MakeBegun).to(_S.MAKING, "to make it again makes it sure", _no_call_is_lost)

TABLE.on((_S.MADE, _S.UNCERTAIN), UnmakeBegun).to(_S.UNMAKING, "nobody wants it any more", _at_most_one_call_is_lost)

TABLE.on(_S.MAKING, Succeeded).to(_S.MADE, "it is there")
TABLE.on(_S.REMAKING, Succeeded).to(_S.MADE, "it has the new content")
TABLE.on(_S.UNMAKING, Succeeded).to(_S.ABSENT, "it is gone")
TABLE.on(_S.UNMAKING_AGAIN, Succeeded).to(_S.UNCERTAIN, "it was gone, but may be there again")

TABLE.on(_S.MAKING, Failed).to(_S.UNCERTAIN, "some of it may be there")
TABLE.on(_S.REMAKING, Failed).to(_S.MADE, "it has the old content")
TABLE.on((_S.UNMAKING, _S.UNMAKING_AGAIN), Failed).to(_S.UNCERTAIN, "some of it is still there")

TABLE.on(_S.MAKING, Late).to(_S.UNCERTAIN, "the call may still make it", effect=_one_more_lost)
TABLE.on(_S.REMAKING, Late).to(_S.MADE, "it has the old content, and may get the new one", effect=_one_more_lost)
TABLE.on((_S.UNMAKING, _S.UNMAKING_AGAIN), Late).to(
    _S.UNCERTAIN, "the call may still take it down", effect=_one_more_lost
)

TABLE.on(_S.ABSENT, LostEnded).to(_S.UNCERTAIN, "it may have been made after it was taken down", effect=_one_less_lost)
TABLE.on(_S.MADE, LostEnded).stay("the lost call replaced its content as a whole, or not at all", effect=_one_less_lost)
TABLE.on(_S.UNMAKING, LostEnded).to(_S.UNMAKING_AGAIN, "it may have made something again", effect=_one_less_lost)
TABLE.on((_S.UNCERTAIN, _S.UNMAKING_AGAIN), LostEnded).stay("it changes nothing", effect=_one_less_lost)

TABLE.on(_S.ABSENT, Found).to(_S.UNCERTAIN, "an earlier life has left it")
TABLE.on(tuple(stage for stage in _S if stage is not _S.ABSENT), Found).stay("it changes nothing")

_UNDER_WAY = frozenset({_S.MAKING, _S.REMAKING, _S.UNMAKING, _S.UNMAKING_AGAIN})


def advance(life: ThingLife, event: Event) -> ThingLife:
    """The life after the event. Raises IllegalTransitionError."""
    return TABLE.meet(life, event)


def is_under_way(life: ThingLife) -> bool:
    """Whether a call is awaited."""
    return life.stage in _UNDER_WAY


def is_usable(life: ThingLife) -> bool:
    """Whether containers may use it."""
    return life.stage in (ThingStage.MADE, ThingStage.REMAKING)


def may_make(life: ThingLife) -> bool:
    """Whether a call that makes it, or replaces its content, can begin."""
    return life.stage not in _UNDER_WAY and life.lost == 0


def may_unmake(life: ThingLife) -> bool:
    """Whether a call that takes it down can begin."""
    return life.stage in (ThingStage.MADE, ThingStage.UNCERTAIN) and life.lost <= UNMAKE_MAX_LOST
