"""Effects that an actor has begun and does not wait for: bounded in flight, each end one message.

Belongs to one incarnation of one actor; made on its first use. `generation` tells an effect of this incarnation from
one that was begun before a restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from actors.kernel.message import Signal
from actors.kernel.promise import Pending, broken

Make = Callable[[], Pending[Any]]
Then = Callable[[Pending[Any]], Any]


class EffectEnded(Signal, frozen=True):
    """To oneself: an effect has ended; `then` makes the message of it."""

    pending: Any
    then: Callable[[Any], Any]
    generation: int


class Effects:
    """See the module. `post` is how the end of an effect reaches the actor's mailbox, from any thread."""

    __slots__ = ("_generation", "_limit", "_post", "_running", "_waiting")

    def __init__(self, limit: int, generation: int, post: Callable[[EffectEnded], None]) -> None:
        self._limit = limit
        self._generation = generation
        self._post = post
        self._running = 0
        self._waiting: deque[tuple[Make, Then]] = deque()

    def begin(self, make: Make, then: Then) -> None:
        if self._running < self._limit:
            self._start(make, then)
        else:
            self._waiting.append((make, then))

    def ended(self) -> None:
        """Count one out and start the next."""
        self._running -= 1
        while self._waiting and self._running < self._limit:
            self._start(*self._waiting.popleft())

    def count(self) -> int:
        return self._running + len(self._waiting)

    def _start(self, make: Make, then: Then) -> None:
        self._running += 1
        try:
            pending = make()
        except Exception as failure:  # what cannot even begin ends like what fails
            pending = broken(failure)
        post, generation = self._post, self._generation
        pending.add_done_callback(lambda done: post(EffectEnded(done, then, generation)))
