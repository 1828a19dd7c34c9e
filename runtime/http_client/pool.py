"""Keeps idle connections for the next request to the same server.

Everything runs on one loop. The pool does not limit the number of connections; callers limit their requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11

from runtime.http_client.call_bytes import HttpError
from runtime.http_client.connection import HttpConnection, HttpResponse
from runtime.http_client.dialing import HttpOrigin, dial

IDLE_SECONDS = 60.0
"""Servers close idle connections after 90 s or so.

The client closes first, so that no request meets a closed one.
"""
_SAFE_TO_REPEAT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})


class ConnectionGivenUpError(HttpError):
    """The pool was closed while an exchange was under way."""


class HttpPool:
    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._idle: dict[HttpOrigin, dict[HttpConnection, asyncio.TimerHandle]] = {}
        self._used: dict[HttpConnection, None] = {}

    @asynccontextmanager
    async def exchange(
        self, origin: HttpOrigin, method: str, target: str, headers: list[tuple[str, str]], body: bytes | None = None
    ) -> AsyncIterator[HttpResponse]:
        """Send one request; inside the context its body can be read. Raises HttpError, OSError, TimeoutError."""
        if body is not None:
            headers = [*headers, ("Content-Length", str(len(body)))]
        try:
            request = origin.request(method, target, headers)
        except ValueError as error:
            raise HttpError(str(error)) from None
        connection = self._take(origin)
        response = None
        if connection is not None:
            response = await self._ask_idle(connection, request, body or b"")
        if response is None:
            connection = await dial(origin)
            response = await self._ask(connection, request, body or b"")
        assert connection is not None
        try:
            yield response
        finally:
            self._give_back(origin, connection)

    def close(self, why: str = "the connection was closed") -> None:
        """Close every connection. Exchanges under way fail with `why`; the next one connects anew."""
        for kept in self._idle.values():
            for connection, timer in kept.items():
                timer.cancel()
                connection.abort()
        self._idle.clear()
        for connection in list(self._used):
            connection.abort(ConnectionGivenUpError(why))

    async def _ask_idle(self, connection: HttpConnection, request: h11.Request, body: bytes) -> HttpResponse | None:
        """Ask on a connection that was idle.

        None when the server had closed it and the request may be repeated.
        """
        try:
            return await self._ask(connection, request, body)
        except ConnectionGivenUpError:
            raise
        except (HttpError, OSError):
            if connection.answered or request.method.decode() not in _SAFE_TO_REPEAT:
                raise
            return None

    async def _ask(self, connection: HttpConnection, request: h11.Request, body: bytes) -> HttpResponse:
        self._used[connection] = None
        try:
            return await connection.ask(request, body)
        except BaseException:
            self._used.pop(connection, None)
            connection.abort()
            raise

    def _take(self, origin: HttpOrigin) -> HttpConnection | None:
        kept = self._idle.get(origin, {})
        while kept:
            connection, timer = kept.popitem()
            timer.cancel()
            if connection.usable:
                return connection
        self._idle.pop(origin, None)
        return None

    def _give_back(self, origin: HttpOrigin, connection: HttpConnection) -> None:
        self._used.pop(connection, None)
        if connection.finish():
            timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._drop, origin, connection)
            self._idle.setdefault(origin, {})[connection] = timer

    def _drop(self, origin: HttpOrigin, connection: HttpConnection) -> None:
        del self._idle[origin][connection]
        connection.abort()
