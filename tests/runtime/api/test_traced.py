"""What traced lines tell the API server and the collector."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from aiohttp import web

from config.api.resources import PODS
from config.credentials.kubeconfig import UserAccess
from runtime.api import ApiError, get, watch_objects
from runtime.traces.open_telemetry import OpenTelemetryTracer
from tests.real.waiting import until
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import WAIT, ScriptedServer, echo, event_line, pod, reply, status_object, stream
from tests.runtime.traces.collector import Collector, GotSpan

GET = get(PODS, "default", "web")
PATH = "/api/v1/namespaces/default/pods/web"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as served:
        yield served


@pytest.fixture
def tracer(collector: Collector) -> Iterator[OpenTelemetryTracer]:
    with closing(OpenTelemetryTracer(collector.endpoint, 1_000_000, "n", send_every_seconds=0.05)) as made:
        yield made


def test_a_request_is_a_trace_that_the_server_can_go_on_with(
    serve: Serve, connect: Connect, collector: Collector, tracer: OpenTelemetryTracer
) -> None:
    server = serve(echo)
    client = connect(server.access(UserAccess(token="hunter2")), {"tracer": tracer})
    client.call(GET).result(WAIT)
    span = only(collector, "HTTP GET")
    assert span.parent == ""
    assert server.asked[0].header("traceparent") == f"00-{span.trace}-{span.id}-01"
    assert span.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "url.full": server.url + PATH,
        "server.address": "127.0.0.1",
        "server.port": port_of(server),
    }
    assert not span.is_error
    assert "hunter2" not in repr(span)


def test_a_refusal_and_a_server_that_is_away_are_failures(
    serve: Serve, connect: Connect, collector: Collector, tracer: OpenTelemetryTracer
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return reply(status_object(404, "NotFound"), 404)

    server = serve(refuse)
    client = connect(server, {"tracer": tracer})
    with pytest.raises(ApiError):
        client.call(GET).result(WAIT)
    refused = only(collector, "HTTP GET")
    assert refused.is_error
    assert (refused.attributes["http.response.status_code"], refused.attributes["error.type"]) == (404, "404")
    collector.spans.clear()
    server.stop_listening()
    server.cut_all()
    with pytest.raises(ApiError):
        client.call(GET, timeout_ns=100_000_000).result(WAIT)
    collector.wait_for("HTTP GET")
    assert all(span.is_error and "http.response.status_code" not in span.attributes for span in collector.spans)


def test_a_watch_is_one_span_that_ends_well_when_it_is_closed(
    serve: Serve, connect: Connect, collector: Collector, tracer: OpenTelemetryTracer
) -> None:
    async def follow(request: web.Request) -> web.StreamResponse:
        return await stream(request, event_line("ADDED", pod("web")), until_gone())

    heard: list[Any] = []
    ends: list[Any] = []
    call = watch_objects(PODS, resource_version="1")
    watching = connect(serve(follow), {"tracer": tracer}).watch(call, heard.append, ends.append)
    until(lambda: heard, WAIT, "no event comes")
    assert not collector.spans
    watching.close()
    span = only(collector, "HTTP GET")
    assert "watch=" in span.attributes["url.full"]
    assert not span.is_error


async def until_gone() -> None:
    await asyncio.Event().wait()


def only(collector: Collector, name: str) -> GotSpan:
    collector.wait_for(name)
    (span,) = collector.named(name)
    return span


def port_of(server: ScriptedServer) -> int:
    return int(server.url.rpartition(":")[2])
