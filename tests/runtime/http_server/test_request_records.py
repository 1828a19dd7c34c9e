"""What is counted and traced of a tunnel: it is a request until its connection ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.measured import RequestRecords
from runtime.http_server.paths import EVERYTHING, asked
from runtime.http_server.tunnel import Way
from runtime.metrics import kubelet_api as names
from runtime.metrics.meters import Meters
from runtime.traces.open_telemetry import OpenTelemetryTracer
from runtime.traces.spans import TraceContext, current
from tests.ports import free_port
from tests.real.waiting import until
from tests.runtime.http_server.clients import PATIENCE_S, Client, listening, said
from tests.runtime.http_server.test_listener import SESSION, SWITCHED, Behind, echo
from tests.runtime.traces.collector import Collector, GotSpan

TARGET = "/exec/default/web/main"
LABELS = ("POST", "exec", "readwrite", "true")
ABOVE = TraceContext(11, 12, True)
UPGRADE = (
    f"POST {TARGET}?command=secret HTTP/1.1\r\nHost: n:10250\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    f"traceparent: {ABOVE.header()[1]}\r\n\r\n"
)


class Door:
    """Finds the way of a tunnel, to `port`, and records the request."""

    def __init__(self, collector: Collector, tracer: OpenTelemetryTracer) -> None:
        self.collector = collector
        self.meters = Meters()
        self._records = RequestRecords(self.meters, tracer)
        self.port = 0
        self.worked_for: TraceContext | None = None

    async def upgrade(self, head: Head, transport: asyncio.Transport) -> Way:
        what = asked(head.method, head.path, EVERYTHING)
        return await self._records.tunnel(head, transport, what, self._way())

    async def _way(self) -> Way:
        self.worked_for = current()
        if not self.port:
            raise HttpRefusal(503, "not now")
        return Way("127.0.0.1", self.port, SESSION)

    @property
    def in_flight(self) -> float:
        return self.meters.value(names.HTTP_IN_FLIGHT, *LABELS)

    @property
    def span(self) -> GotSpan:
        """The only one, once it has ended."""
        until(lambda: self.collector.spans, PATIENCE_S, "no span has ended")
        (span,) = self.collector.spans
        return span


@pytest.fixture
def door() -> Iterator[Door]:
    with ExitStack() as stack:
        collector = stack.enter_context(Collector())
        tracer = OpenTelemetryTracer(collector.endpoint, 1_000_000, "n", send_every_seconds=0.05)
        yield Door(collector, stack.enter_context(closing(tracer)))


def test_a_session_is_a_request_until_its_connection_ends(door: Door) -> None:
    door.port = Behind().port
    with listening(echo, upgrade=door.upgrade) as listener:
        with closing(Client(listener.port)) as client:
            client.send(UPGRADE)
            assert client.read(len(SWITCHED)) == SWITCHED
            assert door.in_flight == 1
            assert not door.collector.spans
        until(lambda: door.in_flight == 0, PATIENCE_S, "the session is still counted")
        span = door.span
    assert span.name == "/exec/{podNamespace}/{podID}/{containerName}"
    assert (span.trace, span.parent) == (f"{ABOVE.trace_id:032x}", f"{ABOVE.span_id:016x}")
    assert door.worked_for is not None
    assert f"{door.worked_for.span_id:016x}" == span.id, "calls to the runtime are below the request"
    assert span.attributes["http.response.status_code"] == 101
    assert span.attributes["url.path"] == TARGET
    assert span.attributes["server.port"] == 10250
    assert "secret" not in repr(span)
    assert not span.is_error


@pytest.mark.parametrize("is_found", [True, False])
def test_a_session_that_cannot_be_had_has_failed(door: Door, is_found: bool) -> None:
    door.port = free_port() if is_found else 0
    with listening(echo, upgrade=door.upgrade) as listener, closing(Client(listener.port)) as client:
        client.send(UPGRADE)
        status = said(client.rest()).status
        assert status == (502 if is_found else 503)
        span = door.span
    assert span.attributes["http.response.status_code"] == status
    assert span.is_error
    assert door.in_flight == 0
