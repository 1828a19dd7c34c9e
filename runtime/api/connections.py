"""The connections to one API server, shared by all clients of a node.

Owns the pool of the HTTP client. Each request carries the current credential; if the server refuses it, the request is
sent once more with a fresh one. Everything here runs on the loop.

Every request can fail (`ApiError`, code 0 when no answer came). Calls, limits and retries are not known here.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit

from config.credentials.kubeconfig import ApiAccess
from config.values.loopback import is_loopback
from runtime.api.calls import Query
from runtime.api.credentials import Credentials, CredentialsError, Held
from runtime.api.errors import TIMEOUT, UNREACHABLE, ApiError
from runtime.api.observer import UNOBSERVED, ApiObserver
from runtime.api.proxy import proxy_for
from runtime.api.tls import Pair, TlsContexts, TlsError
from runtime.api.traced import begin_request, ended
from runtime.http_client import HttpError, HttpOrigin, HttpPool, HttpResponse
from runtime.traces.spans import Tracer

DOUBT_SECONDS = 10.0
"""Connections younger than this are not given up because others were silent."""

_PLAIN_PATH = re.compile(r"[A-Za-z0-9._~/:@-]*", re.ASCII)
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9._~-]*", re.ASCII)

LOST = "the connection was given up: the server has been silent on another one"

NO_ANSWER = (HttpError, OSError, TimeoutError, CredentialsError, TlsError)
"""What `ApiConnections.send`, and reading its response, may raise.

`no_answer` makes an ApiError of it.
"""


class ApiConnections:
    """Connections to the server of `access`. `close` ends all; a later `send` opens new ones.

    `tracer` None: no request is traced.
    """

    def __init__(
        self,
        access: ApiAccess,
        user_agent: str,
        *,
        credentials: Credentials | None = None,
        tls: TlsContexts | None = None,
        environment: Mapping[str, str] | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        cluster, user = access.cluster, access.user
        own: Pair | None = (user.client_certificate, user.client_key) if user.client_certificate else None
        self.credentials = credentials or Credentials(access, environment=environment)
        self._tls = tls or TlsContexts(cluster, own)
        server = urlsplit(cluster.server)
        self._host, self._port = server.hostname or "", server.port or (443 if server.scheme == "https" else 80)
        self._prefix = server.path
        self._server_name = cluster.tls_server_name
        self._proxy = cluster.proxy_url or proxy_for(cluster.server, os.environ if environment is None else environment)
        self._headers = _standing_headers(access, user_agent)
        self._pool = HttpPool()
        self._tracer = tracer
        self._origin = f"{server.scheme}://{server.netloc.rpartition('@')[2]}"
        self._suspected_at: float | None = None
        self.shown = Held()
        """What the last request has shown."""
        self.observer: ApiObserver = UNOBSERVED

    def observe(self, observer: ApiObserver) -> None:
        """Tell `observer` of every exchange, and of every run of a credential plugin."""
        self.observer = self.credentials.observer = observer

    @asynccontextmanager
    async def send(
        self, method: str, path: str, query: Query, body: bytes | None = None, content_type: str = ""
    ) -> AsyncIterator[HttpResponse]:
        """One request. Inside the context, the response has its head, and its body can be read.

        Raises the errors in `NO_ANSWER`.
        """
        held = self.shown = self.credentials.current() or await self.credentials.fetch()
        async with self._send(held, method, path, query, body, content_type) as response:
            if response.status != 401 or not self.credentials.refused(held):
                yield response
                return
        held = self.shown = self.credentials.current() or await self.credentials.fetch()
        async with self._send(held, method, path, query, body, content_type) as response:
            yield response

    def reset(self) -> None:
        """Close every connection: calls in flight fail, and later calls connect again.

        Needed when the network loses the server silently: a call on such a connection waits for long.
        """
        self._pool.close(LOST)

    def suspect(self) -> None:
        """Reset, unless that was done a moment ago.

        Many nodes may share these connections, and each may call this.
        """
        now = asyncio.get_running_loop().time()
        if self._suspected_at is None or now - self._suspected_at >= DOUBT_SECONDS:
            self._suspected_at = now
            self.reset()

    async def close(self) -> None:
        """End everything. A later `send` connects anew."""
        self.reset()
        await self.credentials.close()

    @asynccontextmanager
    async def _send(
        self, held: Held, method: str, path: str, query: Query, body: bytes | None, content_type: str
    ) -> AsyncIterator[HttpResponse]:
        context = self._tls.context(held.pair)
        origin = HttpOrigin(self._host, self._port, context, self._server_name, self._proxy)
        headers = list(self._headers)
        if held.authorization:
            headers.append(("Authorization", held.authorization))
        if body is not None:
            headers.append(("Content-Type", content_type))
        where = self._prefix + target(path, query)
        if self._tracer is None:
            async with self._pool.exchange(origin, method, where, headers, body) as response:
                yield response
            return
        span = begin_request(self._tracer, method, self._origin + where, self._host, self._port)
        headers.append(span.context.header())
        status = 0
        failure: BaseException | None = None
        try:
            async with self._pool.exchange(origin, method, where, headers, body) as response:
                status = response.status
                yield response
        except BaseException as raised:
            failure = raised
            raise
        finally:
            ended(span, status, failure)


def target(path: str, query: Query) -> str:
    """Path and query as they go into a request line."""
    if not _PLAIN_PATH.fullmatch(path):
        path = quote(path, safe="/:@")
    if not query:
        return path
    pairs = [f"{name}={value if _PLAIN_QUERY.fullmatch(value) else quote(value, safe='')}" for name, value in query]
    return f"{path}?{'&'.join(pairs)}"


def no_answer(fault: Exception, verb: str) -> ApiError:
    """The error of a call that got no answer because of `fault`."""
    if isinstance(fault, TimeoutError):
        return ApiError(0, TIMEOUT, "no answer in time", verb)
    return ApiError(0, UNREACHABLE, str(fault) or type(fault).__name__, verb)


def _standing_headers(access: ApiAccess, user_agent: str) -> tuple[tuple[str, str], ...]:
    cluster, who = access.cluster, access.user.impersonate
    # On loopback packing costs more than it saves.
    plain = cluster.disable_compression or is_loopback(urlsplit(cluster.server).hostname or "")
    headers = [
        ("User-Agent", user_agent),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity" if plain else "gzip"),
    ]
    if who.user:
        headers.append(("Impersonate-User", who.user))
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    headers += [("Impersonate-Group", group) for group in who.groups]
    headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for key, values in who.extra for value in values]
    return tuple(headers)
