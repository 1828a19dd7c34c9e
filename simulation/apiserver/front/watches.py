"""Watches over HTTP: their waiting output, and the two ways to write it.

A watch is lines of JSON in one answer. For who asks to upgrade to a WebSocket, each line is a frame of text. A watcher
that does not read is cut after `LINES_WAITING_AT_MOST` events. The meaning of events is not known here.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, Protocol
from urllib.parse import parse_qsl

from aiohttp import web

from runtime.http_server.heads import Head
from simulation.apiserver.front.negotiation import Lines
from simulation.apiserver.requests.answers import JsonAnswer, WatchAnswer
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.requests.options import is_set
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import StatusError, bad_request
from simulation.apiserver.store.store import ERROR, Version
from simulation.webhooks.conversions import ConversionWantedError

LOG = logging.getLogger("actorlet.apiserver.http")
LINES_WAITING_AT_MOST = 10_000


class Clients:
    """Is told on the front's loop what its clients do; whoever lets time pass may mind it."""

    def serving(self) -> AbstractContextManager[object]:
        """While a request is served."""
        return nullcontext()

    def waiting(self, seconds: int = 0, end: Callable[[], object] | None = None) -> AbstractContextManager[object]:
        """While such a request waits for events, at most so long; 0: no limit. `end` ends it."""
        return nullcontext()

    def told(self) -> None:
        """A watch gets an event."""


_Unshown = tuple[str, Version]
"""An event whose object is still to be converted."""


class Stream:
    """The waiting output of one watch: filled from any thread, emptied by the connection's handler.

    `abort` ends a connection whose client does not read: waiting for it would never end. `convert` asks a webhook for a
    conversion; an event that needs one waits in its place until it is written.
    """

    def __init__(
        self,
        answer: WatchAnswer,
        lines: Lines,
        abort: Callable[[], object],
        clients: Clients,
        server: ApiServer,
        convert: Callable[[ConversionWantedError], Awaitable[None]],
    ) -> None:
        self._server = server
        self._convert = convert
        self._abort = abort
        self._clients = clients
        self._answer = answer
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[bytes | _Unshown] = deque()
        self._something = asyncio.Event()
        self._at_most = sys.maxsize
        self._woken = False
        self.ended = False

    def start(self) -> None:
        with self._server.lock:
            self._answer.watcher.start(self._take, self.end)
            # What was there from the start is no sign that nobody reads.
            self._at_most = len(self._waiting) + LINES_WAITING_AT_MOST

    async def next(self) -> bytes:
        """The waiting output in one piece; empty at the end."""
        while True:
            self._something.clear()
            self._woken = False
            if self._waiting or self.ended:
                break
            await self._something.wait()
        count = len(self._waiting)
        pieces = [self._waiting.popleft() for _ in range(count)]
        return b"".join([one if isinstance(one, bytes) else await self._shown(*one) for one in pieces])

    async def _shown(self, kind: str, version: Version) -> bytes:
        while True:
            try:
                return self._line(kind, version)
            except ConversionWantedError as wanted:
                await self._convert(wanted)
            except StatusError as failure:
                self.ended = True
                return error_line(failure.as_object())

    def _line(self, kind: str, version: Version) -> bytes:
        with self._server.lock, self._server.asking():
            shown = self._answer.shape(version)
        return self._lines.line(kind, shown)

    def end(self, error: StatusError | None) -> None:
        """From any thread."""
        if error is not None:
            self._waiting.append(error_line(error.as_object()))
        self.ended = True
        self._wake()

    def _take(self, kind: str, version: Version) -> None:
        if self.ended:
            return
        if len(self._waiting) >= self._at_most:
            LOG.warning("a watch of %s does not read: it is cut", self._answer.resource.plural)
            self.ended = True
            self._on_loop(self._abort)
        else:
            try:
                self._waiting.append(self._line(kind, version))
            except ConversionWantedError:
                self._waiting.append((kind, version))
            self._clients.told()
        self._wake()

    def _wake(self) -> None:
        if not self._woken:
            self._woken = True
            self._on_loop(self._something.set)

    def _on_loop(self, call: Callable[[], object]) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)


class Output(Protocol):
    """Where a watch is written. Raises ConnectionError when nobody listens."""

    @property
    def response(self) -> web.StreamResponse: ...

    async def write(self, data: bytes) -> None:
        """Write whole lines."""

    async def end(self) -> None:
        """End in order."""


def is_framed_watch(head: Head) -> bool:
    """Whether a request to upgrade is a watch over a WebSocket."""
    query = dict(parse_qsl(head.target.partition("?")[2], keep_blank_values=True))
    return _is_websocket(head.header("upgrade")) and is_set(query.get("watch"))


async def output_for(request: web.BaseRequest, on_close: Callable[[], None]) -> Output:
    """Begin the answer; `on_close` is called when a client closes its WebSocket.

    Raises StatusError (400, 403).
    """
    if not _is_websocket(request.headers.get("Upgrade", "")):
        chunks = _Chunks()
        await chunks.response.prepare(request)
        return chunks
    frames = _Frames(request)
    await frames.response.prepare(request)
    frames.listen(on_close)
    return frames


def _is_websocket(upgrade: str) -> bool:
    return upgrade.strip().lower() == "websocket"


class _Chunks:
    def __init__(self) -> None:
        self.response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        self.response.enable_chunked_encoding()

    async def write(self, data: bytes) -> None:
        await self.response.write(data)

    async def end(self) -> None:
        await self.response.write_eof()


class _Frames:
    """A kube-apiserver wants an Origin, and takes one subprotocol at most, whatever its name."""

    def __init__(self, request: web.BaseRequest) -> None:
        if "Origin" not in request.headers:
            raise StatusError(403, "Forbidden", "a watch over a WebSocket needs the header Origin", {})
        names = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        protocols = tuple(name for name in map(str.strip, names) if name)
        if len(protocols) > 1:
            raise bad_request(f"a watch takes one subprotocol at most, and {len(protocols)} are offered")
        self.response: web.WebSocketResponse = web.WebSocketResponse(protocols=protocols, compress=False)
        self._listening: asyncio.Task[None] | None = None

    async def write(self, data: bytes) -> None:
        for line in data.splitlines(keepends=True):
            await self.response.send_str(line.decode())

    async def end(self) -> None:
        await self.response.close()

    def listen(self, on_close: Callable[[], None]) -> None:
        """Ignore what the client says, but for the end."""

        async def read() -> None:
            async for _ in self.response:
                pass
            on_close()

        self._listening = asyncio.create_task(read())


def error_line(status: Any) -> bytes:
    """The event of a watch that an error is."""
    return JsonAnswer({"type": ERROR, "object": status}).body() + b"\n"
