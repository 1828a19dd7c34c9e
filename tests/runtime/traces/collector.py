"""A collector of traces for tests: the OTLP service over real gRPC. It keeps what it gets, or hangs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

from runtime.cri.transport import grpc
from tests.real.waiting import until

PATIENCE_S = 120.0


class GotSpan:
    """One span as it came: `parent` is empty for the root of a trace."""

    def __init__(self, span: Any, resource: dict[str, Any], scope: str) -> None:
        self.name: str = span.name
        self.trace, self.id, self.parent = (each.hex() for each in (span.trace_id, span.span_id, span.parent_span_id))
        self.attributes = _values(span.attributes)
        self.resource = resource
        self.scope = scope
        self.kind: int = span.kind
        self.is_error = span.status.code == 2
        self.text: str = span.status.message

    def __repr__(self) -> str:
        return f"{self.name} {self.id} below {self.parent or 'nothing'} of {self.trace}: {self.attributes} {self.text}"


class Collector(TraceServiceServicer):
    """Serves at `endpoint` while it is open. `hangs`: it answers no call before `release`."""

    def __init__(self, address: str = "127.0.0.1:0", *, hangs: bool = False) -> None:
        self.spans: list[GotSpan] = []
        self.asked = threading.Event()
        self._go_on = threading.Event()
        if not hangs:
            self._go_on.set()
        self._server = grpc.server(ThreadPoolExecutor(4))
        add_TraceServiceServicer_to_server(self, self._server)
        port = self._server.add_insecure_port(address)
        self.endpoint = f"127.0.0.1:{port}" if address == "127.0.0.1:0" else address

    def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:  # noqa: N802
        self.asked.set()
        self._go_on.wait()
        for of_resource in request.resource_spans:
            resource = _values(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                self.spans += [GotSpan(span, resource, of_scope.scope.name) for span in of_scope.spans]
        return ExportTraceServiceResponse()

    def release(self) -> None:
        self._go_on.set()

    def named(self, name: str) -> list[GotSpan]:
        return [span for span in self.spans if span.name == name]

    def wait_for(self, *names: str) -> None:
        """Until a span of each name is here."""
        until(lambda: all(self.named(name) for name in names), PATIENCE_S, lambda: "\n".join(map(repr, self.spans)))

    def __enter__(self) -> Collector:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._server.stop(0).wait()


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}
