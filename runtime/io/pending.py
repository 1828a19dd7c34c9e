"""An answer that is not here yet, as every capability of this floor gives it.

`concurrent.futures.Future` is one, and so is the kernel's `Promise`. What waits for it registers a callback or, at the
edges (tests, start-up), blocks on `result`. Callbacks run on whatever thread completes the answer: they hand over and
return, they do no work.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Any, Protocol, TypeVar

T = TypeVar("T", covariant=True)
R = TypeVar("R")


class PendingAnswer(Protocol[T]):
    """An answer of type T, or the exception it failed with, at some time from now."""

    def done(self) -> bool:
        """True once there is an answer, a failure or a cancellation."""

    def result(self, timeout: float | None = None) -> T:
        """The answer; blocks for up to `timeout` seconds.

        Raises the failure, `CancelledError` or `TimeoutError`.
        """

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The failure, or None after success; blocks and raises as `result` does."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call `fn` with this object once it is done, at once if it is already."""

    def cancel(self) -> bool:
        """Give up. True when the answer will not come any more; the operation itself may still happen."""


class Subscription(Protocol):
    """A series of facts that keeps coming until it is closed."""

    def close(self) -> None:
        """End the series.

        Nothing is delivered after the return, except what another thread has begun to deliver.
        """


class SubscriptionEnded:
    """A subscription that is over, or never began."""

    def close(self) -> None:
        """Nothing is left to close."""


class CancellingAnswer(Future[R]):
    """An answer to come whose cancellation reaches the call behind it.

    A call that keeps its callbacks keeps this answer, too. So the last callback lets go of the call: otherwise the two
    stay until the garbage collector finds them.
    """

    def __init__(self, call: PendingAnswer[Any] | None = None) -> None:
        super().__init__()
        self._call = call

    def follow(self, call: PendingAnswer[Any]) -> None:
        """From now on this is the call behind it."""
        self._call = call
        if self.cancelled():  # meanwhile, by another thread
            call.cancel()

    def let_go(self) -> None:
        """Nothing is behind it any more."""
        self._call = None

    def cancel(self) -> bool:
        cancelled, call = super().cancel(), self._call
        if cancelled and call is not None:
            call.cancel()
        return cancelled


def settle(answer: Future[Any], *, result: Any = None, error: BaseException | None = None) -> None:
    """Complete `answer`, unless it was cancelled meanwhile."""
    with contextlib.suppress(InvalidStateError):
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)
