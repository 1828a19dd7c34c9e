"""Spans of requests to the API server.

Names and attributes are those of otelhttp, by which a kubelet traces them. Each is the root of its trace: no pass of a
pod makes a request, the actors that make them serve many pods. Bodies and headers are no part of a span.
"""

from __future__ import annotations

from asyncio import CancelledError

from runtime.traces.spans import Span, SpanKind, Tracer


def begin_request(tracer: Tracer, method: str, url: str, host: str, port: int) -> Span:
    """The span of a request that begins now."""
    attributes: dict[str, str | int] = {
        "http.request.method": method,
        "url.full": url,
        "server.address": host,
        "server.port": port,
    }
    return tracer.begin(f"HTTP {method}", attributes, kind=SpanKind.CALL)


def ended(span: Span, status: int, failure: BaseException | None) -> None:
    """The response was read, or something has failed; `status` is 0 when no response came."""
    if status and isinstance(failure, CancelledError):
        failure = None  # whoever followed a watch has heard enough
    if status:
        span.put("http.response.status_code", status)
    if failure is None and status < 400:
        span.end()
        return
    span.put("error.type", str(status) if failure is None else type(failure).__name__)
    span.fail()
