"""One thread with an asyncio loop for all HTTP: manifest URLs, the API server, our own server.

`LoopThread.submit` takes a coroutine from any thread and gives a `concurrent.futures.Future`, which is a `Pending`.
`post` takes a plain function, at less cost, for callers with thousands of calls in a second. The thread starts with the
first call of either. It is a daemon, as are the threads for blocking calls (`asyncio.to_thread`, name look-ups): a
network that hangs does not delay the exit.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, InvalidStateError
from typing import Any, TypeVar

from runtime.io.daemon_threads import DaemonThreads
from runtime.io.pending import PendingAnswer

T = TypeVar("T")

BLOCKING_THREADS = 4
"""For what would hold up the loop: the names of servers that the node itself asks, small writes.

What pods name, and what is large, has threads of its own (`runtime.io.connecting`, `runtime.api.client`).
"""


class LoopThread:
    """See the module. `close` cancels what still runs; afterwards `submit` raises RuntimeError."""

    def __init__(self, name: str = "event-loop") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._posted: deque[Callable[[], None]] = deque()
        self._woken = False

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `coroutine` on the loop. Cancelling the future cancels it."""
        answer: _Answer[T] = _Answer(self)
        try:
            self.post(lambda: answer.begin(coroutine))
        except RuntimeError:
            coroutine.close()
            raise
        return answer

    def post(self, operation: Callable[[], None]) -> None:
        """Run `operation` on the loop, after those posted before it.

        It must not raise. One wake-up serves a whole burst.

        Raises RuntimeError after `close`, and where the machine has no thread left to begin with.
        """
        if self._closed:
            raise RuntimeError(f"{self._name} is closed")
        if self._loop is None:
            self._started_loop()  # first: if no thread can start, nothing may stay queued
        self._posted.append(operation)
        # Whoever sees True here has appended before `_run_posted` sets False, and that is before it takes anything out.
        if not self._woken:
            self._woken = True
            self._started_loop().call_soon_threadsafe(self._run_posted)

    def post_later(self, after_ns: int, operation: Callable[[], None]) -> None:
        """Run `operation` on the loop once `after_ns` have passed."""
        self.post(lambda: _in_time(after_ns, operation))

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Cancel everything, and wait a little for it to end. May be called more than once."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(_cancel_all_and_stop, loop)
            thread.join(timeout_seconds)

    def _run_posted(self) -> None:
        self._woken = False
        while self._posted:
            operation = self._posted.popleft()
            try:
                operation()
            except Exception as error:
                context = {"message": f"{self._name}: {operation} must not raise", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name} is closed")
            if self._loop is None:
                loop = asyncio.new_event_loop()
                loop.set_default_executor(DaemonThreads(BLOCKING_THREADS, f"{self._name}-blocking"))
                thread = threading.Thread(target=_run, args=(loop,), name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the machine has no thread left; the next caller may get one
                    loop.close()
                    raise
                self._loop, self._thread = loop, thread
            return self._loop


class _Answer(Future[T]):
    """The future result of a coroutine.

    Cheaper by half than asyncio's own way from one thread to another.
    """

    def __init__(self, loop: LoopThread) -> None:
        super().__init__()
        self._loop = loop
        self._task: asyncio.Task[T] | None = None

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> None:
        """Begin the coroutine. Runs on the loop."""
        if self.cancelled():
            coroutine.close()
            return
        self._task = asyncio.get_running_loop().create_task(coroutine)
        self._task.add_done_callback(self._settle)

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            with contextlib.suppress(RuntimeError):  # a loop that is closed has cancelled everything itself
                self._loop.post(self._cancel_task)
        return cancelled

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _settle(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            super().cancel()
            return
        failure = task.exception()
        with contextlib.suppress(InvalidStateError):  # cancelled at this very moment
            if failure is not None:
                self.set_exception(failure)
            else:
                self.set_result(task.result())


def _in_time(after_ns: int, operation: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(after_ns / 1e9, operation)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _cancel_all_and_stop(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()

    async def stop_when_ended() -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
        loop.stop()

    # The loop holds its tasks only weakly.
    stopping = loop.create_task(stop_when_ended())
    stopping.add_done_callback(lambda _: None)


async def leave_to_others(seconds: float = 0.0) -> None:
    """Yield to the other tasks of the loop, or sleep for `seconds`."""
    await asyncio.sleep(seconds)


async def settled(pending: PendingAnswer[T]) -> T:
    """Wait for an answer on the running loop, without a thread; giving up cancels it.

    Raises its error.
    """
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[T] = loop.create_future()

    def take(done: Any) -> None:
        if waiting.done():
            return
        try:
            waiting.set_result(done.result(0))
        except Exception as error:
            waiting.set_exception(error)

    pending.add_done_callback(lambda done: hand_over(loop, take, done))
    try:
        return await waiting
    except asyncio.CancelledError:
        pending.cancel()
        raise


def hand_over(loop: asyncio.AbstractEventLoop, operation: Callable[..., object], *arguments: object) -> None:
    """Run `operation` on a loop, from any thread.

    After the loop's end it does nothing.
    """
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(operation, *arguments)
