"""`HttpManifests`: static pod manifests over the network, on the shared `LoopThread`.

See `runtime.manifests.url`. Headers of the configuration are secrets of its server: no other one gets any of them, to
which that server redirects.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping, Sequence

from yarl import URL

from config.credentials.masked_urls import without_secrets
from runtime.api.proxy import proxy_for
from runtime.http_client import HttpError, HttpOrigin, HttpResponse, dial
from runtime.http_client.call import MAX_REDIRECTS
from runtime.http_client.request import Headers, redirect_of, request_of
from runtime.io.event_loop import LoopThread
from runtime.io.pending import PendingAnswer
from runtime.manifests.url import LIMIT_BYTES, ManifestAnswer, ManifestFetchError

TIMEOUT_SECONDS = 10.0
USER_AGENT = "actorlet"
OWN_HEADERS = (("Accept-Encoding", "gzip"),)


class HttpManifests:
    """Over the network, by way of the proxy that the environment names.

    Each reading has a connection of its own.
    """

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop

    def get(self, url: str, headers: Mapping[str, Sequence[str]]) -> PendingAnswer[ManifestAnswer]:
        return self._loop.submit(_get(url, headers))


async def _get(url: str, headers: Mapping[str, Sequence[str]]) -> ManifestAnswer:
    configured = tuple((name, value) for name, values in headers.items() for value in values)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await _follow(url, configured)
    except TimeoutError as failure:
        raise ManifestFetchError(f"no answer within {TIMEOUT_SECONDS:.0f} s") from failure
    except (HttpError, ValueError, OSError) as failure:
        # The text may contain the URL, and the URL a password.
        raise ManifestFetchError(without_secrets(str(failure), url) or type(failure).__name__) from None


async def _follow(url: str, configured: Headers) -> ManifestAnswer:
    for _ in range(MAX_REDIRECTS + 1):
        proxy = proxy_for(url, os.environ)
        request = request_of(url, (*OWN_HEADERS, *configured), USER_AGENT, proxy)
        tls = ssl.create_default_context() if request.tls else None
        connection = await dial(HttpOrigin(request.host, request.port, tls, proxy=proxy))
        try:
            response = await connection.ask(request.head)
            to = redirect_of(response.status, response.header("location"), url, configured)
            if to is None:
                return ManifestAnswer(response.status, await _limited(response))
        finally:
            connection.abort()
        url, configured = to.url, to.headers if is_same_server(url, to.url) else ()
    raise HttpError(f"stopped after {MAX_REDIRECTS} redirects")


def is_same_server(url: str, other: str) -> bool:
    """Whether what is told the server of `url` may be told that of `other`, too. Pure.

    That is the same host and port, and also its way from plain HTTP to TLS at the usual ports.
    """
    one, two = URL(url), URL(other)
    if one.host != two.host:
        return False
    if one.scheme == two.scheme:
        return one.port == two.port
    return (one.scheme, one.port, two.scheme, two.port) == ("http", 80, "https", 443)


async def _limited(response: HttpResponse) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := await response.piece():
        size += len(piece)
        if size > LIMIT_BYTES:
            raise ManifestFetchError(f"the answer is larger than {LIMIT_BYTES // 1024 // 1024} MiB")
        pieces.append(piece)
    return b"".join(pieces)
