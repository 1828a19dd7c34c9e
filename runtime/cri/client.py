"""The container runtime of this node, spoken to over gRPC.

`GrpcCri` owns one channel per endpoint and nothing else: no retries (who asked knows whether to ask twice), no cache,
no thread per call. Answers are completed on gRPC's thread of the channel; a stream has a thread of its own for as long
as it lasts. Every failure, from a text that is no UTF-8 to a runtime that is not there, is a `CriError` in the answer.

A runtime that restarts is found again within a second: the socket is local, so a fresh attempt is cheap.

Forking: a process that has made a channel must not go on in a forked child, gRPC's threads and locks do not survive
that. `subprocess` is safe, as it replaces the child at once; `os.fork` and `multiprocessing` with its fork method are
not. Make the client after daemonising, never before.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

from runtime.cri.deadlines import DEFAULT_TIMEOUT_NS, deadline_ns
from runtime.cri.endpoint import CriEndpoint, knock, parse_endpoint
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.line import Line, failed
from runtime.cri.messages import ImageFsInfoRequest, StatusRequest, VersionRequest, VersionResponse
from runtime.cri.readiness import (
    API_VERSION,
    NotARuntime,
    OtherVersion,
    RuntimeFault,
    RuntimeReport,
    RuntimeSilent,
    report,
    socket_fault,
    version_fault,
)
from runtime.cri.verbs import IMAGE_FS_INFO, IMAGE_SERVICE, STATUS, VERSION, Req, Res, Verb
from runtime.cri.wire import codec
from runtime.io.pending import PendingAnswer, Subscription, SubscriptionEnded, settle

T = TypeVar("T")
_SECOND_NS = 10**9


class GrpcCri:
    """A `Cri` over gRPC. Connects on the first call; `close` ends what is still in flight with CANCELLED."""

    def __init__(
        self, endpoint: str, image_endpoint: str | None = None, default_timeout_ns: int = DEFAULT_TIMEOUT_NS
    ) -> None:
        """Endpoints as `parse_endpoint` takes them; raises its `EndpointError`."""
        self._runtime = Line(parse_endpoint(endpoint))
        apart = image_endpoint is not None and parse_endpoint(image_endpoint) != self._runtime.endpoint
        self._images = Line(parse_endpoint(image_endpoint)) if image_endpoint and apart else self._runtime
        self._default_timeout_ns = default_timeout_ns

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> PendingAnswer[Res]:
        """See `Cri.call`. Without `timeout_ns` the verb gets the time of `runtime.cri.deadlines`."""
        if timeout_ns is None:
            timeout_ns = deadline_ns(verb, request, self._default_timeout_ns)
        try:
            data = codec(verb.request).encode(request)
        except (ValueError, TypeError) as error:
            return failed(CriError(StatusCode.INVALID_ARGUMENT, f"request cannot be sent: {error}", verb.name))
        return self._line(verb).ask(verb.path, verb.name, data, codec(verb.response).decode, timeout_ns)

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """See `Cri.stream`. Has no deadline."""
        try:
            data = codec(verb.request).encode(request)
        except (ValueError, TypeError) as error:
            on_end(CriError(StatusCode.INVALID_ARGUMENT, f"request cannot be sent: {error}", verb.name))
            return SubscriptionEnded()
        return self._line(verb).follow(verb.path, verb.name, data, codec(verb.response).decode, on_item, on_end)

    def check(self, *, timeout_ns: int = 5 * _SECOND_NS) -> PendingAnswer[RuntimeReport]:
        """Find out who answers: a `RuntimeReport`, or the `RuntimeFault` that says what is wrong. Each of its few
        calls gets `timeout_ns`.
        """
        return _walk(self._check(timeout_ns))

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

    def _check(self, timeout_ns: int) -> Generator[PendingAnswer[Any], Any, RuntimeReport]:
        line = self._runtime
        try:
            version = yield from self._version(timeout_ns)
            fault = version_fault(line.endpoint, version)
            if fault is not None:
                raise fault
            status = yield self.call(STATUS, StatusRequest(), timeout_ns=timeout_ns)
        except CriError as error:
            if error.code == StatusCode.UNIMPLEMENTED:
                raise (yield from _which_version(line, error, timeout_ns)) from None
            raise _fault(line.endpoint, error, timeout_ns) from None
        if self._images is not self._runtime:
            try:
                yield self.call(IMAGE_FS_INFO, ImageFsInfoRequest(), timeout_ns=timeout_ns)
            except CriError as error:
                if error.code == StatusCode.UNIMPLEMENTED:
                    raise NotARuntime(self._images.endpoint, "it serves no runtime.v1.ImageService") from None
                raise _fault(self._images.endpoint, error, timeout_ns) from None
        return report(version, status)

    def _version(self, timeout_ns: int) -> Generator[PendingAnswer[Any], Any, VersionResponse]:
        """The version; asked for again when the first attempt met a runtime that was just starting."""
        data = codec(VersionRequest).encode(VersionRequest(version=API_VERSION))
        read = codec(VersionResponse).decode
        line = self._runtime
        try:
            version: VersionResponse = yield line.ask(VERSION.path, VERSION.name, data, read, timeout_ns)
            return version
        except CriError as error:
            if error.code != StatusCode.UNAVAILABLE or line.endpoint.path is None or knock(line.endpoint) is not None:
                raise
            why = error.message
        try:
            version = yield line.ask(VERSION.path, VERSION.name, data, read, timeout_ns, wait_for_ready=True)
            return version
        except CriError as error:
            if error.code not in (StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED):
                raise
            raise NotARuntime(line.endpoint, f"it takes connections, but does not speak gRPC: {why}") from None


def _which_version(line: Line, error: CriError, timeout_ns: int) -> Generator[PendingAnswer[Any], Any, RuntimeFault]:
    """The fault of a gRPC server without our interface: an old runtime, or no runtime."""
    try:
        yield line.ask("/runtime.v1alpha2.RuntimeService/Version", "Version", b"", bytes, timeout_ns)
    except CriError:
        return NotARuntime(
            line.endpoint,
            f"a gRPC server without runtime.v1.RuntimeService ({error.message}); if this is containerd, take cri "
            "out of disabled_plugins in its configuration and restart it",
        )
    return OtherVersion(line.endpoint, "it speaks only runtime.v1alpha2, runtime.v1 is needed; upgrade the runtime")


def _fault(endpoint: CriEndpoint, error: CriError, timeout_ns: int) -> RuntimeFault:
    if error.code == StatusCode.DEADLINE_EXCEEDED:
        return RuntimeSilent(
            endpoint, f"no answer to {error.verb} within {timeout_ns / _SECOND_NS:g} s; it hangs or is overloaded"
        )
    if error.code == StatusCode.UNAVAILABLE:
        code = knock(endpoint)
        if code is not None:
            return socket_fault(endpoint, code)
    return RuntimeFault(endpoint, f"{error.verb} fails: {error.message} ({error.code.name})")


def _walk(steps: Generator[PendingAnswer[Any], Any, T]) -> PendingAnswer[T]:
    """Run a series of calls without a thread that waits: each `yield` of an answer goes on when the answer is there."""
    answer: Future[T] = Future()

    def go_on(pending: PendingAnswer[Any]) -> None:
        try:
            error = pending.exception(0)
            following = steps.send(pending.result(0)) if error is None else steps.throw(error)
        except StopIteration as end:
            settle(answer, result=end.value)
        except BaseException as fault:
            settle(answer, error=fault)
        else:
            following.add_done_callback(go_on)

    next(steps).add_done_callback(go_on)
    return answer
