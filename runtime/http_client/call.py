"""The GET of a probe or a hook.

It connects, asks, reads, and follows redirects on the same host (spec 5, 3.11).

It checks no certificates, uses no proxies and keeps no connections. It has no time limit: callers set one. It reads
only the shown part of a body. All bytes of a call are bounded (`call_bytes`), those of TLS too.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Iterator
from functools import cache

import msgspec

from runtime.http_client.call_bytes import CALL_BYTES_AT_MOST, CallBytes, HttpError
from runtime.http_client.connection import HttpConnection, HttpResponse
from runtime.http_client.dialing import tls_without_checks
from runtime.http_client.request import (
    Headers,
    HttpCallRequest,
    kept_request_of,
    over_http,
    redirect_of,
    request_of,
    without,
)
from runtime.io.connecting import bytes_received, connected
from runtime.io.held_bytes import HeldBytes
from runtime.io.network import address, reason_of

MAX_REDIRECTS = 10
SHOWN_BYTES = 10 * 1024
"""At most this much of a body is read."""
SHOWN_PIECES = 1024
"""At most so many chunks of a body are read: a server may send one byte in each."""
TLS_LOOK_SECONDS = 0.05
"""How often the bytes of a TLS connection are counted.

The library hides the bytes of TLS records from whoever reads, so they cannot be counted as they come.
"""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""OpenSSL's names for the answer of a server without TLS; they differ between versions."""


class HttpCallError(Exception):
    """There is no answer; the text says why, in the words of other agents. `fell_back` as in `HttpAnswer`."""

    fell_back = ""


class NoTlsError(HttpCallError):
    """The server does not speak TLS."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """`body`: its beginning. `elsewhere`: a redirect to another host, which was not followed.

    `fell_back`: why the call was repeated without TLS, or "".
    """

    status: int
    body: bytes
    elsewhere: bool = False
    fell_back: str = ""


async def get(
    url: str, headers: Headers, agent: str, *, fall_back: bool = False, held: HeldBytes | None = None
) -> HttpAnswer:
    """Make the call. Runs on the loop. Raises HttpCallError.

    `fall_back`: if an HTTPS server does not speak TLS, ask again over HTTP, without credentials. `held`: the memory of
    all calls of this loop.
    """
    call = CallBytes(held or HeldBytes())
    try:
        return await _follow(url, headers, agent, call)
    except NoTlsError as failure:
        if not fall_back:
            raise
        why = f'Get "{url}": {failure}'
    finally:
        call.end()
    try:
        answer = await _follow(over_http(url), without(headers, "authorization"), agent, call)
    except HttpCallError as failure:
        failure.fell_back = why
        raise
    finally:
        call.end()
    return msgspec.structs.replace(answer, fell_back=why)


async def _follow(url: str, headers: Headers, agent: str, call: CallBytes) -> HttpAnswer:
    for redirects in range(MAX_REDIRECTS + 1):
        try:
            request = request_of(url, headers, agent) if redirects else kept_request_of(url, headers, agent)
            status, location, body = await _exchange(request, call)
            to = redirect_of(status, location, url, headers)
        except (ValueError, OSError, HttpError) as failure:
            raise HttpCallError(_reason(failure)) from failure
        if to is None or to.elsewhere:
            return HttpAnswer(status, body, elsewhere=to is not None)
        url, headers = to.url, to.headers
    raise HttpCallError(f"stopped after {MAX_REDIRECTS} redirects")


async def _exchange(request: HttpCallRequest, call: CallBytes) -> tuple[int, str, bytes]:
    """(status, Location, the beginning of the body)."""
    try:
        line = await connected(request.host, request.port)
    except OSError as failure:
        raise HttpCallError(f"dial tcp {address(request.host, request.port)}: {reason_of(failure)}") from failure
    tls = _tls() if request.tls else None
    connection, opened = HttpConnection(call), False
    try:
        with _bounded(line) if tls else contextlib.nullcontext():
            await asyncio.get_running_loop().create_connection(
                lambda: connection, sock=line, ssl=tls, server_hostname=request.host if tls else None
            )
            opened = True
            response = await connection.ask(request.head)
            return response.status, response.header("location"), await _beginning(response)
    except ssl.SSLError as failure:
        if (failure.reason or "") in _NO_TLS:
            raise NoTlsError("http: server gave HTTP response to HTTPS client") from failure
        raise
    finally:
        if opened:
            connection.abort()
        else:
            line.close()


@contextlib.contextmanager
def _bounded(line: socket.socket) -> Iterator[None]:
    """Shut `line` down when more comes over it than one call may receive."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        with contextlib.suppress(OSError):
            if bytes_received(line) > CALL_BYTES_AT_MOST:
                line.shutdown(socket.SHUT_RDWR)
            else:
                timer = loop.call_later(TLS_LOOK_SECONDS, look)

    timer = loop.call_later(TLS_LOOK_SECONDS, look)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


async def _beginning(response: HttpResponse) -> bytes:
    body = b""
    for _ in range(SHOWN_PIECES):
        piece = await response.raw_piece()
        if not piece:
            break
        body += piece[: SHOWN_BYTES - len(body)]
        if len(body) >= SHOWN_BYTES:
            break
    return body


@cache
def _tls() -> ssl.SSLContext:
    return tls_without_checks()


def _reason(failure: Exception) -> str:
    if isinstance(failure, ConnectionResetError):
        return "read: connection reset by peer"
    return str(failure) or type(failure).__name__
