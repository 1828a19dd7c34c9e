"""The entries of a record, as the recorder makes them and a replay takes them.

A record is a series of steps. A step is a turn of an actor, or something that came from outside. It is followed by what
actors did in it: calls of capabilities, with their results, and messages. Times are monotonic ns of the recorded node.
Paths are those of actors. An effect is a result that comes later; effects and callbacks are numbered as they appear.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, TypeAlias


class Ended(enum.Enum):
    """How a call of a capability ended."""

    VALUE = "value"
    """It returned a value."""
    RAISED = "raised"
    """It raised an exception."""
    PENDING = "pending"
    """It returned an effect; the value is its number."""
    HANDLE = "handle"
    """It returned an object that has calls of its own; the value is its site."""


# --- steps: each begins with the time -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Turn:
    """An actor took up to `turns` turns, one after the other."""

    now_ns: int
    path: str
    turns: int


@dataclass(frozen=True, slots=True)
class TimersFired:
    """All timers of actors that were due fired, in their order."""

    now_ns: int


@dataclass(frozen=True, slots=True)
class EffectDone:
    """An effect ended: `value` is its result, or the exception if it `failed`."""

    now_ns: int
    number: int
    failed: bool
    value: Any


@dataclass(frozen=True, slots=True)
class CalledBack:
    """A capability called a function that an actor had given it."""

    now_ns: int
    number: int
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MessageCame:
    """A message that no actor had sent. `asked`: somebody waited for the answer."""

    now_ns: int
    path: str
    message: Any
    asked: bool


@dataclass(frozen=True, slots=True)
class StopCame:
    """An actor was told to stop by no actor."""

    now_ns: int
    path: str


Step: TypeAlias = Turn | TimersFired | EffectDone | CalledBack | MessageCame | StopCame

# --- what actors did in the step ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a capability. `site`: which one, and the name of the call, such as `files.read`.

    `first_callback`: the number of the first function among the arguments; the others follow.
    """

    site: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    ended: Ended
    value: Any
    first_callback: int = 0


@dataclass(frozen=True, slots=True)
class EndedAtOnce:
    """An effect ended within the step, as its call returned or was cancelled."""

    number: int
    failed: bool
    value: Any


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of an actor to another. A stop has no message."""

    path: str
    message: Any


Deed: TypeAlias = Called | EndedAtOnce | Sent

# --- about the record -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Began:
    """The beginning: actors and their seeds. Steps follow."""

    now_ns: int
    wall_ns: int
    seed: int


@dataclass(frozen=True, slots=True)
class ClockSet:
    """From here on the time of day is `now_ns + offset_ns`."""

    offset_ns: int


@dataclass(frozen=True, slots=True)
class Lost:
    """Something is not in the record from here on: it cannot be played further."""

    why: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of the recorded process, in order."""

    now_ns: int


Entry: TypeAlias = Step | Deed | Began | ClockSet | Lost | Closed
