"""The cell: one place in the tree of actors, and the life of whoever lives there.

A cell outlives its actor: when the actor fails, a new one is constructed in the same cell, with the same mailbox,
reference, children and watchers. The cell owns the order of things; `lifecycle` has the states it goes through.

Work is done in *turns*, on a thread of the dispatcher, one thread at a time: construct, handle one message, resume a
waiting handler, stop. Everything that others do to a cell (post, resume, request a stop) only leaves a mark under the
lock and asks the dispatcher for a turn. What a turn touches alone needs no lock.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pykka
from pykka.messages import _ActorStop

from actors.kernel import handling, lifecycle, waiting
from actors.kernel.actor_timers import ActorTimers, Timer
from actors.kernel.context import StoppedFlag, context
from actors.kernel.dead_letters import Reason
from actors.kernel.effects import Effects
from actors.kernel.errors import MailboxFullError
from actors.kernel.lifecycle import Life
from actors.kernel.mailbox import Posted
from actors.kernel.message import Signal
from actors.kernel.promise import AskFuture
from actors.kernel.ref import ActorRef
from actors.kernel.supervision import RestartStrategy
from actors.kernel.suspension import Task

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actors.kernel.actor import Actor
    from actors.kernel.dispatcher import Cancellable
    from actors.kernel.system import ActorSystem

EDGE = "outside"
"""The sender of what comes from no actor."""


class _Turn(enum.IntEnum):
    """Where the cell is with the dispatcher: no work, in its queue, on one of its threads. The other two are those of
    plain cases (see `lone_cell`): no work, and in the queue or at work.
    """

    IDLE = 0
    QUEUED = 1
    RUNNING = 2
    AT_REST = 3
    HAS_MAIL = 4


# The way of every message: a member of an enum costs ten times a global name.
COALESCED = Posted.COALESCED
TAKEN = (Posted.QUEUED, COALESCED)
ALIVE, STOPPING, STOPPED = Life.RUNNING, Life.STOPPING, Life.STOPPED
IDLE, IN_QUEUE, AT_WORK, AT_REST, HAS_MAIL = _Turn


class Cell:
    """See the module."""

    __slots__ = (
        "__weakref__",
        "actor",
        "actor_class",
        "alarm",
        "args",
        "busy_ns",
        "cause_of_death",
        "child_cells_by_name",
        "dispatcher",
        "effects",
        "failures",
        "forced",
        "generation",
        "handled",
        "handled_when_asked",
        "handlers",
        "kwargs",
        "last_failure",
        "life",
        "linger_ns",
        "lingers",
        "lock",
        "mailbox",
        "name",
        "parent",
        "path",
        "ref",
        "restarts",
        "slice_since_ns",
        "slowest_message",
        "slowest_ns",
        "start_due",
        "stop_replies",
        "stop_requested",
        "stopped",
        "strategy",
        "system",
        "task",
        "timers",
        "turn_state",
        "watchers",
        "watchers_swept_at",
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
        self.handlers = self.dispatcher.handlers_of(actor_class)
        self.args: tuple[Any, ...] = ()
        self.kwargs: Mapping[str, Any] | None = None
        """None: it is reserved, and has not been furnished yet."""
        self.strategy = strategy
        self.stopped: StoppedFlag = StoppedFlag()
        self.mailbox = self.dispatcher.new_mailbox(actor_class)
        self.linger_ns = actor_class.linger_ns
        self.lingers = False
        """It has mail that waits for more, and a timer for the end of that."""
        self.ref = ActorRef(self)
        self.life = Life.NEW
        self.actor: Actor | None = None
        self.task: Task | None = None
        self.generation = 0
        self.failures: tuple[int, ...] = ()
        self.restarts = 0
        self.handled = 0
        self.handled_when_asked = -1
        self.busy_ns = 0
        self.last_failure = ""
        self.slowest_ns = 0
        self.slowest_message = ""
        self.slice_since_ns: int | None = None
        self.lock = self._new_lock()
        self.alarm: Cancellable | None = None
        """Moves the cell on when nobody else does: the end of a back-off, or of the grace of a stop."""
        self.start_due = False
        self.stop_requested = False
        self.forced = False
        self.cause_of_death = ""
        self.child_cells_by_name: dict[str, Cell] | None = None
        self.watchers: dict[Cell, None] | None = None
        self.stop_replies: list[AskFuture[Any]] | None = None
        self.timers: ActorTimers | None = None
        self.effects: Effects | None = None
        self.turn_state = IDLE
        self.watchers_swept_at = 16

    def _new_lock(self) -> AbstractContextManager[object]:
        return threading.Lock()

    # --- what others do: leave a mark, ask for a turn -----------------------------------------------------------------

    def post(self, message: Any, reply_to: AskFuture[Any] | None = None, key: Hashable | None = None) -> None:
        """Put a message into the mailbox. Never raises."""
        sender_cell = context.cell
        sender = EDGE if sender_cell is None else sender_cell.path
        now_ns = self.dispatcher.now_ns()
        with self.lock:
            posted = self.mailbox.post(message, reply_to, sender, now_ns, key)
            queue = self.turn_state is IDLE and self.has_work()
            if queue and self.linger_ns and self._lets_wait(reply_to):
                queue = False
            if queue:
                self.turn_state = IN_QUEUE
        if queue:
            self.dispatcher.enqueue(self)
        if posted not in TAKEN:
            self._not_taken(posted, message, reply_to, sender, now_ns)

    def _not_taken(
        self, posted: Posted, message: Any, reply_to: AskFuture[Any] | None, sender: str, now_ns: int
    ) -> None:
        """Nobody will get this message: it becomes a dead letter, and who asked is told."""
        if posted is Posted.REFUSED:
            self.system.dead_letters.add(Reason.OVERFLOW, message, sender, self.path, now_ns)
            if reply_to is not None:
                reply_to.fail(MailboxFullError(f"the mailbox of {self.path} is full"))
            return
        if not isinstance(message, Signal):
            self.system.dead_letters.add(Reason.STOPPED, message, sender, self.path, now_ns)
        if reply_to is not None:
            reply_to.fail(pykka.ActorDeadError(f"{self.path} has stopped"))

    def _lets_wait(self, reply_to: AskFuture[Any] | None) -> bool:
        """Under the lock: whether what has just come may wait for more (`Actor.linger_ns`). Who asks does not wait."""
        only = self.mailbox.only
        urgent = self.mailbox.system is not None if only is None else only.nature.urgent
        if reply_to is not None or urgent or self.life is not ALIVE:
            return False
        if not self.lingers:
            self.lingers = True
            self.dispatcher.schedule(self.linger_ns, self._has_lingered)
        return True

    def _has_lingered(self) -> None:
        with self.lock:
            self.lingers = False
            queue = self.needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

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
        with self.lock:
            stopped = self.life is STOPPED
            if not stopped:
                if reply_to is not None:
                    self.stop_replies = [*(self.stop_replies or ()), reply_to]
                self.stop_requested = True
            queue = self.needs_turn()
        if queue:
            self.dispatcher.enqueue(self)
        if stopped and reply_to is not None:
            reply_to.fail(pykka.ActorDeadError(f"{self.path} has stopped"))

    def resume(self, token: object, result: Any) -> None:
        """What the handler at hand waits for has come; `token` says which of its waits is meant.

        Of several that come for one wait (the result, the deadline) the first counts. One that comes for an earlier
        wait, or for a handler that has ended, finds its token gone.
        """
        with self.lock:
            task = self.task
            if task is None or task.token is not token:
                return
            task.come(result)
            queue = self.turn_state is IDLE
            if queue:
                self.turn_state = IN_QUEUE
        if queue:
            self.dispatcher.enqueue(self)

    def wake(self, generation: int) -> None:
        """The back-off after the failure of `generation` is over."""
        with self.lock:
            if generation != self.generation or self.life not in (Life.BACKING_OFF, Life.PARKED):
                return
            self.alarm = None
            self.start_due = True
            queue = self.needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def force(self, task: Task) -> None:
        """The grace that a stop gives to what waits is over."""
        with self.lock:
            if self.task is not task:
                return
            self.forced = True
            queue = self.needs_turn()
        if queue:
            self.dispatcher.enqueue(self)

    def needs_turn(self) -> bool:
        """Under the lock: mark the cell as queued when it has work and nobody is at it."""
        if self.turn_state is IDLE and self.has_work():
            self.turn_state = IN_QUEUE
            return True
        return False

    def has_work(self) -> bool:
        if self.task is not None:
            return waiting.has_work(self, self.task)
        life = self.life
        if life is ALIVE:
            return self.stop_requested or self.mailbox.length > 0
        if life is STOPPED:
            return False
        if life is STOPPING:
            return not self.child_cells_by_name
        return self.stop_requested or self.start_due

    # --- turns ------------------------------------------------------------------------------------------------------

    def run(self, turns: int = 1) -> None:
        """Take at most `turns` turns on this thread, then leave or queue again. Called by the dispatcher only."""
        context.cell = self
        self.turn_state = AT_WORK
        mailbox = self.mailbox
        try:
            while turns > 0:
                turns -= 1
                if self.task is not None:
                    if not waiting.take_turn(self, self.task):
                        break
                elif self.life is not ALIVE or self.stop_requested:
                    if not self._turn_of_life():
                        break
                elif mailbox.length:
                    with self.lock:
                        item = mailbox.take()
                    if item is not None and (type(item.key) is not Timer or item.key.claim()):
                        handling.handle(self, item)
                else:
                    break
        finally:
            context.cell = None
            with self.lock:
                again = self.has_work()
                self.turn_state = IN_QUEUE if again else IDLE
            if again:
                self.dispatcher.enqueue(self)

    def _turn_of_life(self) -> bool:
        if self.life is STOPPED:
            return False
        if self.life is STOPPING:
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
        """The waiting handler is over, however it ended."""
        with self.lock:
            self.task = None
            self.forced = False
            alarm, self.alarm = self.alarm, None
        if alarm is not None:
            alarm.cancel()

    def begin(self, hook: Callable[[], Any], label: str) -> None:
        """Run a hook of the actor as if it were a handler."""
        handling.run_hook(self, hook, label)

    def fail(self, failure: BaseException, last_message: str) -> None:
        """The actor of this cell has failed; its strategy decides what comes next."""
        lifecycle.fail(self, failure, last_message)

    # --- what the actor of this cell uses ---------------------------------------------------------------------------

    def children_by_name(self) -> Mapping[str, ActorRef]:
        with self.lock:
            return {name: child.ref for name, child in (self.child_cells_by_name or {}).items()}

    def child_cells(self) -> list[Cell]:
        with self.lock:
            return list((self.child_cells_by_name or {}).values())

    def shield(self, by: int) -> None:
        if self.task is not None:
            self.task.shields += by

    def have_timers(self) -> ActorTimers:
        """Its first timer is set."""
        self.timers = ActorTimers(self.dispatcher, self.post)
        return self.timers

    def have_effects(self) -> Effects:
        """Its first effect is begun."""
        self.effects = Effects(self.actor_class.max_effects, self.generation, self.post)
        return self.effects

    def effect_count(self) -> int:
        effects = self.effects
        return 0 if effects is None else effects.count()
