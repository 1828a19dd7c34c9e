"""The way of a real API server to the agents of simulated nodes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import TypeVar

import pytest
from aiohttp import web

from runtime.http_server.heads import Head
from simulation.apiserver.front.agents import Tunnel
from simulation.apiserver.front.tls import Authority
from simulation.apiserver.kinds.table import NAMESPACES
from simulation.apiserver.requests.answers import NodeAnswer
from simulation.apiserver.status import not_found, unavailable
from simulation.cluster.running_cluster import wall_ns
from simulation.planes.door import Door, egress_configuration

T = TypeVar("T")
WAIT = 120


class Agents:
    """Says who was asked what."""

    async def pass_on(self, request: web.BaseRequest, node: NodeAnswer, body: bytes) -> web.StreamResponse:
        if node.path == "/cut":
            raise unavailable("no route to host")
        if node.path == "/none":
            raise not_found(NAMESPACES, "x")
        return web.Response(text=f"{node.node} {node.path} {dict(node.query)}")

    async def fetch(self, node: NodeAnswer) -> bytes | None:
        return None

    def tunnel(self, node: NodeAnswer) -> Tunnel:
        raise unavailable(f"no tunnel to {node.node}{node.path}")

    def stays(self, head: Head) -> bool:
        return False

    async def close(self) -> None: ...


@contextlib.asynccontextmanager
async def door(directory: Path) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    """The path of the socket, and the TLS of a client."""
    authority, path = Authority(wall_ns()), str(directory / "nodes.sock")
    opened = Door(Agents(), {"node-0", "node-1"}.__contains__, authority, path, str(directory / "nodes"))
    opened.open()
    try:
        yield path, ssl.create_default_context(cadata=authority.certificate)
    finally:
        await opened.close()


def waited(doing: Awaitable[T]) -> T:
    async def run() -> T:
        async with asyncio.timeout(WAIT):
            return await doing

    return asyncio.run(run())


async def answer_of(directory: Path, node: str, *lines: str) -> str:
    """What the agent of a node answers to a request."""
    async with door(directory) as (path, tls):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(f"CONNECT {node}:10250 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " in head:
            await writer.start_tls(tls, server_hostname=node)
            writer.write("\r\n".join([*lines, f"Host: {node}", "Connection: close", "", ""]).encode())
            head = await reader.read()
        writer.close()
        return head.decode()


def test_a_request_goes_to_the_agent_of_the_node_that_is_named(tmp_path: Path):
    told = waited(answer_of(tmp_path, "node-1", "GET /containerLogs/default/web/app?tailLines=1 HTTP/1.1"))
    assert told.startswith("HTTP/1.1 200 ")
    assert told.endswith("node-1 /containerLogs/default/web/app {'tailLines': '1'}")


@pytest.mark.parametrize(
    ("path", "begins", "ends"), [("/cut", " 500 ", "no route to host"), ("/none", " 404 ", "not found")]
)
def test_a_refusal_of_the_agent_is_its_text_with_the_code(tmp_path: Path, path: str, begins: str, ends: str):
    told = waited(answer_of(tmp_path, "node-0", f"GET {path} HTTP/1.1"))
    assert begins in told.splitlines()[0]
    assert told.endswith(ends)


def test_a_session_is_asked_for_as_a_tunnel(tmp_path: Path):
    upgrade = ("POST /exec/default/web/app?command=ls HTTP/1.1", "Connection: Upgrade", "Upgrade: SPDY/3.1")
    assert "no tunnel to node-0/exec/default/web/app" in waited(answer_of(tmp_path, "node-0", *upgrade))


def test_nobody_is_behind_another_name(tmp_path: Path):
    assert waited(answer_of(tmp_path, "elsewhere", "GET / HTTP/1.1")).startswith("HTTP/1.1 502 ")


@pytest.mark.parametrize("words", [b"GET / HTTP/1.1\r\n\r\n", b"\r\n\r\n", b"CONNECT\r\n\r\n", b"x" * 10_000])
def test_who_does_not_connect_is_hung_up_on(tmp_path: Path, words: bytes):
    async def run() -> bytes:
        async with door(tmp_path) as (path, _):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(words)
            with contextlib.suppress(ConnectionError):
                return await reader.read()
            return b""

    assert waited(run()) == b""


def test_the_server_is_told_of_the_socket_for_nodes_alone():
    (selection,) = json.loads(egress_configuration("/d/nodes.sock"))["egressSelections"]
    assert selection["name"] == "cluster"
    assert selection["connection"]["transport"]["uds"] == {"udsName": "/d/nodes.sock"}
