"""Timers and background effects of one incarnation of an actor.

Both are made on first use and end with the incarnation. They reach the actor as messages in its mailbox.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from actors.kernel.message import Signal
from actors.kernel.promise import Pending, broken
from actors.kernel.timers import Cancellable

Make = Callable[[], Pending[Any]]
Then = Callable[[Pending[Any]], Any]
Schedule = Callable[[int, Callable[[], object], int | None], Cancellable]


class Timer:
    """One timer of an actor, and the coalescing key of its ticks."""

    __slots__ = ("_handle", "_live", "_once", "_owner", "key")

    def __init__(self, owner: ActorTimers, key: Hashable, once: bool) -> None:
        self.key = key
        self._owner = owner
        self._once = once
        self._live = True
        self._handle: Cancellable | None = None

    def start(self, schedule: Schedule, first_ns: int, every_ns: int | None, fn: Callable[[], object]) -> None:
        self._handle = schedule(first_ns, fn, every_ns)

    def claim(self) -> bool:
        """Take a tick; returns whether it still counts. The tick of a timer without a period is its last one."""
        counts = self._live
        if counts and self._once:
            self._live = False
            self._owner.ended(self.key)
        return counts

    def cancel(self) -> None:
        self._live = False
        if self._handle is not None:
            self._handle.cancel()


class ActorTimers:
    """The timers of one incarnation, by key.

    `post(message, None, key)` puts a tick into the actor's mailbox.

    A timer fires on the dispatcher's timer thread. Only the actor's turns set, cancel and claim it. The timer itself is
    the coalescing key of its tick, so two ticks never wait at once. The actor claims each tick it takes, so no tick is
    handled after `cancel_timer`, a replacement or a restart.
    """

    __slots__ = ("_post", "_schedule", "by_key")

    def __init__(self, schedule: Schedule, post: Callable[[Any, None, Hashable], None]) -> None:
        self._schedule = schedule
        self._post = post
        self.by_key: dict[Hashable, Timer] = {}

    def start(self, first_ns: int, every_ns: int | None, message: Any, key: Hashable | None) -> None:
        """Replace the timer of that key (default: the message's type). A period is at least 1 ns."""
        if every_ns is not None and every_ns <= 0:
            raise ValueError(f"a periodic timer needs a period of at least 1 ns, not {every_ns}")
        if key is None:
            by_type: Any = type(message)
            key = by_type
        self.cancel(key)
        timer = self.by_key[key] = Timer(self, key, every_ns is None)
        timer.start(self._schedule, first_ns, every_ns, partial(self._post, message, None, timer))

    def cancel(self, key: Hashable) -> None:
        timer = self.by_key.pop(key, None)
        if timer is not None:
            timer.cancel()

    def ended(self, key: Hashable) -> None:
        """Forget the timer of that key, which has fired for the last time."""
        del self.by_key[key]

    def cancel_all(self) -> None:
        while self.by_key:
            self.by_key.popitem()[1].cancel()


class EffectEnded(Signal, frozen=True):
    """An effect of this actor has ended; `then` makes the actor's message from it."""

    pending: Any
    then: Callable[[Any], Any]
    generation: int


class Effects:
    """The effects that run, at most `limit`; the others wait.

    `post` puts the end of one into the actor's mailbox.
    `generation` tells an effect of this incarnation from one that was begun before a restart.
    """

    __slots__ = ("_limit", "_post", "_running", "_waiting", "generation")

    def __init__(self, limit: int, generation: int, post: Callable[[EffectEnded], None]) -> None:
        self.generation = generation
        self._limit = limit
        self._post = post
        self._running = 0
        self._waiting: deque[tuple[Make, Then]] | None = None  # until one waits: an empty deque takes 620 bytes

    def begin(self, make: Make, then: Then) -> None:
        """Start an effect now, or when fewer run."""
        if self._running >= self._limit:
            self._waiting = self._waiting or deque()
            self._waiting.append((make, then))
            return
        self._running += 1
        try:
            pending = make()
        except Exception as failure:  # an effect that cannot begin ends like one that fails
            pending = broken(failure)
        pending.add_done_callback(partial(self._tell, then))

    def end_one(self) -> None:
        """The actor has handled the end of one effect: the next may begin."""
        self._running -= 1
        while self._waiting and self._running < self._limit:
            self.begin(*self._waiting.popleft())

    def count(self) -> int:
        return self._running + len(self._waiting or ())

    def _tell(self, then: Then, done: Pending[Any]) -> None:
        self._post(EffectEnded(done, then, self.generation))
