"""Results that are not there yet.

`Pending` is what an actor can wait for: the few methods of `concurrent.futures.Future` that matter, so that gRPC calls,
thread pools and simulated worlds all fit without an adapter. `Promise` is the kernel's own, light enough to be made by
the million. `AskFuture` is Pykka's future for the edges of the system.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
import pykka

from actors.kernel.context import whose_turn
from actors.kernel.errors import BlockingInHandlerError

if TYPE_CHECKING:
    from actors.kernel.dispatcher import Dispatcher

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


_OPEN: Any = object()
"""The head of the callbacks of a promise that nobody has kept yet."""


_NOBODY: list[Callable[[Any], object]] = []
"""The callbacks of all promises that were kept when they were made. It stays empty: who comes is called at once."""


class Promise(msgspec.Struct, Generic[T], eq=False, weakref=True):
    """A `Pending` that somebody keeps with `set_result` or `set_exception`; later calls of these are ignored.

    No lock, and millions of them: the list's own methods are atomic. Who removes the `_OPEN` mark from the head of
    the callbacks is the one that keeps the promise, and who pops a callback runs it, so the value is set once and
    each callback runs exactly once. A callback that raises is logged; the others still run.
    """

    _done: bool = False
    _callbacks: list[Callable[[Any], object]] = msgspec.field(default_factory=partial(list, (_OPEN,)))
    _value: T | None = None
    _exception: BaseException | None = None

    __repr__ = object.__repr__  # what it holds, and whoever waits for it, may be large

    def done(self) -> bool:
        return self._done

    def set_result(self, value: T) -> None:
        try:
            self._callbacks.remove(_OPEN)
        except ValueError:
            return
        self._value = value
        self._done = True
        if self._callbacks:
            self._run_callbacks()

    def set_exception(self, exception: BaseException) -> None:
        if self._claim():
            self._exception = exception
            self._finish()

    def cancel(self) -> bool:
        """Give up on the result: waiters get `CancelledPromiseError`. False when it was already there."""
        if not self._claim():
            return False
        self._exception = CancelledPromiseError("cancelled")
        self._finish()
        return True

    def cancelled(self) -> bool:
        return isinstance(self._exception, CancelledPromiseError)

    def result(self, timeout: float | None = None) -> T:
        """The value, or raise the failure. Never blocks: a promise is awaited, or asked for once done."""
        if not self._done:
            self._require_done()
        if self._exception is not None:
            raise self._exception
        return self._value  # type: ignore[return-value]  # set together with _done

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not self._done:
            self._require_done()
        return self._exception

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        callbacks = self._callbacks
        if self._done and not callbacks:  # nobody to stand in line behind
            try:
                fn(self)
            except BaseException:
                logger.exception(_CALLBACK_FAILED)
            return
        callbacks.append(fn)
        if self._done:
            self._run_callbacks()

    def _require_done(self) -> None:
        if not self._done:
            raise BlockingInHandlerError("this result is not there yet: await self.wait(promise) instead")

    def _claim(self) -> bool:
        """Whether the caller is the one that keeps this promise. The mark stands first: found without a search."""
        try:
            self._callbacks.remove(_OPEN)
        except ValueError:
            return False
        return True

    def _finish(self) -> None:
        self._done = True
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        callbacks = self._callbacks
        while callbacks:
            try:
                fn = callbacks.pop(0)
            except IndexError:
                return
            try:
                fn(self)
            except BaseException:
                logger.exception(_CALLBACK_FAILED)


_CALLBACK_FAILED = "a callback of a promise failed"


kept: Callable[[T], Promise[T]] = partial(Promise, True, _NOBODY)
"""A promise that is already kept."""


def broken(exception: BaseException) -> Promise[Any]:
    """A promise that has already failed."""
    return Promise(True, _NOBODY, None, exception)


class AskFuture(pykka.Future[T]):
    """The answer to an `ask`. `get` blocks a thread of the edge, or drives a simulated world; never a handler."""

    def __init__(self) -> None:
        super().__init__()
        self._promise: Promise[T] = Promise()
        self._dispatcher: Dispatcher | None = None

    def bind(self, dispatcher: Dispatcher) -> None:
        """Tell the future whose time it waits in. Called by the mailbox that takes the question."""
        self._dispatcher = dispatcher

    def done(self) -> bool:
        return self._promise.done()

    def get(self, *, timeout: float | None = None) -> T:
        """The answer. `timeout` in seconds of the dispatcher's clock; raises `pykka.Timeout` when it passes."""
        if self._get_hook is not None:
            return super().get(timeout=timeout)
        if not self._promise.done():
            asker = whose_turn(None if self._dispatcher is None else self._dispatcher.clock)
            if asker is not None:
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
        """What `set_exception` does, without Pykka's triple."""
        self._promise.set_exception(failure)

    def set_exception(self, exc_info: Any = None) -> None:
        exception = (exc_info or sys.exc_info())[1]
        self._promise.set_exception(exception or pykka.ActorDeadError("no answer"))

    def result(self, timeout: float | None = None) -> T:
        return self.get(timeout=timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        return self._promise.exception()

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        self._promise.add_done_callback(fn)

    def cancel(self) -> bool:
        return self._promise.cancel()
