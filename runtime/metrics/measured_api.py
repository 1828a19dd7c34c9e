"""`MeasuredApi`: an API server, with every call counted and timed (`rest_client_*`, spec 11.7)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from runtime.api import Api, ApiError, ApiLines
from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.metrics import kubelet as names
from runtime.metrics.meters import NS_PER_SECOND, Meters
from runtime.pending import Pending, Subscription

_NO_ANSWER = "<error>"


class MeasuredApi:
    """See the module. `host`: who the server is, for the labels."""

    def __init__(self, api: Api, host: str, meters: Meters, now_ns: Callable[[], int]) -> None:
        self._api = api
        self._host = host
        self._meters = meters
        self._now_ns = now_ns
        self._series: dict[tuple[str, str], tuple[Any, Any]] = {}

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> Pending[R]:
        """See `Api.call`."""
        began_ns = self._now_ns()
        pending = self._api.call(call, timeout_ns=timeout_ns)

        def ended(done: Pending[R]) -> None:
            try:
                failure = done.exception(0)
            except CancelledError:
                code = _NO_ANSWER
            else:
                code = "200" if failure is None else _code(failure)
            times, count = self._series.get((call.method, code)) or self._find_series(call.method, code)
            if times is not None:
                times.observe((self._now_ns() - began_ns) / NS_PER_SECOND)
            if count is not None:
                count.inc()

        pending.add_done_callback(ended)
        return pending

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`. Counted when it ends."""

        def end(failure: ApiError | None) -> None:
            self._meters.count(names.REST_REQUESTS, _code(failure), self._host, "GET")
            on_end(failure)

        return self._api.watch(call, on_event, end)

    def _find_series(self, method: str, code: str) -> tuple[Any, Any]:
        """How long calls of that method took, and how many had that code: once for all calls that are alike."""
        times = self._meters.series(names.REST_DURATION, self._host, method)
        found = times, self._meters.series(names.REST_REQUESTS, code, self._host, method)
        if None not in found:
            self._series[method, code] = found
        return found


def measured_lines(lines: ApiLines, meters: Meters, now_ns: Callable[[], int]) -> ApiLines:
    """The same lines, measured."""
    main, leases, events = (
        MeasuredApi(each, lines.server, meters, now_ns) for each in (lines.main, lines.leases, lines.events)
    )
    return ApiLines(main, leases, events, server=lines.server)


def _code(failure: BaseException | None) -> str:
    if failure is None:
        return "200"
    return str(failure.code) if isinstance(failure, ApiError) and failure.code else _NO_ANSWER
