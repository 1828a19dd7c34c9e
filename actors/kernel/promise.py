"""Results that are not there yet, and how a handler waits for them.

`Pending` is what an actor can wait for: the few methods of `concurrent.futures.Future` that matter, so gRPC calls,
thread pools and simulated worlds all fit without an adapter. `Promise` is the kernel's own. `AskFuture` is Pykka's
future, for the edges of the system. `Suspension` is what a handler's `await` gives to the kernel: a `Pending`, a
time, or both.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

import pykka

from actors.kernel.context import context
from actors.kernel.errors import BlockingInHandlerError

logger = logging.getLogger("actorlet.kernel")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """A result to come. Callbacks run on whichever thread completes it."""

    def done(self) -> bool: ...
    def result(self, timeout: float | None = None) -> T_co: ...
    def exception(self, timeout: float | None = None) -> BaseException | None: ...
    def add_done_callback(self, fn: Callable[[Any], object], /) -> None: ...
    def cancel(self) -> bool: ...


class CancelledPromiseError(Exception):
    """The promise was cancelled before it was kept."""


_lock = threading.RLock()
"""One lock for all promises, held for a few instructions.

One each would double the memory of a promise. It is reentrant because a garbage collection inside may run code that
keeps a promise.
"""


class Promise(Generic[T]):
    """A `Pending` that is kept with `set_result` or `set_exception`; only the first of these counts.

    Each callback runs exactly once, on the thread that keeps the promise or, later, on the one that adds the callback.
    A callback that raises is logged; the others still run.
    """

    __slots__ = ("__weakref__", "_callbacks", "_done", "_exception", "_value")

    def __init__(self) -> None:
        self._done = False
        self._value: T | None = None
        self._exception: BaseException | None = None
        self._callbacks: list[Callable[[Any], object]] = []

    def done(self) -> bool:
        return self._done

    def set_result(self, value: T) -> None:
        self._finish(value, None)

    def set_exception(self, exception: BaseException) -> None:
        self._finish(None, exception)

    def cancel(self) -> bool:
        """Give up on the result: waiters get `CancelledPromiseError`. False when it was already there."""
        return self._finish(None, CancelledPromiseError("cancelled"))

    def cancelled(self) -> bool:
        return isinstance(self._exception, CancelledPromiseError)

    def result(self, timeout: float | None = None) -> T:
        """The value, or raise the failure. Never blocks: await a promise, or ask it once it is done."""
        if (failure := self.exception()) is not None:
            raise failure
        return cast(T, self._value)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not self._done:
            raise BlockingInHandlerError("this result is not there yet: await self.wait(promise) instead")
        return self._exception

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        with _lock:
            if not self._done:
                self._callbacks.append(fn)
                return
        self._call(fn)

    def _finish(self, value: T | None, exception: BaseException | None) -> bool:
        with _lock:
            if self._done:
                return False
            self._value = value
            self._exception = exception
            self._done = True
        while self._callbacks:
            self._call(self._callbacks.pop(0))
        return True

    def _call(self, fn: Callable[[Any], object]) -> None:
        try:
            fn(self)
        except BaseException:
            logger.exception("a callback of a promise failed")


def kept(value: T) -> Promise[T]:
    """A promise that is already kept."""
    promise: Promise[T] = Promise()
    promise.set_result(value)
    return promise


def broken(exception: BaseException) -> Promise[Any]:
    """A promise that has already failed."""
    promise: Promise[Any] = Promise()
    promise.set_exception(exception)
    return promise


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """How one of several effects ended: `value`, or `error` when it is not None."""

    value: T | None
    error: BaseException | None

    @property
    def error_text(self) -> str:
        """Why it failed, for people; "" for success."""
        return "" if self.error is None else str(self.error) or type(self.error).__name__


def outcome_of(pending: Pending[T]) -> Outcome[T]:
    """The outcome of a pending that is done, cancellation included."""
    try:
        return Outcome(pending.result(), None)
    except BaseException as error:  # concurrent futures raise CancelledError from result()
        return Outcome(None, error)


def all_done(pendings: Sequence[Pending[Any]]) -> Promise[None]:
    """A promise kept when every one of `pendings` has ended, well or badly."""
    if not pendings:
        return kept(None)
    promise: Promise[None] = Promise()
    # Effects end on any thread. `pop` is atomic, so exactly one of them takes the first element, the last that is left.
    left = [True] + [False] * (len(pendings) - 1)

    def one_ended(_: Any) -> None:
        if left.pop():
            promise.set_result(None)

    for pending in pendings:
        pending.add_done_callback(one_ended)
    return promise


@dataclass(slots=True, eq=False)
class Suspension(Generic[T]):
    """Await this in a handler: it ends with the pending's result or failure, or with a timeout.

    `timeout_ns` with a pending raises `DeadlineExceededError`; without one it is a sleep. `what` names it to people.
    """

    pending: Pending[T] | None
    timeout_ns: int | None = None
    what: str = ""

    def __await__(self) -> Generator[Suspension[T], Any, T]:
        if self.pending is not None and self.pending.done():
            return self.pending.result()
        result: T = yield self
        return result


class Waiter(Protocol):
    """Waits for a promise outside of actors: a dispatcher."""

    def wait_until_done(self, pending: Pending[Any], timeout_ns: int | None) -> bool: ...


class AskFuture(pykka.Future[T]):
    """The answer to an `ask`. Call `get` at the edges only: it waits, or drives a simulated world."""

    def __init__(self) -> None:
        super().__init__()
        self._promise: Promise[T] = Promise()
        self._dispatcher: Waiter | None = None

    def bind(self, dispatcher: Waiter) -> None:
        """Set the dispatcher whose time `get` waits in. Called by the cell that takes the question."""
        self._dispatcher = dispatcher

    def done(self) -> bool:
        return self._promise.done()

    def get(self, *, timeout: float | None = None) -> T:
        """The answer. `timeout` in seconds of the dispatcher's clock; raises `pykka.Timeout` when it passes."""
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if not self._promise.done():
            if (asker := context.cell) is not None:
                raise BlockingInHandlerError(
                    f"{asker.path} would block its thread on a future: await it, or be told the answer"
                )
            self._wait_until_done(timeout)
        return self._promise.result()

    def _wait_until_done(self, timeout: float | None) -> None:
        if self._dispatcher is None:
            event = threading.Event()
            self._promise.add_done_callback(lambda _: event.set())
            reached = event.wait(timeout)
        else:
            timeout_ns = None if timeout is None else int(timeout * 1e9)
            reached = self._dispatcher.wait_until_done(self._promise, timeout_ns)
        if not reached:
            raise pykka.Timeout(f"{timeout} seconds")

    def set(self, value: Any = None) -> None:
        self._promise.set_result(value)

    def fail(self, failure: BaseException) -> None:
        """`set_exception` without Pykka's triple."""
        self._promise.set_exception(failure)

    def set_exception(self, exc_info: Any = None) -> None:
        self.fail((exc_info or sys.exc_info())[1] or pykka.ActorDeadError("no answer"))

    def result(self, timeout: float | None = None) -> T:
        return self.get(timeout=timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._promise.exception()

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        self._promise.add_done_callback(fn)

    def cancel(self) -> bool:
        return self._promise.cancel()
