"""Accepts connections, and counts them from that moment on.

Each gets little memory and time until it has sent a request.

A connection that is accepted costs a socket and a timer. TLS begins with its first byte, since its buffers are large;
HTTP begins with its first whole head. Both together have one time limit, from the moment of acceptance. `guests`
decides which connection is closed when there are too many. The memory of all unfinished heads has a bound
(`runtime.io.held_bytes`). After a burst the memory that it used is given back.

Without a free descriptor the server goes on: the oldest connection without a request is closed. Everything runs on one
loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
import struct
from collections.abc import Callable

from runtime.http_server.guests import Guests
from runtime.io.heap import give_back
from runtime.io.held_bytes import HeldBytes

LOG = logging.getLogger("actorlet.http-server")

BACKLOG = 1024
ACCEPTS_A_TURN = 64
"""Then others have their turn."""
SCARCE_SECONDS = 1.0
"""How long nobody is accepted where the machine has nothing left for another connection."""
BURST = 256
"""After so many connections at once, giving memory back is worth it."""
GIVE_BACK_SECONDS = 5.0
_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_RESET = struct.pack("ii", 1, 0)


class Guest:
    """One connection, from the moment it was accepted."""

    def __init__(self, acceptor: Acceptor, line: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._acceptor = acceptor
        self._line = line
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = loop.call_later(acceptor.head_seconds, self.end)
        loop.add_reader(line.fileno(), self._begin)

    def opened(self, transport: asyncio.Transport) -> None:
        """TLS is agreed on, where there is any."""
        self._transport = transport
        _OF_TRANSPORT[transport] = self

    def holds(self, count: int) -> bool:
        """Count more bytes of an unfinished head.

        False: there are too many, and the connection ends.
        """
        return self._acceptor.held.add(self, count)

    def heard(self) -> None:
        """The first head is whole."""
        self._acceptor.held.release(self)
        self._stop_timer()

    def known(self) -> None:
        """Somebody may do on this connection what he has asked for."""
        self._acceptor.guests.know(self)

    @property
    def is_known(self) -> bool:
        return self._acceptor.guests.knows(self)

    def left(self) -> None:
        """The connection has ended. May be said more than once."""
        self._stop_timer()
        if self._transport is not None:
            _OF_TRANSPORT.pop(self._transport, None)
        self._acceptor.left(self)

    def give_up(self, why: str) -> None:
        self.end()

    def end(self) -> None:
        """End the connection, at once and without a word."""
        if self._transport is not None:
            self._transport.abort()
            return
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            self._line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if self._task is None:
            loop.remove_reader(self._line.fileno())
            self._line.close()
        else:
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)  # whoever shakes hands on it meets its end
        self.left()

    def _begin(self) -> None:
        """The first byte is there."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._line.fileno())
        self._task = loop.create_task(self._serve())

    async def _serve(self) -> None:
        acceptor, loop = self._acceptor, asyncio.get_running_loop()
        limit = acceptor.head_seconds if acceptor.tls is not None else None
        try:
            await loop.connect_accepted_socket(
                lambda: acceptor.protocol(self), self._line, ssl=acceptor.tls, ssl_handshake_timeout=limit
            )
        except OSError as error:
            error.__traceback__ = None  # a frame of asyncio holds the error: without this, the buffers of TLS stay
            self.left()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_OF_TRANSPORT: dict[asyncio.BaseTransport, Guest] = {}


def let_in(transport: asyncio.BaseTransport | None) -> None:
    """A request on this connection was allowed: it is no longer closed to make room for others."""
    guest = None if transport is None else _OF_TRANSPORT.get(transport)
    if guest is not None:
        guest.known()


def address_of(transport: asyncio.BaseTransport | None) -> str:
    """The address of the other end; empty if the connection has none any more."""
    peer = None if transport is None else transport.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""


def is_let_in(transport: asyncio.BaseTransport | None) -> bool:
    guest = None if transport is None else _OF_TRANSPORT.get(transport)
    return guest is not None and guest.is_known


class Acceptor:
    """See the module. `listening`: bound. `protocol` makes the reader of a connection at its first byte."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[Guest], asyncio.Protocol],
        *,
        tls: ssl.SSLContext | None,
        head_seconds: float,
        guests: Guests[Guest],
    ) -> None:
        self._listening = listening
        self.protocol = protocol
        self.tls = tls
        self.head_seconds = head_seconds
        self.guests = guests
        self.held = HeldBytes()
        self._most = self._ended = 0
        """Connections at once, and those that have ended, since memory was given back."""
        self._giving_back: asyncio.TimerHandle | None = None
        self._resuming: asyncio.TimerHandle | None = None
        self._said_full = False
        self._stopped = False

    def start(self) -> None:
        """Start to accept. Runs on the loop. Raises OSError."""
        self._listening.setblocking(False)
        self._listening.listen(BACKLOG)
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def stop(self) -> None:
        """Stop accepting. Runs on the loop; may be called more than once."""
        if self._stopped:
            return
        self._stopped = True
        asyncio.get_running_loop().remove_reader(self._listening.fileno())
        self._listening.close()
        for timer in (self._giving_back, self._resuming):
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        """End every connection. On the loop."""
        self.stop()
        for guest in self.guests.all():
            guest.end()

    def left(self, guest: Guest) -> None:
        """A connection has ended."""
        self.held.release(guest)
        self.guests.remove(guest)
        self._ended += 1
        burst = self._most >= BURST and (len(self.guests) * 4 <= self._most or self._ended >= 4 * BURST)
        if burst and self._giving_back is None and not self._stopped:
            self._giving_back = asyncio.get_running_loop().call_later(GIVE_BACK_SECONDS, self._give_back)

    def _accept(self) -> None:
        for _ in range(ACCEPTS_A_TURN):
            try:
                line, address = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue
            except OSError as error:
                if error.errno not in _SCARCE:
                    raise
                self._make_room(error)
                return
            line.setblocking(False)
            with contextlib.suppress(OSError):
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            guest = Guest(self, line)
            gone = self.guests.add(guest, str(address[0]))
            self._most = max(self._most, len(self.guests))
            if gone is not None:
                self._say_full()
                gone.end()

    def _make_room(self, error: OSError) -> None:
        LOG.warning("no further connection can be accepted: %s", error.strerror)
        loop = asyncio.get_running_loop()
        oldest = self.guests.oldest_unknown()
        if oldest is not None:
            oldest.end()
        loop.remove_reader(self._listening.fileno())
        self._resuming = loop.call_later(SCARCE_SECONDS, self._resume)

    def _resume(self) -> None:
        self._resuming = None
        asyncio.get_running_loop().add_reader(self._listening.fileno(), self._accept)

    def _say_full(self) -> None:
        if not self._said_full:
            self._said_full = True
            LOG.warning("too many connections without an allowed request: the oldest are closed for newer ones")

    def _give_back(self) -> None:
        self._giving_back = None
        self._most, self._ended, self._said_full = len(self.guests), 0, False
        asyncio.get_running_loop().run_in_executor(None, give_back)
