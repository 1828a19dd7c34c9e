"""Small actors for tests of one actor: they stand where its partners would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem

M = TypeVar("M")


class Recorder(Actor):
    """Keeps every message of the kinds it is given, in order."""

    def __init__(self, kept: list[Any]) -> None:
        super().__init__()
        self._kept = kept

    @classmethod
    def spawn_in(cls, system: ActorSystem, name: str, *kinds: type[Any]) -> tuple[ActorRef, list[Any]]:
        """An actor that takes these kinds of messages, and the list it fills."""

        def keep(self: Recorder, message: Any) -> None:
            self._kept.append(message)

        handler: type[Recorder] = type(f"Recorder of {name}", (cls,), {})
        handler.message_handlers = {**cls.message_handlers, **dict.fromkeys(kinds, keep)}
        kept: list[Any] = []
        return system.spawn(handler, kept, name=name), kept


def replace_handler(
    patched: pytest.MonkeyPatch, actor_class: type[Actor], message_type: type[Any], handler: Callable[[Any, Any], Any]
) -> None:
    """Let actors of this class, those that run too, handle messages of this type with `handler`."""
    patched.setitem(actor_class.message_handlers, message_type, handler)


def only(kept: list[Any], kind: type[M]) -> list[M]:
    """Those of one kind."""
    return [message for message in kept if isinstance(message, kind)]
