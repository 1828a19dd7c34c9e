"""The other end of an upgraded connection: found, asked, and used only if it agrees.

The request is sent on without a body, and the answer is read as HTTP. With 101 the connection becomes a tunnel of
bytes. With anything else there is no tunnel: the client gets that answer, and both connections end. Otherwise the
client could go on speaking HTTP with a server that takes the client for the agent.

The other side can fail (`HttpRefusal`): it is unreachable, does not answer in time, or answers no HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

import h11

from runtime.http_client import HttpConnection, HttpError, HttpOrigin, HttpResponse, dial
from runtime.http_server.heads import HttpRefusal, head_of

ANSWER_SECONDS = 30.0
SWITCHED = 101
"""The status of an answer that opens a tunnel."""
_SHOWN_BYTES = 16 * 1024
_FRAMING = frozenset({"content-length", "transfer-encoding", "expect", "trailer"})


@dataclass(frozen=True, slots=True)
class Way:
    """The target of a tunnel.

    `first`: the head of the request to it, with the empty line at its end.

    `here`: makes a connected socket if the other side is in this process.

    `ended`: called once with the client's status when its connection has ended.
    """

    host: str
    port: int
    first: bytes
    tls: ssl.SSLContext | None = None
    who: str = "the other side"
    here: Callable[[], socket.socket] | None = None
    ended: Callable[[int], None] | None = None


CannotReach = Callable[[Way, str], HttpRefusal]


def bad_gateway(way: Way, why: str) -> HttpRefusal:
    """The answer to a client when the other side is unreachable."""
    return HttpRefusal(502, f"error dialing {way.who} at {way.host}:{way.port}: {why}")


async def agreed(way: Way, request: h11.Request, cannot_reach: CannotReach) -> tuple[HttpConnection, HttpResponse]:
    """A connection whose other side has agreed to upgrade, and its answer. Raises HttpRefusal."""
    connection: HttpConnection | None = None
    try:
        connection = await _connected(way)
        async with asyncio.timeout(ANSWER_SECONDS):
            response = await connection.ask(request)
            if response.status == SWITCHED:
                upgraded, connection = connection, None
                return upgraded, response
            said = await _beginning(response)
    except (HttpError, h11.LocalProtocolError, OSError, OverflowError, TimeoutError) as error:
        raise cannot_reach(way, str(error) or "it does not answer") from None
    finally:
        if connection is not None:
            connection.abort()
    text = said.decode(errors="replace").strip() or f"{way.who} refuses"
    kind = response.header("content-type").partition(";")[0].strip() or "text/plain"
    raise HttpRefusal(response.status if 400 <= response.status < 600 else 502, text, content_type=kind)


async def open_tunnel(
    way: Way, backward: asyncio.Protocol, cannot_reach: CannotReach = bad_gateway
) -> tuple[asyncio.Transport, bytes]:
    """The transport to the other side, whose bytes go to `backward`; and what the client gets first.

    Raises HttpRefusal.
    """
    connection, response = await agreed(way, _request_of(way), cannot_reach)
    lines = ["HTTP/1.1 101 Switching Protocols", *(f"{name}: {value}" for name, value in response.headers)]
    early = connection.switch(backward)
    return connection.transport, "\r\n".join([*lines, "", ""]).encode("latin-1") + early


def _request_of(way: Way) -> h11.Request:
    """Parse the head of the request. Raises HttpRefusal."""
    head = head_of(way.first.partition(b"\r\n\r\n")[0])
    fields = [(name, value) for name, value in head.headers if name.lower() not in _FRAMING]
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
    try:
        return h11.Request(method=head.method, target=head.target.encode("latin-1"), headers=headers)
    except h11.LocalProtocolError as error:
        raise HttpRefusal(400, f"the request cannot be sent on: {error}") from None


async def _connected(way: Way) -> HttpConnection:
    if way.here is None:
        return await dial(HttpOrigin(way.host, way.port, way.tls))
    connection = HttpConnection()
    await asyncio.get_running_loop().create_connection(lambda: connection, sock=way.here())
    return connection


async def _beginning(response: HttpResponse) -> bytes:
    said = b""
    with contextlib.suppress(HttpError, OSError):
        while len(said) < _SHOWN_BYTES and (piece := await response.raw_piece()):
            said += piece[: _SHOWN_BYTES - len(said)]
    return said
