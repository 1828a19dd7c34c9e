"""`DiskTurns`: one reader's operations on a disk that may hang, one after the other.

They run on threads that many readers share.

The caller of an operation may be gone before it is over (a client hangs up, a disk takes too long). Nothing can stop a
thread in the middle of one. So the last operation, which closes what the others opened, waits until the one before has
ended, however long that takes. Runs on one loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")

DISK_SECONDS = 30.0


class DiskTurns:
    """See the module. `seconds`: how long an operation is waited for."""

    def __init__(self, threads: Executor, seconds: float = DISK_SECONDS) -> None:
        self._threads = threads
        self._seconds = seconds
        self._last: Future[Any] | None = None

    async def take(self, operation: Callable[[], T]) -> T:
        """Run the operation and return its result.

        Raises its errors, and TimeoutError (an OSError) when the disk takes too long.
        """
        turn = self._last = self._threads.submit(operation)
        async with asyncio.timeout(self._seconds):
            return await asyncio.wrap_future(turn)

    def end(self, operation: Callable[[], None]) -> None:
        """Do this once the last of the others is over; nobody waits for it. There are no operations after it."""

        def hand_over(_: object) -> None:
            try:
                self._threads.submit(operation)
            except RuntimeError:
                operation()  # the threads end, and with them whoever would have minded the delay

        if self._last is None:
            hand_over(None)
        else:
            self._last.add_done_callback(hand_over)
