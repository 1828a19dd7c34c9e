"""Opens connections for the HTTP client: TCP, TLS, unix sockets, and the way through a proxy."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import h11
import msgspec

from runtime.http_client.call_bytes import HttpError
from runtime.http_client.connection import HttpConnection
from runtime.io.network import address

CONNECT_SECONDS = 10.0
SECOND_ADDRESS_SECONDS = 0.25
"""A name may have several addresses.

After this time without a connection the next one is tried as well.
"""


class CannotConnectError(HttpError):
    """No connection came about. `cause`: what the system or OpenSSL said, if it was one of them."""

    def __init__(self, text: str, cause: OSError | None = None) -> None:
        super().__init__(text)
        self.cause = cause


class HttpOrigin(msgspec.Struct, frozen=True):
    """A server: `host` (without brackets) and `port`, or the unix socket at `socket_path`.

    `tls` None: plain HTTP. `server_name`: the name that the certificate must have, if it is not `host`. `proxy`: the
    URL of an HTTP proxy on the way, which may name a user and a password.
    """

    host: str
    port: int = 0
    tls: ssl.SSLContext | None = None
    server_name: str = ""
    proxy: str = ""
    socket_path: str = ""

    @property
    def authority(self) -> str:
        """Host and port as they stand in URLs; a default port is left out."""
        if self.port in (0, 443 if self.tls is not None else 80):
            return f"[{self.host}]" if ":" in self.host else self.host
        return address(self.host, self.port)

    def request(self, method: str, target: str, headers: Sequence[tuple[str, str]]) -> h11.Request:
        """The head of a request for the path and query `target`; the Host is added. Raises ValueError."""
        way = [] if any(name.lower() == "host" for name, _ in headers) else [("Host", self.authority)]
        if self.proxy and self.tls is None:
            target = f"http://{self.authority}{target}"
            way += _proxy_authorization(self.proxy)
        fields = [(name.encode(), value.strip(" \t").encode()) for name, value in (*way, *headers)]
        try:
            return h11.Request(method=method, target=target, headers=fields)
        except h11.LocalProtocolError as error:
            raise ValueError(f"the request cannot be written: {error}") from None


async def dial(origin: HttpOrigin) -> HttpConnection:
    """Connect. Raises CannotConnectError, TimeoutError."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(CONNECT_SECONDS):
        if origin.socket_path:
            try:
                return (await loop.create_unix_connection(HttpConnection, origin.socket_path))[1]
            except OSError as failure:
                raise CannotConnectError(f"cannot connect to {origin.socket_path}: {failure}", failure) from failure
        if not origin.proxy:
            return await _open(origin.host, origin.port, origin.tls, origin.server_name or origin.host)
        proxy = urlsplit(origin.proxy)
        host = proxy.hostname or ""
        secure = ssl.create_default_context() if proxy.scheme == "https" else None
        connection = await _open(host, proxy.port or (443 if secure else 80), secure, host)
        return connection if origin.tls is None else await _tunnel(connection, origin, origin.tls)


def tls_without_checks() -> ssl.SSLContext:
    """A TLS context without checks, for servers with self-made certificates at known addresses."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _open(host: str, port: int, tls: ssl.SSLContext | None, server_name: str) -> HttpConnection:
    loop = asyncio.get_running_loop()
    name = server_name if tls is not None else None
    try:
        _, connection = await loop.create_connection(
            HttpConnection,
            host,
            port,
            ssl=tls,
            server_hostname=name,
            happy_eyeballs_delay=SECOND_ADDRESS_SECONDS,
        )
    except (OSError, ValueError) as failure:
        raise _cannot_connect(host, port, failure) from failure
    return connection


async def _tunnel(proxy: HttpConnection, origin: HttpOrigin, tls: ssl.SSLContext) -> HttpConnection:
    """TLS to `origin` inside the connection to `proxy`."""
    target = address(origin.host, origin.port)
    headers = [("Host", target), *_proxy_authorization(origin.proxy)]
    connection = HttpConnection()
    try:
        answer = await proxy.ask(h11.Request(method="CONNECT", target=target, headers=headers))
        if not 200 <= answer.status < 300:
            raise CannotConnectError(f"cannot connect to {target}: the proxy answers with status {answer.status}")
        loop, name = asyncio.get_running_loop(), origin.server_name or origin.host
        transport = await loop.start_tls(proxy.transport, connection, tls, server_hostname=name)
    except BaseException as failure:
        proxy.abort()
        if isinstance(failure, OSError):
            raise _cannot_connect(origin.host, origin.port, failure) from failure
        raise
    assert transport is not None
    connection.connection_made(transport)
    return connection


def _cannot_connect(host: str, port: int, failure: Exception) -> CannotConnectError:
    where = address(host, port)
    if isinstance(failure, ssl.SSLError):
        why = getattr(failure, "verify_message", "") or str(failure)
        return CannotConnectError(f"no secure connection to {where}: {why}", failure)
    cause = failure if isinstance(failure, OSError) else None
    return CannotConnectError(f"cannot connect to {where}: {failure}", cause)


def _proxy_authorization(proxy: str) -> list[tuple[str, str]]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return []
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return [("Proxy-Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")]
