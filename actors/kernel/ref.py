"""`ActorRef`: the address of an actor.

It is Pykka's reference, and stays valid when the actor is restarted.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NoReturn, Protocol

import pykka


class Addressee(Protocol):
    """The methods of a cell that a reference calls."""

    path: str
    name: str

    @property
    def actor_class(self) -> type[Any]: ...
    def has_stopped(self) -> bool: ...
    def post(self, message: Any, reply_to: None = None, key: Hashable | None = None) -> None: ...


class ActorRef(pykka.ActorRef[Any]):
    """The address of an actor: `tell` from anywhere, `ask` from the edges only. It survives restarts."""

    def __init__(self, cell: Addressee) -> None:
        # Pykka's constructor needs a living actor; this reference exists before the actor and outlives it.
        self._cell = cell
        self.actor_class: type[Any] = cell.actor_class
        self.actor_urn: str = cell.path
        self.actor_inbox: Any = cell

    @property
    def path(self) -> str:
        return self._cell.path

    @property
    def name(self) -> str:
        return self._cell.name

    def is_alive(self) -> bool:
        return not self._cell.has_stopped()

    def tell(self, message: Any) -> None:
        """Send a message. Never raises or blocks: what cannot be delivered becomes a dead letter."""
        self._cell.post(message)

    def ask(self, message: Any, *, block: bool = True, timeout: float | None = None) -> Any:
        """Send a message and wait for the answer; `block=False` returns an `AskFuture`. Not for handlers."""
        return super().ask(message, block=block, timeout=timeout)

    def proxy(self) -> NoReturn:
        """Refused: a proxy hides which calls are messages."""
        raise TypeError("actorlet's actors have no proxies: tell them a message")

    def __repr__(self) -> str:
        return f"<ActorRef {self.path}>"

    def __str__(self) -> str:
        return self.path
