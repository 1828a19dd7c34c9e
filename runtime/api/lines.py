"""The lines of one node to its API server: four clients with limits of their own.

They share one set of connections.

Owns which limit is whose (spec 12.3). `main` and `events` have those of the KubeletConfiguration, `leases` none, and
`reviews` one that no configuration names. When two renewals of the lease in a row get no answer, all connections are
closed and made anew. After a change in the network the old ones may lead nowhere without notice, and the lease is what
is renewed most often.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from config.credentials.kubeconfig import ApiAccess
from runtime.api.capability import Api, ApiLines
from runtime.api.client import ApiClient
from runtime.api.connections import ApiConnections
from runtime.api.limited import LimitedApi
from runtime.api.observer import ApiObserver
from runtime.api.token_bucket import bucket_of
from runtime.io.event_loop import LoopThread
from runtime.traces.spans import Tracer

DEFAULT_QPS = 50
DEFAULT_BURST = 100
IN_FLIGHT_AT_MOST = 32
TOGETHER_NS = 200_000_000
"""So 10 calls leave at a time at 50 a second, once calls wait for the limit.

Each answer then finds threads awake: a pod that waits for the limit costs a quarter less CPU.
"""
LEASES_IN_FLIGHT_AT_MOST = 8
EVENTS_IN_FLIGHT_AT_MOST = 8
EVENTS_TOGETHER_NS = 140_000_000
"""So 8 events leave at a time at 50 a second.

After a burst of pods thousands of events wait, and nobody waits for them.
"""
REVIEWS_IN_FLIGHT_AT_MOST = 128
"""As many as the port has under way at most.

So none waits behind one that the API server is slow about.
"""
REVIEW_QPS = 50
REVIEW_BURST = 100
"""Rate of reviews. Anybody who reaches the node's port causes them, so they have their own limit."""


@dataclass(frozen=True, slots=True)
class HttpApiLines(ApiLines):
    """The result of `api_lines`. `close` fails the calls in flight and all later ones."""

    connections: ApiConnections
    loop: LoopThread
    closers: tuple[LimitedApi | ApiClient, ...]
    shared: bool = False
    """The connections belong to others too."""

    def observe(self, observer: ApiObserver) -> None:
        """Tell `observer` what these lines do. For lines with connections of their own."""
        self.connections.observe(observer)
        for line in self.closers:
            if isinstance(line, LimitedApi):
                line.observer = observer

    def close(self) -> None:
        """See the class. May be called more than once, and after the end of the loop."""
        for closer in self.closers:
            closer.close()
        if self.shared:
            return
        try:
            self.loop.submit(self.connections.close()).result(5)
        except (RuntimeError, TimeoutError):
            return  # the loop has ended, or hangs: the sockets go with the process


def api_lines(
    access: ApiAccess,
    loop: LoopThread,
    *,
    user_agent: str,
    qps: float | None = DEFAULT_QPS,
    burst: int = DEFAULT_BURST,
    event_qps: float | None = DEFAULT_QPS,
    event_burst: int = DEFAULT_BURST,
    connections: ApiConnections | None = None,
    tracer: Tracer | None = None,
) -> HttpApiLines:
    """The lines to the server of `access`. Nothing is sent, and no file read, before the first call.

    `connections`: shared ones, which their owner closes, with its user agent; for many nodes in one process.

    `qps` and `burst` as in kubeAPIQPS and kubeAPIBurst, `event_` as in eventRecordQPS and eventBurst. 0 means the
    default of a client (5 and 10), and a `qps` of None means no limit. `tracer` None: no request is traced.
    """
    shared = connections is not None
    connections = connections or ApiConnections(access, user_agent, tracer=tracer)
    main = ApiClient(connections, loop, in_flight=IN_FLIGHT_AT_MOST)
    on_silence = connections.suspect if shared else connections.reset
    leases = ApiClient(connections, loop, in_flight=LEASES_IN_FLIGHT_AT_MOST, on_silence=on_silence)
    events = ApiClient(connections, loop, in_flight=EVENTS_IN_FLIGHT_AT_MOST)
    reviews = ApiClient(connections, loop, in_flight=REVIEWS_IN_FLIGHT_AT_MOST)
    limited_main = _limited(main, loop, qps, burst, together_ns=TOGETHER_NS)
    limited_events = _limited(events, loop, event_qps, event_burst, together_ns=EVENTS_TOGETHER_NS)
    limited_reviews = _limited(reviews, loop, REVIEW_QPS, REVIEW_BURST)
    limited = (limited_main, limited_events, limited_reviews)
    closers = [line for line in limited if isinstance(line, LimitedApi)]
    return HttpApiLines(
        main=limited_main,
        leases=leases,
        events=limited_events,
        server=urlsplit(access.cluster.shown).netloc or access.cluster.shown,
        connections=connections,
        loop=loop,
        reviews=limited_reviews,
        closers=(*closers, main, leases, events, reviews),
        shared=shared,
    )


def _limited(api: ApiClient, loop: LoopThread, qps: float | None, burst: int, *, together_ns: int = 0) -> Api:
    bucket = bucket_of(qps, burst)
    if bucket is None:
        return api
    return LimitedApi(api, bucket, time.monotonic_ns, loop.post_later, together_ns=together_ns)
