"""Plain HTTP requests that a node's agent answers: logs, and requests through the proxy of a node.

Bodies stream through in both directions (a followed log ends when the client disconnects). Only the agent can fail: no
connection, no answer, or a broken answer. The client gets a 503 that names the agent and the reason.
"""

from __future__ import annotations

import asyncio
import ssl

from aiohttp import web
from yarl import URL

from runtime.http_client import HttpError, HttpOrigin, HttpPool, HttpResponse
from runtime.http_client.dialing import tls_without_checks
from runtime.http_server.heads import Head
from simulation.apiserver.front.agents import Tunnel, refused_by_agent
from simulation.apiserver.requests.answers import NodeAnswer
from simulation.apiserver.status import unavailable

FETCH_SECONDS = 15.0
_HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "host", "authorization", "content-length"),
    }
)


class NodeProxy:
    """An implementation of `Agents`. It does not verify the agents' certificates, which are self-signed.

    `client`: path of the client certificate with its key; empty for none.
    """

    def __init__(self, scheme: str, client: str = "") -> None:
        self._pool = HttpPool()
        self._tls: ssl.SSLContext | None = None
        if scheme == "https":
            self._tls = tls_without_checks()
            if client:
                self._tls.load_cert_chain(client)

    def tunnel(self, node: NodeAnswer) -> Tunnel:
        return Tunnel(self._tls)

    def stays(self, head: Head) -> bool:
        return False

    async def pass_on(self, request: web.BaseRequest, node: NodeAnswer, body: bytes) -> web.StreamResponse:
        origin = HttpOrigin(node.host, node.port, self._tls)
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP]
        exchange = self._pool.exchange(origin, request.method, _target(node), headers, body or None)
        try:
            async with exchange as answer:
                return await _give(request, answer, is_log=node.path.startswith("/containerLogs/"))
        except (HttpError, OSError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise unavailable(
                f"error trying to reach the agent of node {node.node} at {origin.authority}: {why}"
            ) from None

    async def fetch(self, node: NodeAnswer) -> bytes | None:
        origin = HttpOrigin(node.host, node.port, self._tls)
        try:
            async with asyncio.timeout(FETCH_SECONDS), self._pool.exchange(origin, "GET", _target(node), []) as answer:
                return await answer.read() if answer.status == 200 else None
        except (HttpError, OSError, TimeoutError):
            return None

    async def close(self) -> None:
        self._pool.close()


def _target(node: NodeAnswer) -> str:
    return URL.build(path=node.path, query=node.query).raw_path_qs


async def _give(request: web.BaseRequest, answer: HttpResponse, *, is_log: bool) -> web.StreamResponse:
    if is_log and answer.status != 200:
        raise refused_by_agent(answer.status, (await answer.read()).decode(errors="replace"))
    response = web.StreamResponse(status=answer.status)
    for name, value in answer.headers:
        if name not in _HOP_BY_HOP:
            response.headers.add(name, value)
    await response.prepare(request)
    try:
        while piece := await answer.raw_piece():
            await response.write(piece)
        await response.write_eof()
    except (HttpError, ConnectionError):
        # The head is sent: only a broken connection tells the client that the body is incomplete.
        if request.transport is not None:
            request.transport.close()
    return response
