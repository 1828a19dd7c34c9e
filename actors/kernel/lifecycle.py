"""How an actor starts in its cell, fails, and stops. Theory of operation:

    NEW          its first incarnation is not constructed yet
    RUNNING      it handles messages
    BACKING_OFF  it has failed; the cell's alarm starts the next incarnation soon
    PARKED       it has used up its restarts; the cell's alarm tries again, but slowly
    STOPPING     it starts nothing any more, and waits until its children have stopped
    STOPPED      it is gone; the cell only answers that

`TABLE` holds the moves between them. The functions below perform them on the cell's turns, as those of `handling` do.
The pure rules of `supervision` judge a failure. Stop requests go from the root to the leaves, and the stops from the
leaves to the root: an actor runs `on_stop` after everything below it has stopped.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec
import pykka

from actors.kernel import handling
from actors.kernel.context import context
from actors.kernel.dead_letters import Reason
from actors.kernel.errors import text_of
from actors.kernel.message import ActorStopped, ChildFailed, Escalated, Signal
from actors.kernel.supervision import Action, decide
from actors.machines.table import StateTable

if TYPE_CHECKING:
    from actors.kernel.cell import Cell
    from actors.kernel.mailbox import Item


class ActorLife(enum.Enum):
    NEW = "new"
    RUNNING = "running"
    BACKING_OFF = "backing off"
    PARKED = "parked"
    STOPPING = "stopping"
    STOPPED = "stopped"


class IncarnationBegan(msgspec.Struct, frozen=True):
    """A constructor has returned."""


class IncarnationFailed(msgspec.Struct, frozen=True):
    """A constructor, handler or hook has failed. `action`: what the strategy decided."""

    action: Action


class StopBegan(msgspec.Struct, frozen=True):
    """A stop was requested, or the strategy gives the actor up."""


class ActorStopEnded(msgspec.Struct, frozen=True):
    """The actor's children have stopped, and `on_stop` has returned."""


def _its_strategy_gives_up(cell: Cell, event: IncarnationFailed) -> bool:
    """The root cell has no parent and never gives up."""
    return cell.parent is not None and event.action not in (Action.RESTART, Action.PARK)


def _its_stop_was_requested(cell: Cell, event: IncarnationFailed) -> bool:
    return cell.stop_requested


def _restarts_are_left(cell: Cell, event: IncarnationFailed) -> bool:
    return event.action is Action.RESTART


_IDLE = (ActorLife.NEW, ActorLife.BACKING_OFF, ActorLife.PARKED)
TABLE: StateTable[ActorLife, Cell] = StateTable("an actor", ActorLife.NEW)
TABLE.on(_IDLE, IncarnationBegan).to(ActorLife.RUNNING, "its constructor has returned")
(
    TABLE.on((*_IDLE, ActorLife.RUNNING), IncarnationFailed)
    .to(ActorLife.STOPPING, "its parent goes on without it", _its_strategy_gives_up)
    .to(ActorLife.STOPPING, "it is to stop anyway", _its_stop_was_requested)
    .to(ActorLife.BACKING_OFF, "it is tried again soon", _restarts_are_left)
    .to(ActorLife.PARKED, "it is tried again, but slowly")
)
TABLE.on(ActorLife.STOPPING, IncarnationFailed).stay("a failure does not delay a stop")
TABLE.on((*_IDLE, ActorLife.RUNNING), StopBegan).to(ActorLife.STOPPING, "its children stop first")
TABLE.on(ActorLife.STOPPING, ActorStopEnded).to(ActorLife.STOPPED, "nothing below it is left")


def construct(cell: Cell) -> None:
    """Make the next incarnation and run its `on_start`."""
    with cell.lock:
        cell.start_due = False
    context.constructing = cell
    cell.slice_since_ns = cell.dispatcher.work_ns()
    try:
        actor = cell.actor_class(*cell.args, **(cell.kwargs or {}))
        if getattr(actor, "_cell", None) is not cell:
            raise TypeError(f"{cell.actor_class.__name__}.__init__ must call super().__init__() first")
    except BaseException as failure:
        context.constructing = None
        cell.slice_since_ns = None
        fail(cell, failure, "constructor")
        return
    context.constructing = None
    cell.actor = actor
    cell.life = TABLE.target(cell.life, cell, IncarnationBegan())
    actor._start_actor_loop()


def fail(cell: Cell, failure: BaseException, last_message: str) -> None:
    """Drop the failed incarnation; the strategy and `TABLE` decide what comes next."""
    _drop_incarnation(cell, failure)
    cell.last_failure = text_of(failure)
    if cell.life is ActorLife.STOPPING:
        cell.system.logger.error("%s failed in %s: %s", cell.path, last_message, cell.last_failure)
        finish_stop(cell)
        return
    now_ns = cell.dispatcher.now_ns()
    verdict = decide(cell.strategy, cell.failures, now_ns, cell.dispatcher.chance.random())
    cell.failures = verdict.failures
    cell.system.log_failure(cell, failure, last_message, verdict)
    failed = IncarnationFailed(verdict.action)
    after = TABLE.target(cell.life, cell, failed)
    if after is not ActorLife.STOPPING:
        _back_off(cell, after, verdict.delay_ns, last_message)
        return
    if _its_strategy_gives_up(cell, failed):
        cell.cause_of_death = cell.last_failure
    begin_stop(cell)
    if verdict.action is Action.ESCALATE and cell.parent is not None:
        cell.parent.post(Escalated(failure), None)


def _drop_incarnation(cell: Cell, failure: BaseException) -> None:
    actor = cell.actor
    if actor is not None:
        cell.slice_since_ns = cell.dispatcher.work_ns()
        try:
            actor.on_failure(type(failure), failure, failure.__traceback__)
        except BaseException as second:
            cell.system.logger.error("%s: on_failure failed too: %s", cell.path, text_of(second))
        cell.slice_since_ns = None
    cell.actor = None
    cell.generation += 1
    _cancel_timers(cell)
    cell.effects = None


def _back_off(cell: Cell, life: ActorLife, delay_ns: int, last_message: str) -> None:
    generation, parked = cell.generation, life is ActorLife.PARKED
    with cell.lock:
        cell.life = life
        cell.restarts += 1
        cell.alarm = cell.dispatcher.schedule(delay_ns, lambda: cell.wake(generation))
    parent = cell.parent
    if parent is not None and ChildFailed in parent.handlers:
        failed = ChildFailed(cell.ref, cell.name, cell.last_failure, cell.restarts, delay_ns, parked, last_message)
        parent.post(failed, None)


def begin_stop(cell: Cell) -> None:
    """Ask the children to stop; `finish_stop` follows when the last of them has."""
    with cell.lock:
        cell.stop_requested = True
        cell.start_due = False
        cell.life = TABLE.target(cell.life, cell, StopBegan())
        children = list((cell.child_cells_by_name or {}).values())
        alarm, cell.alarm = cell.alarm, None
    if alarm is not None:
        alarm.cancel()
    _cancel_timers(cell)
    for child in children:
        child.request_stop(None)


def finish_stop(cell: Cell) -> None:
    """Run `on_stop` after the children's, then close. Runs again when `on_stop` has waited or failed."""
    actor, cell.actor = cell.actor, None
    if actor is not None:
        handling.run_hook(cell, actor.on_stop, "on_stop")
        if cell.task is not None:
            return
    with cell.lock:
        if cell.life is ActorLife.STOPPED:
            return
        cell.life = TABLE.target(cell.life, cell, ActorStopEnded())
        left = cell.mailbox.close()
        watchers, cell.watchers = cell.watchers, None
        replies, cell.stop_replies = cell.stop_replies, None
    _cancel_timers(cell)
    cell.effects = None
    if cell.kwargs is not None:
        cell.args, cell.kwargs = (), {}  # holders of the reference need not keep these in memory
    if left:
        _tell_the_bereaved(cell, left)
    for watcher in watchers or ():
        watcher.post(ActorStopped(cell.ref, cell.path, cell.cause_of_death), None)
    if cell.parent is not None:
        _child_stopped(cell.parent, cell)
    for reply in replies or ():
        reply.set(None)
    cell.system.cell_stopped(cell)


def _child_stopped(parent: Cell, child: Cell) -> None:
    """Free the name of a stopped child. A parent that waited for its last child goes on stopping."""
    with parent.lock:
        children = parent.child_cells_by_name
        if children is not None and children.get(child.name) is child:
            del children[child.name]
            if not children:
                parent.child_cells_by_name = None
        parent.ask_for_turn()


def _tell_the_bereaved(cell: Cell, left: list[Item]) -> None:
    now_ns = cell.dispatcher.now_ns()
    for item in left:
        if not isinstance(item.message, Signal):
            cell.system.dead_letters.add(Reason.STOPPED, item.message, item.sender, cell.path, now_ns)
        if item.reply_to is not None:
            item.reply_to.fail(pykka.ActorDeadError(f"{cell.path} stopped before handling the message"))


def _cancel_timers(cell: Cell) -> None:
    timers, cell.timers = cell.timers, None
    if timers is not None:
        timers.cancel_all()
