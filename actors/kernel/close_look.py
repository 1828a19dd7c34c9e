"""Looking into one actor closely: its fields, the messages that wait, and where its handler waits for what.

For people who step through a simulation, in which nobody moves while they look. Everything becomes text of a bounded
length, and the same text in every run: no addresses in memory. Reading changes nothing.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from actors.kernel.inspection import ActorInfo, look_at
from actors.kernel.message import describe

if TYPE_CHECKING:
    from actors.kernel.cell import Cell

MESSAGES_AT_MOST = 50
"""Of a longer mailbox the rest is counted only."""
TEXT_AT_MOST = 400
"""Characters of the value of one field."""
_OF_THE_FRAMEWORK = frozenset(
    {
        "_cell",
        "_actor_ref",
        "actor_urn",
        "actor_inbox",
        "actor_ref",
        "actor_stopped",
        "ref",
        "log",
        "begin",
        "now_ns",
        "wall_ns",
    }
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class WaitingMessage(msgspec.Struct, frozen=True):
    """One message in a mailbox. `asked`: somebody waits for its answer."""

    message: str
    sender: str
    age_ns: int
    asked: bool


class ActorState(msgspec.Struct, frozen=True):
    """One actor, closely. `awaits`: from the handler down to the innermost function that waits, `name (file:line)`."""

    info: ActorInfo
    fields: tuple[tuple[str, str], ...]
    mailbox: tuple[WaitingMessage, ...]
    awaits: tuple[str, ...]


def look_closely(cell: Cell) -> ActorState:
    """One actor as it is now; one that is not alive has no fields."""
    now_ns = cell.dispatcher.now_ns()
    waiting = cell.mailbox.waiting()[:MESSAGES_AT_MOST]
    return ActorState(
        info=look_at(cell, now_ns),
        fields=tuple((name, text_of_value(value)) for name, value in _fields(cell.actor)),
        mailbox=tuple(
            WaitingMessage(describe(item.message), item.sender, now_ns - item.since_ns, item.reply_to is not None)
            for item in waiting
        ),
        awaits=() if cell.task is None else tuple(_stack(cell.task.coroutine)),
    )


def text_of_value(value: Any) -> str:
    """What a person can read of any value, in bounded length."""
    text = _ADDRESS.sub("", _Words().repr(value))
    return text if len(text) <= TEXT_AT_MOST else f"{text[:TEXT_AT_MOST]}..."


class _Words(reprlib.Repr):
    """Objects that do not say what they are show their fields, down to a depth."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 8
        self.maxstring = self.maxother = self.maxlong = 120

    def repr_instance(self, x: Any, level: int) -> str:
        if getattr(type(x), "__repr__", None) is not object.__repr__:
            return super().repr_instance(x, level)
        name = type(x).__name__
        if level <= 0:
            return f"{name}(...)"
        shown = [f"{field}={self.repr1(value, level - 1)}" for field, value in _fields(x)]
        return f"{name}({', '.join(shown[: self.maxdict])}{', ...' if len(shown) > self.maxdict else ''})"


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """Of an instance: slots of all its classes, then its dictionary."""
    for base in reversed(type(value).__mro__):
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                yield name, getattr(value, name)
    for name, held in getattr(value, "__dict__", {}).items():
        if name not in _OF_THE_FRAMEWORK:
            yield name, held


def _stack(coroutine: Any) -> Iterator[str]:
    """Each coroutine that waits for the next one."""
    while coroutine is not None:
        code, frame = getattr(coroutine, "cr_code", None), getattr(coroutine, "cr_frame", None)
        if code is None or frame is None:
            return
        yield f"{code.co_qualname} ({code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"
        coroutine = coroutine.cr_await
