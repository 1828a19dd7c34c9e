"""One API server, reached in every way: in the process, over HTTP, over TLS.

Always as `runtime.api.Api`.
"""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actors.kernel import PoolDispatcher
from config.credentials.kubeconfig import ApiAccess, ClusterAccess, Pem, UserAccess
from runtime.api import Api, ApiCall, ApiError, WatchCall, WatchEvent
from runtime.api.client import ApiClient
from runtime.api.connections import ApiConnections
from runtime.io.event_loop import LoopThread
from simulation.apiserver.access.authentication import user_named
from simulation.apiserver.core import Options
from simulation.apiserver.front.http_front import HttpFront
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.front.tls import Authority
from simulation.apiserver.server import ApiServer

WAIT_S = 120.0
FRONTS = ("in process", "http", "https")


@dataclass
class Front:
    """`ask` makes a call and waits for it; `follow` watches."""

    server: ApiServer
    api: Api
    http: HttpFront | None = None

    def ask(self, call: ApiCall[Any]) -> Any:
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.api.call(call).add_done_callback(answers.put)
        return answers.get(timeout=WAIT_S).result()

    def refusal(self, call: ApiCall[Any]) -> ApiError:
        try:
            answer = self.ask(call)
        except ApiError as error:
            return error
        raise AssertionError(f"{call.verb} was not refused: {answer!r}")

    def follow(self, call: WatchCall[Any]) -> Followed:
        followed = Followed()
        followed.subscription = self.api.watch(call, followed.events.put, followed.ends.put)
        return followed


@dataclass
class Followed:
    """What a watch tells."""

    events: queue.SimpleQueue[WatchEvent[Any]] = field(default_factory=queue.SimpleQueue)
    ends: queue.SimpleQueue[ApiError | None] = field(default_factory=queue.SimpleQueue)
    subscription: Any = None

    def next(self) -> str:
        """The next event: its type and the name of its object."""
        event = self.events.get(timeout=WAIT_S)
        return f"{event.type} {event.object.metadata.name}" if event.object is not None else event.type

    def end(self) -> ApiError | None:
        return self.ends.get(timeout=WAIT_S)


@contextmanager
def front_of(kind: str, directory: Path, options: Options | None = None, user: str = "admin") -> Iterator[Front]:
    """The front of that kind, as `user` reaches it."""
    options = options or Options(seed=1)
    dispatcher = PoolDispatcher()
    try:
        server = ApiServer(dispatcher, options)
        if kind == "in process":
            yield Front(server, InProcessApi(dispatcher, server, user=user_named(user)))
        else:
            token = next((token for token, name in (options.tokens or {}).items() if name == user), user)
            with _over_http(kind, server, dispatcher.wall_ns(), directory, user, token) as front:
                yield front
    finally:
        dispatcher.close()


@contextmanager
def _over_http(kind: str, server: ApiServer, wall_ns: int, directory: Path, user: str, token: str) -> Iterator[Front]:
    loop, tls, who, authority = LoopThread("test"), None, UserAccess(token=token), Pem()
    if kind == "https":
        own = Authority(wall_ns)
        tls = own.server_context(directory / "pki")
        groups = ("system:nodes",) if user.startswith("system:node:") else ("system:masters",)
        mine = own.for_client(user, *groups)
        who = UserAccess(client_certificate=Pem(data=mine.certificate), client_key=Pem(data=mine.key))
        authority = Pem(data=own.certificate)
    http = HttpFront(server, loop, tls=tls, node_scheme="http")
    http.start()
    access = ApiAccess(ClusterAccess(http.url, certificate_authority=authority), who)
    connections = ApiConnections(access, "actorlet/test", environment={})
    client = ApiClient(connections, loop)
    try:
        yield Front(server, client, http)
    finally:
        client.close()
        loop.submit(connections.close()).result(WAIT_S)
        http.close()
        loop.close()
