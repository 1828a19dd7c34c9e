"""Upgraded connections to the agents of nodes: the target, and the Status without an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote, urlencode

import msgspec

from runtime.http_server.connection import ServedConnection
from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.tunnel import Way
from simulation.apiserver.front.agents import Tunnel
from simulation.apiserver.requests.answers import NodeAnswer
from simulation.apiserver.status import StatusError, unavailable

FindAgent = Callable[[Head, asyncio.Transport], Awaitable[tuple[NodeAnswer, Tunnel]]]
"""Finds the target of a request to upgrade. Raises StatusError."""


def tunnel_protocol(
    doors: Callable[[], asyncio.BaseProtocol], find_agent: FindAgent, stays: Callable[[Head], bool]
) -> ServedConnection:
    """The protocol of one connection. `stays`: which requests to upgrade are for the `doors` as well."""

    async def find_way(head: Head, transport: asyncio.Transport) -> Way:
        try:
            node, tunnel = await find_agent(head, transport)
        except StatusError as error:
            raise _refusal(error) from None
        kept = [f"{name}: {value}" for name, value in head.headers if name.lower() not in ("authorization", "host")]
        query = f"?{urlencode(node.query)}" if node.query else ""
        lines = [f"{head.method} {quote(node.path)}{query} {head.version}", f"Host: {node.host}:{node.port}", *kept]
        first = "\r\n".join([*lines, "", ""]).encode("latin-1")
        return Way(node.host, node.port, first, tunnel.tls, f"the agent of node {node.node}", tunnel.here)

    return ServedConnection(doors, find_way, cannot_reach=_cannot_reach, stays=stays)


def _cannot_reach(way: Way, why: str) -> HttpRefusal:
    return _refusal(unavailable(f"error dialing {way.who} at {way.host}:{way.port}: {why}"))


def _refusal(error: StatusError) -> HttpRefusal:
    return HttpRefusal(error.code, msgspec.json.encode(error.as_object()).decode(), content_type="application/json")
