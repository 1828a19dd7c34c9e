"""Reports on a running system: the tree of actors as data, and one actor in detail.

A report stops no actor, so each value is true of one actor at one moment. People may rely on that; decisions of other
actors may not. The detailed report is for people who step through a simulation, where nothing else runs meanwhile. It
is text of bounded length without memory addresses, so it is the same in every run.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterator
from typing import Any

import msgspec

from actors.kernel.cell import Cell
from actors.kernel.dispatcher import LaneReport
from actors.kernel.message import describe

MAX_MESSAGES = 50
"""How many waiting messages a detailed report shows."""
MAX_TEXT = 400
"""Length of the value of one field, in characters."""
_OF_THE_KERNEL = frozenset({"_cell", "_actor_ref", "actor_urn", "actor_inbox", "actor_ref", "ref", "log"})
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class ActorInfo(msgspec.Struct, frozen=True):
    """One actor. Ages and times in ns; `waiting_for` says what a suspended handler awaits."""

    path: str
    actor_class: str
    state: str
    mailbox_depth: int
    oldest_age_ns: int
    mailbox_dropped: int
    handled: int
    restarts: int
    slowest_handler: str
    slowest_ns: int
    last_failure: str
    handling: str
    handling_for_ns: int
    waiting_for: str
    effects: int
    children: int
    busy_ns: int = 0
    """How long its handlers have held a thread, in total."""


class EndedActors(msgspec.Struct, frozen=True):
    """Totals of all stopped actors of a class."""

    actor_class: str
    handled: int
    busy_ns: int
    restarts: int


class SystemReport(msgspec.Struct, frozen=True):
    """The whole system."""

    actors: tuple[ActorInfo, ...]
    lanes: tuple[LaneReport, ...]
    stuck: tuple[tuple[str, int], ...]
    dead_letters: int
    ended: tuple[EndedActors, ...] = ()


class WaitingMessage(msgspec.Struct, frozen=True):
    """One message in a mailbox. `asked`: the message is an `ask`."""

    message: str
    sender: str
    age_ns: int
    asked: bool


class ActorState(msgspec.Struct, frozen=True):
    """One actor in detail. `awaits`: its suspended functions as `name (file:line)`, outermost first."""

    info: ActorInfo
    fields: tuple[tuple[str, str], ...]
    mailbox: tuple[WaitingMessage, ...]
    awaits: tuple[str, ...]


def report(root: Cell, ended: tuple[EndedActors, ...]) -> SystemReport:
    """The tree in depth-first order, children by name."""
    now_ns = root.dispatcher.now_ns()
    return SystemReport(
        actors=tuple(look_at(cell, now_ns) for cell in root.walk()),
        lanes=root.dispatcher.lanes(),
        stuck=root.dispatcher.stuck(),
        dead_letters=root.system.dead_letters.total(),
        ended=ended,
    )


def look_at(cell: Cell, now_ns: int) -> ActorInfo:
    """One actor as a row of the report."""
    with cell.lock:
        oldest_ns, depth = cell.mailbox.oldest_since_ns(), cell.mailbox.depth()
        task, slice_since_ns = cell.task, cell.slice_since_ns
    state = cell.life.value
    if state == "running":
        state = "waiting" if task is not None else "handling" if slice_since_ns is not None else "idle"
    since_ns = slice_since_ns if task is None else task.started_ns
    return ActorInfo(
        path=cell.path,
        actor_class=cell.actor_class.__name__,
        state=state,
        mailbox_depth=depth,
        oldest_age_ns=0 if oldest_ns is None else now_ns - oldest_ns,
        mailbox_dropped=cell.mailbox.dropped_total,
        handled=cell.handled,
        restarts=cell.restarts,
        slowest_handler=cell.slowest_message,
        slowest_ns=cell.slowest_ns,
        last_failure=cell.last_failure,
        handling="" if task is None else task.label,
        handling_for_ns=0 if since_ns is None else now_ns - since_ns,
        waiting_for="" if task is None else task.waiting_for,
        effects=cell.effect_count(),
        children=len(cell.child_cells()),
        busy_ns=cell.busy_ns,
    )


def look_closely(cell: Cell) -> ActorState:
    """One actor in detail. An actor that is not alive has no fields."""
    now_ns, words = cell.dispatcher.now_ns(), Words()
    return ActorState(
        info=look_at(cell, now_ns),
        fields=tuple((name, text_of_value(value, words)) for name, value in _fields(cell.actor)),
        mailbox=tuple(
            WaitingMessage(describe(item.message), item.sender, now_ns - item.since_ns, item.reply_to is not None)
            for item in cell.mailbox.waiting()[:MAX_MESSAGES]
        ),
        awaits=() if cell.task is None else tuple(_stack(cell.task.coroutine)),
    )


def text_of_value(value: Any, words: Words) -> str:
    """Any value as text of bounded length."""
    text = _ADDRESS.sub("", words.repr(value))
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


class Words(reprlib.Repr):
    """Objects without a text of their own show their fields, down to a depth, and each of them once."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[int, int] = {}  # the depth, by the object's identity
        self.maxlevel = 3
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = 8
        self.maxstring = self.maxother = self.maxlong = 120

    def repr_instance(self, x: Any, level: int) -> str:
        if getattr(type(x), "__repr__", None) is not object.__repr__:
            return super().repr_instance(x, level)
        name = type(x).__name__
        if level <= self._shown.get(id(x), 0):
            return f"{name}({'as above' if id(x) in self._shown else '...'})"
        self._shown[id(x)] = level
        shown = [f"{field}={self.repr1(value, level - 1)}" for field, value in _fields(x)]
        return f"{name}({', '.join(shown[: self.maxdict])}{', ...' if len(shown) > self.maxdict else ''})"


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of an instance: slots of all its classes, then its dictionary."""
    for base in reversed(type(value).__mro__):
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                yield name, getattr(value, name)
    for name, held in getattr(value, "__dict__", {}).items():
        if name not in _OF_THE_KERNEL:
            yield name, held


def _stack(coroutine: Any) -> Iterator[str]:
    """The coroutine, and the ones it awaits in turn."""
    while coroutine is not None:
        code, frame = getattr(coroutine, "cr_code", None), getattr(coroutine, "cr_frame", None)
        if code is None or frame is None:
            return
        yield f"{code.co_qualname} ({code.co_filename.rpartition('/')[2]}:{frame.f_lineno})"
        coroutine = coroutine.cr_await
