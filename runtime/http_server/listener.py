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
import weakref
from asyncio.sslproto import SSLProtocol
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from runtime.http_server.connection import HEAD_BYTES_AT_MOST, FindWay, Limits, ServedConnection, Way
from runtime.http_server.heads import Head, HttpRefusal
from runtime.io.event_loop import LoopThread

LOG = logging.getLogger("actorlet.http-server")

START_SECONDS = 10.0
CONNECTIONS_AT_MOST = 4096
"""Each takes some 100 KiB with TLS. Further connections are closed at once."""
HEAD_SECONDS = 30.0
IDLE_SECONDS = 90.0
"""Between two requests (spec 11.1)."""
BODY_BYTES_AT_MOST = 3 * 1024 * 1024
_LATER_LINE_BYTES = 32 * 1024
"""For later requests on a connection: they carry no exec command, so they need no more."""

# asyncio allocates this buffer for every new TLS connection; its default is 256 KiB. Four thousand silent clients would
# take a gigabyte. A TLS record has 16 KiB.
SSLProtocol.max_size = 32 * 1024

EVERY_ADDRESS = ("0.0.0.0", "::")

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class HttpListener:
    """See the module. `port` 0: any free one; after `start`, `port` says which. `upgrade` None: nothing is upgraded;
    requests to upgrade that `stays` is true of go to the handler.

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
    ) -> None:
        self._loop = loop
        self._handler = handler
        self.host = host
        self.port = port
        self._tls = tls
        self._upgrade = upgrade or _no_upgrade
        self._stays = stays
        self._limits = Limits(head_seconds, None if idle_ns is None else idle_ns / 1e9)
        self._at_most = connections_at_most
        self._said_full = False
        self._server: asyncio.Server | None = None
        self._web: web.Server | None = None
        # Weak: connections that aiohttp took over end without telling us, and are large.
        self._open: weakref.WeakSet[asyncio.BaseTransport] = weakref.WeakSet()

    @property
    def connections(self) -> int:
        """About how many are open: some may just have ended."""
        return len(self._open)

    def start(self) -> None:
        """Raises OSError when the address cannot be bound."""
        self._loop.submit(self._start()).result(START_SECONDS)

    def close(self) -> None:
        """End every connection. May be called more than once."""
        with contextlib.suppress(RuntimeError, TimeoutError):
            self._loop.submit(self._close()).result(START_SECONDS)

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        sockets = _bound(self.host, self.port)
        self.port = sockets.getsockname()[1]
        self._web = web.Server(
            self._answer,
            request_factory=_request,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            max_line_size=HEAD_BYTES_AT_MOST,
            max_field_size=HEAD_BYTES_AT_MOST,
            read_bufsize=_LATER_LINE_BYTES,
        )
        try:
            self._server = await loop.create_server(
                self._connection, sock=sockets, ssl=self._tls, backlog=1024, ssl_handshake_timeout=_handshake(self._tls)
            )
        except BaseException:
            sockets.close()
            raise

    async def _close(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        if self._web is not None:
            await self._web.shutdown(1.0)
        for transport in tuple(self._open):
            if isinstance(transport, asyncio.Transport):
                transport.abort()

    def _connection(self) -> ServedConnection:
        assert self._web is not None
        return _Counted(self, self._web, self._upgrade, self._limits, self._stays)

    def admit(self, transport: asyncio.BaseTransport) -> bool:
        """Whether there is room for one more."""
        if len(self._open) >= self._at_most:
            # Ended connections may stay in the set for a while.
            self._open = weakref.WeakSet(each for each in self._open if not each.is_closing())
        if len(self._open) >= self._at_most:
            if not self._said_full:
                self._said_full = True
                LOG.warning("there are %d connections to port %d: no more are taken", self._at_most, self.port)
            return False
        self._open.add(transport)
        return True

    def leave(self, transport: asyncio.BaseTransport | None) -> None:
        """A connection has ended."""
        if transport is not None:
            self._open.discard(transport)
            if len(self._open) < self._at_most // 2:
                self._said_full = False

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._handler(request)
        except HttpRefusal as refusal:
            return refusal_response(refusal)
        except (web.HTTPException, ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            LOG.exception("%s %s could not be answered", request.method, request.path)
            return web.Response(status=500, text="the request could not be answered; the log of the agent says why")


class _Counted(ServedConnection):
    """A connection whose connections are counted for as long as he has them."""

    def __init__(
        self,
        listener: HttpListener,
        doors: web.Server,
        upgrade: FindWay,
        limits: Limits,
        stays: Callable[[Head], bool],
    ) -> None:
        super().__init__(doors, upgrade, limits, stays=stays)
        self._listener = listener
        self._mine: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if not self._listener.admit(transport):
            transport.abort()
            return
        self._mine = transport
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.leave(self._mine)
        super().connection_lost(exc)


def refusal_response(refusal: HttpRefusal) -> web.Response:
    """The same, as aiohttp sends it."""
    return web.Response(
        status=refusal.status, text=refusal.text, headers=dict(refusal.headers), content_type=refusal.content_type
    )


async def _no_upgrade(head: Head, transport: asyncio.Transport) -> Way:
    raise HttpRefusal(400, "nothing is upgraded here")


def _handshake(tls: ssl.SSLContext | None) -> float | None:
    return HEAD_SECONDS if tls is not None else None


def _bound(host: str, port: int) -> socket.socket:
    """Bound, not listening yet. `0.0.0.0` and `::` are every address of both families, as far as there are (as Go means
    it).
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if host in EVERY_ADDRESS and socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server((host, port), family=family)


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_BYTES_AT_MOST)
