"""`ActorRef`: the address of an actor. Pykka's reference, kept valid over restarts of what is behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pykka

from actors.kernel.context import StoppedFlag

if TYPE_CHECKING:
    from actors.kernel.cell import Cell


class ActorRef(pykka.ActorRef[Any]):
    """Send to it with `tell`; ask it, from the edges only, with `ask`. It survives restarts of its actor."""

    def __init__(self, cell: Cell) -> None:
        # Pykka builds a reference from a living actor; ours exists before the actor and outlives it.
        self._cell = cell
        self.actor_class: type[Any] = cell.actor_class
        self.actor_urn: str = cell.path
        self.actor_inbox: Any = cell
        self.actor_stopped: StoppedFlag = cell.stopped
        self.tell = cell.post  # type: ignore[method-assign]  # the way of every message: no call between

    @property
    def path(self) -> str:
        return self._cell.path

    @property
    def name(self) -> str:
        return self._cell.name

    def tell(self, message: Any) -> None:
        """Send and forget. Never raises and never blocks: what cannot be delivered becomes a dead letter."""
        self._cell.post(message)

    def proxy(self) -> NoReturn:
        """Refused: a proxy hides which calls are messages."""
        raise TypeError("actorlet's actors have no proxies: tell them a message")

    def __repr__(self) -> str:
        return f"<ActorRef {self._cell.path}>"

    def __str__(self) -> str:
        return self._cell.path
