"""The httpGet probe: one GET, followed to where it leads on the same host (spec 5).

2xx and 3xx are success. A redirect to another host is not followed, and is a success with a warning: the container has
answered, though not by itself. Certificates are not checked, proxies not used, connections not kept; of the body at
most `SHOWN_BYTES` are read. Whatever keeps the answer away is a failure of the container.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from runtime.probes.capability import (
    NS_PER_SECOND,
    PROBE_USER_AGENT,
    SHOWN_BYTES,
    HttpCheck,
    Outcome,
    ProbeAnswer,
)
from runtime.probes.network import address, reason_of

MAX_REDIRECTS = 10
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LINGER = struct.pack("ii", 1, 1)
"""A second, and then the port is free again: thousands of probes would fill the table with connections that wait."""
_HEADERS = (("User-Agent", PROBE_USER_AGENT), ("Accept", "*/*"))
_NEVER_BY_ITSELF = ("Accept-Encoding", "User-Agent", "Accept")


async def ask_http(check: HttpCheck, timeout_ns: int) -> ProbeAnswer:
    """On the loop."""
    said = f'Get "{check.url}"'
    try:
        async with asyncio.timeout(timeout_ns / NS_PER_SECOND), _session() as session:
            return await _follow(session, URL(check.url), request_headers(check.headers))
    except TimeoutError:
        text = "context deadline exceeded (no answer within the probe's timeout)"
    except aiohttp.ClientConnectorError as failure:
        where = address(failure.host, failure.port or 0)
        text = f"dial tcp {where}: {reason_of(failure.os_error)}"
    except aiohttp.ServerDisconnectedError:
        text = "EOF: the connection was closed before an answer"
    except (aiohttp.ClientError, ValueError, OSError) as failure:
        text = str(failure) or type(failure).__name__
    return ProbeAnswer(Outcome.FAILURE, f"{said}: {text}")


def request_headers(own: tuple[tuple[str, str], ...]) -> CIMultiDict[str]:
    """The pod's headers and ours. A header that the pod gives wins; an empty User-Agent or Accept is not sent."""
    headers = CIMultiDict(own)
    for name, value in _HEADERS:
        if name not in headers:
            headers[name] = value
        elif not headers[name]:
            del headers[name]
    return headers


def _session() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(force_close=True, limit=0, ssl=False, use_dns_cache=False)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None),  # the caller has one for all of it
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=_NEVER_BY_ITSELF,
        trust_env=False,
    )


async def _follow(session: aiohttp.ClientSession, url: URL, headers: CIMultiDict[str]) -> ProbeAnswer:
    first = url.host
    for _ in range(MAX_REDIRECTS + 1):
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            _linger(response)
            target = response.headers.get("Location") if response.status in _REDIRECTS else None
            if target is None:
                await _body(response)
                return _judge(response.status)
            to = url.join(URL(target))
            if to.host != first:
                body = (await _body(response)).decode(errors="replace")
                return ProbeAnswer(Outcome.WARNING, f"Probe terminated redirects, Response body: {body}")
            if URL(target).absolute:
                headers.popall("Host", None)  # it was meant for where the first request went
            url = to
    return ProbeAnswer(Outcome.FAILURE, f'Get "{url}": stopped after {MAX_REDIRECTS} redirects')


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """Its beginning; an answer that ends too early raises."""
    found = b""
    while len(found) < SHOWN_BYTES:
        part = await response.content.read(SHOWN_BYTES - len(found))
        if not part:
            break
        found += part
    return found


def _judge(status: int) -> ProbeAnswer:
    if 200 <= status < 400:
        return ProbeAnswer(Outcome.SUCCESS)
    return ProbeAnswer(Outcome.FAILURE, f"HTTP probe failed with statuscode: {status}")


def _linger(response: aiohttp.ClientResponse) -> None:
    connection = response.connection
    raw = connection.transport.get_extra_info("socket") if connection and connection.transport else None
    if raw is not None:
        with contextlib.suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
