"""Exec and attach in a simulated cluster over SPDY: for clients without websockets.

A session is one end of a socket pair, on the loop of the world. The request comes as its first bytes. The client opens
a stream for each of error, stdin, stdout, stderr and resize that it requested. When all are open, the operation runs,
and the error stream gets its Status. The session ends when the client closes it or breaks the protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

import msgspec

from runtime.http_server.heads import HttpRefusal, head_of
from runtime.http_server.sessions.channels import PIECE_BYTES
from runtime.http_server.sessions.sessions import Streams
from runtime.http_server.sessions.spdy import FRAME_BYTES, Acceptor, ControlFrame, DataFrame, SpdyError, data, frame_of
from simulation.cluster.sessions import Operation

PROTOCOL = "v4.channel.k8s.io"
LAST_WORDS_SECONDS = 10.0
"""The time for a client to hang up after all output."""


class SpdySessions:
    """`close` ends the open sessions."""

    def __init__(self) -> None:
        self._open: dict[asyncio.Task[None], None] = {}

    def begin(self, streams: Streams, operation: Operation) -> socket.socket:
        """Begin a session; returns the client's end."""
        ours, theirs = socket.socketpair()
        task = asyncio.get_running_loop().create_task(_serve(ours, streams, operation))
        self._open[task] = None
        task.add_done_callback(self._open.pop)
        return theirs

    async def close(self) -> None:
        tasks = tuple(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _serve(ours: socket.socket, streams: Streams, operation: Operation) -> None:
    reader, writer = await asyncio.open_connection(sock=ours)
    with contextlib.suppress(OSError, EOFError, SpdyError, HttpRefusal, asyncio.LimitOverrunError):
        try:
            if await _upgraded(reader, writer):
                await _Session(reader, writer, streams).run(operation)
        finally:
            writer.close()


async def _upgraded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer the upgrade; returns whether the client speaks our protocol."""
    head = head_of((await reader.readuntil(b"\r\n\r\n")).removesuffix(b"\r\n\r\n"))
    offered = [value for name, value in head.headers if name.lower() == "x-stream-protocol-version"]
    if not any(PROTOCOL in value for value in offered):
        told = f"unable to upgrade: a session with a simulated container speaks {PROTOCOL}, not {', '.join(offered)}"
        writer.write(HttpRefusal(403, told).as_bytes())
        await writer.drain()
        return False
    upgrade = ("Connection: Upgrade", "Upgrade: SPDY/3.1", f"X-Stream-Protocol-Version: {PROTOCOL}")
    writer.write("\r\n".join(["HTTP/1.1 101 Switching Protocols", *upgrade, "", ""]).encode())
    return True


class _Session:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, streams: Streams) -> None:
        self._reader = reader
        self._writer = writer
        asked = {"error": True, "stdin": streams.stdin, "stdout": streams.stdout, "stderr": streams.stderr}
        self._wanted = {name for name, wanted in {**asked, "resize": streams.tty}.items() if wanted}
        self._streams: dict[str, int] = {}
        self._complete = asyncio.Event()

    async def run(self, operation: Operation) -> None:
        tasks = [asyncio.ensure_future(each) for each in (self._listen(), self._act(operation))]
        listening, _ = tasks
        try:
            # Who goes away ends it.
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([listening], timeout=LAST_WORDS_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _act(self, operation: Operation) -> None:
        await self._complete.wait()
        status = await operation(self._say)
        for name in ("stdout", "stderr"):
            if name in self._streams:
                self._writer.write(data(self._streams[name], b"", last=True))
        self._writer.write(data(self._streams["error"], msgspec.json.encode(status), last=True))
        await self._writer.drain()

    async def _say(self, words: bytes) -> None:
        for at in range(0, len(words) if "stdout" in self._streams else 0, PIECE_BYTES):
            self._writer.write(data(self._streams["stdout"], words[at : at + PIECE_BYTES]))
            await self._writer.drain()

    async def _listen(self) -> None:
        """Read until the client disconnects. Its input is ignored."""
        acceptor = Acceptor()
        while True:
            frame = frame_of(await self._reader.readexactly(FRAME_BYTES))
            body = await self._reader.readexactly(frame.length)
            if not isinstance(frame, DataFrame):
                self._hear(acceptor, frame, body)

    def _hear(self, acceptor: Acceptor, frame: ControlFrame, body: bytes) -> None:
        opened = acceptor.accept(frame, body)
        if opened is not None:
            stream, headers, reply = opened
            self._writer.write(reply)
            self._streams[headers.get("streamtype", "")] = stream
            if self._wanted <= self._streams.keys():
                self._complete.set()
        else:
            self._writer.write(acceptor.pong(frame, body))
