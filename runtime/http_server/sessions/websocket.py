"""Sessions of clients that speak websockets, with a runtime that speaks SPDY (spec 11.3).

Two protocols are translated. `v5.channel.k8s.io`, for exec and attach: see `channels.py`.
`SPDY/3.1+portforward.k8s.io`: the messages are the bytes of a SPDY connection, and go through as they are. Every other
websocket is left to the runtime, which may know it.

Each side is read only when the other has room. A session that is idle for too long is cut.
"""

from __future__ import annotations

import abc
import asyncio
import logging

import h11
from aiohttp import WSMsgType, web

from runtime.http_server.heads import Head, HttpRefusal, head_of
from runtime.http_server.sessions.channels import PIECE_BYTES, Channels
from runtime.http_server.sessions.sessions import Streams
from runtime.http_server.sessions.spdy import (
    FRAME_BYTES,
    DataFrame,
    GoneAway,
    Pinged,
    SpdyStreamEnded,
    frame_of,
    meaning,
    pong,
)
from runtime.http_server.tunnel import Way, agreed, bad_gateway

LOG = logging.getLogger("actorlet.http-server")

CHANNELS = "v5.channel.k8s.io"
PORT_FORWARD = "portforward.k8s.io"
TUNNEL = f"SPDY/3.1+{PORT_FORWARD}"
TOWARDS_RUNTIME = "v4.channel.k8s.io"
MESSAGE_BYTES_AT_MOST = 1024 * 1024


def is_translated(head: Head) -> bool:
    """Whether a request to upgrade is for one of the two protocols."""
    return "websocket" in head.header("upgrade").lower() and offered(head.header("sec-websocket-protocol")) is not None


def offered(protocols: str) -> str | None:
    """The first of the two protocols that a client offers."""
    return next((each for part in protocols.split(",") if (each := part.strip()) in (CHANNELS, TUNNEL)), None)


def spdy_request(way: Way, protocol: str) -> h11.Request:
    """The request for the session that `way` leads to."""
    head = head_of(way.first.partition(b"\r\n\r\n")[0])
    return h11.Request(
        method="POST",
        target=head.target,
        headers=[
            ("Host", head.header("host")),
            ("Connection", "Upgrade"),
            ("Upgrade", "SPDY/3.1"),
            ("X-Stream-Protocol-Version", protocol),
            ("Content-Length", "0"),
        ],
    )


class WebsocketSessions:
    """See the module. `idle_seconds` None: no limit."""

    def __init__(self, idle_seconds: float | None) -> None:
        self._idle_seconds = idle_seconds

    async def serve(self, request: web.BaseRequest, way: Way, streams: Streams | None) -> web.StreamResponse:
        """Serve until the session ends. `streams` None: the ports of a pod.

        Raises HttpRefusal before the session begins.
        """
        protocol = CHANNELS if streams is not None else TUNNEL
        if offered(request.headers.get("Sec-WebSocket-Protocol", "")) != protocol:
            raise HttpRefusal(400, f"a session of this kind over a websocket speaks {protocol}")
        reader, writer = await _connect(way, TOWARDS_RUNTIME if streams is not None else PORT_FORWARD)
        socket = web.WebSocketResponse(protocols=(protocol,), compress=False, max_msg_size=MESSAGE_BYTES_AT_MOST)
        try:
            await socket.prepare(request)
            session = _Channels(socket, reader, writer, streams) if streams else _Tunnel(socket, reader, writer)
            await self._run(session)
            await socket.close()
        finally:
            writer.close()
        return socket

    async def _run(self, session: _Session) -> None:
        tasks = [asyncio.ensure_future(each) for each in (session.forward(), session.backward())]
        if self._idle_seconds is not None:
            tasks.append(asyncio.ensure_future(session.silence(self._idle_seconds)))
        try:
            # The session ends when the client leaves or the runtime is finished.
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                if (failure := each.exception()) is not None and not isinstance(failure, OSError | EOFError):
                    LOG.warning("a session broke off: %s", failure)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Session(abc.ABC):
    """Two ways: `forward` to the runtime, `backward` to the client."""

    def __init__(
        self, socket: web.WebSocketResponse, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._socket = socket
        self._reader = reader
        self._writer = writer
        self._moved = False

    async def forward(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.BINARY:
                continue
            self._moved = True
            self.hear(message.data)
            await self._writer.drain()

    @abc.abstractmethod
    def hear(self, message: bytes) -> None:
        """Handle a message of the client."""

    @abc.abstractmethod
    async def backward(self) -> None:
        """Send the runtime's output to the client, until it ends."""

    async def tell(self, message: bytes) -> None:
        self._moved = True
        await self._socket.send_bytes(message)

    async def silence(self, seconds: float) -> None:
        """Return when the session was idle for `seconds`."""
        self._moved = True
        while self._moved:
            self._moved = False
            await asyncio.sleep(seconds)


class _Tunnel(_Session):
    """Passes the bytes of a SPDY connection through as websocket messages."""

    def hear(self, message: bytes) -> None:
        self._writer.write(message)

    async def backward(self) -> None:
        while piece := await self._reader.read(PIECE_BYTES):
            await self.tell(piece)


class _Channels(_Session):
    """Channels on the one side, streams on the other."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        streams: Streams,
    ) -> None:
        super().__init__(socket, reader, writer)
        self._channels = Channels(streams)
        writer.write(self._channels.opening)
        # The session is over when all streams from the runtime have ended.
        self._open = set(self._channels.from_runtime)

    def hear(self, message: bytes) -> None:
        for frame in self._channels.heard(message):
            self._writer.write(frame)

    async def backward(self) -> None:
        while self._open:
            try:
                frame = frame_of(await self._reader.readexactly(FRAME_BYTES))
            except asyncio.IncompleteReadError:
                return
            if isinstance(frame, DataFrame):
                await self._pass_on(frame)
                continue
            for each in meaning(frame, await self._reader.readexactly(frame.length)):
                if isinstance(each, SpdyStreamEnded):
                    self._open.discard(each.stream)
                elif isinstance(each, Pinged):
                    self._writer.write(pong(each))
                elif isinstance(each, GoneAway):
                    return

    async def _pass_on(self, frame: DataFrame) -> None:
        channel = self._channels.from_runtime.get(frame.stream)
        left = frame.length
        while left:
            piece = await self._reader.read(min(left, PIECE_BYTES))
            if not piece:
                raise EOFError("the runtime breaks off in the middle")
            left -= len(piece)
            if channel is not None:
                await self.tell(bytes([channel]) + piece)
        if frame.last:
            self._open.discard(frame.stream)


async def _connect(way: Way, protocol: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the runtime; return once it has agreed. Raises HttpRefusal."""
    connection, _ = await agreed(way, spdy_request(way, protocol), bad_gateway)
    return await connection.detach()
