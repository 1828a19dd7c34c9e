"""`Actor`: the base class of all actors. Pykka's actor on the kernel's dispatchers.

A subclass takes what it needs in its constructor, marks its handlers with `@handles(MessageType)`, and may define
`on_start` and `on_stop`, sync or async. All of these run one at a time, on some thread of the dispatcher. The methods
of this class are all that an actor may use of the outside world: time, chance, names, timers, lanes, children,
waiting.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NoReturn, TypeVar

from actors.kernel import health
from actors.kernel.actor_base import ActorBase
from actors.kernel.cell import Cell
from actors.kernel.context import context
from actors.kernel.dispatcher import Lane
from actors.kernel.promise import AskFuture, Outcome, Pending, Suspension, all_done, outcome_of
from actors.kernel.recorded.seams import RecordedActor
from actors.kernel.ref import ActorRef
from actors.kernel.supervision import RESTART, RestartStrategy

T = TypeVar("T")


class Actor(RecordedActor, ActorBase):
    ref: ActorRef
    """Its own address."""
    log: logging.Logger

    def __init__(self) -> None:
        cell: Cell | None = context.constructing
        if cell is None:
            raise TypeError(
                f"{type(self).__name__} is not made by hand: use ActorSystem.spawn(...) or, in an actor, self.spawn()"
            )
        self._cell: Cell = cell
        # Instead of Pykka's constructor, which draws a random URN and makes an event and a reference: those of the cell
        # outlive restarts and are the same in every run of a simulation.
        self.actor_inbox = self._create_actor_inbox()
        self.actor_urn = cell.path
        self._actor_ref = self.ref = cell.ref
        self.log = cell.system.logger_of(type(self))

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: an actor needs a parent."""
        raise TypeError(f"spawn {cls.__name__} through ActorSystem.spawn(...) or self.spawn(...)")

    # --- Pykka's three seams ---------------------------------------------------------------------------------------

    @staticmethod
    def _create_actor_inbox() -> Cell:
        cell: Cell = context.constructing
        return cell

    @staticmethod
    def _create_future() -> AskFuture[Any]:
        return AskFuture()

    def _start_actor_loop(self) -> None:
        self._cell.begin(self.on_start, "on_start")

    # --- what an actor may use -------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return self._cell.path

    @property
    def chance(self) -> random.Random:
        return self._cell.dispatcher.chance

    def now_ns(self) -> int:
        """Monotonic time, ns."""
        return self._cell.dispatcher.now_ns()

    def wall_ns(self) -> int:
        """Time of day, ns since 1970."""
        return self._cell.dispatcher.wall_ns()

    def new_uid(self) -> str:
        return self._cell.dispatcher.new_uid()

    def wait(self, pending: Pending[T], timeout_ns: int | None = None, what: str = "") -> Suspension[T]:
        """`await self.wait(pending)`: its result, or its failure raised, without holding a thread.

        Raises `DeadlineExceededError` after `timeout_ns`; the effect itself is then cancelled where it can be.
        """
        return Suspension(pending, timeout_ns, what)

    def sleep(self, ns: int) -> Suspension[None]:
        """`await self.sleep(ns)`."""
        return Suspension(None, ns, "sleep")

    async def gather(
        self, *pendings: Pending[Any], timeout_ns: int | None = None, what: str = ""
    ) -> list[Outcome[Any]]:
        """Wait for all of them; how each ended, in their order. Raises only for the deadline."""
        await Suspension(all_done(pendings), timeout_ns, what or f"{len(pendings)} effects")
        return [outcome_of(pending) for pending in pendings]

    def begin(self, make: Callable[[], Pending[T]], then: Callable[[Pending[T]], Any]) -> None:
        """Start an effect and go on. When it ends, `then(pending)` makes the message that this actor gets.

        At most `max_effects` run at a time. `then` runs in the actor and must be short; None is no message.
        """
        self._cell.have_effects().begin(make, then)

    def attempt(self, make: Callable[[], Pending[T]], then: Callable[[T | None, str], Any]) -> None:
        """`begin`, but `then(value, error)` gets the failure as text for people, "" for success."""

        def message(done: Pending[T]) -> Any:
            outcome = outcome_of(done)
            return then(outcome.value, outcome.error_text)

        self.begin(make, message)

    def effects(self) -> int:
        """How many effects run or wait their turn."""
        return self._cell.effect_count()

    def has_mail(self) -> bool:
        """Whether more messages wait: work that serves for all of them can be left to the last."""
        return self._cell.mailbox.has_messages()

    def spawn(
        self,
        actor_class: type[Actor],
        *args: Any,
        name: str,
        strategy: RestartStrategy = RESTART,
        **kwargs: Any,
    ) -> ActorRef:
        """Make a child. It is constructed, and restarted, with these very arguments, off this actor's turn."""
        return self._cell.spawn(actor_class, args, kwargs, name, strategy)

    def reserve(self, actor_class: type[Actor], *, name: str, strategy: RestartStrategy = RESTART) -> ActorRef:
        """A child that takes mail at once. Give it its arguments with `construct`. For mutual references."""
        return self._cell.reserve(actor_class, name, strategy).ref

    def construct(self, ref: ActorRef, *args: Any, **kwargs: Any) -> None:
        """Give a reserved child its arguments, once."""
        _cell_of(ref).start(args, kwargs)

    @property
    def children(self) -> Mapping[str, ActorRef]:
        """Living children by name. They outlive a restart of this actor: look here in `on_start`."""
        return {child.name: child.ref for child in self._cell.child_cells()}

    def watch(self, ref: ActorRef) -> None:
        """Get `ActorStopped` once when that actor has stopped; at once when it already has."""
        _cell_of(ref).watch(self._cell)

    def ask_around(self) -> None:
        """Send a heartbeat to each idle actor below this one; health then names those that do not handle it."""
        health.ask_around(self._cell)

    def after(self, ns: int, message: Any, key: Hashable | None = None) -> None:
        """Tell this actor `message` in `ns` ns.

        A timer of the same key is replaced; the default key is the type.

        Timers end with this incarnation of the actor.
        """
        self._cell.have_timers().start(ns, None, message, key)

    def every(self, ns: int, message: Any, key: Hashable | None = None, first_ns: int | None = None) -> None:
        """Tell this actor `message` every `ns` ns, first after `first_ns` (default `ns`). No tick is doubled."""
        self._cell.have_timers().start(ns if first_ns is None else first_ns, ns, message, key)

    def cancel_timer(self, key: Hashable) -> None:
        if self._cell.timers is not None:
            self._cell.timers.cancel(key)

    def cancel_timers(self, keys: frozenset[Hashable]) -> None:
        for key in keys:
            self.cancel_timer(key)

    def lane(self, name: str, *, size: int = 8, per_key: int = 2) -> Lane:
        """Where calls that can hang are run: `await self.wait(self.lane("mounts").submit(uid, fn, arg))`."""
        return self._cell.dispatcher.lane(name, size=size, per_key=per_key)

    def stop(self) -> None:
        """Stop this actor after the message at hand."""
        self._cell.request_stop(None)


def _cell_of(ref: ActorRef) -> Cell:
    cell: Cell = ref.actor_inbox
    return cell
