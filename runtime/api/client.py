"""The API server over HTTP.

`ApiClient` is one line to it. It limits its calls in flight and their time, repeats them, and reads their answers.
`runtime.api.connections` has the connections and credentials, shared by all lines of a node. `runtime.api.limited`
stands before it and limits the rate.

Calls of one burst go to the loop together; answers are completed on the loop. Bodies beyond 256 KiB are decoded on
another thread, so that other answers get their turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from runtime.api.answers import not_understood, refusal, wait_before_retry_ns
from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.api.connections import NO_ANSWER, ApiConnections, no_answer
from runtime.api.errors import UNREACHABLE, ApiError
from runtime.api.limited import CLOSED
from runtime.api.watching import Watching
from runtime.io.daemon_threads import DaemonThreads
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer, Subscription

LOG = logging.getLogger(__name__)

TIMEOUT_NS = 60 * 10**9
"""The limit of calls without a time limit; the server itself gives up after that."""
IN_FLIGHT_AT_MOST = 32
SILENT_CALLS = 2
"""After so many unanswered calls in a row, the line of the leases closes its connections."""
DECODED_ASIDE_BYTES = 256 * 1024
_READING = DaemonThreads(2, "api-reading")
"""Threads for larger answers. Looking up names has others, since that may hang; decoding never does."""
CLOSE_SECONDS = 5.0

Pause = Callable[[float], Awaitable[object]]


class ApiClient:
    """An `Api`.

    `close` fails what is in flight and all that comes later; it does not close the connections.

    `on_silence` runs on the loop when `SILENT_CALLS` calls in a row had no answer. `pause` waits before a retry.
    """

    def __init__(
        self,
        connections: ApiConnections,
        loop: LoopThread,
        *,
        in_flight: int = IN_FLIGHT_AT_MOST,
        timeout_ns: int = TIMEOUT_NS,
        on_silence: Callable[[], None] | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._connections = connections
        self._loop = loop
        self._timeout_ns = timeout_ns
        self._on_silence = on_silence
        self._pause = pause
        self._slots = asyncio.Semaphore(in_flight)
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._silent = 0
        self._closed = False

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        """See `Api.call`."""
        answer: _Answer[R] = _Answer(self, call, self._timeout_ns if timeout_ns is None else timeout_ns)
        try:
            self._loop.post(answer.begin)
        except RuntimeError:
            answer.fail(ApiError(0, UNREACHABLE, CLOSED, call.verb))
        return answer

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`. Watches are not counted among the calls in flight."""
        watching = Watching(self._connections, self._loop, call, on_event, on_end)
        try:
            self._loop.post(lambda: self._follow(watching))
        except RuntimeError:
            watching.end(ApiError(0, UNREACHABLE, CLOSED, call.verb))
        return watching

    def close(self) -> None:
        """See the class. Returns when everything has ended."""
        self._closed = True
        try:
            self._loop.submit(self._end_all()).result(CLOSE_SECONDS)
        except RuntimeError:
            return  # the loop has ended, and every call with it
        except TimeoutError:
            LOG.warning("the calls to the API server did not end in time")

    async def _end_all(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _abandon(self, answer: _Answer[Any]) -> None:
        try:
            self._loop.post(answer.stop)
        except RuntimeError:
            return  # the loop has ended, and the call with it

    # --- on the loop ------------------------------------------------------------------------------------------------

    def _begin(self, answer: _Answer[R]) -> asyncio.Task[None] | None:
        if self._closed:
            answer.fail(ApiError(0, UNREACHABLE, CLOSED, answer.asked.verb))
            return None
        task = asyncio.get_running_loop().create_task(self._answer(answer))
        self._keep(task, answer.ended)
        return task

    def _follow(self, watching: Watching[Any]) -> None:
        if self._closed:
            watching.end(ApiError(0, UNREACHABLE, CLOSED, watching.call.verb))
            return
        self._keep(watching.begin(), watching.ended)

    def _keep(self, task: asyncio.Task[None], ended: Callable[[], None]) -> None:
        """Keep the task until it ends, then call `ended`.

        The task cannot call it itself: a task that is cancelled before its first step runs no code.
        """
        self._tasks[task] = None

        def forget(task: asyncio.Task[None]) -> None:
            del self._tasks[task]
            ended()

        task.add_done_callback(forget)

    async def _answer(self, answer: _Answer[R]) -> None:
        call = answer.asked
        try:
            result = await self._ask(answer)
        except ApiError as error:
            self._heard(error.code != 0)
            answer.fail(error)
        except Exception as fault:
            LOG.exception("%s: a fault of the client", call.verb)
            answer.fail(ApiError(0, UNREACHABLE, f"a fault of the client: {fault!r}", call.verb))
        else:
            self._heard(True)
            answer.succeed(result)

    def _heard(self, answered: bool) -> None:
        self._silent = 0 if answered else self._silent + 1
        if self._silent >= SILENT_CALLS and self._on_silence is not None:
            self._silent = 0
            self._on_silence()

    async def _ask(self, answer: _Answer[R]) -> R:
        call = answer.asked
        ends_at_ns = 0
        retries = 0
        while True:
            async with self._slots:
                now_ns = time.monotonic_ns()
                ends_at_ns = ends_at_ns or now_ns + answer.timeout_ns
                status, body, retry_after = await self._exchange(call, ends_at_ns - now_ns)
            if 200 <= status < 300:
                return await _read(call, status, body)
            error = refusal(status, body, call.verb, retry_after, self._connections.shown.secrets)
            wait_ns = wait_before_retry_ns(call.method, error, retries, ends_at_ns - time.monotonic_ns())
            if wait_ns is None:
                raise error
            retries += 1
            self._connections.observer.repeated(call.method, error.code)
            await self._pause(wait_ns / 1e9)

    async def _exchange(self, call: ApiCall[Any], left_ns: int) -> tuple[int, bytes, str]:
        """(status, body, Retry-After) of one request. Raises ApiError."""
        try:
            async with (
                asyncio.timeout(max(left_ns, 1) / 1e9),
                self._connections.send(call.method, call.path, call.query, call.body, call.content_type) as response,
            ):
                body = await response.read()
                self._connections.observer.exchanged(call.method, len(call.body or b""), len(body))
                return response.status, body, response.header("retry-after")
        except NO_ANSWER as fault:
            raise no_answer(fault, call.verb) from None


async def _read(call: ApiCall[R], status: int, body: bytes) -> R:
    try:
        if len(body) <= DECODED_ASIDE_BYTES:
            return call.read(body)
        return await asyncio.get_running_loop().run_in_executor(_READING, call.read, body)
    except Exception as fault:
        raise not_understood(status, fault, call.verb) from None


class _Answer(Future[R]):
    """The answer to one call; cancelling it cancels what is done for it."""

    def __init__(self, client: ApiClient, call: ApiCall[R], timeout_ns: int) -> None:
        super().__init__()
        self.asked = call
        self.timeout_ns = timeout_ns
        self._client = client
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin the call. Runs on the loop."""
        if not self.cancelled():
            self._task = self._client._begin(self)

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if cancelled:
            self._client._abandon(self)
        return cancelled

    def succeed(self, result: R) -> None:
        # False: it was cancelled in this moment.
        if not self.cancelled() and self.set_running_or_notify_cancel():
            self.set_result(result)

    def fail(self, error: ApiError) -> None:
        if not self.cancelled() and self.set_running_or_notify_cancel():
            self.set_exception(error)

    def ended(self) -> None:
        """The client works no more for this call: fail the answer if it is still open."""
        if not self.done():
            self.fail(ApiError(0, UNREACHABLE, CLOSED, self.asked.verb))

    def stop(self) -> None:
        """Stop the call. Runs on the loop."""
        if self._task is not None:
            self._task.cancel()
