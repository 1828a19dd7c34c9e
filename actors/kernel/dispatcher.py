"""What runs actors: the interface of the dispatchers, and all that is not decided by the actors themselves.

Threads, time, chance and names come from here and from nowhere else. `PoolDispatcher` gives real ones,
`SimulatedDispatcher` gives virtual time and an order drawn from a seed. Actors do not know which one runs them.
"""

from __future__ import annotations

import abc
import random
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from actors.kernel.mailbox import Mailbox
from actors.kernel.promise import Pending

if TYPE_CHECKING:
    from actors.kernel.actor import Actor
    from actors.kernel.cell import Cell
    from actors.kernel.lanes import LaneReport

T = TypeVar("T")

Trace = Callable[[int, str, str, str], None]
"""Called after each message: (now ns, actor path, message, outcome)."""


class Cancellable(Protocol):
    """Something scheduled that can be called off."""

    def cancel(self) -> None: ...


class Lane(Protocol):
    """A place for calls that can hang. At most `size` at a time in total and `per_key` for one key."""

    name: str

    def submit(self, key: Hashable, fn: Callable[..., T], *args: Any, deadline_ns: int | None = None) -> Pending[T]:
        """Run `fn(*args)` on the lane. Fails with `DeadlineExceededError` when it takes longer than its deadline."""
        ...

    def report(self) -> LaneReport: ...


class StandingClock:
    """Virtual time, monotonic, ns: it stands still until the dispatcher moves it. `cell`: whose turn it is."""

    __slots__ = ("cell", "now_ns")

    def __init__(self) -> None:
        self.now_ns = 0
        self.cell: Cell | None = None


class Dispatcher(abc.ABC):
    """Runs cells, keeps time, draws chance, makes names."""

    trace: Trace | None
    clock: StandingClock | None = None
    """Of a world of one thread in which no time passes during a turn: cells need no lock there (`lone_cell`), turns are
    not worth measuring, and the time is there to be read. None: time passes, and turns are taken on several threads.
    """
    enqueue: Callable[[Cell], object]
    """`enqueue(cell)`: it has work, give it a slice of a thread soon. Called at most once until its slice begins."""
    chance: random.Random
    """What actors draw from. Not what orders them: the two streams do not disturb each other."""

    @abc.abstractmethod
    def now_ns(self) -> int:
        """Monotonic time in ns; only differences mean anything."""

    @abc.abstractmethod
    def wall_ns(self) -> int:
        """Time of day in ns since 1970, UTC."""

    @abc.abstractmethod
    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> Cancellable:
        """Call `fn`, which must be short, after `after_ns` ns; with a period, on and on, that far apart, until it is
        cancelled: see `actors.kernel.timers`.
        """

    @abc.abstractmethod
    def new_uid(self) -> str:
        """A name nobody has had: 36 characters in the form of a UUID."""

    def new_mailbox(self, actor_class: type[Actor]) -> Mailbox:
        """For an actor of that class; a simulated world may have smaller ones, that lose some messages."""
        return Mailbox(actor_class.mailbox_capacity)

    def handlers_of(self, actor_class: type[Actor]) -> Mapping[type[Any], Callable[[Any, Any], Any]]:
        """Of actors of that class, by type of message; a simulated world may lay others over them, that fail."""
        return actor_class._handlers

    @abc.abstractmethod
    def lane(self, name: str, *, size: int, per_key: int) -> Lane:
        """The lane of that name, made on first use."""

    @abc.abstractmethod
    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool:
        """Block an edge (never a handler) until `pending` is done. False when the time passed first."""

    @abc.abstractmethod
    def lanes(self) -> tuple[LaneReport, ...]:
        """Every lane with what runs in it."""

    def stuck(self) -> tuple[tuple[str, int], ...]:
        """Actors (path, since ns) whose handler holds a thread for too long and was written off."""
        return ()

    @abc.abstractmethod
    def close(self) -> None:
        """Run nothing any more. Threads end; what still hangs is left behind."""
