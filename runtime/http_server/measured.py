"""`RequestRecords`: every request to the node, counted, timed and traced as a kubelet does it.

See spec 11.7, `kubelet_http_*`. The path in the labels is that of the route, without its names, so that nobody can make
series by asking. A tunnel counts as a request until its connection ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from aiohttp import web

from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.paths import Asked, ServerEndpoint
from runtime.http_server.tunnel import Way
from runtime.metrics import kubelet_api as names
from runtime.metrics.meters import Meters
from runtime.traces.answers import AnswerSpans, Served, answered, answering
from runtime.traces.spans import Span, Tracer

LONG_RUNNING = frozenset(
    {
        ServerEndpoint.EXEC,
        ServerEndpoint.ATTACH,
        ServerEndpoint.PORT_FORWARD,
        ServerEndpoint.LOGS,
        ServerEndpoint.PROFILES,
    }
)
MAIN, READ_ONLY = "readwrite", "readonly"


class RequestRecords:
    """See the module. `tracer` None: nothing is traced."""

    def __init__(self, meters: Meters, tracer: Tracer | None) -> None:
        self._meters = meters
        self._spans: Mapping[str, AnswerSpans] = {}
        if tracer is not None:
            self._spans = {MAIN: AnswerSpans(tracer), READ_ONLY: AnswerSpans(tracer, is_public=True)}

    async def answer(
        self, request: web.BaseRequest, what: Asked, server: str, work: Coroutine[Any, Any, web.StreamResponse]
    ) -> web.StreamResponse:
        """The response that `work` makes. Raises what it raises."""
        with measured(self._meters, request.method, what, server):
            if server not in self._spans:
                return await work
            version = f"{request.version.major}.{request.version.minor}"
            served = _served(what, request.method, request.path, version, request.headers, request.transport)
            span = self._spans[server].begin(served)
            with _failing(span):
                response = await answering(span, work)
            answered(span, response.status)
            return response

    async def tunnel(
        self, head: Head, transport: asyncio.Transport, what: Asked, work: Coroutine[Any, Any, Way]
    ) -> Way:
        """The tunnel target that `work` finds. The request lasts until the client's connection ends."""
        with ExitStack() as request:
            request.enter_context(measured(self._meters, head.method, what, MAIN))
            span = None
            if MAIN in self._spans:
                headers = {name.lower(): value for name, value in reversed(head.headers)}
                version = head.version.rpartition("/")[2]
                span = self._spans[MAIN].begin(_served(what, head.method, head.path, version, headers, transport))
                with _failing(span):
                    way = await answering(span, work)
            else:
                way = await work
            ends = request.pop_all()

        def ended(status: int) -> None:
            ends.close()
            if span is not None:
                answered(span, status)

        return replace(way, ended=ended)


@contextmanager
def measured(meters: Meters, method: str, what: Asked, server: str) -> Iterator[None]:
    """Around the answer to one request."""
    long_running = "true" if what.endpoint in LONG_RUNNING else "false"
    labels = (method, label_of(what.pattern), server, long_running)
    meters.count(names.HTTP_REQUESTS, *labels)
    meters.add(names.HTTP_IN_FLIGHT, 1, *labels)
    began_ns = time.monotonic_ns()
    try:
        yield
    finally:
        meters.add(names.HTTP_IN_FLIGHT, -1, *labels)
        meters.took(names.HTTP_DURATION, time.monotonic_ns() - began_ns, *labels)


def label_of(pattern: str) -> str:
    """`/exec/{namespace}/{pod}/{container}` -> `exec`."""
    return pattern.partition("{")[0].strip("/")


def _served(
    what: Asked,
    method: str,
    path: str,
    version: str,
    headers: Mapping[str, str],
    transport: asyncio.BaseTransport | None,
) -> Served:
    peer = None if transport is None else transport.get_extra_info("peername")
    is_tls = transport is not None and transport.get_extra_info("sslcontext") is not None
    address, port, *_ = peer if isinstance(peer, tuple) else ("", 0)
    return Served(method, path, what.pattern, "https" if is_tls else "http", (str(address), port), version, headers)


@contextmanager
def _failing(span: Span) -> Iterator[None]:
    """End the span when the answer fails. A client that has heard enough is no failure."""
    try:
        yield
    except HttpRefusal as refusal:
        answered(span, refusal.status)
        raise
    except (asyncio.CancelledError, ConnectionError):
        span.end()
        raise
    except BaseException:
        answered(span, 500)
        raise
