"""The container runtime of this node, spoken to over gRPC.

`GrpcCri` owns one channel per endpoint and nothing else: no retries (who asked knows whether to ask twice), no cache,
no thread per call. Answers are completed on gRPC's thread of the channel. A stream has a thread of its own for as long
as it lasts, and so has a list that comes in parts. Every failure, from a text that is no UTF-8 to a runtime that is not
there, is a `CriError` in the answer.

A runtime that restarts is found again within a second: the socket is local, so a fresh attempt is cheap.

Forking: a process that has made a channel must not go on in a forked child, gRPC's threads and locks do not survive
that. `subprocess` is safe, as it replaces the child at once; `os.fork` and `multiprocessing` with its fork method are
not. Make the client after daemonising, never before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from runtime.cri.deadlines import DEFAULT_TIMEOUT_NS, deadline_ns
from runtime.cri.endpoint import parse_endpoint
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.line import Line, failed
from runtime.cri.long_lists import LongLists
from runtime.cri.traced import answered, begin_call, ended
from runtime.cri.verbs import IMAGE_SERVICE, Req, Res, Verb
from runtime.cri.wire import codec
from runtime.io.pending import PendingAnswer, Subscription, SubscriptionEnded
from runtime.traces.spans import Tracer


class GrpcCri:
    """A `Cri` over gRPC. Connects on the first call; `close` ends what is still in flight with CANCELLED."""

    def __init__(
        self,
        endpoint: str,
        image_endpoint: str | None = None,
        default_timeout_ns: int = DEFAULT_TIMEOUT_NS,
        *,
        tracer: Tracer | None = None,
        lists_in_parts: bool = False,
    ) -> None:
        """Endpoints as `parse_endpoint` takes them; raises its `EndpointError`.

        `tracer` None: no call is traced. `lists_in_parts`: lists are streamed where the runtime can do it.
        """
        self._runtime = Line(parse_endpoint(endpoint))
        apart = image_endpoint is not None and parse_endpoint(image_endpoint) != self._runtime.endpoint
        self._images = Line(parse_endpoint(image_endpoint)) if image_endpoint and apart else self._runtime
        self._default_timeout_ns = default_timeout_ns
        self._tracer = tracer
        self._long_lists = LongLists() if lists_in_parts else None

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> PendingAnswer[Res]:
        """See `Cri.call`. Without `timeout_ns` the verb gets the time of `runtime.cri.deadlines`."""
        if timeout_ns is None:
            timeout_ns = deadline_ns(verb, request, self._default_timeout_ns)
        if self._long_lists is not None and self._long_lists.takes(verb):
            follow = partial(self._follow, timeout_ns=timeout_ns)
            return self._long_lists.ask(verb, request, follow, partial(self._ask, verb, request, timeout_ns))
        return self._ask(verb, request, timeout_ns)

    def _ask(self, verb: Verb[Req, Res], request: Req, timeout_ns: int | None) -> PendingAnswer[Res]:
        try:
            data = codec(verb.request).encode(request)
        except (ValueError, TypeError) as error:
            return failed(CriError(StatusCode.INVALID_ARGUMENT, f"request cannot be sent: {error}", verb.name))
        line, read = self._line(verb), codec(verb.response).decode
        if self._tracer is None:
            return line.ask(verb.path, verb.name, data, read, timeout_ns)
        span = begin_call(self._tracer, verb)
        answer = line.ask(verb.path, verb.name, data, read, timeout_ns, (span.context.header(),))
        answer.add_done_callback(lambda done: answered(span, verb, done))
        return answer

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """See `Cri.stream`. Has no deadline."""
        return self._follow(verb, request, on_item, on_end)

    def _follow(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
        timeout_ns: int | None = None,
    ) -> Subscription:
        try:
            data = codec(verb.request).encode(request)
        except (ValueError, TypeError) as error:
            on_end(CriError(StatusCode.INVALID_ARGUMENT, f"request cannot be sent: {error}", verb.name))
            return SubscriptionEnded()
        line, read = self._line(verb), codec(verb.response).decode
        if self._tracer is None:
            return line.follow(verb.path, verb.name, data, read, on_item, on_end, timeout_ns)
        span = begin_call(self._tracer, verb)

        def end(failure: CriError | None) -> None:
            ended(span, verb, failure)
            on_end(failure)

        return line.follow(verb.path, verb.name, data, read, on_item, end, timeout_ns, (span.context.header(),))

    def close(self) -> None:
        """End everything. Calls made later fail with CANCELLED."""
        self._runtime.close()
        self._images.close()

    def __enter__(self) -> GrpcCri:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _line(self, verb: Verb[Any, Any]) -> Line:
        return self._images if verb.service == IMAGE_SERVICE else self._runtime
