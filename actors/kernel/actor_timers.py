"""The timers of one incarnation of one actor, by key. They fire as messages to that actor.

Fired on the dispatcher's timer thread; set, cancelled and taken on the actor's turns only. A tick waits in the mailbox
under its timer as the key, so a tick that still waits is not doubled by the next, and it is asked once more whether
its timer lives when the actor takes it: after `cancel_timer`, a replacement or a restart no late tick is handled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from actors.kernel.dispatcher import Cancellable, Dispatcher


class Timer(msgspec.Struct, eq=False):
    """One timer, and the coalescing key of its ticks."""

    owner: ActorTimers
    key: Hashable
    once: bool
    live: bool = True
    handle: Cancellable | None = None

    def claim(self) -> bool:
        """The actor has taken a tick: whether it still counts. A timer without period ends with that."""
        counts = self.live
        if counts and self.once:
            self.live = False
            self.owner.ended(self.key)
        return counts

    def cancel(self) -> None:
        self.live = False
        if self.handle is not None:
            self.handle.cancel()


class ActorTimers:
    """See the module. `post(message, None, key)` puts a message into the actor's mailbox."""

    __slots__ = ("by_key", "dispatcher", "post")

    def __init__(self, dispatcher: Dispatcher, post: Callable[[Any, None, Hashable], None]) -> None:
        self.dispatcher = dispatcher
        self.post = post
        self.by_key: dict[Hashable, Timer] = {}

    def start(self, first_ns: int, every_ns: int | None, message: Any, key: Hashable | None) -> None:
        """Replace the timer of that key, or of the message's type. Raises ValueError for a period in which time would
        stand still.
        """
        if every_ns is not None and every_ns <= 0:
            raise ValueError(f"a periodic timer needs a period of at least 1 ns, not {every_ns}")
        if key is None:
            by_type: Any = type(message)
            key = by_type
        by_key = self.by_key
        if key in by_key:
            by_key[key].cancel()
        timer = by_key[key] = Timer(self, key, every_ns is None)
        timer.handle = self.dispatcher.schedule(first_ns, partial(self.post, message, None, timer), every_ns)

    def cancel(self, key: Hashable) -> None:
        timer = self.by_key.pop(key, None)
        if timer is not None:
            timer.live = False  # `Timer.cancel`, without its call
            if timer.handle is not None:
                timer.handle.cancel()

    def ended(self, key: Hashable) -> None:
        """The timer of that key has fired for the last time."""
        del self.by_key[key]

    def cancel_all(self) -> None:
        while self.by_key:
            self.by_key.popitem()[1].cancel()
