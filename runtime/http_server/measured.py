"""Every request to the node, counted and timed as a kubelet does it (`kubelet_http_*`, spec 11.7).

The path in the labels is that of the route, without its names, so that nobody can make series by asking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from runtime.http_server.paths import Asked, ServerEndpoint
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters

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
