"""Who is whose child, and who watches whose end.

These functions are the inside of a cell, as those of `handling` and `lifecycle` are: called on any thread, they leave
their mark under the cell's lock and ask the dispatcher for a turn where there is something to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pykka

from actors.kernel.errors import KernelError, NameTakenError
from actors.kernel.lifecycle import NO_ARGUMENTS, Life
from actors.kernel.message import ActorStopped
from actors.kernel.supervision import RESTART, RestartStrategy

if TYPE_CHECKING:
    from actors.kernel.actor import Actor
    from actors.kernel.cell import Cell
    from actors.kernel.ref import ActorRef


def spawn(
    parent: Cell,
    actor_class: type[Actor],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    name: str,
    strategy: RestartStrategy = RESTART,
) -> ActorRef:
    """A child that comes to life at once, on a turn of its own."""
    child = reserve(parent, actor_class, name, strategy)
    furnish(child, args, kwargs)
    return child.ref


def reserve(parent: Cell, actor_class: type[Actor], name: str, strategy: RestartStrategy) -> Cell:
    """A child whose reference exists and takes mail, but which is not constructed before it is furnished."""
    if not name or "/" in name:
        raise ValueError(f"an actor needs a name without '/', not {name!r}")
    child = type(parent)(parent.system, parent, name, actor_class, strategy)
    with parent.lock:
        if parent.child_cells_by_name is None:
            parent.child_cells_by_name = {}
        if name in parent.child_cells_by_name:
            raise NameTakenError(f"{parent.path} already has a child named {name!r}")
        if parent.life in (Life.STOPPING, Life.STOPPED):
            raise pykka.ActorDeadError(f"{parent.path} is stopping and takes no more children")
        parent.child_cells_by_name[name] = child
    return child


def furnish(cell: Cell, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> None:
    """Give a reserved child its arguments, once, and let it start."""
    with cell.lock:
        if cell.kwargs is not None:
            raise KernelError(f"{cell.path} has its arguments already")
        cell.args = args
        cell.kwargs = kwargs or NO_ARGUMENTS
        cell.start_due = True
        queue = cell.needs_turn()
    if queue:
        cell.dispatcher.enqueue(cell)


def watch(cell: Cell, watcher: Cell) -> None:
    """`watcher` gets `ActorStopped` once when `cell` has stopped; at once when it already has."""
    with cell.lock:
        stopped = cell.life is Life.STOPPED
        if not stopped:
            _add_watcher(cell, watcher)
    if stopped:
        watcher.post(ActorStopped(cell.ref, cell.path, cell.cause_of_death))


def _add_watcher(cell: Cell, watcher: Cell) -> None:
    if cell.watchers is None:
        cell.watchers = {}
    elif len(cell.watchers) >= cell.watchers_swept_at:
        # Who watches this one and has stopped itself must not be kept for as long as this one lives.
        cell.watchers = {each: None for each in cell.watchers if each.life is not Life.STOPPED}
        cell.watchers_swept_at = max(16, 2 * len(cell.watchers))
    cell.watchers[watcher] = None
