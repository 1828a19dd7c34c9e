"""The cell: one place in the tree of actors, and the life of whoever lives there.

A cell outlives its actor: when the actor fails, a new one is constructed in the same cell, with the same mailbox,
reference, children and watchers. The cell owns the order of things:

    NEW -> RUNNING -> STOPPING -> STOPPED
            |    ^
            v    |
      BACKING_OFF / PARKED     (failed; a timer starts the next incarnation)

Work is done in *turns*, on a thread of the dispatcher, one thread at a time: construct, handle one message, resume a
waiting handler, stop. Everything that others do to a cell (post, resume, request a stop) only leaves a mark under the
lock and asks the dispatcher for a turn. What a turn touches alone needs no lock.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import pykka
from pykka.messages import _ActorStop

from actors.kernel import handling
from actors.kernel.actor_timers import ActorTimers
from actors.kernel.context import StoppedFlag, constructing, context
from actors.kernel.dead_letters import Reason
from actors.kernel.effects import Effects
from actors.kernel.errors import Interrupted, KernelError, MailboxFullError, NameTakenError
from actors.kernel.mailbox import Item, Mailbox, Posted
from actors.kernel.message import ActorStopped, ChildFailed, Escalated, Message, Signal
from actors.kernel.promise import AskFuture, Pending
from actors.kernel.ref import ActorRef
from actors.kernel.supervision import RESTART, Action, RestartStrategy, decide
from actors.kernel.suspension import Task

if TYPE_CHECKING:
    from collections.abc import Mapping as MappingType

    from actors.kernel.actor import Actor
    from actors.kernel.dispatcher import Cancellable
    from actors.kernel.system import ActorSystem

EDGE = "outside"
"""The sender of what comes from no actor."""


class Life(enum.Enum):
    """See the module."""

    NEW = "new"
    RUNNING = "running"
    BACKING_OFF = "backing off"
    PARKED = "parked"
    STOPPING = "stopping"
    STOPPED = "stopped"


class _Turn(enum.IntEnum):
    """Where the cell is with the dispatcher: no work, in its queue, on one of its threads."""

    IDLE = 0
    QUEUED = 1
    RUNNING = 2


class Cell:
    """See the module."""

    __slots__ = (
        "__weakref__",
        "_children",
        "_effects",
        "_force_timer",
        "_forced",
        "_furnished",
        "_interrupted_by",
        "_lock",
        "_resumption",
        "_start_due",
        "_stop_replies",
        "_stop_requested",
        "_timers",
        "_turn_state",
        "_watchers",
        "actor",
        "actor_class",
        "args",
        "dispatcher",
        "failures",
        "generation",
        "handled",
        "kwargs",
        "last_failure",
        "life",
        "mailbox",
        "name",
        "parent",
        "path",
        "ref",
        "restarts",
        "slice_since_ns",
        "slowest_message",
        "slowest_ns",
        "stopped",
        "strategy",
        "system",
        "task",
    )

    def __init__(
        self,
        system: ActorSystem,
        parent: Cell | None,
        name: str,
        actor_class: type[Actor],
        strategy: RestartStrategy,
    ) -> None:
        self.system = system
        self.dispatcher = system.dispatcher
        self.parent = parent
        self.name = name
        self.path: str = name if parent is None else f"{parent.path}/{name}" if parent.parent else f"/{name}"
        self.actor_class: type[Actor] = actor_class
        self.args: tuple[Any, ...] = ()
        self.kwargs: Mapping[str, Any] | None = None
        self.strategy = strategy
        self.stopped: StoppedFlag = StoppedFlag()
        self.mailbox = Mailbox(actor_class.mailbox_capacity)
        self.ref = ActorRef(self)
        self.life = Life.NEW
        self.actor: Actor | None = None
        self.task: Task | None = None
        self.generation = 0
        self.failures: tuple[int, ...] = ()
        self.restarts = 0
        self.handled = 0
        self.last_failure = ""
        self.slowest_ns = 0
        self.slowest_message = ""
        self.slice_since_ns: int | None = None
        self._lock = threading.Lock()
        self._turn_state = _Turn.IDLE
        self._furnished = False
        self._start_due = False
        self._stop_requested = False
        self._forced = False
        self._interrupted_by: Message | None = None
        self._resumption: tuple[int, Any] | None = None
        self._children: dict[str, Cell] | None = None
        self._watchers: list[Cell] | None = None
        self._stop_replies: list[AskFuture[Any]] | None = None
        self._timers: ActorTimers | None = None
        self._force_timer: Cancellable | None = None
        self._effects: Effects | None = None

    # --- what others do: leave a mark, ask for a turn -----------------------------------------------------------------

    def post(self, message: Any, reply_to: AskFuture[Any] | None, key: Hashable | None = None) -> None:
        """Put a message into the mailbox. Never raises."""
        sender_cell = context.cell
        sender = EDGE if sender_cell is None else sender_cell.path
        now_ns = self.dispatcher.now_ns()
        with self._lock:
            posted = self.mailbox.post(message, reply_to, sender, now_ns, key)
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)
        if posted is Posted.QUEUED or posted is Posted.COALESCED:
            return
        if posted is Posted.REFUSED:
            self.system.dead_letters.add(Reason.OVERFLOW, message, sender, self.path, now_ns)
            if reply_to is not None:
                reply_to._promise.set_exception(MailboxFullError(f"the mailbox of {self.path} is full"))
            return
        if not isinstance(message, Signal):
            self.system.dead_letters.add(Reason.STOPPED, message, sender, self.path, now_ns)
        if reply_to is not None:
            reply_to._promise.set_exception(pykka.ActorDeadError(f"{self.path} has stopped"))

    def put(self, envelope: Any, /) -> None:
        """Pykka's way in: an `ask`, or a stop."""
        reply_to = envelope.reply_to
        if reply_to is not None:
            reply_to.bind(self.dispatcher)
        if isinstance(envelope.message, _ActorStop):
            self.request_stop(reply_to)
        else:
            self.post(envelope.message, reply_to)

    def get(self) -> Any:
        """Part of Pykka's inbox; nobody but the cell itself takes messages."""
        raise RuntimeError("only the dispatcher takes messages from a cell")

    def empty(self) -> bool:
        return not self.mailbox.has_messages()

    def request_stop(self, reply_to: AskFuture[Any] | None) -> None:
        """Stop soon: before any waiting message, interrupting a handler that waits. May be called more than once."""
        with self._lock:
            if self.life is Life.STOPPED:
                if reply_to is not None:
                    reply_to._promise.set_exception(pykka.ActorDeadError(f"{self.path} has stopped"))
                return
            if reply_to is not None:
                self._stop_replies = [*(self._stop_replies or ()), reply_to]
            self._stop_requested = True
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def watch_by(self, watcher: Cell) -> None:
        with self._lock:
            if self.life is not Life.STOPPED:
                self._watchers = [*(self._watchers or ()), watcher]
                return
        watcher.post(ActorStopped(self.ref, self.path, self.last_failure), None)

    def resume(self, token: int, result: Any) -> None:
        """What the handler at hand waits for has come; `token` says which of its waits is meant."""
        with self._lock:
            task = self.task
            if task is None or task.token != token or self._resumption is not None:
                return
            self._resumption = (token, result)
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def _give_grace(self) -> None:
        """What waits while the actor stops must end within the grace."""
        if self._force_timer is None:
            self._force_timer = self.dispatcher.schedule(self.actor_class.stop_grace_ns, self._force_stop)

    def _force_stop(self) -> None:
        with self._lock:
            if self.life is Life.STOPPED:
                return
            self._forced = True
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def _start_again(self, generation: int) -> None:
        with self._lock:
            if generation != self.generation or self.life not in (Life.BACKING_OFF, Life.PARKED):
                return
            self._start_due = True
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def _needs_turn(self) -> bool:
        """Under the lock: mark the cell as queued when it has work and nobody is at it."""
        if self._turn_state is _Turn.IDLE and self._has_work():
            self._turn_state = _Turn.QUEUED
            return True
        return False

    def _has_work(self) -> bool:
        if self.life is Life.STOPPED:
            return False
        if self.task is not None:
            if self._resumption is not None or self._forced:
                return True
            return self.task.shields == 0 and self._next_interrupt() is not None
        if self.life is Life.STOPPING:
            return not self._children
        if self._stop_requested or self._start_due:
            return True
        return self.life is Life.RUNNING and self.mailbox.has_messages()

    def _next_interrupt(self) -> Interrupted | None:
        """The order that the waiting handler has not been given yet."""
        if self.life is Life.STOPPING:
            return None  # on_stop is not disturbed
        if self._stop_requested:
            return None if self._interrupted_by is _STOP else Interrupted(None)
        message = self.mailbox.first_interrupt()
        if message is None or message is self._interrupted_by:
            return None
        return Interrupted(message)

    # --- turns ------------------------------------------------------------------------------------------------------

    def run(self, turns: int) -> None:
        """Take at most `turns` turns on this thread, then leave or queue again. Called by the dispatcher only."""
        context.cell = self
        self._turn_state = _Turn.RUNNING
        try:
            while turns > 0 and self._turn():
                turns -= 1
        finally:
            context.cell = None
            with self._lock:
                again = self._has_work()
                self._turn_state = _Turn.QUEUED if again else _Turn.IDLE
            if again:
                self.dispatcher.enqueue(self)

    def _turn(self) -> bool:
        """Do the next thing; False when there is none."""
        if self.task is not None:
            return self._turn_of_task(self.task)
        if self.life is Life.STOPPED:
            return False
        if self.life is Life.STOPPING:
            if self._children:
                return False
            self._finish_stop()
            return True
        if self._stop_requested:
            self._begin_stop()
            return True
        if self._start_due:
            self._construct()
            return True
        if self.life is not Life.RUNNING:
            return False
        with self._lock:
            item = self.mailbox.take()
        if item is None:
            return False
        handling.handle(self, item)
        return True

    def _turn_of_task(self, task: Task) -> bool:
        with self._lock:
            resumption, self._resumption = self._resumption, None
            interrupt = None
            if resumption is None and not self._forced and task.shields == 0:
                interrupt = self._next_interrupt()
                if interrupt is not None:
                    self._interrupted_by = _STOP if interrupt.cause is None else interrupt.cause
        if resumption is not None:
            handling.resume(self, task, resumption[1])
        elif self._forced:
            handling.abandon(self, task)
        elif interrupt is not None:
            if interrupt.cause is None:
                self._give_grace()
            handling.interrupt(self, task, interrupt)
        else:
            return False
        return True

    def task_ended(self) -> None:
        """The waiting handler is over, however it ended."""
        with self._lock:
            self.task = None
            self._resumption = None
            self._interrupted_by = None

    def _construct(self) -> None:
        with self._lock:
            self._start_due = False
        constructing.cell = self
        try:
            actor = self.actor_class(*self.args, **(self.kwargs or {}))
            if actor.__dict__.get("_cell") is not self:
                raise TypeError(f"{self.actor_class.__name__}.__init__ must call super().__init__() first")
        except BaseException as failure:
            constructing.cell = None
            self.fail(failure, "constructor")
            return
        finally:
            constructing.cell = None
        self.actor = actor
        self.life = Life.RUNNING
        actor._start_actor_loop()

    def begin(self, hook: Callable[[], Any], label: str) -> None:
        """Run a hook of the actor as if it were a handler."""
        handling.run_hook(self, hook, label)

    # --- failing and restarting -------------------------------------------------------------------------------------

    def fail(self, failure: BaseException, last_message: str) -> None:
        """The actor of this cell has failed; its strategy decides what comes next."""
        self._drop_incarnation(failure)
        self.last_failure = f"{type(failure).__name__}: {failure}"
        if self.life is Life.STOPPING:
            self._finish_stop()
            return
        now_ns = self.dispatcher.now_ns()
        verdict = decide(self.strategy, self.failures, now_ns, self.dispatcher.chance.random())
        self.failures = verdict.failures
        self.system.log_failure(self, failure, last_message, verdict)
        if verdict.action is Action.STOP:
            self._begin_stop()
        elif verdict.action is Action.ESCALATE and self.parent is not None:
            self.parent.post(Escalated(failure), None)
            self._begin_stop()
        else:
            parked = verdict.action is not Action.RESTART
            self.life = Life.PARKED if parked else Life.BACKING_OFF
            self.restarts += 1
            generation = self.generation
            self.dispatcher.schedule(verdict.delay_ns, lambda: self._start_again(generation))
            if self.parent is not None and ChildFailed in self.parent.actor_class._handlers:
                self.parent.post(
                    ChildFailed(
                        self.ref, self.name, self.last_failure, self.restarts, verdict.delay_ns, parked, last_message
                    ),
                    None,
                )

    def _drop_incarnation(self, failure: BaseException) -> None:
        actor, self.actor = self.actor, None
        self.generation += 1
        self._cancel_timers()
        self._effects = None
        if actor is not None:
            try:
                actor.on_failure(type(failure), failure, failure.__traceback__)
            except BaseException as second:
                self.system.logger.error("%s: on_failure failed too: %r", self.path, second)

    # --- stopping ---------------------------------------------------------------------------------------------------

    def _begin_stop(self) -> None:
        with self._lock:
            self._stop_requested = True
            self._start_due = False
            self.life = Life.STOPPING
            children = list((self._children or {}).values())
        self._cancel_timers()
        for child in children:
            child.request_stop(None)

    def _finish_stop(self) -> None:
        """All children are gone: run `on_stop` (it may take turns), then close."""
        actor = self.actor
        if actor is not None:
            self.actor = None
            handling.run_hook(self, actor.on_stop, "on_stop")
            if self.task is not None:
                self._give_grace()
                return  # on_stop waits for something; the next turn without a task comes here again
            if self.life is Life.STOPPED:
                return
        with self._lock:
            if self.life is Life.STOPPED:
                return
            self.life = Life.STOPPED
            self.stopped.set()
            left = self.mailbox.close()
            watchers, self._watchers = self._watchers, None
            replies, self._stop_replies = self._stop_replies, None
        self._effects = None
        if self._force_timer is not None:
            self._force_timer.cancel()
        self._tell_the_bereaved(left, watchers or [])
        if self.parent is not None:
            self.parent.child_stopped(self)
        for reply in replies or ():
            reply._promise.set_result(None)
        self.system.cell_stopped(self)

    def _tell_the_bereaved(self, left: list[Item], watchers: list[Cell]) -> None:
        now_ns = self.dispatcher.now_ns()
        for item in left:
            if not isinstance(item.message, Signal):
                self.system.dead_letters.add(Reason.STOPPED, item.message, item.sender, self.path, now_ns)
            if item.reply_to is not None:
                item.reply_to._promise.set_exception(
                    pykka.ActorDeadError(f"{self.path} stopped before handling the message")
                )
        for watcher in watchers:
            watcher.post(ActorStopped(self.ref, self.path, self.last_failure), None)

    def child_stopped(self, child: Cell) -> None:
        with self._lock:
            if self._children is not None and self._children.get(child.name) is child:
                del self._children[child.name]
                if not self._children:
                    self._children = None
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    # --- what the actor of this cell uses ---------------------------------------------------------------------------

    def spawn(
        self,
        actor_class: type[Actor],
        args: tuple[Any, ...] = (),
        kwargs: MappingType[str, Any] | None = None,
        name: str = "",
        strategy: RestartStrategy = RESTART,
    ) -> ActorRef:
        child = self.reserve(actor_class, name, strategy)
        child.furnish(args, kwargs)
        return child.ref

    def reserve(self, actor_class: type[Actor], name: str, strategy: RestartStrategy) -> Cell:
        """A child whose reference exists and takes mail, but which is not constructed before it is furnished."""
        if not name or "/" in name:
            raise ValueError(f"an actor needs a name without '/', not {name!r}")
        child = Cell(self.system, self, name, actor_class, strategy)
        with self._lock:
            if self._children is None:
                self._children = {}
            if name in self._children:
                raise NameTakenError(f"{self.path} already has a child named {name!r}")
            if self.life in (Life.STOPPING, Life.STOPPED):
                raise pykka.ActorDeadError(f"{self.path} is stopping and takes no more children")
            self._children[name] = child
        return child

    def furnish(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> None:
        """Give a reserved child its arguments, once, and let it start."""
        with self._lock:
            if self._furnished:
                raise KernelError(f"{self.path} has its arguments already")
            self._furnished = True
            self.args = args
            self.kwargs = kwargs or None
            self._start_due = True
            queue = self._needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def children_by_name(self) -> Mapping[str, ActorRef]:
        with self._lock:
            return {name: child.ref for name, child in (self._children or {}).items()}

    def child_cells(self) -> list[Cell]:
        with self._lock:
            return list((self._children or {}).values())

    def watch(self, ref: ActorRef) -> None:
        ref._cell.watch_by(self)

    def shield(self, by: int) -> None:
        if self.task is not None:
            self.task.shields += by

    def start_timer(self, first_ns: int, every_ns: int | None, message: Any, key: Hashable | None) -> None:
        if self._timers is None:
            self._timers = ActorTimers(self.dispatcher, self._post_keyed)
        by_type: Any = type(message)
        self._timers.start(first_ns, every_ns, message, by_type if key is None else key)

    def cancel_timer(self, key: Hashable) -> None:
        if self._timers is not None:
            self._timers.cancel(key)

    def _cancel_timers(self) -> None:
        timers, self._timers = self._timers, None
        if timers is not None:
            timers.cancel_all()

    def _post_keyed(self, message: Any, key: Hashable) -> None:
        self.post(message, None, key)

    def begin_effect(self, make: Callable[[], Pending[Any]], then: Callable[[Pending[Any]], Any]) -> None:
        if self._effects is None:
            self._effects = Effects(self.actor_class.max_effects, self.generation, self._post_plain)
        self._effects.begin(make, then)

    def effect_ended(self, generation: int) -> bool:
        """Count an effect out. False when it was begun by an earlier incarnation."""
        if generation != self.generation or self._effects is None:
            return False
        self._effects.ended()
        return True

    def effect_count(self) -> int:
        effects = self._effects
        return 0 if effects is None else effects.count()

    def _post_plain(self, message: Any) -> None:
        self.post(message, None)


class _StopMark(Message, frozen=True):
    """Stands for 'the handler was told to stop' where otherwise the interrupting message stands."""


_STOP = _StopMark()
