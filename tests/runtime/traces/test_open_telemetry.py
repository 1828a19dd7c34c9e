"""The tracer and a real collector: what arrives, what is sampled, what a bad collector costs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

import runtime.cri.transport  # noqa: F401  # before the exporter, which imports gRPC
from runtime.traces import open_telemetry
from runtime.traces.open_telemetry import WAITING_AT_MOST, OpenTelemetryTracer
from runtime.traces.spans import SpanKind, TraceContext
from tests.ports import free_ports
from tests.real.waiting import until
from tests.runtime.traces.collector import PATIENCE_S, Collector

ALL = 1_000_000


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as served:
        yield served


def tracer_to(endpoint: str, per_million: int = ALL) -> OpenTelemetryTracer:
    return OpenTelemetryTracer(endpoint, per_million, "node-a", send_every_seconds=0.05)


def test_spans_arrive_with_their_parents_attributes_and_failures(collector: Collector) -> None:
    with closing(tracer_to(collector.endpoint)) as tracer:
        whole = tracer.begin("whole", {"k8s.pod.name": "web"})
        part = tracer.begin("part", {}, parent=whole.context, kind=SpanKind.CALL)
        part.put("rpc.response.status_code", "NOT_FOUND")
        part.fail("no such container")
        whole.end()
        collector.wait_for("whole", "part")
    (whole_came,), (part_came,) = collector.named("whole"), collector.named("part")
    assert (whole_came.parent, part_came.parent) == ("", whole_came.id)
    assert part_came.trace == whole_came.trace
    assert (whole_came.kind, part_came.kind) == (1, 3), "internal, client"
    assert whole_came.attributes == {"k8s.pod.name": "web"}
    assert (part_came.is_error, part_came.text) == (True, "no such container")
    assert not whole_came.is_error
    assert whole_came.resource["service.name"] == "kubelet"
    assert whole_came.resource["host.name"] == "node-a"
    assert whole_came.scope == "k8s.io/kubernetes/pkg/kubelet"
    header = f"00-{part_came.trace}-{part_came.id}-01"
    assert part.context.header() == ("traceparent", header)


def test_the_last_spans_are_sent_at_the_end(collector: Collector) -> None:
    tracer = OpenTelemetryTracer(collector.endpoint, ALL, "n", send_every_seconds=3600)
    tracer.begin("late", {}).end()
    tracer.close()
    assert [span.name for span in collector.spans] == ["late"]
    assert (tracer.sent, tracer.dropped) == (1, 0)


# (spec 11.9.1)
def test_without_a_rate_only_children_of_sampled_spans_are_sent(collector: Collector) -> None:
    with closing(tracer_to(collector.endpoint, per_million=0)) as tracer:
        alone = tracer.begin("alone", {})
        alone.end()
        assert alone.context.trace_id, "who is asked can go by it all the same"
        assert alone.context.header()[1].endswith("-00")
        tracer.begin("child", {}, parent=TraceContext(7, 8, True)).end()
        tracer.begin("unsampled child", {}, parent=TraceContext(7, 8, False)).end()
    assert [span.name for span in collector.spans] == ["child"]
    assert int(collector.spans[0].trace, 16) == 7


def test_a_collector_that_hangs_costs_spans_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_telemetry, "CLOSE_SECONDS", 0.01)
    with Collector(hangs=True) as collector:
        tracer = tracer_to(collector.endpoint)
        for number in range(WAITING_AT_MOST + 100):
            tracer.begin(f"span {number}", {}).end()
        assert collector.asked.wait(PATIENCE_S)
        assert tracer.dropped >= 100, "the queue has an end, and what does not fit is counted"
        assert tracer.sent == 0
        tracer.close()  # and does not wait for it


def test_spans_for_a_collector_that_is_away_are_counted_and_the_log_tells_it_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_telemetry, "SEND_SECONDS", 0.1)
    (port,) = free_ports(1)
    with closing(tracer_to(f"127.0.0.1:{port}")) as tracer:
        for count in (1, 2):
            tracer.begin("lost", {}).end()
            until(partial(is_dropped, tracer, count), PATIENCE_S, "the span is not given up")
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told == f"tracing: the collector at 127.0.0.1:{port} takes no spans"


def is_dropped(tracer: OpenTelemetryTracer, count: int) -> bool:
    return tracer.dropped == count


def test_a_collector_at_a_socket_is_found(tmp_path: Path) -> None:
    with Collector(address=f"unix:{tmp_path}/otlp.sock") as collector, closing(tracer_to(collector.endpoint)) as tracer:
        tracer.begin("one", {}).end()
        collector.wait_for("one")
