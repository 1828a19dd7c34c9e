"""One HTTP/1.1 connection, seen from the client (RFC 9112).

h11 speaks the protocol; `HttpConnection` moves bytes between h11 and an asyncio transport. A connection carries one
exchange at a time. Everything runs on one loop. Nothing here has a time limit: callers use `asyncio.timeout`.

The server may be hostile, since probes ask containers. So each cost has a bound: the bytes of a head, the number of
interim (1xx) answers, the bytes that wait for the parser. The events parsed before other tasks get a turn have one too.
For a container, `CallBytes` also bounds all bytes of a call.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from typing import TypeAlias

import h11

from runtime.http_client.call_bytes import CallBytes, HttpError

HEAD_BYTES_AT_MOST = 64 * 1024
INTERIM_ANSWERS_AT_MOST = 5
"""100 Continue, 103 Early Hints and the like, before the answer itself."""
UNPARSED_BYTES_AT_MOST = 128 * 1024
"""Above this, the transport stops reading; one read adds 256 KiB at most."""
BODY_BYTES_AT_MOST = 64 * 1024 * 1024
"""Unpacked. An API server answers with more only where a list is not read in pages."""
UNPACKED_BYTES_AT_ONCE = 1024 * 1024
"""A thousand times as much can come out of gzip as went in."""
EVENTS_A_TURN = 64
_KEEPALIVE = (
    (socket.TCP_KEEPIDLE, 15),
    (socket.TCP_KEEPINTVL, 5),
    (socket.TCP_KEEPCNT, 6),
    (socket.TCP_USER_TIMEOUT, 45_000),
)
"""Seconds of silence before the first probe, seconds between probes, probes without an answer.

Then milliseconds for what was sent.
"""
_START = b"HTTP/"
_SHOWN_BYTES = 64
_Event: TypeAlias = h11.InformationalResponse | h11.Response | h11.Data | h11.EndOfMessage


class HttpConnection(asyncio.Protocol):
    """See the module.

    The loop makes it, as the protocol of a new transport. `call`: counts what is received.
    """

    def __init__(self, call: CallBytes | None = None) -> None:
        self._call = call
        if call is not None:
            call.end_call = self.abort
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_AT_MOST)
        self._transport: asyncio.Transport | None = None
        self._unparsed = bytearray()
        self._ended = False
        """No more bytes will come."""
        self._failure: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None
        """Set while a task waits for bytes."""
        self._start: bytes | None = None
        """The first bytes of the answer; None while no exchange is under way."""
        self._events = 0

    @property
    def transport(self) -> asyncio.Transport:
        assert self._transport is not None, "the connection is open"
        return self._transport

    @property
    def answered(self) -> bool:
        """Whether a byte of the current answer has come."""
        return bool(self._start)

    @property
    def usable(self) -> bool:
        """Whether another request may be sent."""
        return not self._ended and not self.transport.is_closing()

    # --- an exchange ------------------------------------------------------------------------------------------------

    async def ask(self, request: h11.Request, body: bytes = b"") -> HttpResponse:
        """Send a request and wait for the head of its answer. Raises HttpError, OSError.

        A `body` needs its Content-Length among the headers of `request`.
        """
        self._start = b""
        data = self._http.send(request)
        if body:
            data += self._http.send(h11.Data(body))
        self.transport.write(data + self._http.send(h11.EndOfMessage()))
        for _ in range(INTERIM_ANSWERS_AT_MOST + 1):
            event = await self.next_event()
            assert isinstance(event, h11.Response | h11.InformationalResponse)
            if isinstance(event, h11.Response) or event.status_code == 101:
                return HttpResponse(self, event)
        raise HttpError(f"more than {INTERIM_ANSWERS_AT_MOST} interim (1xx) answers")

    async def next_event(self) -> _Event:
        """The next part of the answer. Raises HttpError, OSError."""
        self._events += 1
        if self._events >= EVENTS_A_TURN:
            self._events = 0
            await asyncio.sleep(0)
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise self._no_answer(error) from None
            if isinstance(event, _Event):
                return event
            if event is not h11.NEED_DATA:
                raise HttpError("unexpected EOF")
            await self._receive()

    def finish(self) -> bool:
        """End the exchange; whether the connection can carry another. One that cannot is closed."""
        self._start = None
        done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if done and self.usable and not self._unparsed and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
            return True
        self.abort()
        return False

    async def detach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """After an answer 101: the bytes of the other protocol. The connection itself is then over."""
        loop, transport = asyncio.get_running_loop(), self.transport
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        reader.feed_data(self._http.trailing_data[0] + bytes(self._unparsed))
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if self._ended:
            reader.feed_eof()
        transport.resume_reading()
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    def switch(self, protocol: asyncio.Protocol) -> bytes:
        """After an answer 101: give the transport to `protocol`; the bytes that have come for it already."""
        transport, early = self.transport, self._http.trailing_data[0] + bytes(self._unparsed)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        transport.resume_reading()
        return early

    def abort(self, failure: Exception | None = None) -> None:
        """Close at once. `failure`: for the task that waits for an answer."""
        self._unparsed.clear()
        self.connection_lost(failure)
        if self._transport is not None:
            self._transport.abort()

    # --- what the transport calls -----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._start is None:  # the server speaks without a request: its bytes answer nothing
            self.abort()
            return
        if self._call is not None and not self._call.take(len(data)):
            return
        if len(self._start) < len(_START):
            self._start += data[:_SHOWN_BYTES]
        self._unparsed += data
        if len(self._unparsed) > UNPARSED_BYTES_AT_MOST:
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._failure = self._failure or exc
        self._wake()

    def eof_received(self) -> None:
        self._ended = True
        self._wake()

    # --- receiving --------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    async def _receive(self) -> None:
        """Feed h11, with b"" at the end of the connection."""
        while not self._unparsed and not self._ended:
            self._arrival = asyncio.get_running_loop().create_future()
            await self._arrival
        if not self._unparsed and self._failure is not None:
            raise self._failure
        start = self._start or b""
        if not _START.startswith(start[: len(_START)]):  # it may never send the end of a head
            raise HttpError(f"malformed HTTP response {_shown(start)}")
        piece = bytes(self._unparsed[:HEAD_BYTES_AT_MOST])
        del self._unparsed[:HEAD_BYTES_AT_MOST]
        self._http.receive_data(piece)
        if not self._unparsed and not self._ended:
            self.transport.resume_reading()

    def _no_answer(self, error: h11.RemoteProtocolError) -> HttpError:
        if self._http.trailing_data[1]:
            return HttpError("unexpected EOF" if self._start else "EOF")
        if error.error_status_hint == 431:
            return HttpError(f"malformed HTTP response: a head or line exceeded {HEAD_BYTES_AT_MOST} bytes")
        return HttpError(f"malformed HTTP response: {error}")


class HttpResponse:
    """The head of an answer, and its body as it comes."""

    def __init__(self, connection: HttpConnection, head: h11.Response | h11.InformationalResponse) -> None:
        self._connection = connection
        self._head = head
        self._over = False
        self.status = head.status_code
        packed = self.header("content-encoding").lower() == "gzip"
        self._unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16) if packed else None

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers in order; names are lower case."""
        return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in self._head.headers)

    def header(self, name: str) -> str:
        """The first value of that name (lower case), or ""."""
        wanted = name.encode()
        return next((value.decode("latin-1") for each, value in self._head.headers if each == wanted), "")

    def detect_dead_server(self) -> None:
        """Let the kernel probe a silent server (TCP keep-alive); a dead one fails the exchange within 45 s."""
        line = self._connection.transport.get_extra_info("socket")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            line.setsockopt(socket.IPPROTO_TCP, option, value)

    async def raw_piece(self) -> bytes:
        """The next piece of the body as it was sent; b"" at the end. Raises HttpError, OSError."""
        if self._over:
            return b""
        event = await self._connection.next_event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self._over = True
        return b""

    async def piece(self) -> bytes:
        """The next piece of the body, unpacked if it was sent with gzip; b"" at the end.

        Raises HttpError, OSError.
        """
        if self._unpack is None:
            return await self.raw_piece()
        while packed := self._unpack.unconsumed_tail or await self.raw_piece():
            try:
                piece = self._unpack.decompress(packed, UNPACKED_BYTES_AT_ONCE)
            except zlib.error as error:
                raise HttpError(f"the gzip encoding is broken: {error}") from None
            if piece:
                return piece
        return b""

    async def read(self, at_most: int = BODY_BYTES_AT_MOST) -> bytes:
        """The whole body, unpacked. Raises HttpError, also when it has more bytes than that, and OSError."""
        body = bytearray()
        while piece := await self.piece():
            if len(body) + len(piece) > at_most:
                raise HttpError(f"the body of the answer has more than {at_most} bytes")
            body += piece
        return bytes(body)


def _shown(data: bytes) -> str:
    return f'"{data.strip()[:_SHOWN_BYTES].decode(errors="replace")}"'
