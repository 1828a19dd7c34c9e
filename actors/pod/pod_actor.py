"""What the parts of a pod's worker may ask of the worker itself."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeAlias

from actors.kernel import Actor

Pass: TypeAlias = Coroutine[Any, Any, None]
"""A pass as the rest of the handler that returns it."""


class PodActor(Actor):
    """The base class of `PodWorker`, for its parts."""

    def go_on(self) -> Pass | None:
        """Begin a pass because of an answer or an order. A handler returns the result."""
        raise NotImplementedError

    def explain(self) -> None:
        """Tell the history what the pod waits for now."""
        raise NotImplementedError
