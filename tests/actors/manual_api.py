"""An API server played by hand: every call and every watch waits until the test answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.kernel import Promise
from runtime.api import ApiCall, ApiError, WatchCall, WatchEvent


class ManualWatch:
    """A watch that the test feeds."""

    def __init__(self, call: WatchCall[Any], on_event: Callable[..., None], on_end: Callable[..., None]) -> None:
        self.call = call
        self.query = dict(call.query)
        self.closed = False
        self._on_event = on_event
        self._on_end = on_end

    def say(self, event_type: str, value: Any, version: str) -> None:
        self._on_event(WatchEvent(event_type, value, version))

    def end(self, error: ApiError | None = None) -> None:
        self.closed = True
        self._on_end(error)

    def close(self) -> None:
        if not self.closed:
            self.end()


class ManualApi:
    """See the module. `calls` are those made, `open_calls` those not answered yet, with their promises."""

    def __init__(self) -> None:
        self.calls: list[ApiCall[Any]] = []
        self.open_calls: list[tuple[ApiCall[Any], Promise[Any]]] = []
        self.watches: list[ManualWatch] = []

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        promise: Promise[Any] = Promise()
        self.calls.append(call)
        self.open_calls.append((call, promise))
        return promise

    def watch(self, call: WatchCall[Any], on_event: Callable[..., None], on_end: Callable[..., None]) -> ManualWatch:
        watch = ManualWatch(call, on_event, on_end)
        self.watches.append(watch)
        return watch

    def answer(self, value: Any) -> ApiCall[Any]:
        """Answer the oldest open call, and return it."""
        call, promise = self.open_calls.pop(0)
        promise.set_result(value)
        return call

    def fail(self, error: ApiError) -> ApiCall[Any]:
        """Fail the oldest open call, and return it."""
        call, promise = self.open_calls.pop(0)
        promise.set_exception(error)
        return call


def unreachable(verb: str = "call") -> ApiError:
    """Nobody answers."""
    return ApiError(0, "Unreachable", "connection refused", verb)


def gone() -> ApiError:
    """The server no longer has the requested history."""
    return ApiError(410, "Expired", "too old resource version: 1 (5)", "watch pods")
