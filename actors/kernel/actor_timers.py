"""The timers of one incarnation of one actor, by key. They fire as messages to that actor.

Fired on the dispatcher's timer thread, set and cancelled on the actor's: a timer that is cancelled while it fires is
found out by its `live` mark, so a cancelled periodic timer never comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.kernel.dispatcher import Cancellable, Dispatcher


class _Timer:
    __slots__ = ("every_ns", "handle", "key", "live", "message", "owner")

    def __init__(self, owner: ActorTimers, key: Hashable, message: Any, every_ns: int | None) -> None:
        self.owner = owner
        self.key = key
        self.message = message
        self.every_ns = every_ns
        self.live = True
        self.handle: Cancellable | None = None

    def start(self, after_ns: int) -> None:
        self.handle = self.owner.dispatcher.schedule(after_ns, self.fire)
        if not self.live:
            self.handle.cancel()

    def fire(self) -> None:
        if not self.live:
            return
        if self.every_ns is None:
            self.owner.forget(self)
        else:
            self.start(self.every_ns)
        # Keyed: a tick that still waits in the mailbox is not doubled by the next.
        self.owner.post(self.message, ("timer", self.key))

    def cancel(self) -> None:
        self.live = False
        if self.handle is not None:
            self.handle.cancel()


class ActorTimers:
    """See the module. `post(message, key)` puts a message into the actor's mailbox."""

    __slots__ = ("_by_key", "dispatcher", "post")

    def __init__(self, dispatcher: Dispatcher, post: Callable[[Any, Hashable], None]) -> None:
        self.dispatcher = dispatcher
        self.post = post
        self._by_key: dict[Hashable, _Timer] = {}

    def start(self, first_ns: int, every_ns: int | None, message: Any, key: Hashable) -> None:
        """Replace the timer of that key."""
        self.cancel(key)
        timer = self._by_key[key] = _Timer(self, key, message, every_ns)
        timer.start(first_ns)

    def cancel(self, key: Hashable) -> None:
        timer = self._by_key.pop(key, None)
        if timer is not None:
            timer.cancel()

    def cancel_all(self) -> None:
        while self._by_key:
            self._by_key.popitem()[1].cancel()

    def forget(self, timer: _Timer) -> None:
        """A one-shot timer has fired; another of its key may already stand in its place."""
        if self._by_key.get(timer.key) is timer:
            self._by_key.pop(timer.key, None)
