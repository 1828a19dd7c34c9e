"""How a replay differs from its record. Pure."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass


class DifferenceKind(enum.Enum):
    CALL = "call"
    """A call of a capability with other arguments."""
    CALL_NEW = "new call"
    CALL_LEFT_OUT = "call left out"
    MESSAGE = "message"
    """Another message in the place of a recorded one."""
    MESSAGE_NEW = "new message"
    MESSAGE_LEFT_OUT = "message left out"
    NO_TURN = "no turn"
    """An actor had a turn, and now has nothing to do."""
    NO_ACTOR = "no actor"
    """Something came for an actor that does not exist now."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. `step` counts from 1; `actor`: whose turn it was, empty for what comes from outside.

    `what`: the call, or the path of the receiver. `expected` is from the record, `got` from this code.
    """

    step: int
    now_ns: int
    wall_ns: int
    actor: str
    kind: DifferenceKind
    what: str
    expected: str
    got: str


def aligned(ones: int, others: int, same: Callable[[int, int], bool]) -> Iterator[tuple[int | None, int | None]]:
    """The places in which two series differ, as pairs of indices; None: it has none there.

    A series that goes on as the other after some elements has left them out, or has them beyond the other.
    """
    one = other = 0
    while one < ones and other < others:
        if same(one, other):
            one, other = one + 1, other + 1
            continue
        left_out = next((at for at in range(one + 1, ones) if same(at, other)), None)
        new = next((at for at in range(other + 1, others) if same(one, at)), None)
        if left_out is not None and (new is None or left_out - one <= new - other):
            yield from ((at, None) for at in range(one, left_out))
            one = left_out
        elif new is not None:
            yield from ((None, at) for at in range(other, new))
            other = new
        else:
            yield one, other
            one, other = one + 1, other + 1
    yield from ((at, None) for at in range(one, ones))
    yield from ((None, at) for at in range(other, others))
