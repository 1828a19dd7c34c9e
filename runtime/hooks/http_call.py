"""The httpGet hook: one GET, of which only matters that it is answered (spec 3.11).

Any status code will do. Certificates are not checked, proxies not used. A redirect is followed on its host only. Who
asks for HTTPS and meets a server without TLS is served over HTTP, without his credentials: so it has always been for
hooks, and pods rely on it. There is no timeout here; the grace period of the container is one.
"""

from __future__ import annotations

import ssl

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from runtime.event_loop import LoopThread
from runtime.hooks.capability import HOOK_USER_AGENT, HookAnswer
from runtime.pending import Pending

MAX_REDIRECTS = 10
BODY_BYTES = 10 * 1024
"""So much of the answer is read, and then dropped."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL calls the answer of a server that does not speak TLS; which of them depends on its version."""


class NetworkHookCaller:
    """See the module, and `HookCaller`."""

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop

    def get(self, container_id: str, url: str, headers: tuple[tuple[str, str], ...]) -> Pending[HookAnswer]:
        return self._loop.submit(call(url, headers))


async def call(url: str, headers: tuple[tuple[str, str], ...]) -> HookAnswer:
    """On the loop."""
    own = request_headers(headers)
    try:
        target = URL(url)
        try:
            await _get(target, own)
        except aiohttp.ClientConnectorSSLError as failure:
            if not _speaks_no_tls(failure):
                raise
            own.popall("Authorization", None)
            fell_back = f'Get "{url}": the server gave an HTTP response to an HTTPS client'
            try:
                await _get(target.with_scheme("http"), own)
            except (aiohttp.ClientError, ValueError, OSError) as again:
                return HookAnswer(_text(url, again), fell_back)
            return HookAnswer("", fell_back)
    except (aiohttp.ClientError, ValueError, OSError) as failure:
        return HookAnswer(_text(url, failure))
    return HookAnswer()


def request_headers(own: tuple[tuple[str, str], ...]) -> CIMultiDict[str]:
    """The pod's headers, and ours where it has none of that name. An empty one of its is not sent."""
    headers = CIMultiDict(own)
    for name, value in (("User-Agent", HOOK_USER_AGENT), ("Accept", "*/*")):
        if name not in headers:
            headers[name] = value
        elif not headers[name]:
            del headers[name]
    return headers


async def _get(url: URL, headers: CIMultiDict[str]) -> None:
    connector = aiohttp.TCPConnector(force_close=True, ssl=False, use_dns_cache=False)
    timeout = aiohttp.ClientTimeout(total=None)
    skip = ("Accept-Encoding", "User-Agent", "Accept")
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=skip,
        trust_env=False,
    ) as session:
        first = url.host
        for _ in range(MAX_REDIRECTS + 1):
            async with session.get(url, headers=headers, allow_redirects=False) as response:
                target = response.headers.get("Location") if response.status in _REDIRECTS else None
                if target is None or url.join(URL(target)).host != first:
                    await response.content.read(BODY_BYTES)
                    return
                url = url.join(URL(target))
    raise ValueError(f"stopped after {MAX_REDIRECTS} redirects")


def _speaks_no_tls(failure: aiohttp.ClientConnectorSSLError) -> bool:
    cause = failure.certificate_error if hasattr(failure, "certificate_error") else failure.os_error
    return isinstance(cause, ssl.SSLError) and (cause.reason or "") in _NO_TLS


def _text(url: str, failure: Exception) -> str:
    return f'Get "{url}": {failure or type(failure).__name__}'
