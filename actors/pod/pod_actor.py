"""The interface of a pod's worker for its parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, TypeAlias

from actors.kernel import Actor

Pass: TypeAlias = Coroutine[Any, Any, None]
"""A pass: the coroutine that a handler returns to go on with."""


class PodActor(Actor, ABC):
    """The base class of `PodWorker`, for its parts."""

    @abstractmethod
    def go_on(self) -> Pass | None:
        """Begin a pass after an answer or an order. A handler returns the result."""

    @abstractmethod
    def go_on_soon(self) -> None:
        """Begin another pass as soon as this one has ended."""

    @abstractmethod
    def explain(self) -> None:
        """Tell the history what the pod waits for: now, or soon if it has many containers."""
