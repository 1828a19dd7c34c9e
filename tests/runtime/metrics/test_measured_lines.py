"""The lines to an API server are measured.

Sizes, retries, waits for the rate limit, credential plugins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing

import pytest
from aiohttp import web

from config.api.resources import PODS
from config.credentials.kubeconfig import ApiAccess, ExecPlugin, UserAccess
from runtime.api import create, get
from runtime.api.client import ApiClient
from runtime.api.connections import ApiConnections
from runtime.api.lines import HttpApiLines, api_lines
from runtime.io.event_loop import LoopThread
from runtime.metrics import kubelet_api as names
from runtime.metrics.families import Family
from runtime.metrics.measured_api import ApiMeters, observe_lines
from runtime.metrics.meters import Meters
from tests.runtime.api.scripted_server import WAIT, ScriptedServer, echo, reply, status_object

GET = get(PODS, "default", "web")


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    with closing(LoopThread("client")) as loop:
        yield loop


def total(meters: Meters, family: Family) -> float:
    """The sum of a histogram over all its series."""
    return sum(row.value for told in meters.told(family) for row in told.rows if row.ending == "_sum")


def measured(access: ApiAccess, loop: LoopThread, **limits: float) -> tuple[HttpApiLines, Meters]:
    meters = Meters()
    lines = api_lines(access, loop, user_agent="test", **limits)  # type: ignore[arg-type]
    observe_lines(lines, meters)
    return lines, meters


def test_bodies_are_measured_in_both_directions(loop: LoopThread) -> None:
    with closing(ScriptedServer(echo)) as server:
        lines, meters = measured(server.access(), loop)
        with closing(lines):
            found = lines.main.call(GET).result(WAIT)
            assert (total(meters, names.REST_SENT), total(meters, names.REST_RECEIVED) > 10) == (0, True)
            lines.main.call(create(PODS, "default", found, name="web")).result(WAIT)
            assert total(meters, names.REST_SENT) == len(server.asked[1].body) > 10
            assert meters.value(names.REST_SENT, lines.server, "POST") == 1


def test_a_call_that_is_sent_again_is_counted_with_its_answer(loop: LoopThread) -> None:
    async def overloaded(request: web.Request) -> web.StreamResponse:
        if len(server.asked) < 3:
            return reply(status_object(429, "TooManyRequests"), 429, Retry_After="2")
        return await echo(request)

    async def pause(_: float) -> None:
        """Do not wait."""

    with closing(ScriptedServer(overloaded)) as server:
        meters, connections = Meters(), ApiConnections(server.access(), "test", environment={})
        connections.observe(ApiMeters("server", meters))
        with closing(ApiClient(connections, loop, pause=pause)) as client:
            client.call(GET).result(WAIT)
        loop.submit(connections.close()).result(WAIT)
        assert meters.value(names.REST_RETRIES, "429", "server", "GET") == 2


def test_the_wait_for_the_rate_is_measured_and_is_0_for_calls_that_pass(loop: LoopThread) -> None:
    with closing(ScriptedServer(echo)) as server:
        lines, meters = measured(server.access(), loop, qps=20, burst=1)
        with closing(lines):
            lines.main.call(GET).result(WAIT)
            assert (meters.value(names.REST_WAITED, lines.server, "GET"), total(meters, names.REST_WAITED)) == (1, 0)
            for pending in [lines.main.call(GET) for _ in range(3)]:
                pending.result(WAIT)
            assert meters.value(names.REST_WAITED, lines.server, "GET") == 4
            assert total(meters, names.REST_WAITED) > 0


@pytest.mark.parametrize(
    ("command", "args", "status", "code"),
    [
        ("no-such-login", (), "plugin_not_found_error", "1"),
        ("sh", ("-c", "exit 3"), "plugin_execution_error", "3"),
        ("echo", ('{"apiVersion":"V1","kind":"ExecCredential","status":{"token":"t"}}',), "no_error", "0"),
    ],
)
def test_runs_of_a_credential_plugin_are_counted_by_how_they_end(
    loop: LoopThread, command: str, args: tuple[str, ...], status: str, code: str
) -> None:
    with closing(ScriptedServer(echo)) as server:
        user = UserAccess(exec=ExecPlugin("V1", command, args))
        lines, meters = measured(server.access(user), loop)
        with closing(lines):
            lines.main.call(GET).exception(WAIT)
            assert meters.value(names.CREDENTIAL_PLUGIN_RUNS, status, code) == 1
            assert meters.value(names.CREDENTIAL_PLUGIN_TTL) == math.inf, "it gives no certificate"
