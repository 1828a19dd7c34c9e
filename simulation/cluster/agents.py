"""The agents of a simulated cluster for its API server, without a port or a thread.

For logs and sessions.

The agent's own code (`runtime.http_server`) handles such a request, on the one loop that runs the world. So nothing
here must be thread-safe, and no actor runs: logs can be read even while the world stands still. A pod's containers are
those of the last status from its agent.

A request fails when its agent is dead or frozen, or when its node is cut off or without power. The client gets the
Status of a real cluster. Where a real connection would time out, the answer comes at once here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

from aiohttp import web

from config.documents.codec import from_builtins
from config.objects import Pod
from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.log_streams import LogStreams
from runtime.http_server.paths import EVERYTHING, Asked, ServerEndpoint, asked
from runtime.http_server.sessions.sessions import Streams, streams_of
from runtime.http_server.targets import log_request, logged_container, pod_named
from simulation.apiserver.front.agents import Tunnel, refused_by_agent
from simulation.apiserver.front.watches import Clients
from simulation.apiserver.requests.answers import NodeAnswer
from simulation.apiserver.status import Json, StatusError, unavailable
from simulation.cluster.cluster_world import ClusterWorld
from simulation.cluster.sessions import Operation, Say, run_command, running, serve, watch_output
from simulation.cluster.spdy_sessions import SpdySessions
from simulation.node.simulated_node import SimulatedNode

SESSIONS = frozenset({ServerEndpoint.EXEC, ServerEndpoint.ATTACH})
P = ParamSpec("P")
T = TypeVar("T")


class ClusterAgents:
    """`simulation.apiserver.front.agents.Agents` of a world."""

    def __init__(self, world: ClusterWorld, clients: Clients) -> None:
        self._world = world
        self._clients = clients
        self._spdy = SpdySessions()

    async def pass_on(self, request: web.BaseRequest, node: NodeAnswer, body: bytes) -> web.StreamResponse:
        here = self._reached(node)
        try:
            what = asked(request.method, node.path, EVERYTHING)
            with self._clients.waiting():
                if what.endpoint is ServerEndpoint.LOGS:
                    return await self._log(request, here, node, what.names)
                if what.endpoint in SESSIONS:
                    return await serve(request, *self._operation(here, node, what))
        except HttpRefusal as refusal:
            raise refused_by_agent(refusal.status, refusal.text) from None
        raise _not_simulated(what.endpoint)

    async def fetch(self, node: NodeAnswer) -> bytes | None:
        return None

    def tunnel(self, node: NodeAnswer) -> Tunnel:
        here = self._reached(node)
        try:
            what = asked("POST", node.path, EVERYTHING)
            if what.endpoint not in SESSIONS:
                raise _not_simulated(what.endpoint)
            streams, operation = self._operation(here, node, what)
        except HttpRefusal as refusal:
            raise refused_by_agent(refusal.status, refusal.text) from None

        async def attended(say: Say) -> Json:
            with self._clients.serving(), self._clients.waiting():
                return await operation(say)

        return Tunnel(here=lambda: self._spdy.begin(streams, attended))

    def stays(self, head: Head) -> bool:
        return "websocket" in head.header("upgrade").lower()

    async def close(self) -> None:
        await self._spdy.close()

    async def _log(
        self, request: web.BaseRequest, here: SimulatedNode, node: NodeAnswer, names: Mapping[str, str]
    ) -> web.StreamResponse:
        options, previous = log_request(node.query, self._world.dispatcher.wall_ns())
        container_id = logged_container(self._pod(names), names["container"], previous=previous)
        return await LogStreams(here.cri, here.host.log_files, AtOnce()).answer(request, container_id, options)

    def _operation(self, here: SimulatedNode, node: NodeAnswer, what: Asked) -> tuple[Streams, Operation]:
        """The streams and the operation of a session. Raises Refusal."""
        streams = streams_of(node.query)
        container = running(here.cri, self._pod(what.names), what.names["container"])
        if what.endpoint is ServerEndpoint.ATTACH:
            return streams, watch_output(LogStreams(here.cri, here.host.log_files, AtOnce()), container.id)
        command = tuple(value for name, value in node.query if name == "command")
        return streams, run_command(here.cri, container.id, command)

    def _pod(self, names: Mapping[str, str]) -> Pod:
        found = self._world.server.store.get("pods", names["namespace"], names["pod"])
        return pod_named([] if found is None else [from_builtins(found.object, Pod)], names)

    def _reached(self, node: NodeAnswer) -> SimulatedNode:
        found = self._world.nodes.get(node.node)
        why = "nobody listens there" if found is None else self._world.why_unreachable(node.node)
        if found is None or why:
            raise unavailable(f"error trying to reach the agent of node {node.node} at {node.host}:{node.port}: {why}")
        return found


class AtOnce(Executor):
    """Runs each operation at once: a simulated disk takes no time."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def _not_simulated(endpoint: ServerEndpoint) -> StatusError:
    if endpoint is ServerEndpoint.PORT_FORWARD:
        words = "simulated containers listen on no ports"
    else:
        words = f"the agents of a simulated cluster have no {endpoint.value} for others"
    return StatusError(501, "NotImplemented", words)
