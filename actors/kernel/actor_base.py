"""What the kernel knows of an actor class: its limits, its handlers and its hooks. `Actor` adds what actors use."""

from __future__ import annotations

from typing import Any, ClassVar

import pykka

from actors.kernel.handlers import Handler, handlers_of_class


class ActorBase(pykka.Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 10_000
    """Messages that may wait in the ordinary lane; one more is refused and the actor is told `MailboxOverflowed`."""
    batch_window_ns: ClassVar[int] = 0
    """How long a message told to this actor while it is idle may wait for more, so that messages of one key become one.

    For an actor that nobody waits for. Questions, signals and interrupts are handled at once, and a question after all
    that was told before it.
    """
    max_effects: ClassVar[int] = 64
    """Effects begun with `begin` that run at a time; the others wait."""
    stop_grace_ns: ClassVar[int] = 10_000_000_000
    """How long a stop waits for a handler that does not end by itself."""
    health_limit_ns: ClassVar[int | None] = None
    """Health names this actor when its oldest message is older than this; None: health ignores it."""
    rests_unasked: ClassVar[bool] = False
    """True: no heartbeat asks this actor, or those below it, whether it lives (`actors.kernel.health`)."""

    message_handlers: ClassVar[dict[type[Any], Handler]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.message_handlers = handlers_of_class(cls)

    def on_start(self) -> Any:
        """Runs before the first message, and again after each restart. May be `async def`."""

    def on_stop(self) -> Any:
        """Runs on a stop, after the children have stopped. Not called after a failure. May be `async def`."""
