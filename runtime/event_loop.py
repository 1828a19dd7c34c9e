"""One thread with an asyncio loop for everything that speaks HTTP: manifest URLs, the API server, our own server.

`LoopThread.submit` takes a coroutine from any thread and gives a `concurrent.futures.Future`, which is a `Pending`. The
thread starts with the first coroutine and is a daemon: what hangs on the network does not hold up the end of the
process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """See the module. `close` cancels what still runs; afterwards `submit` raises RuntimeError."""

    def __init__(self, name: str = "event-loop") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run `coroutine` on the loop. Cancelling the future cancels it."""
        try:
            loop = self._started_loop()
        except RuntimeError:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Cancel everything, and wait a little for it to end. May be called more than once."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(_cancel_all_and_stop, loop)
            thread.join(timeout_seconds)

    def _started_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name} is closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop


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
