"""The first bytes of a connection decide what it is: HTTP as usual, or a request to upgrade it.

Clients that upgrade (SPDY or websockets, for exec, attach and portforward) open a connection for it. Such a connection
becomes a tunnel of bytes to its server, which the owner of the connection finds. The connection does not read the
tunnel. Every other connection goes to a protocol that speaks HTTP, with its first bytes.

Clients may be slow, large or hostile. The head of a first request has a limit in bytes; its time is bounded by who has
accepted the connection (`accepting`). While a tunnel opens, its client is not read. An idle tunnel may be cut.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from runtime.http_server.heads import Head, HttpRefusal, head_of
from runtime.http_server.tunnel import SWITCHED, CannotReach, Way, bad_gateway, open_tunnel

LOG = logging.getLogger("actorlet.http-server")

HEAD_BYTES_AT_MOST = 128 * 1024
"""Limit of a first request's head.

It holds the command of an exec, so it is larger than browsers need.
"""
_HEAD_ENDS = b"\r\n\r\n"
_UPGRADE = re.compile(rb"\r\nupgrade:[ \t]*(spdy|websocket)", re.IGNORECASE)
"""A server may ignore other offers, such as HTTP/2; this one does."""


FindWay = Callable[[Head, asyncio.Transport], Awaitable[Way]]
"""Finds the target of a request to upgrade. Raises HttpRefusal, which the client then gets."""


class ConnectionGuest(Protocol):
    """Counts a connection, and bounds its cost before its first request."""

    def opened(self, transport: asyncio.Transport) -> None: ...

    def holds(self, count: int) -> bool: ...

    def heard(self) -> None: ...

    def left(self) -> None: ...


class ServedConnection(asyncio.Protocol):
    """See the module.

    `doors` makes the protocol that speaks HTTP. `stays`: which requests to upgrade are for it as well, because it is to
    speak with the client itself. `idle_seconds`: how long a tunnel may be silent, or None.
    """

    def __init__(
        self,
        doors: Callable[[], asyncio.BaseProtocol],
        find_way: FindWay,
        idle_seconds: float | None = None,
        cannot_reach: CannotReach = bad_gateway,
        stays: Callable[[Head], bool] = lambda _: False,
        guest: ConnectionGuest | None = None,
    ) -> None:
        self._guest = guest
        self._stays = stays
        self._doors = doors
        self._find_way = find_way
        self._idle_seconds = idle_seconds
        self._cannot_reach = cannot_reach
        self._transport: asyncio.Transport | None = None
        self._head = bytearray()
        self._inner: Any = None
        """The protocol that speaks HTTP, once the connection is its."""
        self._tunnel: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        """The client ended its side before the tunnel was open."""
        self._moved = False
        """A byte has passed through the tunnel since the last check."""
        self._way: Way | None = None
        self._status = SWITCHED
        """The status of the answer to a client that asked for a tunnel."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._guest is not None:
            self._guest.opened(transport)

    def data_received(self, data: bytes) -> None:
        if self._inner is not None:
            self._inner.data_received(data)
            return
        if self._tunnel is not None:
            self._moved = True
            self._tunnel.write(data)
            return
        # Do not search a head that comes byte by byte from its beginning each time.
        searched = max(0, len(self._head) - len(_HEAD_ENDS))
        self._head += data
        if self._task is not None or (self._guest is not None and not self._guest.holds(len(data))):
            return
        end = self._head.find(_HEAD_ENDS, searched)
        if end < 0 and len(self._head) < HEAD_BYTES_AT_MOST and self._head[:1].isalpha():
            return
        if self._guest is not None:
            self._guest.heard()
        if end > HEAD_BYTES_AT_MOST or (end < 0 and len(self._head) >= HEAD_BYTES_AT_MOST):
            self._refuse(HttpRefusal(431, f"the head of a request has at most {HEAD_BYTES_AT_MOST} bytes"))
        elif _UPGRADE.search(self._head, 0, max(end, 0)) and not self._is_for_doors(bytes(self._head[:end])):
            self._begin(bytes(self._head[:end]), end + len(_HEAD_ENDS))
        else:
            self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._guest is not None:
            self._guest.left()
        if self._inner is not None:
            self._inner.connection_lost(exc)
        if self._task is not None:
            self._task.cancel()
        if self._tunnel is not None:
            self._tunnel.close()
        if self._way is not None and self._way.ended is not None:
            self._way.ended(self._status)

    def eof_received(self) -> bool | None:
        if self._inner is not None:
            answer: bool | None = self._inner.eof_received()
            return answer
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
        if self._inner is not None:
            self._inner.pause_writing()
        if self._tunnel is not None:
            self._tunnel.pause_reading()

    def resume_writing(self) -> None:
        if self._inner is not None:
            self._inner.resume_writing()
        if self._tunnel is not None:
            self._tunnel.resume_reading()

    def moved(self) -> None:
        """The other side has sent something."""
        self._moved = True

    def _is_for_doors(self, head: bytes) -> bool:
        try:
            return self._stays(head_of(head))
        except HttpRefusal:
            return False  # which is then told

    def _refuse(self, refusal: HttpRefusal) -> None:
        transport = self._transport
        self._status = refusal.status
        assert transport is not None
        if not transport.is_closing():
            transport.write(refusal.as_bytes())
            transport.close()

    def _hand_over(self) -> None:
        transport = self._transport
        assert transport is not None
        self._inner = self._doors()
        self._inner.connection_made(transport)
        head, self._head = bytes(self._head), bytearray()
        self._inner.data_received(head)

    def _begin(self, head: bytes, length: int) -> None:
        transport = self._transport
        assert transport is not None
        del self._head[:length]
        # While the tunnel opens, the client's bytes stay in the socket buffer of the system, which is bounded.
        transport.pause_reading()
        self._task = asyncio.get_running_loop().create_task(self._open(head))

    async def _open(self, text: bytes) -> None:
        transport = self._transport
        assert transport is not None
        try:
            head = head_of(text)
            if head.header("content-length").strip() not in ("", "0") or head.header("transfer-encoding"):
                raise HttpRefusal(400, "a request to upgrade has no body")
            way = self._way = await self._find_way(head, transport)
            tunnel, first = await open_tunnel(way, _Backward(transport, self.moved), self._cannot_reach)
        except HttpRefusal as refusal:
            self._refuse(refusal)
            return
        except Exception:
            LOG.exception("a request to upgrade could not be answered")
            self._refuse(HttpRefusal(500, "the request could not be answered; the log of the server says why"))
            return
        if transport.is_closing():
            tunnel.abort()
            return
        transport.write(first)
        if self._head:
            tunnel.write(bytes(self._head))
        self._head = bytearray()
        self._tunnel = tunnel
        transport.resume_reading()
        if self._ended:
            self.eof_received()
        if self._idle_seconds is not None:
            self._watch(self._idle_seconds)

    def _watch(self, seconds: float) -> None:
        """Cut the tunnel when no byte passes for `seconds`."""

        def look() -> None:
            if self._moved:
                self._watch(seconds)
            elif self._transport is not None:
                self._transport.close()

        self._moved = False
        self._timer = asyncio.get_running_loop().call_later(seconds, look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Backward(asyncio.Protocol):
    """The way from the other side to the client."""

    def __init__(self, client: asyncio.Transport, moved: Callable[[], None]) -> None:
        self._client = client
        self._moved = moved
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._moved()
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
