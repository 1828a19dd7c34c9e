"""What runs actors: the interface of the dispatchers.

It also has everything else that actors do not decide themselves.

Threads, time, chance and names come from here and from nowhere else. `PoolDispatcher` gives real ones,
`SimulatedDispatcher` gives virtual time and an order drawn from a seed. Actors do not know which one runs them.
"""

from __future__ import annotations

import abc
import random
from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from actors.kernel.actor_base import ActorBase
from actors.kernel.handlers import Handler
from actors.kernel.mailbox import Mailbox
from actors.kernel.promise import Pending
from actors.kernel.recorded.seams import RecordedDispatcher
from actors.kernel.timers import Cancellable
from actors.kernel.turns import KeyReport, Rank

T = TypeVar("T")

Trace = Callable[[int, str, str, str], None]
"""Called after each message: (now ns, actor path, message, outcome)."""


class Runnable(Protocol):
    """A cell, as a dispatcher sees it."""

    path: str
    slice_since_ns: int | None
    """The time since which the actor holds its thread, in ns; None while it does not."""

    def run(self, turns: int = 1) -> None: ...


class LaneReport(msgspec.Struct, frozen=True):
    """One lane as data. `written_off` lists calls that hang past their deadline: (key, call, since ns).

    `hanging` counts them, and calls that run for long while others wait. `exhausted`: calls that hang hold every
    thread, and the lane refuses more. `keys` are those with calls, in the order of their turns.
    """

    name: str
    size: int
    per_key: int
    running: int
    waiting: int
    threads: int
    written_off: tuple[tuple[str, str, int], ...]
    hanging: int = 0
    exhausted: bool = False
    keys: tuple[KeyReport, ...] = ()


class Lane(Protocol):
    """A place for calls that can hang. At most `size` at a time in total and `per_key` for one key.

    Keys take turns, so a key with many calls takes no other key's turn.
    """

    name: str

    def submit(
        self,
        key: Hashable,
        fn: Callable[..., T],
        *args: Any,
        deadline_ns: int | None = None,
        rank: Rank = Rank.NORMAL,
        ends: bool = False,
    ) -> Pending[T]:
        """Run `fn(*args)` on the lane. Past its deadline it fails with `DeadlineExceededError`.

        The deadline counts from now, in ns. With `Rank.FIRST` the key has its turn before keys of other calls. `ends`:
        the call ends something. It goes before the other calls of its key, and may take the last thread of a key whose
        calls hang. Fails with `LaneExhaustedError` on a lane in which every thread hangs.
        """

    def report(self) -> LaneReport: ...


class Dispatcher(RecordedDispatcher, abc.ABC):
    """Runs cells, keeps time, draws chance, makes names."""

    single_threaded: ClassVar[bool] = False
    """True: all actors, timers and calls run on one thread."""
    trace: Trace | None = None
    chance: random.Random
    """Random numbers for actors. The order of actors is drawn from another stream."""

    @abc.abstractmethod
    def enqueue(self, cell: Runnable) -> None:
        """Give the cell a slice of a thread soon. Called at most once until its slice begins."""

    @abc.abstractmethod
    def now_ns(self) -> int:
        """Monotonic time in ns; only differences mean anything."""

    @abc.abstractmethod
    def wall_ns(self) -> int:
        """Time of day in ns since 1970, UTC."""

    @abc.abstractmethod
    def schedule(self, after_ns: int, fn: Callable[[], object], every_ns: int | None = None) -> Cancellable:
        """Call `fn`, which must be short, after `after_ns` ns; with a period, again and again after that."""

    @abc.abstractmethod
    def new_uid(self) -> str:
        """A unique name: 36 characters in the form of a UUID."""

    def new_mailbox(self, actor_class: type[ActorBase]) -> Mailbox:
        """The mailbox of an actor of that class; a simulated world may make smaller ones, or lose messages."""
        return Mailbox(actor_class.mailbox_capacity)

    def handlers_of(self, actor_class: type[ActorBase]) -> Mapping[type[Any], Handler]:
        """The handlers of actors of that class; a simulated world may wrap them to fail."""
        return actor_class.message_handlers

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
        """Actors (path, since ns) whose handler holds a thread for too long."""
        return ()

    @abc.abstractmethod
    def close(self) -> None:
        """Run nothing any more. Threads end; a call that hangs is left behind."""
