"""The first bytes of a connection decide what it is: HTTP as usual, or a request to upgrade it.

Clients that upgrade (SPDY or websockets, for exec, attach and portforward) open a connection for it. Such a connection
becomes a tunnel of bytes to the agent of the node, which does the rest; nothing in it is read here. Every other
connection is handed to aiohttp with the bytes it began with. What can fail is the way to the agent: the client then
gets a Status that says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from simulation.apiserver.requests import NodeAnswer
from simulation.apiserver.status import StatusError, unavailable

HEAD_BYTES_AT_MOST = 64 * 1024
CONNECT_SECONDS = 10.0

FindWay = Callable[[str, str, str, asyncio.BaseTransport], tuple[NodeAnswer, ssl.SSLContext | None]]
"""(method, target, Authorization header, transport) -> where it leads. Raises StatusError."""


class Doorman(asyncio.Protocol):
    """See the module. `doors` makes the protocol that speaks HTTP."""

    def __init__(self, doors: Callable[[], asyncio.BaseProtocol], find_way: FindWay) -> None:
        self._doors = doors
        self._find_way = find_way
        self._transport: asyncio.Transport | None = None
        self._head = b""
        self._tunnel: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._ended = False
        """The client had said all it has to say before the way was open."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._tunnel is not None:
            self._tunnel.write(data)
            return
        self._head += data
        if self._task is not None:
            return
        end = self._head.find(b"\r\n\r\n")
        if end < 0 and len(self._head) < HEAD_BYTES_AT_MOST and _may_be_upgrade(self._head):
            return
        lines = self._head[: max(end, 0)].decode("latin-1").split("\r\n")
        if any(line.lower().startswith("upgrade:") for line in lines):
            self._task = asyncio.get_running_loop().create_task(self._open(lines, self._head[end + 4 :]))
        else:
            self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._tunnel is not None:
            self._tunnel.close()

    def eof_received(self) -> bool:
        if self._tunnel is not None:
            with contextlib.suppress(OSError, NotImplementedError):
                self._tunnel.write_eof()
            return self._may_end_in_halves
        self._ended = self._task is not None
        return self._ended and self._may_end_in_halves

    @property
    def _may_end_in_halves(self) -> bool:
        """Whether we may still speak when the client has ended; over TLS the connection ends as a whole."""
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def pause_writing(self) -> None:
        if self._tunnel is not None:
            self._tunnel.pause_reading()

    def resume_writing(self) -> None:
        if self._tunnel is not None:
            self._tunnel.resume_reading()

    def _hand_over(self) -> None:
        transport = self._transport
        assert transport is not None
        protocol: Any = self._doors()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        head, self._head = self._head, b""
        protocol.data_received(head)

    async def _open(self, lines: list[str], rest: bytes) -> None:
        transport = self._transport
        assert transport is not None
        begun = len(self._head)
        try:
            way, head = self._way(lines, transport)
            tunnel = await self._connect(way[0], way[1], transport)
        except StatusError as refusal:
            transport.write(_refusal(refusal))
            transport.close()
            return
        # What came while the way was being opened follows the head.
        tunnel.write(head + rest + self._head[begun:])
        self._head = b""
        self._tunnel = tunnel
        if self._ended:
            self.eof_received()

    def _way(
        self, lines: list[str], transport: asyncio.BaseTransport
    ) -> tuple[tuple[NodeAnswer, ssl.SSLContext | None], bytes]:
        try:
            method, target, protocol = lines[0].split(" ")
        except ValueError:
            raise StatusError(400, "BadRequest", "the request line is not HTTP") from None
        headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:] if ":" in line]
        authorization = next((value for name, value in headers if name.lower() == "authorization"), "")
        node, tls = self._find_way(method, target, authorization, transport)
        kept = [f"{name}: {value}" for name, value in headers if name.lower() not in ("authorization", "host")]
        query = f"?{urlencode(node.query)}" if node.query else ""
        first = f"{method} {quote(node.path)}{query} {protocol}"
        host = f"Host: {node.host}:{node.port}"
        return (node, tls), "\r\n".join([first, host, *kept, "", ""]).encode("latin-1")

    async def _connect(
        self, node: NodeAnswer, tls: ssl.SSLContext | None, client: asyncio.Transport
    ) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                tunnel, _ = await loop.create_connection(lambda: _Backward(client), node.host, node.port, ssl=tls)
        except (OSError, TimeoutError) as error:
            why = str(error) or "it does not answer"
            raise unavailable(
                f"error dialing the agent of node {node.node} at {node.host}:{node.port}: {why}"
            ) from None
        return tunnel


class _Backward(asyncio.Protocol):
    """The way from the agent to the client."""

    def __init__(self, client: asyncio.Transport) -> None:
        self._client = client
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._client.write(data)

    def eof_received(self) -> bool:
        with contextlib.suppress(OSError, NotImplementedError):
            self._client.write_eof()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.close()

    def pause_writing(self) -> None:
        if not self._client.is_closing():
            self._client.pause_reading()

    def resume_writing(self) -> None:
        if not self._client.is_closing():
            self._client.resume_reading()


def _may_be_upgrade(head: bytes) -> bool:
    """Whether the head of a request is still to come, as far as its first bytes tell."""
    return head[:1].isalpha()


def _refusal(error: StatusError) -> bytes:
    body = msgspec.json.encode(error.as_object())
    head = (
        f"HTTP/1.1 {error.code} {error.reason}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    return "\r\n".join([*head, "", ""]).encode() + body
