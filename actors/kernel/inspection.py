"""Looking into a running system: the tree of actors as data, and who is late.

Read without stopping anybody: each value is a moment's truth about one actor, good for people and for health, not for
decisions of other actors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from actors.kernel.lanes import LaneReport

if TYPE_CHECKING:
    from actors.kernel.cell import Cell
    from actors.kernel.system import ActorSystem


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
    """For which its handlers have held a thread, all together."""


class LateActor(msgspec.Struct, frozen=True):
    """An actor that health names: its oldest message, or its handler, is older than its limit."""

    path: str
    age_ns: int
    limit_ns: int
    doing: str


class EndedActors(msgspec.Struct, frozen=True, gc=False):
    """What all actors of a class have done that have stopped; with those that live it is what was ever done."""

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


def look_at(cell: Cell, now_ns: int) -> ActorInfo:
    """One actor as data."""
    oldest_ns = cell.mailbox.oldest_since_ns()
    task = cell.task
    state = cell.life.value
    if state == "running":
        state = "waiting" if task is not None else "handling" if cell.slice_since_ns is not None else "idle"
    since_ns = task.started_ns if task is not None else cell.slice_since_ns
    return ActorInfo(
        path=cell.path,
        actor_class=cell.actor_class.__name__,
        state=state,
        mailbox_depth=cell.mailbox.depth(),
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


def report(system: ActorSystem) -> SystemReport:
    """The tree in depth-first order, children by name."""
    now_ns = system.dispatcher.now_ns()
    return SystemReport(
        actors=tuple(look_at(cell, now_ns) for cell in walk(system.root)),
        lanes=system.dispatcher.lanes(),
        stuck=system.dispatcher.stuck(),
        dead_letters=system.dead_letters.total(),
        ended=system.ended(),
    )


def late_actors(system: ActorSystem) -> tuple[LateActor, ...]:
    """Everyone whose oldest message (or whose handler's hold on a thread) is older than its own limit.

    Who stops waits for those below: where one of them is late, that one is named, and not who waits for it.
    """
    now_ns = system.dispatcher.now_ns()
    late = []
    for cell in walk(system.root):
        limit_ns = cell.actor_class.health_limit_ns
        if limit_ns is None:
            continue
        oldest_ns = cell.mailbox.oldest_since_ns()
        ages = [now_ns - since for since in (oldest_ns, cell.slice_since_ns) if since is not None]
        if ages and max(ages) > limit_ns:
            doing = cell.life.value if cell.task is None else f"{cell.task.label}, waiting for {cell.task.waiting_for}"
            late.append(LateActor(cell.path, max(ages), limit_ns, doing))
    return tuple(each for each in late if each.doing != _STOPPING or not _is_above_one_of(each.path, late))


_STOPPING = "stopping"


def _is_above_one_of(path: str, late: list[LateActor]) -> bool:
    return any(other.path.startswith(f"{path}/") for other in late)


def walk(cell: Cell) -> list[Cell]:
    """The cell and all below it, depth first, by name."""
    found = []
    stack = [cell]
    while stack:
        here = stack.pop()
        found.append(here)
        stack.extend(sorted(here.child_cells(), key=lambda child: child.name, reverse=True))
    return found
