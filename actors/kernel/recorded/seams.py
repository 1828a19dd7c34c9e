"""What a dispatcher and an actor have for a recorder. Without one it does nothing."""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Tap = Callable[[Any, Any, Any, Hashable | None], bool]
"""Called before a message or stop goes to a cell: (receiver, message, its future, key).

True: the tap delivers it itself later.
"""


class RecordedDispatcher(abc.ABC):
    """The part of a dispatcher."""

    tap: Tap | None = None

    @abc.abstractmethod
    def now_ns(self) -> int: ...

    def work_ns(self) -> int:
        """The clock that measures the work of actors, in ns. Only reports show it; no actor decides by it."""
        return self.now_ns()

    def observe(self, what: str, look: Callable[[], T]) -> T:
        """What an actor sees of something that other threads change. `what` names it."""
        return look()

    def release(self) -> None:  # noqa: B027 - most run actors at once
        """The first actors are made: let them run, if that has waited for this."""

    def beneath(self) -> Any:
        """The dispatcher for what is beneath the actors: their capabilities. A recorder records nothing of it."""
        return self


class HasDispatcher(Protocol):
    """A cell, as far as this module knows it."""

    @property
    def dispatcher(self) -> RecordedDispatcher: ...


class RecordedActor:
    """The part of an actor."""

    _cell: HasDispatcher

    def observe(self, what: str, look: Callable[[], T]) -> T:
        """`look()`, for what another thread changes: a record notes what was seen. `what` names it."""
        return self._cell.dispatcher.observe(what, look)
