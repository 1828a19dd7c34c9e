"""`AnswerSpans`: the spans of requests that the node's own server answers.

Names and attributes are those of otelrestful, by which a kubelet traces its server: a span has the name of its route,
as the kubelet writes it. The query of a request may have a command, so it is not part of a span. Runtime calls for a
request are children of its span.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.traces.spans import Attributes, Span, SpanKind, TraceContext, Tracer, within

T = TypeVar("T")

SERVICE = "kubelet"
_PARTS = {
    "{namespace}": "{podNamespace}",
    "{pod}": "{podID}",
    "{container}": "{containerName}",
    "{*file}": "{logpath:*}",
    "{*profile}": "{subpath:*}",
}
_WITH_SLASH = frozenset({"/pods", "/runningpods", "/logs"})
_USUAL_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Served:
    """A request. `pattern`: of its route. `headers`: by names in lower case, or in any case."""

    method: str
    path: str
    pattern: str
    scheme: str
    peer: tuple[str, int]
    version: str
    headers: Mapping[str, str]


class AnswerSpans:
    """See the module.

    `is_public`: anybody may ask. So the client's span becomes a link only, and does not decide what is recorded.
    """

    def __init__(self, tracer: Tracer, *, is_public: bool = False) -> None:
        self._tracer = tracer
        self._is_public = is_public

    def begin(self, served: Served) -> Span:
        """The span of a request that begins now."""
        client = TraceContext.of_header(served.headers.get("traceparent", ""))
        name, attributes = route_of(served.pattern), attributes_of(served)
        if self._is_public:
            return self._tracer.begin(name, attributes, kind=SpanKind.ANSWER, link=client)
        return self._tracer.begin(name, attributes, kind=SpanKind.ANSWER, parent=client)


def answered(span: Span, status: int) -> None:
    """End the span: the answer has been sent, or its tunnel closed. A status from 500 on is a failure."""
    span.put("http.response.status_code", status)
    if status < 500:
        span.end()
    else:
        span.fail()


def answering(span: Span, coroutine: Coroutine[Any, Any, T]) -> within[T]:
    """Run the coroutine that answers the request, under its span; return its result."""
    return within(span.context, coroutine)


def route_of(pattern: str) -> str:
    """`/exec/{namespace}/{pod}/{container}` -> `/exec/{podNamespace}/{podID}/{containerName}`.

    A kubelet has no name for the spans of paths outside its routes, such as `/metrics`; here it is the path.
    """
    if pattern in _WITH_SLASH:
        return f"{pattern}/"
    return "/".join(_PARTS.get(part, part) for part in pattern.split("/"))


def attributes_of(served: Served) -> Attributes:
    """The attributes of a request before its answer."""
    headers, (address, port) = served.headers, served.peer
    attributes: dict[str, str | int] = {
        "server.address": SERVICE,
        "http.request.method": served.method,
        "url.scheme": served.scheme,
        "url.path": served.path,
        "network.protocol.version": served.version,
        "http.route": route_of(served.pattern),
    }
    if own := _port_in(headers.get("host", ""), served.scheme):
        attributes["server.port"] = own
    if address:
        attributes |= {"network.peer.address": address, "network.peer.port": port}
    if client := headers.get("x-forwarded-for", "").partition(",")[0] or address:
        attributes["client.address"] = client
    if agent := headers.get("user-agent", ""):
        attributes["user_agent.original"] = agent
    return {name: _text(value) if isinstance(value, str) else value for name, value in attributes.items()}


def _text(value: str) -> str:
    """The text for a collector, which takes Unicode only. Other bytes of a header become `?`."""
    return value.encode(errors="replace").decode()


def _port_in(host: str, scheme: str) -> int:
    """The port in a `Host` header; 0 without one, or for the default port."""
    text = host.rpartition(":")[2] if ":" in host.rpartition("]")[2] else ""
    port = int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
    return 0 if port == _USUAL_PORTS[scheme] else port
