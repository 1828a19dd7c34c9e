"""Effects that an actor has begun and does not wait for: bounded in flight, each end one message.

Belongs to one incarnation of one actor; made on its first use. `generation` tells an effect of this incarnation from
one that was begun before a restart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from actors.kernel.message import Signal
from actors.kernel.promise import Pending, Promise, broken

Make = Callable[[], Pending[Any]]
Then = Callable[[Pending[Any]], Any]


class EffectEnded(Signal, frozen=True):
    """To oneself: an effect has ended; `then` makes the message of it."""

    pending: Any
    then: Callable[[Any], Any]
    generation: int


class Effects:
    """See the module. `post` is how the end of an effect reaches the actor's mailbox, from any thread. `running`: how
    many have begun and not ended; who takes one out lets those that are `waiting` begin.
    """

    __slots__ = ("_limit", "_post", "generation", "running", "waiting")

    def __init__(self, limit: int, generation: int, post: Callable[[EffectEnded], None]) -> None:
        self._limit = limit
        self.generation = generation
        self._post = post
        self.running = 0
        self.waiting: deque[tuple[Make, Then]] | None = None

    def begin(self, make: Make, then: Then) -> None:
        """Start it, or let it wait until so few run that it may."""
        if self.running >= self._limit:
            if self.waiting is None:
                self.waiting = deque()
            self.waiting.append((make, then))
            return
        self.running += 1
        try:
            pending = make()
        except Exception as failure:  # what cannot even begin ends like what fails
            pending = broken(failure)
        if pending._done if type(pending) is Promise else pending.done():  # nearly always one of ours: no call
            self._post(EffectEnded(pending, then, self.generation))
        else:
            pending.add_done_callback(partial(self._tell, then))

    def begin_waiting(self) -> None:
        """As many of those that wait as may run."""
        while self.waiting and self.running < self._limit:
            self.begin(*self.waiting.popleft())

    def count(self) -> int:
        return self.running + len(self.waiting or ())

    def _tell(self, then: Then, done: Pending[Any]) -> None:
        self._post(EffectEnded(done, then, self.generation))
