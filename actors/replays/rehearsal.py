"""What another version of the code decides otherwise, from the differences of a replay. Pure.

One decision that differs makes others differ: the answer of the record does not fit it. So an actor counts once, with
its first difference, and so does whoever it sent another message. What they do otherwise afterwards *follows*. First
differences that are alike are one finding, however many pods show it.
"""

from __future__ import annotations

import enum
import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from actors.kernel.recorded.differences import Difference, DifferenceKind

_MESSAGES = (DifferenceKind.MESSAGE, DifferenceKind.MESSAGE_NEW, DifferenceKind.MESSAGE_LEFT_OUT)


class DecisionKind(enum.Enum):
    """What differs, in the order in which people want to know it."""

    RUNTIME = "calls of the runtime"
    STATUS = "statuses"
    API = "calls of the API server"
    DISK = "work on the disk"
    OTHER = "other calls"
    MESSAGE = "messages between actors"
    TIME = "time or order"


def kind_of(difference: Difference) -> DecisionKind:
    """The kind of a difference."""
    if difference.kind in _MESSAGES:
        return DecisionKind.MESSAGE
    if difference.kind in (DifferenceKind.NO_TURN, DifferenceKind.NO_ACTOR):
        return DecisionKind.TIME
    site = difference.what
    if site.startswith("cri."):
        return DecisionKind.RUNTIME
    if site.startswith("api."):
        return DecisionKind.STATUS if "/status" in site else DecisionKind.API
    return DecisionKind.DISK if site.startswith("lane ") else DecisionKind.OTHER


@dataclass(slots=True)
class Decision:
    """Differences that are alike.

    `first` is the earliest; `run` counts agents from 1; `times`: how many there are.
    """

    kind: DecisionKind
    what: str
    run: int
    first: Difference
    times: int = 1


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table of expected differences.

    `kind` and `what` are patterns as of a shell; `why` is for people.
    """

    what: str
    kind: str = "*"
    why: str = ""

    def fits(self, decision: Decision) -> bool:
        """Whether the row is about that decision."""
        return fnmatch.fnmatchcase(decision.what, self.what) and fnmatch.fnmatchcase(decision.kind.value, self.kind)


@dataclass(slots=True)
class Rehearsal:
    """Collects the differences of one run after another."""

    decisions: dict[tuple[DecisionKind, str], Decision] = field(default_factory=dict)
    followed: int = 0
    _run: int = 0
    _led_astray: set[str] = field(default_factory=set)
    """Actors that have decided otherwise, or were told something else."""

    def begin(self, run: int) -> None:
        """A run begins: its actors are new."""
        self._run = run
        self._led_astray.clear()

    def differs(self, difference: Difference) -> None:
        """Take a difference."""
        actor = difference.actor
        if actor in self._led_astray:
            self.followed += 1
        else:
            self._found(difference)
        if actor:
            self._led_astray.add(actor)
        if difference.kind in _MESSAGES:
            self._led_astray.add(difference.what)

    def _found(self, difference: Difference) -> None:
        kind = kind_of(difference)
        what = _about(difference)
        known = self.decisions.get((kind, what))
        if known is None:
            self.decisions[kind, what] = Decision(kind, what, self._run, difference)
        else:
            known.times += 1

    def sorted(self) -> Sequence[Decision]:
        """The decisions by kind, the earliest first."""
        kinds = list(DecisionKind)
        return sorted(self.decisions.values(), key=lambda each: (kinds.index(each.kind), each.run, each.first.step))


def split(decisions: Iterable[Decision], expected: Sequence[Expected]) -> Iterator[tuple[Decision, Expected | None]]:
    """Each decision with the row that expects it, or None."""
    for decision in decisions:
        yield decision, next((row for row in expected if row.fits(decision)), None)


def _about(difference: Difference) -> str:
    """What differs, without what is of one pod: its UID in paths, its name in calls."""
    if difference.kind in _MESSAGES:
        message = (difference.expected or difference.got).split("(")[0].split(" ")[0]
        return f"{_place(difference.actor)} sends {message} to {_place(difference.what)}"
    if difference.kind in (DifferenceKind.NO_TURN, DifferenceKind.NO_ACTOR):
        return f"{difference.kind.value}: {_place(difference.what)}"
    words = difference.what.split(" ")
    return f"{_place(difference.actor)}: {difference.kind.value}: {' '.join(words[:3])}"


def _place(path: str) -> str:
    """A path with * for the name of an actor of one pod."""
    parts = path.split("/")
    return "/".join("*" if _is_of_pod(part) else part for part in parts) or "outside"


def _is_of_pod(part: str) -> bool:
    return len(part) >= 32 and all(letter in "0123456789abcdef-" for letter in part)
