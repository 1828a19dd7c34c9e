"""What a traced client tells the runtime and the collector, over real gRPC on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from runtime.cri import CriError, StatusCode
from runtime.cri.client import GrpcCri
from runtime.cri.messages import (
    AuthConfig,
    ContainerEventResponse,
    ContainerStatusRequest,
    GetEventsRequest,
    ImageSpec,
    PullImageRequest,
    StatusRequest,
    StopContainerRequest,
)
from runtime.cri.server import CriServer
from runtime.cri.verbs import CONTAINER_STATUS, GET_CONTAINER_EVENTS, PULL_IMAGE, STATUS, STOP_CONTAINER
from runtime.traces.open_telemetry import OpenTelemetryTracer
from runtime.traces.spans import TraceContext, under
from tests.real.waiting import until
from tests.runtime.cri.tiny import TinyCri
from tests.runtime.traces.collector import PATIENCE_S, Collector
from tests.runtime.traces.trace_parents import TraceParents

ABOVE = TraceContext(11, 12, True)


class Traced:
    """A client with a tracer, its runtime, and its collector."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.runtime = TinyCri()
        self.headers = TraceParents()
        endpoint = f"unix://{directory}/cri.sock"
        stack.enter_context(CriServer(self.runtime, endpoint, (self.headers,)))
        self.collector = stack.enter_context(Collector())
        self.tracer = OpenTelemetryTracer(self.collector.endpoint, 1_000_000, "n", send_every_seconds=0.05)
        stack.enter_context(closing(self.tracer))
        self.cri = stack.enter_context(GrpcCri(endpoint, tracer=self.tracer))

    def span(self, method: str) -> Any:
        self.collector.wait_for(method)
        (span,) = self.collector.named(method)
        return span


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Traced]:
    with ExitStack() as stack:
        yield Traced(tmp_path, stack)


def test_a_call_is_a_child_of_the_caller_and_the_runtime_is_told(traced: Traced) -> None:
    under(ABOVE, lambda: traced.cri.call(STATUS, StatusRequest())).result(PATIENCE_S)
    span = traced.span("runtime.v1.RuntimeService/Status")
    assert (int(span.trace, 16), int(span.parent, 16)) == (11, 12)
    assert span.attributes == {
        "rpc.system.name": "grpc",
        "rpc.method": "runtime.v1.RuntimeService/Status",
        "rpc.response.status_code": "OK",
    }
    assert traced.headers.of("/runtime.v1.RuntimeService/Status") == [f"00-{span.trace}-{span.id}-01"]


def test_a_failed_call_has_the_code_and_the_text_of_the_runtime(traced: Traced) -> None:
    traced.runtime.answers[CONTAINER_STATUS.name] = CriError(StatusCode.NOT_FOUND, "no container x", "")
    with pytest.raises(CriError):
        traced.cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id="x")).result(PATIENCE_S)
    span = traced.span("runtime.v1.RuntimeService/ContainerStatus")
    assert (span.is_error, span.text) == (True, "no container x")
    assert span.attributes["rpc.response.status_code"] == "NOT_FOUND"
    assert span.parent == "", "nobody asked for it: a trace of its own"


def test_the_errors_of_pulls_keep_what_a_registry_was_asked_with(traced: Traced) -> None:
    traced.runtime.answers[PULL_IMAGE.name] = CriError(StatusCode.UNKNOWN, "GET https://r/?token=hunter2", "")
    request = PullImageRequest(image=ImageSpec(image="r/i"), auth=AuthConfig(username="me", password="hunter2"))
    with pytest.raises(CriError, match="hunter2"):
        traced.cri.call(PULL_IMAGE, request).result(PATIENCE_S)
    span = traced.span("runtime.v1.ImageService/PullImage")
    assert span.is_error
    assert "hunter2" not in repr(span)


def test_a_call_that_is_given_up_ends_its_span(traced: Traced) -> None:
    traced.runtime.answers[STOP_CONTAINER.name] = TinyCri.NEVER
    pending = traced.cri.call(STOP_CONTAINER, StopContainerRequest(container_id="c"))
    until(lambda: traced.runtime.asked, PATIENCE_S, "the call does not arrive")
    pending.cancel()
    span = traced.span("runtime.v1.RuntimeService/StopContainer")
    assert span.attributes["rpc.response.status_code"] == "CANCELLED"


def test_a_stream_is_one_span_to_its_end(traced: Traced) -> None:
    traced.runtime.answers[GET_CONTAINER_EVENTS.name] = (ContainerEventResponse(container_id="a"), TinyCri.NEVER)
    heard: list[Any] = []
    ends: list[Any] = []
    following = traced.cri.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), heard.append, ends.append)
    until(lambda: heard, PATIENCE_S, "no event comes")
    assert not traced.collector.spans
    following.close()
    until(lambda: ends, PATIENCE_S, "the stream does not end")
    span = traced.span("runtime.v1.RuntimeService/GetContainerEvents")
    assert traced.headers.of("/runtime.v1.RuntimeService/GetContainerEvents") == [f"00-{span.trace}-{span.id}-01"]
