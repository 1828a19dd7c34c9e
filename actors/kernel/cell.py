"""The cell: one place in the tree of actors.

A cell outlives its actor. When the actor fails, a new one is constructed in the same cell, with the same mailbox,
reference, children and watchers.

The dispatcher gives a cell *turns*, on one thread at a time. A turn constructs the actor, handles one message, resumes
a waiting handler, or stops the actor. Other threads only set a flag under the lock (post, resume, request a stop) and
ask the dispatcher for a turn. State that only turns use needs no lock.

Three modules share the cell, and import each other. This one has the state and the methods that other threads call.
`handling` runs handlers; `lifecycle` starts, fails and stops the actor. The kernel has no other import cycle.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pykka
from pykka.messages import _ActorStop

from actors.kernel import handling, lifecycle
from actors.kernel.actor_base import ActorBase
from actors.kernel.context import context
from actors.kernel.dead_letters import DeadLetters, Reason
from actors.kernel.dispatcher import Dispatcher
from actors.kernel.errors import KernelError, MailboxFullError, NameTakenError
from actors.kernel.handlers import Handler
from actors.kernel.handling import HandlerWait, Task
from actors.kernel.incarnation import ActorTimers, Effects, Timer
from actors.kernel.lifecycle import ActorLife
from actors.kernel.mailbox import Mailbox
from actors.kernel.message import ActorStopped, Signal
from actors.kernel.promise import AskFuture
from actors.kernel.ref import ActorRef
from actors.kernel.supervision import RestartStrategy, SupervisionVerdict
from actors.kernel.timers import Cancellable

OUTSIDE = "outside"
"""The sender of a message that comes from no actor."""


class System(Protocol):
    """The methods of the actor system that a cell calls."""

    dispatcher: Dispatcher
    dead_letters: DeadLetters
    logger: Any

    def logger_of(self, actor_class: type[Any]) -> Any: ...
    def log_failure(
        self, cell: Cell, failure: BaseException, last_message: str, verdict: SupervisionVerdict
    ) -> None: ...
    def cell_stopped(self, cell: Cell) -> None: ...


@dataclass(slots=True, eq=False, weakref_slot=True)
class Cell:
    """Slots save 2 KiB a cell; an idle actor may cost 5 KiB in total."""

    system: System
    parent: Cell | None
    name: str
    actor_class: type[ActorBase]
    strategy: RestartStrategy

    dispatcher: Dispatcher = field(init=False)
    path: str = field(init=False)
    handlers: Mapping[type[Any], Handler] = field(init=False)
    mailbox: Mailbox = field(init=False)
    ref: ActorRef = field(init=False)
    lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    """None while the cell is reserved and has not got its arguments yet."""

    life: ActorLife = ActorLife.NEW
    actor: ActorBase | None = None
    task: Task | None = None
    """The suspended handler."""
    timers: ActorTimers | None = None
    effects: Effects | None = None
    generation: int = 0
    failures: tuple[int, ...] = ()
    """Times of the recent failures, ns."""

    scheduled: bool = False
    """The cell is in the dispatcher's queue or on one of its threads."""
    batching: bool = False
    """The waiting messages wait for more; a timer ends that (`ActorBase.batch_window_ns`)."""
    start_due: bool = False
    stop_requested: bool = False
    forced: bool = False
    """The grace period of a stop is over."""
    alarm: Cancellable | None = None
    """The timer for the end of a back-off, or of the grace period of a stop."""

    child_cells_by_name: dict[str, Cell] | None = None
    watchers: dict[Cell, None] | None = None
    watchers_swept_at: int = 16
    stop_replies: list[AskFuture[Any]] | None = None

    restarts: int = 0
    handled: int = 0
    handled_when_asked: int = -1
    """`handled` at the last heartbeat."""
    busy_ns: int = 0
    slowest_ns: int = 0
    slowest_message: str = ""
    slice_since_ns: int | None = None
    """The time since when a handler has held its thread."""
    last_failure: str = ""
    cause_of_death: str = ""

    def __post_init__(self) -> None:
        parent = self.parent
        self.dispatcher = self.system.dispatcher
        self.path = self.name if parent is None else f"{parent.path}/{self.name}" if parent.parent else f"/{self.name}"
        self.handlers = self.dispatcher.handlers_of(self.actor_class)
        self.mailbox = self.dispatcher.new_mailbox(self.actor_class)
        self.ref = ActorRef(self)

    def has_stopped(self) -> bool:
        return self.life is ActorLife.STOPPED

    # --- called on any thread: set a flag, ask for a turn -------------------------------------------------------------

    def post(self, message: Any, reply_to: AskFuture[Any] | None = None, key: Hashable | None = None) -> None:
        """Put a message into the mailbox. Never raises."""
        if (tap := self.dispatcher.tap) is not None and tap(self, message, reply_to, key):
            return
        sender = OUTSIDE if (running := context.cell) is None else running.path
        now_ns = self.dispatcher.now_ns()
        with self.lock:
            refused = self.mailbox.post(message, reply_to, sender, now_ns, key)
            if not (self.actor_class.batch_window_ns > 0 and self._waits_for_more(reply_to)):
                self.ask_for_turn()
        if refused is not None:
            self._not_taken(refused, message, reply_to, sender)

    def _not_taken(self, why: Reason, message: Any, reply_to: AskFuture[Any] | None, sender: str) -> None:
        """Make a dead letter of a message, and fail the future of an `ask`."""
        if why is Reason.OVERFLOW or not isinstance(message, Signal):
            self.system.dead_letters.add(why, message, sender, self.path, self.dispatcher.now_ns())
        if reply_to is not None and why is Reason.OVERFLOW:
            reply_to.fail(MailboxFullError(f"the mailbox of {self.path} is full"))
        elif reply_to is not None:
            reply_to.fail(pykka.ActorDeadError(f"{self.path} has stopped"))

    def _waits_for_more(self, reply_to: AskFuture[Any] | None) -> bool:
        """Whether the message may wait for more messages of its key. Start the timer for that. Hold the lock."""
        if reply_to is not None or self.scheduled or self.mailbox.has_urgent():
            return False
        if self.life is not ActorLife.RUNNING or not self.has_work():
            return False
        if not self.batching:
            self.batching = True
            self.dispatcher.schedule(self.actor_class.batch_window_ns, self._end_batch)
        return True

    def _end_batch(self) -> None:
        with self.lock:
            self.batching = False
            self.ask_for_turn()

    def put(self, envelope: Any, /) -> None:
        """Part of Pykka's inbox: an `ask`, or a stop."""
        reply_to = envelope.reply_to
        if reply_to is not None:
            reply_to.bind(self.dispatcher)
        if isinstance(envelope.message, _ActorStop):
            self.request_stop(reply_to)
        else:
            self.post(envelope.message, reply_to)

    def get(self) -> Any:
        """Part of Pykka's inbox."""
        raise RuntimeError("only the dispatcher takes messages from a cell")

    def empty(self) -> bool:
        """Part of Pykka's inbox."""
        return not self.mailbox.has_messages()

    def request_stop(self, reply_to: AskFuture[Any] | None) -> None:
        """Stop before any waiting message, and interrupt a suspended handler. May be called more than once."""
        if (tap := self.dispatcher.tap) is not None and tap(self, _ActorStop(), reply_to, None):
            return
        with self.lock:
            stopped = self.life is ActorLife.STOPPED
            if not stopped:
                if reply_to is not None:
                    self.stop_replies = [*(self.stop_replies or ()), reply_to]
                self.stop_requested = True
            self.ask_for_turn()
        if stopped and reply_to is not None:
            reply_to.fail(pykka.ActorDeadError(f"{self.path} has stopped"))

    def resume(self, wait: HandlerWait, timed_out: bool) -> None:
        """End a wait of the handler: its result, deadline or interrupt is here. Only the first one counts."""
        with self.lock:
            if self.task is None or self.task.wait is not wait or wait.over:
                return
            wait.over = True
            wait.timed_out = timed_out
            self.ask_for_turn()

    def wake(self, generation: int) -> None:
        """End the back-off after the failure of `generation`."""
        with self.lock:
            if generation != self.generation or self.life not in (ActorLife.BACKING_OFF, ActorLife.PARKED):
                return
            self.alarm = None
            self.start_due = True
            self.ask_for_turn()

    def force(self, task: Task) -> None:
        """End the grace period that a stop gives to a suspended handler."""
        with self.lock:
            if self.task is not task:
                return
            self.forced = True
            self.ask_for_turn()

    def ask_for_turn(self) -> None:
        """Queue the cell when it has work and is not queued. Hold the lock."""
        if not self.scheduled and self.has_work():
            self.scheduled = True
            self.dispatcher.enqueue(self)

    def has_work(self) -> bool:
        if self.task is not None:
            return handling.has_work(self, self.task)
        if self.actor is not None and not self.stop_requested:
            return self.mailbox.has_messages()
        if self.life is ActorLife.STOPPED:
            return False
        if self.life is ActorLife.STOPPING:
            return not self.child_cells_by_name
        return self.stop_requested or self.start_due

    def is_stopping(self) -> bool:
        return self.life is ActorLife.STOPPING

    # --- turns ------------------------------------------------------------------------------------------------------

    def run(self, turns: int = 1) -> None:
        """Take at most `turns` turns on this thread, then leave or queue again. Called by the dispatcher only."""
        context.cell = self
        try:
            while turns > 0 and self._take_turn():
                turns -= 1
        finally:
            context.cell = None
            with self.lock:
                again = self.scheduled = self.has_work()
            if again:
                self.dispatcher.enqueue(self)

    def _take_turn(self) -> bool:
        """Take the next turn. False when there is nothing to do."""
        if self.task is not None:
            return handling.go_on(self, self.task)
        if self.actor is None or self.stop_requested:
            return self._turn_of_life()
        if not self.mailbox.has_messages():
            return False
        with self.lock:
            item = self.mailbox.take()
        if not isinstance(item.key, Timer) or item.key.claim():
            handling.handle(self, item)
        return True

    def _turn_of_life(self) -> bool:
        if self.life is ActorLife.STOPPED:
            return False
        if self.life is ActorLife.STOPPING:
            if self.child_cells_by_name:
                return False
            lifecycle.finish_stop(self)
        elif self.stop_requested:
            lifecycle.begin_stop(self)
        elif self.start_due:
            lifecycle.construct(self)
        else:
            return False
        return True

    def task_ended(self) -> None:
        """Clear the suspended handler, which has returned or raised."""
        with self.lock:
            self.task = None
            self.forced = False
            alarm, self.alarm = self.alarm, None
        if alarm is not None:
            alarm.cancel()

    def begin(self, hook: Callable[[], Any], label: str) -> None:
        """Run a hook of the actor like a handler."""
        handling.run_hook(self, hook, label)

    def fail(self, failure: BaseException, last_message: str) -> None:
        """The actor has failed; its strategy decides what comes next."""
        lifecycle.fail(self, failure, last_message)

    # --- children and watchers: called on any thread ------------------------------------------------------------------

    def spawn(
        self,
        actor_class: type[ActorBase],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None,
        name: str,
        strategy: RestartStrategy,
    ) -> ActorRef:
        """Make a child; its constructor runs on a turn of its own."""
        child = self.reserve(actor_class, name, strategy)
        child.start(args, kwargs)
        return child.ref

    def reserve(self, actor_class: type[ActorBase], name: str, strategy: RestartStrategy) -> Cell:
        """Make a child whose reference takes mail, but which is not constructed before `start`."""
        if not name or "/" in name:
            raise ValueError(f"an actor needs a name without '/', not {name!r}")
        child = Cell(self.system, self, name, actor_class, strategy)
        with self.lock:
            if self.child_cells_by_name is None:
                self.child_cells_by_name = {}
            if name in self.child_cells_by_name:
                raise NameTakenError(f"{self.path} already has a child named {name!r}")
            if self.life in (ActorLife.STOPPING, ActorLife.STOPPED):
                raise pykka.ActorDeadError(f"{self.path} is stopping and takes no more children")
            self.child_cells_by_name[name] = child
        return child

    def start(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> None:
        """Give a reserved cell its arguments, once. Its actor is then constructed."""
        with self.lock:
            if self.kwargs is not None:
                raise KernelError(f"{self.path} has its arguments already")
            self.args = args
            self.kwargs = kwargs or {}
            self.start_due = True
            self.ask_for_turn()

    def watch(self, watcher: Cell) -> None:
        """Send `ActorStopped` to `watcher` once, when this cell has stopped; at once if it already has."""
        with self.lock:
            stopped = self.life is ActorLife.STOPPED
            if not stopped:
                self._add_watcher(watcher)
        if stopped:
            watcher.post(ActorStopped(self.ref, self.path, self.cause_of_death))

    def _add_watcher(self, watcher: Cell) -> None:
        if self.watchers is None:
            self.watchers = {}
        elif len(self.watchers) >= self.watchers_swept_at:  # forget watchers that have stopped themselves
            self.watchers = {each: None for each in self.watchers if each.life is not ActorLife.STOPPED}
            self.watchers_swept_at = max(16, 2 * len(self.watchers))
        self.watchers[watcher] = None

    def child_cells(self) -> list[Cell]:
        with self.lock:
            return list((self.child_cells_by_name or {}).values())

    def walk(self) -> list[Cell]:
        """The cell and all below it, depth first, by name."""
        children = sorted(self.child_cells(), key=lambda child: child.name)
        return [self, *(cell for child in children for cell in child.walk())]

    # --- called by its actor ------------------------------------------------------------------------------------------

    def have_timers(self) -> ActorTimers:
        if self.timers is None:
            self.timers = ActorTimers(self.dispatcher.schedule, self.post)
        return self.timers

    def have_effects(self) -> Effects:
        if self.effects is None:
            self.effects = Effects(self.actor_class.max_effects, self.generation, self.post)
        return self.effects

    def effect_count(self) -> int:
        return 0 if self.effects is None else self.effects.count()
