"""How a cell handles one message.

It finds the handler by type, runs it, resumes it after a wait, answers, and measures.

These functions run on the turns of a cell. They own the time from when a message leaves the mailbox to the end of its
handler.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from actors.kernel.dead_letters import Reason
from actors.kernel.errors import DeadlineExceededError, Interrupted, NoAnswerError, UnhandledMessageError, text_of
from actors.kernel.incarnation import EffectEnded
from actors.kernel.mailbox import Item
from actors.kernel.message import Escalated, Signal, describe
from actors.kernel.promise import Suspension
from actors.kernel.timers import Cancellable

if TYPE_CHECKING:
    from actors.kernel.cell import Cell

_STOP: Any = "stop"
"""Value of `Task.interrupted_by`: a stop interrupted the handler."""
_NOTHING: Suspension[Any] = Suspension(None)


@dataclass(slots=True, eq=False)
class HandlerWait:
    """One wait of a handler. It is `over` when its result, its deadline or the end of its sleep has come.

    The result may keep its callbacks, and so this object. It has no reference back, so no cycle stays as garbage.
    """

    over: bool = False
    timed_out: bool = False
    timer: Cancellable | None = None


@dataclass(slots=True, eq=False)
class Task:
    """A suspended handler. At most one per actor. `item` is None for `on_start` and `on_stop`.

    `wait` is the current wait, for `suspension`; None while the handler runs. Results of other waits are ignored.
    """

    coroutine: Coroutine[Any, Any, Any]
    item: Item | None
    label: str
    started_ns: int
    wait: HandlerWait | None = None
    suspension: Suspension[Any] = _NOTHING
    interrupted_by: Any = None

    @property
    def waiting_for(self) -> str:
        return "" if self.wait is None else self.suspension.what

    def end_wait(self) -> HandlerWait | None:
        wait, self.wait = self.wait, None
        if wait is not None and wait.timer is not None:
            wait.timer.cancel()
        return wait


def handle(cell: Cell, item: Item) -> None:
    """Handle one message with the handler of its type. Without one, make a dead letter of it."""
    if type(item.message) is EffectEnded:
        item.message = _message_of_effect(cell, item.message)
        if item.message is None:
            return
    handler = cell.handlers.get(type(item.message))
    if handler is None:
        _unhandled(cell, item)
        return
    started_ns = cell.slice_since_ns = cell.dispatcher.work_ns()
    try:
        result = handler(cell.actor, item.message)
    except BaseException as failure:
        _end_slice(cell, started_ns, item)
        _failed(cell, item, "", failure)
        return
    if type(result) is CoroutineType:
        cell.task = Task(result, item, type(item.message).__name__, started_ns)
        _drive(cell, cell.task)
        return
    _end_slice(cell, started_ns, item)
    _succeeded(cell, item, "", result)


def run_hook(cell: Cell, hook: Callable[[], Any], label: str) -> None:
    """Run `on_start` or `on_stop`. If the hook fails, the actor fails."""
    cell.slice_since_ns = cell.dispatcher.work_ns()
    try:
        result = hook()
    except BaseException as failure:
        cell.slice_since_ns = None
        cell.fail(failure, label)
        return
    cell.slice_since_ns = None
    if type(result) is CoroutineType:
        cell.task = Task(result, None, label, cell.dispatcher.now_ns())
        _drive(cell, cell.task)


# --- a suspended handler ----------------------------------------------------------------------------------------------


def has_work(cell: Cell, task: Task) -> bool:
    """Whether `go_on` would find something to do. Hold the lock."""
    if _is_due(task) or cell.forced or (cell.stop_requested and cell.alarm is None):
        return True
    return _next_order(cell, task) is not None


def go_on(cell: Cell, task: Task) -> bool:
    """Resume the suspended handler, interrupt it or abandon it. False when there is nothing to do yet."""
    if cell.stop_requested and cell.alarm is None:
        cell.alarm = cell.dispatcher.schedule(cell.actor_class.stop_grace_ns, partial(cell.force, task))
    order = None
    with cell.lock:
        due = _is_due(task)
        if not due and not cell.forced:
            order = _next_order(cell, task)
        if order is not None:
            task.interrupted_by = _STOP if order.cause is None else order.cause
        wait = task.end_wait() if due or order is not None else None
    if due and wait is not None:
        _resume(cell, task, wait)
    elif order is not None:
        _drive(cell, task, failure=order)
    elif cell.forced:
        _abandon(cell, task)
    else:
        return False
    return True


def _is_due(task: Task) -> bool:
    return task.wait is not None and task.wait.over


def _next_order(cell: Cell, task: Task) -> Interrupted | None:
    """The next interrupt or stop for the suspended handler, or None."""
    if cell.is_stopping():
        return None  # nothing interrupts on_stop
    if cell.stop_requested:
        return None if task.interrupted_by is _STOP else Interrupted(None)
    if task.item is None:
        return None  # only a stop interrupts on_start
    message = cell.mailbox.first_interrupt()
    if message is None or message is task.interrupted_by:
        return None
    return Interrupted(message)


def _resume(cell: Cell, task: Task, wait: HandlerWait) -> None:
    suspension = task.suspension
    pending = suspension.pending
    if pending is None:  # a sleep has ended
        _drive(cell, task)
        return
    if wait.timed_out:
        what = suspension.what or task.label
        try:
            pending.cancel()
        except Exception as failure:
            cell.system.logger.warning("%s: %s could not be cancelled: %s", cell.path, what, text_of(failure))
        _drive(cell, task, failure=DeadlineExceededError(what, suspension.timeout_ns or 0))
        return
    try:
        value = pending.result()
    except BaseException as failure:
        _drive(cell, task, failure=failure)
    else:
        _drive(cell, task, value)


def _abandon(cell: Cell, task: Task) -> None:
    """Abandon a handler that has not ended within the grace period of a stop."""
    task.end_wait()
    cell.system.logger.warning("%s: %s did not end when told to stop; abandoned", cell.path, task.label)
    cell.task_ended()
    try:
        task.coroutine.close()
    except BaseException as failure:
        cell.system.logger.warning("%s: abandoned handler refused to close: %s", cell.path, text_of(failure))
    _give_no_answer(cell, task.item, Interrupted(None))
    _trace(cell, task.item, task.label, "abandoned")


def _drive(cell: Cell, task: Task, value: Any = None, failure: BaseException | None = None) -> None:
    """Run the handler's coroutine until it waits or ends."""
    started_ns = cell.slice_since_ns = cell.dispatcher.work_ns()
    while True:
        try:
            suspension = task.coroutine.send(value) if failure is None else task.coroutine.throw(failure)
        except BaseException as end:
            cell.task_ended()
            _end_slice(cell, started_ns, task.item, task.label)
            _task_ended(cell, task, end)
            return
        try:
            if not isinstance(suspension, Suspension):
                raise TypeError(
                    f"a handler awaited {suspension!r}; it can await only what self.wait() and self.sleep() give"
                )
            _begin_wait(cell, task, suspension)
        except Exception as bad:  # not awaitable: a failure of the handler
            task.wait = None
            failure = bad
        else:
            _end_slice(cell, started_ns, task.item, task.label)
            return


def _task_ended(cell: Cell, task: Task, end: BaseException) -> None:
    """Finish a handler; `end` is what its coroutine raised."""
    if isinstance(end, StopIteration):
        _succeeded(cell, task.item, task.label, end.value)
    elif isinstance(end, Interrupted):
        _give_no_answer(cell, task.item, end)
        _trace(cell, task.item, task.label, f"interrupted by {end}")
    else:
        _failed(cell, task.item, task.label, end)


def _begin_wait(cell: Cell, task: Task, suspension: Suspension[Any]) -> None:
    wait = task.wait = HandlerWait()
    task.suspension = suspension
    if suspension.timeout_ns is not None:
        wait.timer = cell.dispatcher.schedule(suspension.timeout_ns, lambda: cell.resume(wait, True))
    if suspension.pending is not None:
        suspension.pending.add_done_callback(lambda _: cell.resume(wait, False))


# --- the end of a handler ---------------------------------------------------------------------------------------------


def _message_of_effect(cell: Cell, ended: EffectEnded) -> Any:
    """The message to the actor about an ended effect, or None."""
    effects = cell.effects
    if effects is None or ended.generation != effects.generation:  # begun before a restart
        cell.system.dead_letters.add(Reason.STALE, ended, cell.path, cell.path, cell.dispatcher.now_ns())
        return None
    cell.slice_since_ns = cell.dispatcher.work_ns()
    try:
        effects.end_one()
        return ended.then(ended.pending)
    except BaseException as failure:
        cell.fail(failure, "the end of an effect")
        return None
    finally:
        cell.slice_since_ns = None


def _unhandled(cell: Cell, item: Item) -> None:
    if isinstance(item.message, Escalated):
        cell.fail(item.message.cause, "a child's failure")
        return
    if isinstance(item.message, Signal):
        return
    now_ns = cell.dispatcher.now_ns()
    cell.system.dead_letters.add(Reason.UNHANDLED, item.message, item.sender, cell.path, now_ns)
    _give_no_answer(cell, item, UnhandledMessageError(f"{cell.path} has no handler for {type(item.message).__name__}"))
    _trace(cell, item, "", "unhandled")


def _succeeded(cell: Cell, item: Item | None, label: str, result: Any) -> None:
    if item is not None:
        cell.handled += 1
        if item.reply_to is not None:
            item.reply_to.set(result)
    _trace(cell, item, label, "ok")


def _failed(cell: Cell, item: Item | None, label: str, failure: BaseException) -> None:
    """Give the asker an ordinary exception, as in Pykka. Any other failure fails the actor."""
    _trace(cell, item, label, f"failed: {type(failure).__name__}")
    _give_no_answer(cell, item, failure)
    is_the_askers = item is not None and item.reply_to is not None and isinstance(failure, Exception)
    if not is_the_askers:
        cell.fail(failure, label if item is None else describe(item.message))


def _give_no_answer(cell: Cell, item: Item | None, failure: BaseException) -> None:
    """Send the failure to the asker, if there is one."""
    if item is None or item.reply_to is None:
        return
    if isinstance(failure, Exception):
        item.reply_to.fail(failure)
    else:
        lost = NoAnswerError(f"{cell.path} gave no answer to {type(item.message).__name__}: {text_of(failure)}")
        lost.__cause__ = failure
        item.reply_to.fail(lost)


def _end_slice(cell: Cell, started_ns: int, item: Item | None, label: str = "") -> None:
    """Record how long messages held a thread, in total and at most. Time spent suspended does not count."""
    cell.slice_since_ns = None
    took_ns = cell.dispatcher.work_ns() - started_ns
    cell.busy_ns += took_ns
    if took_ns > cell.slowest_ns:
        cell.slowest_ns = took_ns
        cell.slowest_message = label if item is None else describe(item.message)


def _trace(cell: Cell, item: Item | None, label: str, outcome: str) -> None:
    trace = cell.dispatcher.trace
    if trace is not None:
        trace(cell.dispatcher.now_ns(), cell.path, label if item is None else describe(item.message), outcome)
