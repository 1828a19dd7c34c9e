"""One gRPC channel to one endpoint: bytes out, one answer or a series of them back.

Knows no message types; it is given the function that reads an answer. Turns every way gRPC can fail into a `CriError`.
For an endpoint that is not reachable it gives the kernel's error of the socket, which is what a person needs to know.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias, TypeVar

from runtime.cri.endpoint import CriEndpoint, knock, socket_fault
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.transport import FROM_GRPC, SIZE_OPTIONS, grpc
from runtime.io.pending import CancellingAnswer, PendingAnswer, Subscription, SubscriptionEnded, settle

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Metadata: TypeAlias = tuple[tuple[str, str], ...]
"""Metadata of a call beside the request, by name."""

LONGEST_TIMEOUT_NS = 365 * 24 * 3600 * 10**9
"""The longest timeout that is passed on.

gRPC takes a deadline after the year 2262 for one that has passed, and a pod may have a grace period that long.
"""

CHANNEL_OPTIONS: list[tuple[str, int | str]] = [
    *SIZE_OPTIONS,
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    # Not a wait between attempts but the time one attempt gets: a busy runtime may be slow to greet.
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.default_authority", "localhost"),  # the path of a socket is no valid authority for some servers
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),  # two clients of one process do not share a back-off
]


class Line:
    """A channel, connected on the first call."""

    def __init__(self, endpoint: CriEndpoint) -> None:
        self.endpoint = endpoint
        self._channel = grpc.insecure_channel(endpoint.target, options=CHANNEL_OPTIONS)

    def ask(
        self,
        path: str,
        name: str,
        data: bytes,
        read: Callable[[bytes], T],
        timeout_ns: int | None,
        metadata: Metadata = (),
    ) -> PendingAnswer[T]:
        """One answer, read by `read`. `name` is the verb in errors."""
        method = self._channel.unary_unary(path)
        try:
            call = method.future(data, timeout=_seconds(timeout_ns), metadata=metadata)
        except ValueError:
            return failed(_closed(name))
        answer: CancellingAnswer[T] = CancellingAnswer(call)
        call.add_done_callback(lambda done: self._complete(done, name, read, answer))
        return answer

    def follow(
        self,
        path: str,
        name: str,
        data: bytes,
        read: Callable[[bytes], T],
        on_item: Callable[[T], None],
        on_end: Callable[[CriError | None], None],
        timeout_ns: int | None = None,
        metadata: Metadata = (),
    ) -> Subscription:
        """A series of answers, as `Cri.stream` describes. `timeout_ns` is for the whole series."""
        try:
            call = self._channel.unary_stream(path)(data, timeout=_seconds(timeout_ns), metadata=metadata)
        except ValueError:
            on_end(_closed(name))
            return SubscriptionEnded()
        return _Stream(self, call, name, read, on_item, on_end)

    def close(self) -> None:
        """Close the channel and abandon all calls in flight."""
        self._channel.close()

    def error(self, code: Any, details: str | None, name: str) -> CriError:
        """The `CriError` for a failure that gRPC reports."""
        ours = FROM_GRPC.get(code, StatusCode.UNKNOWN)
        text = details or ""
        if ours == StatusCode.UNAVAILABLE:
            why = knock(self.endpoint)
            if why is not None:
                text = socket_fault(self.endpoint, why)
        return CriError(ours, text, name)

    def _complete(self, call: Any, name: str, read: Callable[[bytes], T], answer: Future[T]) -> None:
        """Runs on the channel's thread, which must survive whatever happens here."""
        try:
            code = call.code()
            if code is grpc.StatusCode.OK:
                settle(answer, result=read(call.result()))
            else:
                settle(answer, error=self.error(code, call.details(), name))
        except Exception as error:
            settle(answer, error=CriError(StatusCode.INTERNAL, f"the answer cannot be read: {error}", name))


class _Stream:
    """A series of answers, read from the channel by one thread."""

    def __init__(
        self,
        line: Line,
        call: Any,
        name: str,
        read: Callable[[bytes], T],
        on_item: Callable[[T], None],
        on_end: Callable[[CriError | None], None],
    ) -> None:
        self._line, self._call, self._name = line, call, name
        self._closed = threading.Event()
        thread = threading.Thread(target=self._take, args=(read, on_item, on_end), name=f"cri-{name}", daemon=True)
        thread.start()

    def close(self) -> None:
        """End the series; `on_end` then gets None."""
        self._closed.set()
        self._call.cancel()

    def _take(
        self, read: Callable[[bytes], T], on_item: Callable[[T], None], on_end: Callable[[CriError | None], None]
    ) -> None:
        error: CriError | None = None
        try:
            for data in self._call:
                if self._closed.is_set():
                    break
                on_item(read(data))
        except grpc.RpcError:
            error = self._line.error(self._call.code(), self._call.details(), self._name)
        except Exception as fault:
            LOG.exception("stream %s: an item could not be handed over", self._name)
            error = CriError(StatusCode.INTERNAL, f"an item could not be handed over: {fault!r}", self._name)
            self._call.cancel()
        on_end(None if self._closed.is_set() else error)


def failed(error: CriError) -> PendingAnswer[Any]:
    """An answer that has failed already."""
    answer: Future[Any] = Future()
    answer.set_exception(error)
    return answer


def _seconds(timeout_ns: int | None) -> float | None:
    return None if timeout_ns is None else min(timeout_ns, LONGEST_TIMEOUT_NS) / 1e9


def _closed(name: str) -> CriError:
    return CriError(StatusCode.CANCELLED, "the client is closed", name)
