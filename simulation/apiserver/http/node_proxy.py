"""Plain HTTP requests that the agent of a node answers: logs, and whatever is asked through the proxy of a node.

Bodies stream through in both directions as they come (a log that is followed ends when the client goes). What can fail
is the agent: no connection, no answer, an answer that breaks off. The client gets a 503 that says which agent and why.
"""

from __future__ import annotations

import ssl

import aiohttp
from aiohttp import web
from yarl import URL

from runtime.http_server.heads import Head
from simulation.apiserver.agents import Tunnel, refused_by_agent
from simulation.apiserver.requests import NodeAnswer
from simulation.apiserver.status import unavailable

CONNECT_SECONDS = 10.0
FETCH_SECONDS = 15.0
CHUNK_BYTES = 64 * 1024
_HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "host", "authorization", "content-length"),
    }
)


class NodeProxy:
    """`Agents`: see the module. Certificates of agents are not verified: they made them themselves.

    `client`: path of the certificate and key that say who asks; empty for none.
    """

    def __init__(self, scheme: str, client: str = "") -> None:
        self._scheme = scheme
        self._session: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | None = None
        if scheme == "https":
            self._tls = ssl.create_default_context()
            self._tls.check_hostname = False
            self._tls.verify_mode = ssl.CERT_NONE
            if client:
                self._tls.load_cert_chain(client)

    def tunnel(self, node: NodeAnswer) -> Tunnel:
        return Tunnel(self._tls)

    def stays(self, head: Head) -> bool:
        return False

    async def pass_on(self, request: web.BaseRequest, node: NodeAnswer, body: bytes) -> web.StreamResponse:
        url = URL.build(scheme=self._scheme, host=node.host, port=node.port, path=node.path, query=node.query)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        try:
            async with self._open_session().request(
                request.method, url, data=body or None, headers=headers, allow_redirects=False
            ) as answer:
                return await _give(request, answer, is_log=node.path.startswith("/containerLogs/"))
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise unavailable(
                f"error trying to reach the agent of node {node.node} at {url.authority}: {why}"
            ) from None

    async def fetch(self, node: NodeAnswer) -> bytes | None:
        url = URL.build(scheme=self._scheme, host=node.host, port=node.port, path=node.path, query=node.query)
        try:
            async with self._open_session().get(url, timeout=aiohttp.ClientTimeout(total=FETCH_SECONDS)) as answer:
                return await answer.read() if answer.status == 200 else None
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
            connector = aiohttp.TCPConnector(limit=0, ssl=self._tls if self._tls is not None else False)
            self._session = aiohttp.ClientSession(timeout=timeout, connector=connector, auto_decompress=False)
        return self._session


async def _give(request: web.BaseRequest, answer: aiohttp.ClientResponse, *, is_log: bool) -> web.StreamResponse:
    if is_log and answer.status != 200:
        raise refused_by_agent(answer.status, await answer.text())
    headers = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    try:
        async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
            await response.write(chunk)
        await response.write_eof()
    except (aiohttp.ClientError, ConnectionError):
        # The head has gone out: what is left is to end the connection, so that nobody takes this for the whole.
        if request.transport is not None:
            request.transport.close()
    return response
