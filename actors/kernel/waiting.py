"""The handler that waits: what there is to do about it, and the turn that does it.

What it waits for has come, or an order has: an interrupting message, a stop, or the end of the grace that a stop gives.
These functions are the inside of a cell, as those of `handling` and `lifecycle` are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from actors.kernel import handling
from actors.kernel.errors import Interrupted
from actors.kernel.lifecycle import Life

if TYPE_CHECKING:
    from actors.kernel.cell import Cell
    from actors.kernel.suspension import Task

_STOP: Any = "stop"
"""Stands for 'the handler was told to stop' where otherwise the interrupting message stands."""


def has_work(cell: Cell, task: Task) -> bool:
    """Under the lock: whether a turn would find something to do."""
    if task.resumed or cell.forced or (cell.stop_requested and cell.alarm is None):
        return True
    return task.shields == 0 and _next_order(cell, task) is not None


def take_turn(cell: Cell, task: Task) -> bool:
    """Do what is next to be done about it. False when there is nothing."""
    if task.resumed and not cell.stop_requested:
        handling.resume(cell, task)
        return True
    if cell.stop_requested and cell.alarm is None:
        cell.alarm = cell.dispatcher.schedule(cell.actor_class.stop_grace_ns, partial(cell.force, task))
    order = None
    with cell.lock:
        resumed = task.resumed
        if not resumed and not cell.forced and task.shields == 0:
            order = _next_order(cell, task)
            if order is not None:
                task.interrupted_by = _STOP if order.cause is None else order.cause
                task.token = None  # what it has waited for comes too late from here on
    if resumed:
        handling.resume(cell, task)
    elif cell.forced:
        handling.abandon(cell, task)
    elif order is not None:
        handling.interrupt(cell, task, order)
    else:
        return False
    return True


def _next_order(cell: Cell, task: Task) -> Interrupted | None:
    """The order that the waiting handler has not been given yet."""
    if cell.life is Life.STOPPING:
        return None  # on_stop is not disturbed
    if cell.stop_requested:
        return None if task.interrupted_by is _STOP else Interrupted(None)
    if task.item is None:
        return None  # nor is on_start, but for a stop: an actor begins wholly or not at all
    message = cell.mailbox.first_interrupt()
    if message is None or message is task.interrupted_by:
        return None
    return Interrupted(message)
