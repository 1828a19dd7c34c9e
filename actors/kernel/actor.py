"""`Actor`: the base class of everything that decides. Pykka's actor on the kernel's dispatchers.

A subclass takes what it needs in its constructor, marks its handlers with `@handles(MessageType)`, and may define
`on_start` and `on_stop`, sync or async. All of these run one at a time, never two at once, on some thread of the
dispatcher. What an actor may use of the world outside (time, chance, names, timers, lanes, children, waiting) is the
methods of this class.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, ClassVar, NoReturn, TypeVar

import pykka

from actors.kernel import family, heartbeat
from actors.kernel.cell import Cell
from actors.kernel.context import constructing
from actors.kernel.dispatcher import Lane
from actors.kernel.handlers import Handler, handlers_of_class
from actors.kernel.promise import AskFuture, Pending
from actors.kernel.ref import ActorRef
from actors.kernel.supervision import RESTART, RestartStrategy
from actors.kernel.suspension import Outcome, Suspension, all_done, outcome_of

T = TypeVar("T")


class Actor(pykka.Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 10_000
    """Messages that may wait in the user lane; one more is refused and the actor is told `MailboxOverflowed`."""
    linger_ns: ClassVar[int] = 0
    """How long what is told to this actor while it is idle may wait for more, so that messages of one key become one.

    For an actor for which nobody waits. Questions, signals and interrupts are handled at once, and a question after
    all that was told before it.
    """
    max_effects: ClassVar[int] = 64
    """Effects begun with `begin` that run at a time; more of them wait their turn."""
    stop_grace_ns: ClassVar[int] = 10_000_000_000
    """How long a stop waits for a handler that does not end by itself."""
    health_limit_ns: ClassVar[int | None] = None
    """Age of the oldest waiting message from which on health names this actor; None: it is not asked."""
    rests_unasked: ClassVar[bool] = False
    """True: while nobody wants anything of it, nobody asks whether it lives (`actors.kernel.heartbeat`)."""

    ref: ActorRef
    """Its own address."""
    log: logging.Logger

    _handlers: ClassVar[Mapping[type[Any], Handler]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._handlers = handlers_of_class(cls)

    def __init__(self) -> None:
        cell = constructing.cell
        if cell is None:
            raise TypeError(
                f"{type(self).__name__} is not made by hand: use ActorSystem.spawn(...) or, in an actor, self.spawn()"
            )
        self._cell: Cell = cell
        # In place of Pykka's constructor, which draws a random URN and makes an event and a reference: those of the
        # cell outlive restarts and are the same in every run of a simulation.
        self.actor_inbox = self._create_actor_inbox()
        self.actor_urn = cell.path
        self.actor_stopped = cell.stopped
        self._actor_ref = self.ref = cell.ref
        self.log = cell.system.logger_of(type(self))
        # Asked with nearly every message: no call of ours between an actor and the clock.
        self.now_ns = cell.dispatcher.now_ns  # type: ignore[method-assign]
        self.wall_ns = cell.dispatcher.wall_ns  # type: ignore[method-assign]

    @classmethod
    def start(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refused: an actor needs a parent."""
        raise TypeError(f"spawn {cls.__name__} through ActorSystem.spawn(...) or self.spawn(...)")

    # --- Pykka's three seams ---------------------------------------------------------------------------------------

    @staticmethod
    def _create_actor_inbox() -> Cell:
        cell = constructing.cell
        assert cell is not None, "checked by the constructor"
        return cell

    @staticmethod
    def _create_future() -> AskFuture[Any]:
        return AskFuture()

    def _start_actor_loop(self) -> None:
        self._cell.begin(self.on_start, "on_start")

    # --- hooks -----------------------------------------------------------------------------------------------------

    def on_start(self) -> Any:
        """Before the first message, and again after each restart. May be `async def`."""

    def on_stop(self) -> Any:
        """When told to stop, after the children have stopped. Not called after a failure. May be `async def`."""

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

    wait = Suspension
    """`await self.wait(pending, timeout_ns=, what=)`: its result, or its failure raised, without holding a thread.

    Raises `DeadlineExceededError` after `timeout_ns`; the effect itself is then cancelled where it can be.
    """

    def sleep(self, ns: int) -> Suspension[None]:
        """`await self.sleep(ns)`."""
        return Suspension(None, ns, "sleep")

    async def gather(
        self, *pendings: Pending[Any], timeout_ns: int | None = None, what: str = ""
    ) -> list[Outcome[Any]]:
        """Wait for all of them; how each ended, in their order. Raises only for the deadline."""
        await Suspension(all_done(pendings), timeout_ns, what or f"{len(pendings)} effects")
        return [outcome_of(pending) for pending in pendings]

    @contextlib.contextmanager
    def shielded(self) -> Iterator[None]:
        """Awaits inside are not interrupted; an interrupt that came meanwhile meets the next await after it."""
        self._cell.shield(1)
        try:
            yield
        finally:
            self._cell.shield(-1)

    def begin(self, make: Callable[[], Pending[T]], then: Callable[[Pending[T]], Any]) -> None:
        """Start an effect and go on. When it ends, `then(pending)` makes the message that this actor gets.

        At most `max_effects` run at a time. `then` runs in the actor and must be short; it may return None for no
        message.
        """
        effects = self._cell.effects or self._cell.have_effects()
        self.begin = effects.begin  # type: ignore[method-assign]  # from now on: no call of ours between
        effects.begin(make, then)

    def has_mail(self) -> bool:
        """Whether more messages wait: what is done once for all of them may wait for the last."""
        return self._cell.mailbox.length > 0

    def effects(self) -> int:
        """How many effects run or wait their turn."""
        return self._cell.effect_count()

    def spawn(
        self,
        actor_class: type[Actor],
        *args: Any,
        name: str,
        strategy: RestartStrategy = RESTART,
        **kwargs: Any,
    ) -> ActorRef:
        """Make a child. It is constructed, and restarted, with these very arguments, off this actor's turn."""
        return family.spawn(self._cell, actor_class, args, kwargs, name, strategy)

    def reserve(self, actor_class: type[Actor], *, name: str, strategy: RestartStrategy = RESTART) -> ActorRef:
        """A child that takes mail at once and comes to life with `furnish`: for children that must know each other."""
        return family.reserve(self._cell, actor_class, name, strategy).ref

    def furnish(self, ref: ActorRef, *args: Any, **kwargs: Any) -> None:
        """Give a reserved child its arguments, once."""
        family.furnish(ref._cell, args, kwargs)

    @property
    def children(self) -> Mapping[str, ActorRef]:
        """Living children by name. They outlive a restart of this actor: look here in `on_start`."""
        return self._cell.children_by_name()

    def watch(self, ref: ActorRef) -> None:
        """Get `ActorStopped` once when that actor has stopped; at once when it already has."""
        family.watch(ref._cell, self._cell)

    def ask_around(self) -> None:
        """Ask everybody below this actor who rests whether it lives; health then names who does not."""
        heartbeat.ask_around(self._cell)

    def after(self, ns: int, message: Any, key: Hashable | None = None) -> None:
        """Tell this actor `message` in `ns` ns. A timer of the same key is replaced; the default key is the type.

        Timers end with this incarnation of the actor.
        """
        timers = self._cell.timers or self._cell.have_timers()
        timers.start(ns, None, message, key)

    def every(self, ns: int, message: Any, key: Hashable | None = None, first_ns: int | None = None) -> None:
        """Tell this actor `message` every `ns` ns, first after `first_ns` (default `ns`). No tick is doubled."""
        timers = self._cell.timers or self._cell.have_timers()
        timers.start(ns if first_ns is None else first_ns, ns, message, key)

    def cancel_timer(self, key: Hashable) -> None:
        timers = self._cell.timers
        if timers is not None and key in timers.by_key:  # mostly there is none: no call for nothing
            timers.cancel(key)

    def cancel_timers(self, keys: frozenset[Hashable]) -> None:
        """All of these that there are."""
        timers = self._cell.timers
        if timers is not None and not keys.isdisjoint(timers.by_key):
            for key in [key for key in timers.by_key if key in keys]:
                timers.cancel(key)

    def lane(self, name: str, *, size: int = 8, per_key: int = 2) -> Lane:
        """Where calls that can hang are run: `await self.wait(self.lane("mounts").submit(uid, fn, arg))`."""
        return self._cell.dispatcher.lane(name, size=size, per_key=per_key)

    def stop(self) -> None:
        """Stop this actor after the message at hand."""
        self._cell.request_stop(None)
