"""Limits, handlers and hooks of an actor class, as the kernel sees them. `Actor` adds what actors use."""

from __future__ import annotations

from typing import Any, ClassVar

import pykka

from actors.kernel.handlers import Handler, handlers_of_class


class ActorBase(pykka.Actor):
    mailbox_capacity: ClassVar[int] = 10_000
    """How many messages may wait in the ordinary lane. One more is refused (`MailboxOverflowed`)."""
    batch_window_ns: ClassVar[int] = 0
    """How long an idle actor leaves a new message waiting.

    Later messages of the same key can replace it in that time.

    Use it for actors that answer no questions. Questions, signals and interrupts are handled at once. A question is
    handled after all messages that came before it.
    """
    max_effects: ClassVar[int] = 64
    """How many effects of `begin` run at a time; the others wait."""
    stop_grace_ns: ClassVar[int] = 10_000_000_000
    """How long a stop waits for a suspended handler before the kernel abandons it."""
    health_limit_ns: ClassVar[int | None] = None
    """Health reports this actor when its oldest message is older than this. None: never."""
    rests_unasked: ClassVar[bool] = False
    """True: this actor and those below it get no heartbeats (`actors.kernel.health`)."""

    message_handlers: ClassVar[dict[type[Any], Handler]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.message_handlers = handlers_of_class(cls)

    def on_start(self) -> Any:
        """Runs before the first message, and again after each restart. May be `async def`."""

    def on_stop(self) -> Any:
        """Runs on a stop, after the children have stopped. Not called after a failure. May be `async def`."""
