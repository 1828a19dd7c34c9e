"""How a real API server reaches the agents of simulated nodes, whose addresses exist nowhere.

The server is told (`--egress-selector-config-file`) to open connections to nodes through a socket in a private
directory, with `CONNECT NODE:PORT` as to a proxy. Behind it stands the agent of that node. It speaks TLS with a
certificate for the node's name, and answers logs, exec and attach as the agents of any simulated cluster.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import msgspec
from aiohttp import web

from runtime.http_server.heads import Head
from simulation.apiserver.front.agents import Agents, Tunnel
from simulation.apiserver.front.tls import Authority
from simulation.apiserver.front.tunnels import tunnel_protocol
from simulation.apiserver.requests.answers import NodeAnswer
from simulation.apiserver.status import StatusError

HEAD_BYTES_AT_MOST = 8192
ADMIT_WITHIN_S = 30.0
_ADMITTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_NOBODY = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"


def egress_configuration(door: str) -> bytes:
    """The configuration of the API server. `door`: the path of the socket."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": door}}}
    selection = {"name": "cluster", "connection": connection}
    header = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
    return msgspec.json.encode({**header, "egressSelections": [selection]})


class Door:
    """`is_node`: whether there is a node of that name. `directory`: for the certificates of nodes."""

    def __init__(
        self, agents: Agents, is_node: Callable[[str], bool], authority: Authority, path: str, directory: str
    ) -> None:
        self._agents = agents
        self._is_node = is_node
        self._authority = authority
        self._path = path
        self._directory = Path(directory)
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._servers: dict[str, web.Server] = {}
        self._listener: socket.socket | None = None
        self._tasks: dict[asyncio.Task[None], None] = {}

    def open(self) -> None:
        """Listen. Raises OSError."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.setblocking(False)
        self._listener.bind(self._path)
        os.chmod(self._path, 0o600)
        self._listener.listen(128)
        self._keep(self._accept(self._listener))

    async def close(self) -> None:
        """End every connection."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._listener is not None:
            self._listener.close()
        for server in self._servers.values():
            await server.shutdown(1.0)
        await self._agents.close()

    def _keep(self, doing: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(listener)
            connection.setblocking(False)
            self._keep(self._admit(connection))

    async def _admit(self, connection: socket.socket) -> None:
        """Connect the caller with the node that it names."""
        loop = asyncio.get_running_loop()
        handed_over = False
        try:
            async with asyncio.timeout(ADMIT_WITHIN_S):
                node = await _node_wanted(connection)
                if not self._is_node(node):
                    await loop.sock_sendall(connection, _NOBODY)
                    return
                await loop.sock_sendall(connection, _ADMITTED)
                handed_over = True
                await loop.connect_accepted_socket(partial(self._protocol, node), connection, ssl=self._context(node))
        except (OSError, TimeoutError, ValueError):
            return
        finally:
            if not handed_over:
                connection.close()

    def _context(self, node: str) -> ssl.SSLContext:
        if node not in self._contexts:
            self._contexts[node] = self._authority.server_context(self._directory / node, node)
        return self._contexts[node]

    def _protocol(self, node: str) -> asyncio.Protocol:
        server = self._servers.get(node)
        if server is None:
            server = self._servers[node] = web.Server(partial(self._answer, node), access_log=None)

        async def find_agent(head: Head, transport: asyncio.Transport) -> tuple[NodeAnswer, Tunnel]:
            path, _, query = head.target.partition("?")
            asked = _asked(node, unquote(path), tuple(parse_qsl(query, keep_blank_values=True)))
            return asked, self._agents.tunnel(asked)

        return tunnel_protocol(server, find_agent, self._agents.stays)

    async def _answer(self, node: str, request: web.BaseRequest) -> web.StreamResponse:
        asked = _asked(node, request.path, tuple(request.query.items()))
        try:
            return await self._agents.pass_on(request, asked, b"")
        except StatusError as refusal:
            # Of a 500 alone the server shows the text, as when it cannot connect.
            return web.Response(text=refusal.message, status=500 if refusal.code == 503 else refusal.code)


def _asked(node: str, path: str, query: tuple[tuple[str, str], ...]) -> NodeAnswer:
    return NodeAnswer(node, "", 0, path, query)


async def _node_wanted(connection: socket.socket) -> str:
    """The name in the CONNECT of a caller. Raises OSError, ValueError."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = await asyncio.get_running_loop().sock_recv(connection, HEAD_BYTES_AT_MOST)
        head += piece
        if not piece or len(head) > HEAD_BYTES_AT_MOST:
            raise ValueError("this is not a CONNECT")
    method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if method != "CONNECT":
        raise ValueError(f"{method} is not a CONNECT")
    return target.rpartition(":")[0]
