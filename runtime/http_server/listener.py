"""A listener: HTTP/1.1 on one address, over TLS or plain, with limits for clients that mean no good.

Runs on the `LoopThread` that is given. Handlers are given as well: one for requests, one for requests to upgrade. Every
request is bounded: its head in bytes and in time, its body, the connections in number, and those that are idle in
time. A handler that fails is a 500 and a line in the log. What can fail is the address (`start` raises OSError).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from runtime.http_server.accepting import Acceptor, Guest, is_let_in
from runtime.http_server.connection import HEAD_BYTES_AT_MOST, FindWay, ServedConnection
from runtime.http_server.guests import CONNECTIONS_AT_MOST, UNKNOWN_AT_MOST, Guests
from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.tunnel import Way
from runtime.io.event_loop import LoopThread

LOG = logging.getLogger("actorlet.http-server")

START_SECONDS = 10.0
HEAD_SECONDS = 10.0
"""From the moment a connection is accepted to the end of its first head, TLS included."""
IDLE_SECONDS = 90.0
"""Between two requests (spec 11.1)."""
LINGER_SECONDS = 1.0
"""Time limit for the rest of a body whose request is already answered."""
BODY_BYTES_AT_MOST = 3 * 1024 * 1024
_LATER_LINE_BYTES = 32 * 1024
"""Limit for later requests on a connection: they carry no exec command, so they need less."""

# asyncio allocates this buffer for every new TLS connection; its default is 256 KiB. Four thousand silent clients would
# take a gigabyte. A TLS record has 16 KiB.
SSLProtocol.max_size = 16 * 1024

EVERY_ADDRESS = ("0.0.0.0", "::")

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class HttpListener:
    """See the module.

    `port` 0: any free one; after `start`, `port` says which. `upgrade` None: nothing is upgraded; requests to upgrade
    that `stays` is true of go to the handler.

    `idle_ns`: how long a tunnel may be silent.
    """

    def __init__(
        self,
        loop: LoopThread,
        handler: Handler,
        *,
        host: str,
        port: int,
        tls: ssl.SSLContext | None = None,
        upgrade: FindWay | None = None,
        stays: Callable[[Head], bool] = lambda _: False,
        idle_ns: int | None = None,
        head_seconds: float = HEAD_SECONDS,
        connections_at_most: int = CONNECTIONS_AT_MOST,
        unknown_at_most: int = UNKNOWN_AT_MOST,
    ) -> None:
        self._loop = loop
        self._handler = handler
        self.host = host
        self.port = port
        self._tls = tls
        self._upgrade = upgrade or _no_upgrade
        self._stays = stays
        self._idle_seconds = None if idle_ns is None else idle_ns / 1e9
        self._head_seconds = head_seconds
        self._at_most = connections_at_most
        self._unknown_at_most = unknown_at_most
        self._acceptor: Acceptor | None = None
        self._web: web.Server | None = None

    @property
    def connections(self) -> int:
        """How many are open."""
        return 0 if self._acceptor is None else len(self._acceptor.guests)

    def start(self) -> None:
        """Start to listen. Raises OSError when the address cannot be bound."""
        self._loop.submit(self._start()).result(START_SECONDS)

    def close(self) -> None:
        """End every connection. May be called more than once."""
        with contextlib.suppress(RuntimeError, TimeoutError):
            self._loop.submit(self._close()).result(START_SECONDS)

    async def _start(self) -> None:
        listening = _bound(self.host, self.port)
        self.port = listening.getsockname()[1]
        self._web = web.Server(
            self._answer,
            request_factory=_request,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
            max_line_size=HEAD_BYTES_AT_MOST,
            max_field_size=HEAD_BYTES_AT_MOST,
            read_bufsize=_LATER_LINE_BYTES,
        )
        guests = Guests[Guest](self._at_most, self._unknown_at_most)
        acceptor = Acceptor(listening, self._protocol, tls=self._tls, head_seconds=self._head_seconds, guests=guests)
        try:
            acceptor.start()
        except BaseException:
            listening.close()
            raise
        self._acceptor = acceptor

    async def _close(self) -> None:
        acceptor, self._acceptor = self._acceptor, None
        if acceptor is None:
            return
        acceptor.stop()
        if self._web is not None:
            await self._web.shutdown(1.0)
        acceptor.close()

    def _protocol(self, guest: Guest) -> ServedConnection:
        assert self._web is not None
        return ServedConnection(self._web, self._upgrade, self._idle_seconds, stays=self._stays, guest=guest)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request. If the client was not let in, the connection is closed after the answer."""
        try:
            response = await self._answered(request)
        except web.HTTPException as failure:
            failure.force_close()
            raise
        if not is_let_in(request.transport):
            response.force_close()
        return response

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._handler(request)
        except HttpRefusal as refusal:
            return refusal_response(refusal)
        except (web.HTTPException, ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            LOG.exception("%s %s could not be answered", request.method, request.path)
            return web.Response(status=500, text="the request could not be answered; the log of the agent says why")


def refusal_response(refusal: HttpRefusal) -> web.Response:
    """The response of aiohttp for a refusal."""
    return web.Response(
        status=refusal.status, text=refusal.text, headers=dict(refusal.headers), content_type=refusal.content_type
    )


async def _no_upgrade(head: Head, transport: asyncio.Transport) -> Way:
    raise HttpRefusal(400, "nothing is upgraded here")


def _bound(host: str, port: int) -> socket.socket:
    """Bound, not listening yet.

    `0.0.0.0` and `::` are every address of both families, as far as there are (as Go means it).
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if host in EVERY_ADDRESS and socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server((host, port), family=family)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_BYTES_AT_MOST)
