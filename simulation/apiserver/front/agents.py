"""How the server reaches the agents of nodes: over the network, or in the same process.

`Agents` is the capability; `node_proxy.NodeProxy` goes to where their Node objects say they listen. Here are also the
Statuses that their refusals become. Refuses to know what is asked of them.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from runtime.http_server.heads import Head
from simulation.apiserver.requests.answers import NodeAnswer
from simulation.apiserver.status import StatusError

_REASONS = {400: "BadRequest", 404: "NotFound", 422: "Invalid"}


@dataclass(frozen=True, slots=True)
class Tunnel:
    """The way to an agent: the address of its node with this TLS, or `here`, in this process."""

    tls: ssl.SSLContext | None = None
    here: Callable[[], socket.socket] | None = None


class Agents(Protocol):
    """See the module. Used on the loop of the front only."""

    async def pass_on(self, request: web.BaseRequest, node: NodeAnswer, body: bytes) -> web.StreamResponse:
        """Ask the agent, and give its answer. Raises StatusError when there is none."""

    async def fetch(self, node: NodeAnswer) -> bytes | None:
        """The whole answer of an agent; None for an error, and without an answer."""

    def tunnel(self, node: NodeAnswer) -> Tunnel:
        """The connection to the agent for an upgraded connection.

        Raises StatusError if the agent is unreachable.
        """

    def stays(self, head: Head) -> bool:
        """Whether a request to upgrade is for `pass_on`, and not for a tunnel."""

    async def close(self) -> None: ...


def refused_by_agent(status: int, text: str) -> StatusError:
    """The server's error after a refusal of the agent, with the agent's text."""
    return StatusError(status, _REASONS.get(status, "InternalError"), text.strip() or f"the agent answered {status}")
