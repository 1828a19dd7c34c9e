"""Mailboxes that are smaller than a real agent's, and that refuse some messages.

An agent must recover from both.

A refused message is lost, and its receiver gets the overflow notice of every full mailbox. Questions are never refused
here, because their askers wait for an answer. An actor's own timers are not refused either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from actors.kernel.actor_base import ActorBase
from actors.kernel.dead_letters import Reason
from actors.kernel.mailbox import Mailbox
from actors.kernel.promise import AskFuture
from simulation.chance.chance import Chance
from simulation.chance.sometimes import Sometimes

Posted = Callable[[str, str, str], object]
"""Gets the path of a sender, the class of the receiver, and the type of the message."""


class NarrowMailboxes:
    """Makes such mailboxes.

    `sizes`: class of actors -> how many messages may wait. `lost`: type of message -> chance.
    """

    def __init__(self, sizes: Mapping[str, int], lost: Mapping[str, float], seed: str, sometimes: Sometimes) -> None:
        self._sizes = sizes
        self._lost = dict(lost)
        self._chance = Chance(f"messages {seed}")
        self._sometimes = sometimes
        self.posted: Posted | None = None
        """Told of every message that is sent."""

    def __call__(self, actor_class: type[ActorBase]) -> Mailbox:
        capacity, name = actor_class.mailbox_capacity, actor_class.__name__
        return _NarrowMailbox(self, min(capacity, self._sizes.get(name, capacity)), name)

    def loses(self, message: str) -> bool:
        """Draw whether to refuse the message."""
        share = self._lost.get(message)
        lost = share is not None and self._chance.share() < share
        if lost:
            self._sometimes.happened("message-dropped")
        return lost

    def refused(self) -> None:
        """Count a refused message."""
        self._sometimes.happened("mailbox-full")

    def heal(self) -> None:
        """Refuse no more messages at random; the sizes stay."""
        self._lost.clear()


class _NarrowMailbox(Mailbox):
    __slots__ = ("_maker", "_owner")

    def __init__(self, maker: NarrowMailboxes, capacity: int, owner: str) -> None:
        super().__init__(capacity)
        self._maker = maker
        self._owner = owner

    def post(
        self,
        message: Any,
        reply_to: AskFuture[Any] | None,
        sender: str,
        now_ns: int,
        key: Hashable | None = None,
    ) -> Reason | None:
        if self._maker.posted is not None:
            self._maker.posted(sender, self._owner, type(message).__name__)
        if reply_to is None and key is None and self._maker.loses(type(message).__name__):
            self.refuse(now_ns)
            return Reason.OVERFLOW
        refused = super().post(message, reply_to, sender, now_ns, key)
        if refused is Reason.OVERFLOW:
            self._maker.refused()
        return refused
