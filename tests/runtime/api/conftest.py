"""The real client, its loop, and servers that answer as a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config.credentials.kubeconfig import ApiAccess
from runtime.api.client import ApiClient
from runtime.api.connections import ApiConnections
from runtime.io.event_loop import LoopThread
from tests.runtime.api.scripted_server import Handler, ScriptedServer

Serve = Callable[..., ScriptedServer]
Connect = Callable[..., ApiClient]


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread("client")
    yield loop
    loop.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ScriptedServer] = []

    def start(answer: Handler, **options: Any) -> ScriptedServer:
        server = ScriptedServer(answer, **options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def connect(loop: LoopThread) -> Iterator[Connect]:
    opened: list[tuple[ApiClient, ApiConnections]] = []

    def open_client(
        access: ApiAccess | ScriptedServer, connections: dict[str, Any] | None = None, **options: Any
    ) -> ApiClient:
        if isinstance(access, ScriptedServer):
            access = access.access()
        shared = ApiConnections(access, "actorlet/test", **({"environment": {}} | (connections or {})))
        client = ApiClient(shared, loop, **options)
        opened.append((client, shared))
        return client

    yield open_client
    for client, shared in opened:
        client.close()
        loop.submit(shared.close()).result(120)
