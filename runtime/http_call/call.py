"""The GET itself: connect, ask, read, and follow to where it leads on the same host (spec 5, 3.11).

Certificates are not checked, proxies not used, connections not kept. The caller has a deadline for all of it: there is
none here.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from functools import cache

import msgspec

from runtime.http_call.answer import AnswerReader, BadAnswerError
from runtime.http_call.request import Headers, Request, over_http, redirect_of, request_of, without
from runtime.io.connecting import connected, reset_on_close
from runtime.io.network import address, reason_of

MAX_REDIRECTS = 10
SHOWN_BYTES = 10 * 1024
"""So much of an answer's body is read."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL calls the answer of a server that does not speak TLS; which of them depends on its version."""


class HttpCallError(Exception):
    """There is no answer; says why, in the words that people know from other agents. `fell_back` as in `HttpAnswer`."""

    fell_back = ""


class NoTlsError(HttpCallError):
    """Whoever answered does not speak TLS."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """`body`: its beginning. `elsewhere`: it sends us to another host, where we have not gone.

    `fell_back`: why it was asked without TLS in the end; empty when it was not.
    """

    status: int
    body: bytes
    elsewhere: bool = False
    fell_back: str = ""


async def get(url: str, headers: Headers, agent: str, *, fall_back: bool = False) -> HttpAnswer:
    """On the loop. Raises HttpCallError.

    `fall_back`: ask again over HTTP, without credentials, whoever is asked for HTTPS and does not speak TLS.
    """
    try:
        return await _follow(url, headers, agent)
    except NoTlsError as failure:
        if not fall_back:
            raise
        why = f'Get "{url}": {failure}'
    try:
        answer = await _follow(over_http(url), without(headers, "authorization"), agent)
    except HttpCallError as failure:
        failure.fell_back = why
        raise
    return msgspec.structs.replace(answer, fell_back=why)


async def _follow(url: str, headers: Headers, agent: str) -> HttpAnswer:
    for _ in range(MAX_REDIRECTS + 1):
        try:
            request = request_of(url, headers, agent)
            read = await _exchange(request)
            to = redirect_of(read.status, read.location, url, headers)
        except (ValueError, OSError) as failure:
            raise HttpCallError(_reason(failure)) from failure
        if to is None or to.elsewhere:
            return HttpAnswer(read.status, read.body, elsewhere=to is not None)
        url, headers = to.url, to.headers
    raise HttpCallError(f"stopped after {MAX_REDIRECTS} redirects")


async def _exchange(request: Request) -> AnswerReader:
    try:
        line = await connected(request.host, request.port)
    except OSError as failure:
        raise HttpCallError(f"dial tcp {address(request.host, request.port)}: {reason_of(failure)}") from failure
    loop = asyncio.get_running_loop()
    exchange = _Exchange(loop, line, request.data)
    tls = _tls() if request.tls else None
    try:
        try:
            await loop.create_connection(
                lambda: exchange, sock=line, ssl=tls, server_hostname=request.host if tls else None
            )
        except ssl.SSLError as failure:
            if (failure.reason or "") in _NO_TLS:
                raise NoTlsError("http: server gave HTTP response to HTTPS client") from failure
            raise
        return await exchange.answered
    finally:
        exchange.close()


class _Exchange(asyncio.Protocol):
    """One request and its answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, line: socket.socket, request: bytes) -> None:
        self._line = line
        self._request = request
        self._reader = AnswerReader(SHOWN_BYTES)
        self._transport: asyncio.Transport | None = None
        self.answered: asyncio.Future[AnswerReader] = loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        try:
            if self._reader.feed(data) and not self.answered.done():
                self.answered.set_result(self._reader)
        except BadAnswerError as failure:
            self._fail(failure)

    def eof_received(self) -> None:
        self._ended(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(exc)

    def _ended(self, failure: Exception | None) -> None:
        if self.answered.done():
            return
        try:
            if failure is not None:
                raise failure
            self._reader.end()
            self.answered.set_result(self._reader)
        except Exception as error:  # whatever the transport ended with is why there is no answer
            self._fail(error)

    def _fail(self, failure: Exception) -> None:
        if not self.answered.done():
            self.answered.set_exception(failure)

    def close(self) -> None:
        """Whatever has come of it. Where nobody has answered, nobody is waited for."""
        if not self.answered.done() or self.answered.cancelled() or self.answered.exception() is not None:
            reset_on_close(self._line)
        if self._transport is not None:
            self._transport.abort()
        else:
            self._line.close()


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _reason(failure: Exception) -> str:
    if isinstance(failure, ConnectionResetError):
        return "read: connection reset by peer"
    return str(failure) or type(failure).__name__
