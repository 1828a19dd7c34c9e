"""The connections to one API server, shared by all clients of a node.

Owns the session of aiohttp, which is made on the loop and lives as long as the node: connections are kept open for the
next call, less long than the server keeps them. Each request carries the credential of the moment; one that was refused
is asked for anew once. Everything here runs on the loop.

What can fail is every request (`ApiError`, code 0 when no answer came). Refuses to know calls, limits and retries.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol
from urllib.parse import quote

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from config.credentials.kubeconfig import ApiAccess
from runtime.api.calls import Query
from runtime.api.credentials import Credentials, CredentialsError, Held
from runtime.api.errors import TIMEOUT, UNREACHABLE, ApiError
from runtime.api.proxy import is_loopback, proxy_for
from runtime.api.tls import Pair, TlsContexts, TlsError

IDLE_SECONDS = 60.0
"""An API server closes what is idle for 90 s; who closes first never sends into a closed connection."""
CONNECT_SECONDS = 10.0
DOUBT_SECONDS = 10.0
"""Connections that are so young are not given up because others were silent."""

_PLAIN_PATH = re.compile(r"[A-Za-z0-9._~/:@-]*", re.ASCII)
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9._~-]*", re.ASCII)

LOST = "the connection was given up: the server has been silent on another one"

NO_ANSWER = (aiohttp.ClientError, OSError, TimeoutError, CredentialsError, TlsError)
"""What `ApiConnections.send`, and reading its response, may raise; `no_answer` makes an ApiError of it."""


class Loser(Protocol):
    """Somebody who uses a connection. aiohttp tells nobody who waits on a connection that it closes itself."""

    def lose(self) -> None:
        """The connection is gone; runs on the loop."""
        ...


class ApiConnections:
    """To the server of `access`. `close` ends everything; a later `send` begins anew."""

    def __init__(
        self,
        access: ApiAccess,
        user_agent: str,
        *,
        credentials: Credentials | None = None,
        tls: TlsContexts | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        cluster, user = access.cluster, access.user
        own: Pair | None = (user.client_certificate, user.client_key) if user.client_certificate else None
        self.credentials = credentials or Credentials(access, environment=environment)
        self._tls = tls or TlsContexts(cluster, own)
        self._server = cluster.server
        self._server_name = cluster.tls_server_name or None
        self._proxy = cluster.proxy_url or proxy_for(cluster.server, os.environ if environment is None else environment)
        self._headers = _standing_headers(access, user_agent)
        self._session: aiohttp.ClientSession | None = None
        self._users: dict[Loser, None] = {}
        self._closing: dict[asyncio.Task[None], None] = {}
        self._suspected_at: float | None = None

    async def send(
        self,
        method: str,
        path: str,
        query: Query,
        timeout: aiohttp.ClientTimeout,
        body: bytes | None = None,
        content_type: str = "",
    ) -> aiohttp.ClientResponse:
        """One request; the response has its status and headers, its body is still to be read, or to be released.

        Raises what is in `NO_ANSWER`.
        """
        url = URL(f"{self._server}{target(path, query)}", encoded=True)
        held = self.credentials.current() or await self.credentials.fetch()
        response = await self._send(method, url, held, timeout, body, content_type)
        if response.status == 401 and self.credentials.refused(held):
            response.release()
            held = self.credentials.current() or await self.credentials.fetch()
            response = await self._send(method, url, held, timeout, body, content_type)
        return response

    @contextmanager
    def used_by(self, user: Loser) -> Iterator[None]:
        """Inside, `user` is told of a reset."""
        self._users[user] = None
        try:
            yield
        finally:
            del self._users[user]

    def reset(self) -> None:
        """Close every connection, also those in use: what is in flight fails, and what follows connects anew.

        For a network that swallowed the server without a word: whoever waits on such a connection waits for long.
        """
        for user in list(self._users):
            user.lose()
        session, self._session = self._session, None
        if session is not None:
            closing = asyncio.get_running_loop().create_task(session.close())
            self._closing[closing] = None
            closing.add_done_callback(self._closing.pop)

    def suspect(self) -> None:
        """As `reset`, unless that was done a moment ago: of many nodes on the same connections each has its doubts."""
        now = asyncio.get_running_loop().time()
        if self._suspected_at is None or now - self._suspected_at >= DOUBT_SECONDS:
            self._suspected_at = now
            self.reset()

    async def close(self) -> None:
        """See the class."""
        self.reset()
        await self.credentials.close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _send(
        self, method: str, url: URL, held: Held, timeout: aiohttp.ClientTimeout, body: bytes | None, content_type: str
    ) -> aiohttp.ClientResponse:
        context = self._tls.context(held.pair)
        headers = {}
        if held.authorization:
            headers["Authorization"] = held.authorization
        if body is not None:
            headers["Content-Type"] = content_type
        return await self._standing_session().request(
            method,
            url,
            data=body,
            headers=headers,
            allow_redirects=False,
            timeout=timeout,
            ssl=True if context is None else context,
            server_hostname=self._server_name if context is not None else None,
            proxy=self._proxy or None,
        )

    def _standing_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            # How many connections there are is bounded by who sends: watches hold one each for as long as they last.
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            )
        return self._session


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
    cause = getattr(fault, "os_error", None) or getattr(fault, "certificate_error", None)
    text = str(fault) or type(fault).__name__
    if isinstance(cause, ssl.SSLError):
        text = f"no secure connection to {_where(fault)}: {getattr(cause, 'verify_message', '') or cause}"
    elif isinstance(cause, Exception):
        text = f"cannot connect to {_where(fault)}: {cause}"
    return ApiError(0, UNREACHABLE, text, verb)


def _where(fault: Exception) -> str:
    return f"{getattr(fault, 'host', '')}:{getattr(fault, 'port', '')}"


def _standing_headers(access: ApiAccess, user_agent: str) -> CIMultiDict[str]:
    cluster, who = access.cluster, access.user.impersonate
    # On loopback packing costs more than it saves.
    plain = cluster.disable_compression or is_loopback(URL(cluster.server).host or "")
    headers = CIMultiDict(
        {
            "User-Agent": user_agent,
            "Accept": "application/json",
            "Accept-Encoding": "identity" if plain else "gzip",
        }
    )
    if who.user:
        headers.add("Impersonate-User", who.user)
    if who.uid:
        headers.add("Impersonate-Uid", who.uid)
    for group in who.groups:
        headers.add("Impersonate-Group", group)
    for key, values in who.extra:
        for value in values:
            headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    return headers
