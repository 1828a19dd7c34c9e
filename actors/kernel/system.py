"""`ActorSystem`: one tree of actors on one dispatcher.

Owns the root (a guardian that restarts what is directly below it and never fails itself), the dead letters, and the
log of failures. Nothing that an actor does, `SystemExit` included, ends the process.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, ClassVar

from actors.kernel import health, inspection
from actors.kernel.actor import Actor
from actors.kernel.cell import Cell
from actors.kernel.context import context
from actors.kernel.dead_letters import DeadLetters
from actors.kernel.dispatcher import Dispatcher
from actors.kernel.errors import BlockingInHandlerError, text_of
from actors.kernel.handlers import handles
from actors.kernel.message import ChildFailed
from actors.kernel.promise import Promise
from actors.kernel.ref import ActorRef
from actors.kernel.supervision import RESTART, Action, RestartStrategy, SupervisionVerdict


class Guardian(Actor):
    """The root of the tree. It logs which actors are parked; other failures are in the log already."""

    mailbox_capacity: ClassVar[int] = 100

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        if message.parked:
            self.log.error("%s is parked: %s", message.ref.path, message.cause)


class ActorSystem:
    """See the module. `name` is for the log."""

    def __init__(self, dispatcher: Dispatcher, name: str = "actorlet") -> None:
        self.name = name
        self.dispatcher = dispatcher
        self.dead_letters = DeadLetters()
        self.logger = logging.getLogger(f"{name}.kernel")
        self.loggers: dict[type[Any], logging.Logger] = {}
        self._stopped: Promise[None] = Promise()
        self._lock = threading.Lock()
        self._ended: dict[str, inspection.EndedActors] = {}
        self.root = Cell(self, None, "", Guardian, RESTART)
        self.root.start((), None)

    def spawn(
        self,
        actor_class: type[Actor],
        *args: Any,
        name: str,
        strategy: RestartStrategy = RESTART,
        **kwargs: Any,
    ) -> ActorRef:
        """Make an actor directly below the root. Returns at once; the constructor runs on the dispatcher."""
        return self.root.spawn(actor_class, args, kwargs, name, strategy)

    def find(self, path: str) -> ActorRef | None:
        """The living actor at a path such as `/node/storage`; None when there is none."""
        cell = self.root
        for name in path.strip("/").split("/"):
            found = next((child for child in cell.child_cells() if child.name == name), None)
            if found is None:
                return None
            cell = found
        return cell.ref

    def report(self) -> inspection.SystemReport:
        """The tree of actors, lanes, stuck handlers and dead letters, as data."""
        return inspection.report(self.root, self.ended())

    def late_actors(self) -> tuple[health.LateActor, ...]:
        """Actors whose oldest message is older than their `health_limit_ns`. Empty means healthy."""
        return health.late_actors(self.root)

    def stop(self, timeout_ns: int | None = 30_000_000_000) -> bool:
        """Stop every actor, leaves first, then the dispatcher. False when some did not end within the time."""
        waiter = context.cell
        if waiter is not None:
            raise BlockingInHandlerError(f"{waiter.path} cannot wait for its own end: let the edge stop the system")
        self.dead_letters.ending = True
        self.root.request_stop(None)
        ended = self.dispatcher.wait_until_done(self._stopped, timeout_ns)
        self.dispatcher.close()
        return ended

    # --- for cells --------------------------------------------------------------------------------------------------

    def logger_of(self, actor_class: type[Any]) -> logging.Logger:
        logger = self.loggers.get(actor_class)
        if logger is None:
            logger = self.loggers[actor_class] = logging.getLogger(f"{self.name}.{actor_class.__name__}")
        return logger

    def ended(self) -> tuple[inspection.EndedActors, ...]:
        """Totals of the stopped actors, by class."""
        with self._lock:
            return tuple(self._ended.values())

    def cell_stopped(self, cell: Cell) -> None:
        name = cell.actor_class.__name__
        with self._lock:
            before = self._ended.get(name, inspection.EndedActors(name, 0, 0, 0))
            self._ended[name] = inspection.EndedActors(
                name, before.handled + cell.handled, before.busy_ns + cell.busy_ns, before.restarts + cell.restarts
            )
        if cell is self.root:
            self._stopped.set_result(None)

    def log_failure(self, cell: Cell, failure: BaseException, last_message: str, verdict: SupervisionVerdict) -> None:
        if verdict.action is Action.RESTART:
            what_next = f"restart {cell.restarts + 1} in {verdict.delay_ns / 1e9:.2f} s"
        elif verdict.action is Action.PARK:
            what_next = f"parked, next try in {verdict.delay_ns / 1e9:.0f} s"
        else:
            what_next = verdict.action.value
        # The first failure shows where it came from; a crash loop does not repeat the stack for ever.
        trace = failure if len(verdict.failures) <= 1 else None
        what = text_of(failure)
        self.logger.error("%s failed on %s: %s; %s", cell.path, last_message, what, what_next, exc_info=trace)
