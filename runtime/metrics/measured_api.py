"""`MeasuredApi`: an API server, with every call counted and timed (`rest_client_*`, spec 11.7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.api import Api, ApiError, ApiLines
from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.io.pending import PendingAnswer, Subscription
from runtime.metrics import kubelet_api as names
from runtime.metrics.certificates import seconds_left
from runtime.metrics.meters import NS_PER_SECOND, Meters

if TYPE_CHECKING:
    from runtime.api.lines import HttpApiLines  # it brings asyncio, which a simulation does without

_NO_ANSWER = "<error>"
_Told = tuple[Callable[[float], object], Callable[[], object]]


def _nobody(_: float = 0.0) -> None:
    """An observer that ignores everything."""


class MeasuredApi:
    """See the module. `host`: the server, for the labels."""

    def __init__(self, api: Api, host: str, meters: Meters, now_ns: Callable[[], int]) -> None:
        self._api = api
        self._host = host
        self._meters = meters
        self._now_ns = now_ns
        self._series: dict[tuple[str, str], _Told] = {}

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        """See `Api.call`."""
        began = _Begun(self, call.method, self._now_ns())
        pending = self._api.call(call, timeout_ns=timeout_ns)
        pending.add_done_callback(began.ended)
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

    def _find_series(self, method: str, code: str) -> _Told:
        """The timer of the method, and the counter of calls with that code.

        They are found once for all such calls. Where there are too many series already, they count nothing.
        """
        times = self._meters.series(names.REST_DURATION, self._host, method)
        counts = self._meters.series(names.REST_REQUESTS, code, self._host, method)
        found = (_nobody if times is None else times.observe), (_nobody if counts is None else counts.inc)
        if _nobody not in found:
            self._series[method, code] = found
        return found


class ApiMeters:
    """An `ApiObserver`. `host`: the server, for the labels."""

    def __init__(self, host: str, meters: Meters) -> None:
        self._host = host
        self._meters = meters

    def exchanged(self, method: str, sent_bytes: int, received_bytes: int) -> None:
        self._meters.observe(names.REST_SENT, sent_bytes, self._host, method)
        self._meters.observe(names.REST_RECEIVED, received_bytes, self._host, method)

    def repeated(self, method: str, code: int) -> None:
        self._meters.count(names.REST_RETRIES, str(code) if code else _NO_ANSWER, self._host, method)

    def waited(self, method: str, ns: int) -> None:
        self._meters.took(names.REST_WAITED, ns, self._host, method)

    def plugin_ran(self, status: str, code: int) -> None:
        self._meters.count(names.CREDENTIAL_PLUGIN_RUNS, status, str(code))


def observe_lines(lines: HttpApiLines, meters: Meters) -> None:
    """Measure what goes over these lines, beside the calls themselves."""
    lines.observe(ApiMeters(lines.server, meters))
    credentials = lines.connections.credentials

    def plugin_certificate_left() -> float:
        certificate = credentials.plugin_certificate()
        return math.inf if certificate is None else seconds_left(certificate)

    meters.follow(names.CREDENTIAL_PLUGIN_TTL, plugin_certificate_left)


class _Begun(msgspec.Struct, eq=False):
    """A call that has begun."""

    api: MeasuredApi
    method: str
    began_ns: int

    def ended(self, done: PendingAnswer[Any]) -> None:
        api, method = self.api, self.method
        try:
            failure = done.exception(0)
        except CancelledError:
            code = _NO_ANSWER
        else:
            code = "200" if failure is None else _code(failure)
        took, counted = api._series.get((method, code)) or api._find_series(method, code)
        took((api._now_ns() - self.began_ns) / NS_PER_SECOND)
        counted()


def measured_lines(lines: ApiLines, meters: Meters, now_ns: Callable[[], int]) -> ApiLines:
    """The same lines, measured."""
    main, leases, events = (
        MeasuredApi(each, lines.server, meters, now_ns) for each in (lines.main, lines.leases, lines.events)
    )
    reviews = lines.reviews and MeasuredApi(lines.reviews, lines.server, meters, now_ns)
    return ApiLines(main, leases, events, reviews=reviews, server=lines.server)


def _code(failure: BaseException | None) -> str:
    if failure is None:
        return "200"
    return str(failure.code) if isinstance(failure, ApiError) and failure.code else _NO_ANSWER
