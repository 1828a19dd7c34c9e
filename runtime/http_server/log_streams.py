"""A container's log as an answer: streamed as it is read, at the pace of the client (spec 11.2).

Disks may hang, and readers may be many. So a few threads of their own read, with a limit for each read: a sick disk
ends its own streams and nothing else. A stream that follows looks again a few times a second, for as long as the
container runs and the client stays.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager

from aiohttp import web

from runtime.cri import Cri, CriError
from runtime.cri.messages import ContainerState, ContainerStatus, ContainerStatusRequest
from runtime.cri.verbs import CONTAINER_STATUS
from runtime.files.disk_turns import DiskTurns
from runtime.http_server.heads import HttpRefusal
from runtime.io.daemon_threads import DaemonThreads
from runtime.io.event_loop import settled
from runtime.logs.lines import LogReadOptions
from runtime.logs.reader import LogReader
from runtime.logs.source import LogSource

THREADS = 8
LOOK_EVERY_SECONDS = 0.1
ALIVE_EVERY_SECONDS = 1.0

Write = Callable[[bytes], Awaitable[object]]
"""Takes a piece of a log; ends when the client has room for the next."""


class LogStreams:
    """See the module. `reading`: an executor instead of its own threads; `close` ends it."""

    def __init__(self, cri: Cri, source: LogSource, reading: Executor | None = None) -> None:
        self._cri = cri
        self._source = source
        self._threads = DaemonThreads(THREADS, "log-reading") if reading is None else reading

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: web.BaseRequest, container_id: str, options: LogReadOptions) -> web.StreamResponse:
        """The log of that container. Raises HttpRefusal while nothing has been sent."""
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        async with self._opened(container_id, options) as pump:
            await response.prepare(request)
            try:
                await pump(response.write)
            except OSError:
                # The head has gone out: what is left is to break off, so that nobody takes this for the whole.
                if request.transport is not None:
                    request.transport.close()
                return response
            await response.write_eof()
            return response

    async def copy(self, container_id: str, options: LogReadOptions, write: Write) -> None:
        """The log of that container, piece by piece. Raises HttpRefusal, OSError, and what `write` raises."""
        async with self._opened(container_id, options) as pump:
            await pump(write)

    @asynccontextmanager
    async def _opened(
        self, container_id: str, options: LogReadOptions
    ) -> AsyncIterator[Callable[[Write], Awaitable[None]]]:
        """The function that copies the log. Raises HttpRefusal."""
        status = await self._status(container_id)
        if status is None or not status.log_path:
            raise HttpRefusal(500, f"unable to retrieve container logs for {container_id}: the runtime has no such log")
        follow = options.follow and status.state == ContainerState.CONTAINER_RUNNING
        reader = LogReader(self._source, status.log_path, status.id or container_id, options)
        turns = DiskTurns(self._threads)
        try:
            try:
                await turns.take(reader.open)
            except OSError as error:
                raise HttpRefusal(500, f"the log cannot be read: {error.strerror or error}") from None
            yield lambda write: self._pump(reader, turns, write, container_id, follow=follow)
        finally:
            turns.end(reader.close)

    async def _pump(
        self, reader: LogReader, turns: DiskTurns, write: Write, container_id: str, *, follow: bool
    ) -> None:
        asked = time.monotonic()
        while True:
            data = await turns.take(reader.read)
            if data:
                await write(data)
            if reader.full:
                return
            if data is not None:
                continue
            if not follow:
                break
            if time.monotonic() - asked >= ALIVE_EVERY_SECONDS:
                asked = time.monotonic()
                # What it wrote before its end is read once more.
                follow = await self._runs(container_id)
                continue
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        rest = await turns.take(reader.finish)
        if rest:
            await write(rest)

    async def _runs(self, container_id: str) -> bool:
        try:
            status = await self._status(container_id)
        except HttpRefusal:
            return True  # nobody knows; the log is there all the same
        return status is not None and status.state == ContainerState.CONTAINER_RUNNING

    async def _status(self, container_id: str) -> ContainerStatus | None:
        try:
            answer = await settled(self._cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id=container_id)))
        except CriError as error:
            if error.not_found:
                return None
            raise HttpRefusal(500, f"the runtime does not say where the log is: {error.in_go}") from None
        return answer.status
