"""`PluginSocket`: calls a plugin of this node, such as a storage driver, one call at a time.

The plugin listens on a unix socket.

Calls block until the answer, at most as long as their time: actors run them on a lane. They may be repeated, as calls
of plugins may be: one that fails while somebody listens again at the socket, because the plugin has just restarted, is
asked once more. Nothing else is retried here. Every failure is a `PluginError` with a code of gRPC.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from runtime.cri.endpoint import EndpointError, knock, parse_endpoint
from runtime.cri.errors import StatusCode
from runtime.cri.line import CHANNEL_OPTIONS
from runtime.cri.transport import FROM_GRPC, MESSAGE_BYTES_MAX, grpc
from runtime.plugins.errors import PluginError

NS_PER_SECOND = 10**9
DIAL_NS = 10 * NS_PER_SECOND
"""Time for a plugin to start accepting connections (spec 8.1)."""


class WireMessage(Protocol):
    """The interface of messages that protoc makes."""

    def SerializeToString(self) -> bytes:  # noqa: N802 - protobuf's name
        """The bytes."""


M = TypeVar("M")


class PluginSocket:
    """See the module. `endpoint`: a path, or `unix:///path`. Raises PluginError when it is neither."""

    def __init__(self, endpoint: str, *, answer_bytes_at_most: int = MESSAGE_BYTES_MAX) -> None:
        try:
            self.endpoint = parse_endpoint(endpoint)
        except EndpointError as failure:
            raise PluginError(StatusCode.INVALID_ARGUMENT, str(failure), "dial") from None
        options = dict(CHANNEL_OPTIONS) | {"grpc.max_receive_message_length": answer_bytes_at_most}
        self._channel = grpc.insecure_channel(self.endpoint.target, options=list(options.items()))

    def dial(self, timeout_ns: int) -> None:
        """Connect, for a plugin that may be slow to take connections. Raises PluginError."""
        ready = grpc.channel_ready_future(self._channel)
        try:
            ready.result(timeout_ns / NS_PER_SECOND)
        except grpc.FutureTimeoutError:
            why = knock(self.endpoint)
            text = "it takes connections but does not speak gRPC" if why is None else _why(why)
            raise PluginError(StatusCode.UNAVAILABLE, f"{self.endpoint}: {text}", "dial") from None
        finally:
            ready.cancel()

    def ask(
        self, path: str, request: WireMessage, answer: type[M], *, timeout_ns: int, wait_for_ready: bool = False
    ) -> M:
        """Call the method at `path` ("/csi.v1.Node/NodeGetInfo"). Raises PluginError.

        `wait_for_ready`: one that does not take connections yet may do so within the time.
        """
        try:
            return self._ask(path, request, answer, timeout_ns, wait_for_ready=wait_for_ready)
        except PluginError as failure:
            if failure.code != StatusCode.UNAVAILABLE or knock(self.endpoint) is not None:
                raise
            first = failure
        try:
            return self._ask(path, request, answer, min(timeout_ns, DIAL_NS), wait_for_ready=True)
        except PluginError as second:
            # That it did not come to be ready says less than why it was not.
            raise (first if second.code is StatusCode.DEADLINE_EXCEEDED else second) from None

    def _ask(self, path: str, request: WireMessage, answer: type[M], timeout_ns: int, *, wait_for_ready: bool) -> M:
        method = path.rpartition("/")[2]
        reading: Any = answer
        call = self._channel.unary_unary(
            path, request_serializer=lambda it: it.SerializeToString(), response_deserializer=reading.FromString
        )
        try:
            found: M = call(request, timeout=timeout_ns / NS_PER_SECOND, wait_for_ready=wait_for_ready)
        except grpc.RpcError as failure:
            raise self.error(failure, method) from None
        except ValueError:
            raise PluginError(StatusCode.CANCELLED, "the connection was closed", method) from None
        return found

    def follow(self, path: str, request: WireMessage, *, wait_for_ready: bool = False) -> Any:
        """Begin a call with a series of answers, and no deadline: gRPC's call, an iterator of bytes.

        The iterator raises gRPC's error (`error` explains it). Raises PluginError on a closed connection.
        `wait_for_ready`: a plugin that does not take connections yet is waited for.
        """
        try:
            return self._channel.unary_stream(path)(request.SerializeToString(), wait_for_ready=wait_for_ready)
        except ValueError:
            raise PluginError(StatusCode.CANCELLED, "the connection was closed", path.rpartition("/")[2]) from None

    def watch(self, on_change: Callable[[bool], None]) -> WatchedChannel:
        """Connect, again and again, and tell of each connection that is made (True), fails or breaks (False).

        On a thread of gRPC's.
        """
        return WatchedChannel(self._channel, on_change)

    def close(self) -> None:
        """Give up the connection and all that is in flight on it."""
        self._channel.close()

    def error(self, failure: Any, method: str) -> PluginError:
        """The `PluginError` of a failure that gRPC raised."""
        code = FROM_GRPC.get(failure.code(), StatusCode.UNKNOWN)
        text = failure.details() or ""
        if code == StatusCode.UNAVAILABLE and (why := knock(self.endpoint)) is not None:
            text = f"{self.endpoint}: {_why(why)}"
        return PluginError(code, text, method)


class WatchedChannel:
    """Tells whether a channel is connected, until it is closed."""

    def __init__(self, channel: Any, on_change: Callable[[bool], None]) -> None:
        self._channel = channel
        self._on_change = on_change
        self._closed = self._was_ready = False
        channel.subscribe(self._told, try_to_connect=True)

    def close(self) -> None:
        self._closed = True
        with suppress(ValueError):  # the channel is closed
            self._channel.unsubscribe(self._told)

    def _told(self, state: Any) -> None:
        states = grpc.ChannelConnectivity
        if self._closed or state in (states.CONNECTING, states.SHUTDOWN):
            return
        if state is states.READY or state is states.TRANSIENT_FAILURE or self._was_ready:
            self._was_ready = state is states.READY
            self._on_change(self._was_ready)
        if state is not states.READY:
            self._connect()

    def _connect(self) -> None:
        """A channel whose connection broke makes no other one unless somebody asks for it."""

        def nothing(_: object) -> None:
            """Nobody listens."""

        with suppress(ValueError):  # the channel is closed
            self._channel.subscribe(nothing, try_to_connect=True)
            self._channel.unsubscribe(nothing)


def _why(code: int) -> str:
    if code == errno.ENOENT:
        return "there is no such socket; is the plugin running?"
    if code == errno.ECONNREFUSED:
        return "the socket is there, but nobody listens; is the plugin running?"
    return os.strerror(code)
