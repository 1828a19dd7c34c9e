"""The gRPC call of a probe over HTTP/2: a small request and answer, on its own connection.

h2 speaks the protocol. gRPC's own library is not used: its core keeps every header that a server sends without end, and
takes no bound for them; its threads serve the runtime's client too. Here each byte is counted before it is parsed, a
few thousand at a time, with a turn for other checks between them. The network can fail (OSError), and the answer
(`GrpcCallError`). Callers bound the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from urllib.parse import unquote

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from runtime.cri import StatusCode
from runtime.http_client.call_bytes import CallBytes, HttpError

READ_BYTES = 4 * 1024
CALL_BYTES_AT_MOST = 64 * 1024
"""Limit of all bytes from the server: an honest answer has a few hundred."""
MESSAGE_BYTES_AT_MOST = 4 * 1024
HEADER_BYTES_AT_MOST = 16 * 1024
_PREFIX_BYTES = 5
_STREAM = 1
_OF_HTTP = {
    400: StatusCode.INTERNAL,
    401: StatusCode.UNAUTHENTICATED,
    403: StatusCode.PERMISSION_DENIED,
    404: StatusCode.UNIMPLEMENTED,
    429: StatusCode.UNAVAILABLE,
    502: StatusCode.UNAVAILABLE,
    503: StatusCode.UNAVAILABLE,
    504: StatusCode.UNAVAILABLE,
}
"""The meaning of an answer without a status of its own (gRPC's http-grpc-status-mapping)."""


class GrpcCallError(Exception):
    """The call has failed with this status."""

    def __init__(self, status: StatusCode, details: str) -> None:
        super().__init__(details)
        self.status = status
        self.details = details


async def unary_call(
    line: socket.socket, authority: str, path: str, message: bytes, agent: str, timeout_ms: int, call: CallBytes
) -> bytes:
    """The message of the answer, over a connection that is open. Raises GrpcCallError, OSError."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
    connection.local_settings = h2.settings.Settings(
        client=True,
        initial_values={
            h2.settings.SettingCodes.ENABLE_PUSH: 0,
            h2.settings.SettingCodes.MAX_HEADER_LIST_SIZE: HEADER_BYTES_AT_MOST,
        },
    )
    connection.initiate_connection()
    head = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("user-agent", agent),
        ("te", "trailers"),
        ("grpc-timeout", f"{max(1, timeout_ms)}m"),
    ]
    connection.send_headers(_STREAM, head)
    connection.send_data(_STREAM, b"\0" + len(message).to_bytes(4, "big") + message, end_stream=True)
    return await _Exchange(line, connection, call).answer()


class _Exchange:
    """Reads until the one stream ends."""

    def __init__(self, line: socket.socket, connection: h2.connection.H2Connection, call: CallBytes) -> None:
        self._line = line
        self._http = connection
        self._call = call
        self._given_up: HttpError | None = None
        self._head: Mapping[str, str] = {}
        self._trailers: Mapping[str, str] = {}
        self._body = b""
        self._ended = False

    async def answer(self) -> bytes:
        loop = asyncio.get_running_loop()
        self._call.end_call = self._give_up
        await loop.sock_sendall(self._line, self._http.data_to_send())
        while not self._ended:
            data = await loop.sock_recv(self._line, READ_BYTES)
            if not data:
                raise GrpcCallError(StatusCode.UNAVAILABLE, "the connection was closed before the answer")
            if not self._call.take(len(data)):
                raise GrpcCallError(StatusCode.RESOURCE_EXHAUSTED, str(self._given_up or "the answer is too large"))
            try:
                for event in self._http.receive_data(data):
                    self._hear(event)
            except (h2.exceptions.ProtocolError, UnicodeError) as error:
                text = str(error) or type(error).__name__
                raise GrpcCallError(StatusCode.UNAVAILABLE, f"the answer is not HTTP/2: {text}") from None
            if not self._ended and (reply := self._http.data_to_send()):
                await loop.sock_sendall(self._line, reply)
            await asyncio.sleep(0)
        return self._message()

    def _give_up(self, why: HttpError) -> None:
        self._given_up = why
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def _hear(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self._head = _fields(event.headers)
        elif isinstance(event, h2.events.TrailersReceived):
            self._trailers = _fields(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            self._body += event.data
            if len(self._body) > _PREFIX_BYTES + MESSAGE_BYTES_AT_MOST:
                text = f"the message has more than {MESSAGE_BYTES_AT_MOST} bytes"
                raise GrpcCallError(StatusCode.RESOURCE_EXHAUSTED, text)
        elif isinstance(event, h2.events.StreamEnded):
            self._ended = True
        elif isinstance(event, h2.events.StreamReset):
            if not self._ended:
                raise GrpcCallError(StatusCode.INTERNAL, f"the stream was reset with error {event.error_code}")
        elif isinstance(event, h2.events.ConnectionTerminated) and not self._ended:
            raise GrpcCallError(StatusCode.UNAVAILABLE, f"the server goes away with error {event.error_code}")

    def _message(self) -> bytes:
        fields = {**self._head, **self._trailers}
        told = fields.get("grpc-status", "")
        status = fields.get(":status", "")
        if not told:
            code = int(status) if status.isascii() and status.isdecimal() and len(status) < 4 else 0
            text = f"unexpected HTTP status code received from server: {status}"
            raise GrpcCallError(_OF_HTTP.get(code, StatusCode.UNKNOWN), text)
        if told != "0":
            known = told.isascii() and told.isdecimal() and len(told) < 3 and int(told) in tuple(StatusCode)
            reason = unquote(fields.get("grpc-message", ""))
            raise GrpcCallError(StatusCode(int(told)) if known else StatusCode.UNKNOWN, reason)
        length = int.from_bytes(self._body[1:_PREFIX_BYTES], "big")
        if len(self._body) < _PREFIX_BYTES or self._body[0] or len(self._body) - _PREFIX_BYTES != length:
            raise GrpcCallError(
                StatusCode.INTERNAL, "the answer is not a message, or is compressed although nobody asked for that"
            )
        return self._body[_PREFIX_BYTES:]


def _fields(headers: object) -> Mapping[str, str]:
    assert isinstance(headers, list)
    return {str(name): str(value) for name, value in headers}
