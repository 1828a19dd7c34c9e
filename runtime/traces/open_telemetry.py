"""`OpenTelemetryTracer`: sends spans to a collector, as OTLP over gRPC without TLS.

Owns the SDK: its sampler, its queue, and the thread of its batch processor, the only one that waits for the collector.
A collector that is away, slow or silent costs the node nothing but spans: at most `WAITING_AT_MOST` wait, and the
others are dropped and counted. The agent's end waits for the last ones for `CLOSE_SECONDS` at most.

The exporter imports gRPC: `runtime.cri.transport`, which quietens it, is to be imported before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace import SpanKind as SdkSpanKind
from opentelemetry.trace import Tracer as SdkTracer

from runtime.traces.spans import Attributes, SpanKind, TraceContext

LOG = logging.getLogger(__name__)

SCOPE = "k8s.io/kubernetes/pkg/kubelet"
"""The tracer's name and `service.name` are those of a kubelet, so queries for kubelets find the spans."""
SERVICE = "kubelet"
WAITING_AT_MOST = 2048
BATCH = 512
SEND_EVERY_SECONDS = 5.0
SEND_SECONDS = 10.0
"""The limit for one batch, its repetitions included."""
CLOSE_SECONDS = 3.0
TEXT_AT_MOST = 1024
MILLION = 1_000_000

_NO_PARENT = Context()
_KINDS = {
    SpanKind.OWN: SdkSpanKind.INTERNAL,
    SpanKind.CALL: SdkSpanKind.CLIENT,
    SpanKind.ANSWER: SdkSpanKind.SERVER,
}


class OpenTelemetryTracer:
    """A `Tracer`.

    `endpoint`: where gRPC finds the collector; empty: as the environment says, or localhost:4317. `per_million`: of so
    many traces that begin here, how many are sent.
    """

    def __init__(
        self, endpoint: str, per_million: int, host_name: str, *, send_every_seconds: float = SEND_EVERY_SECONDS
    ) -> None:
        # Repetitions are the exporter's own affair: what is lost, `_Counted` tells.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        exporter = OTLPSpanExporter(endpoint or None, insecure=True, timeout=SEND_SECONDS)
        self._queue = _BoundedQueue(exporter, endpoint, send_every_seconds)
        ratio = TraceIdRatioBased(per_million / MILLION) if per_million else ALWAYS_OFF
        self._provider = TracerProvider(
            sampler=ParentBased(ratio),
            resource=Resource.create({"service.name": SERVICE, "host.name": host_name}),
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_attribute_length=TEXT_AT_MOST),
        )
        self._provider.add_span_processor(self._queue)
        self._tracer: SdkTracer = self._provider.get_tracer(SCOPE)

    @property
    def sent(self) -> int:
        """Spans that the collector has taken."""
        return self._queue.sent

    @property
    def dropped(self) -> int:
        """Spans that it has not taken."""
        return self._queue.dropped

    def begin(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: TraceContext | None = None,
        kind: SpanKind = SpanKind.OWN,
        link: TraceContext | None = None,
    ) -> _Span:
        """See `Tracer.begin`."""
        context = _NO_PARENT if parent is None else set_span_in_context(NonRecordingSpan(_named(parent)), _NO_PARENT)
        links = () if link is None else (Link(_named(link)),)
        return _Span(self._tracer.start_span(name, context, _KINDS[kind], attributes, links))

    def close(self) -> None:
        """Send waiting spans for at most `CLOSE_SECONDS`. The rest is lost."""
        # A thread that does not hold up the end of the process.
        ending = threading.Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        ending.start()
        ending.join(CLOSE_SECONDS)


class _Span:
    """A `Span` of the SDK."""

    __slots__ = ("_span", "context")

    def __init__(self, span: SdkSpan) -> None:
        self._span = span
        name = span.get_span_context()
        self.context = TraceContext(name.trace_id, name.span_id, name.trace_flags.sampled)

    def put(self, name: str, value: str | int) -> None:
        self._span.set_attribute(name, value)

    def end(self) -> None:
        self._span.end()

    def fail(self, text: str = "") -> None:
        self._span.set_status(Status(StatusCode.ERROR, text[:TEXT_AT_MOST] or None))
        self._span.end()


class _BoundedQueue(SpanProcessor):
    """The batch processor of the SDK, behind a gate that drops spans beyond its capacity and counts them."""

    def __init__(self, exporter: SpanExporter, endpoint: str, send_every_seconds: float) -> None:
        self.sent = 0
        self.dropped = 0
        self._lock = threading.Lock()
        self._waiting = 0
        self._lost = False
        self._endpoint = endpoint
        counted = _Counted(exporter, self)
        self._batches: SpanProcessor = BatchSpanProcessor(counted, WAITING_AT_MOST, send_every_seconds * 1000, BATCH)

    def on_end(self, span: ReadableSpan) -> None:
        if span.context is None or not span.context.trace_flags.sampled:
            return
        with self._lock:
            if self._waiting >= WAITING_AT_MOST:
                self.dropped += 1
                return
            self._waiting += 1
        self._batches.on_end(span)

    def leaving(self, spans: int, result: SpanExportResult) -> None:
        """Note that so many spans have left the queue with that result."""
        taken = result is SpanExportResult.SUCCESS
        with self._lock:
            self._waiting -= spans
            if taken:
                self.sent += spans
            else:
                self.dropped += spans
            is_news, self._lost = self._lost is taken, not taken
        if is_news:
            where = self._endpoint or "localhost:4317"
            LOG.warning("tracing: the collector at %s takes %s", where, "spans again" if taken else "no spans")

    def shutdown(self) -> None:
        self._batches.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._batches.force_flush(timeout_millis)


class _Counted(SpanExporter):
    """The exporter of the SDK; the queue hears the outcome of each batch."""

    def __init__(self, exporter: SpanExporter, queue: _BoundedQueue) -> None:
        self._exporter = exporter
        self._queue = queue

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            self._queue.leaving(len(spans), result)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _named(span: TraceContext) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if span.sampled else TraceFlags.DEFAULT)
    return SpanContext(span.trace_id, span.span_id, is_remote=False, trace_flags=flags)
