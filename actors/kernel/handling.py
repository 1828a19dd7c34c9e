"""How one message is handled: the handler found by type, run, waited for, answered, measured.

These functions are the inside of a cell's turn. They own what happens between a message leaving the mailbox and the
handler's end; the cell owns everything before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from actors.kernel.dead_letters import Reason
from actors.kernel.effects import EffectEnded
from actors.kernel.errors import DeadlineExceededError, Interrupted, NoAnswerError, UnhandledMessageError, text_of
from actors.kernel.message import Escalated, Signal, describe
from actors.kernel.suspension import Suspension, Task

if TYPE_CHECKING:
    from actors.kernel.cell import Cell
    from actors.kernel.mailbox import Item


def handle(cell: Cell, item: Item) -> None:
    """Handle one message with the handler of its type, or make a dead letter of it."""
    message = item.message
    if type(message) is EffectEnded:
        message = item.message = made_by_effect(cell, message)
        if message is None:
            return
    handler = cell.handlers.get(type(message))
    if handler is None:
        if type(message) is Escalated:
            cell.fail(message.cause, "a child's failure")
        else:
            _unhandled(cell, item)
        return
    dispatcher = cell.dispatcher
    clock = dispatcher.clock
    started_ns = 0
    if clock is None:
        started_ns = cell.slice_since_ns = dispatcher.now_ns()
    try:
        result = handler(cell.actor, message)
    except BaseException as failure:
        if started_ns:
            _measure(cell, started_ns, item)
        failed(cell, item, failure)
        return
    if type(result) is CoroutineType:
        task = Task(result, item, type(message).__name__, started_ns if clock is None else clock.now_ns)
        cell.task = task
        drive(cell, task, None, None)
        return
    # What `_measure` and `_trace` do, without their calls: this is the way of nearly every message.
    cell.handled += 1
    if started_ns:
        cell.slice_since_ns = None
        took_ns = dispatcher.now_ns() - started_ns
        cell.busy_ns += took_ns
        if took_ns > cell.slowest_ns:
            cell.slowest_ns = took_ns
            cell.slowest_message = describe(item.message)
    if item.reply_to is not None:
        item.reply_to.set(result)
    trace = dispatcher.trace
    if trace is not None:
        now_ns = dispatcher.now_ns() if clock is None else clock.now_ns
        trace(now_ns, cell.path, item.label() if item.nature.keyed else item.nature.name, "ok")


def run_hook(cell: Cell, hook: Callable[[], Any], label: str) -> None:
    """Run `on_start` or `on_stop`; a failure of it is a failure of the actor."""
    if cell.dispatcher.clock is None:
        cell.slice_since_ns = cell.dispatcher.now_ns()
    try:
        result = hook()
    except BaseException as failure:
        cell.slice_since_ns = None
        cell.fail(failure, label)
        return
    cell.slice_since_ns = None
    if type(result) is CoroutineType:
        cell.task = Task(result, None, label, cell.dispatcher.now_ns())
        drive(cell, cell.task, None, None)


def resume(cell: Cell, task: Task) -> None:
    """What the handler waits for has come: a pending that is done, None for a sleep, or a tuple for a timeout."""
    result = task.take_what_came()
    if task.timer is not None:
        task.timer.cancel()
        task.timer = None
    if result is None:  # a sleep is over
        drive(cell, task, None, None)
    elif type(result) is tuple:
        what, timeout_ns, pending = result
        try:
            pending.cancel()
        except Exception as failure:
            cell.system.logger.warning("%s: %s could not be cancelled: %s", cell.path, what, text_of(failure))
        drive(cell, task, None, DeadlineExceededError(what, timeout_ns))
    else:
        _drive_with(cell, task, result)


def interrupt(cell: Cell, task: Task, order: Interrupted) -> None:
    """Throw an interrupt into a waiting handler."""
    if task.timer is not None:
        task.timer.cancel()
        task.timer = None
    drive(cell, task, None, order)


def abandon(cell: Cell, task: Task) -> None:
    """The stop's grace is over: end a handler that would not end by itself."""
    if task.timer is not None:
        task.timer.cancel()
    cell.system.logger.warning("%s: %s did not end when told to stop; abandoned", cell.path, task.label)
    cell.task_ended()
    try:
        task.coroutine.close()
    except BaseException as failure:
        cell.system.logger.warning("%s: abandoned handler refused to close: %s", cell.path, text_of(failure))
    _give_no_answer(cell, task.item, Interrupted(None))
    _trace(cell, task.item, task.label, "abandoned")


def made_by_effect(cell: Cell, ended: Any) -> Any:
    """The message that the actor gets for an effect that has ended, or None."""
    if cell.dispatcher.clock is None:
        cell.slice_since_ns = cell.dispatcher.now_ns()
    try:
        effects = cell.effects
        if effects is None or ended.generation != effects.generation:  # begun by an earlier incarnation
            cell.system.dead_letters.add(Reason.STALE, ended, cell.path, cell.path, cell.dispatcher.now_ns())
            return None
        effects.running -= 1
        if effects.waiting:
            effects.begin_waiting()
        return ended.then(ended.pending)
    except BaseException as failure:
        cell.fail(failure, "the end of an effect")
        return None
    finally:
        cell.slice_since_ns = None


def _drive_with(cell: Cell, task: Task, pending: Any) -> None:
    try:
        value = pending.result()
    except BaseException as failure:
        drive(cell, task, None, failure)
    else:
        drive(cell, task, value, None)


def drive(cell: Cell, task: Task, value: Any, failure: BaseException | None) -> None:
    """Run the handler's coroutine until it waits for something that is not there yet, or ends."""
    coroutine = task.coroutine
    dispatcher = cell.dispatcher
    clock = dispatcher.clock
    started_ns = 0
    if clock is None:
        started_ns = cell.slice_since_ns = dispatcher.now_ns()
    while True:
        try:
            if failure is not None:
                raised, failure = failure, None
                suspension = coroutine.throw(raised)
            else:
                suspension = coroutine.send(value)
        except StopIteration as stop:
            cell.task_ended()
            item = task.item
            if started_ns:
                _measure(cell, started_ns, item, task.label)
            if item is not None:  # a hook is no message
                cell.handled += 1
                if item.reply_to is not None:
                    item.reply_to.set(stop.value)
            trace = dispatcher.trace  # as `_trace`, without its call: this is how nearly all of them end
            if trace is not None:
                now_ns = dispatcher.now_ns() if clock is None else clock.now_ns
                if item is None:
                    label = task.label
                else:
                    label = item.label() if item.nature.keyed else item.nature.name
                trace(now_ns, cell.path, label, "ok")
            return
        except Interrupted as order:
            cell.task_ended()
            if started_ns:
                _measure(cell, started_ns, task.item, task.label)
            _give_no_answer(cell, task.item, order)
            _trace(cell, task.item, task.label, f"interrupted by {order}")
            return
        except BaseException as raised:
            cell.task_ended()
            if started_ns:
                _measure(cell, started_ns, task.item, task.label)
            failed(cell, task.item, raised, task.label)
            return
        if type(suspension) is not Suspension:
            failure = TypeError(
                f"a handler awaited {suspension!r}; it can await only what self.wait() and self.sleep() give"
            )
            continue
        pending = suspension.pending
        try:
            if pending is None or not pending.done():
                if started_ns:
                    _measure(cell, started_ns, task.item, task.label)
                _arm(cell, task, suspension)
                return
            value = pending.result()
        except BaseException as raised:  # the pending's failure, or no pending at all: the handler's in both cases
            task.token = None
            failure = raised


def _arm(cell: Cell, task: Task, suspension: Suspension[Any]) -> None:
    token = task.token = object()
    pending, timeout_ns = suspension.pending, suspension.timeout_ns
    task.waiting_for = suspension.what
    if timeout_ns is not None:
        given_up = None if pending is None else (suspension.what or task.label, timeout_ns, pending)
        task.timer = cell.dispatcher.schedule(timeout_ns, partial(cell.resume, token, given_up))
    if pending is not None:
        pending.add_done_callback(partial(cell.resume, token))


def _unhandled(cell: Cell, item: Item) -> None:
    if isinstance(item.message, Signal):
        return
    now_ns = cell.dispatcher.now_ns()
    cell.system.dead_letters.add(Reason.UNHANDLED, item.message, item.sender, cell.path, now_ns)
    _give_no_answer(cell, item, UnhandledMessageError(f"{cell.path} has no handler for {type(item.message).__name__}"))
    _trace(cell, item, "", "unhandled")


def failed(cell: Cell, item: Item | None, failure: BaseException, label: str = "") -> None:
    """As in Pykka, an ordinary exception in answer to an `ask` is the asker's; anything else is the actor's."""
    _trace(cell, item, label, f"failed: {type(failure).__name__}")
    if item is not None and item.reply_to is not None:
        _give_no_answer(cell, item, failure)
        if isinstance(failure, Exception):
            return
    cell.fail(failure, label if item is None else describe(item.message))


def _give_no_answer(cell: Cell, item: Item | None, failure: BaseException) -> None:
    """Whoever asked gets the failure instead."""
    if item is None or item.reply_to is None:
        return
    if isinstance(failure, Exception):
        item.reply_to.fail(failure)
    else:
        lost = NoAnswerError(f"{cell.path} gave no answer to {type(item.message).__name__}: {text_of(failure)}")
        lost.__cause__ = failure
        item.reply_to.fail(lost)


def _measure(cell: Cell, started_ns: int, item: Item | None, label: str = "") -> None:
    """Remember how long messages held a thread, all of them and the longest; waiting does not count.

    Not for `started_ns` 0: time does not pass during turns of this dispatcher, and there is nothing to remember.
    """
    cell.slice_since_ns = None
    took_ns = cell.dispatcher.now_ns() - started_ns
    cell.busy_ns += took_ns
    if took_ns > cell.slowest_ns:
        cell.slowest_ns = took_ns
        cell.slowest_message = label if item is None else describe(item.message)


def _trace(cell: Cell, item: Item | None, label: str, outcome: str) -> None:
    trace = cell.dispatcher.trace
    if trace is not None:
        trace(cell.dispatcher.now_ns(), cell.path, label if item is None else item.label(), outcome)
