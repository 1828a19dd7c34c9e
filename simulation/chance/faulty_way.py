"""The way of an agent to an API server: outages, and the faults that its calls and watches meet.

A call may fail, hang, be slow, be answered late, or be done while its answer is lost. `InProcessApi` leads to the
embedded server, and `RemoteApi` to a real one.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.promise import Promise
from actors.kernel.timers import Cancellable
from runtime.api.calls import ApiCall, K, WatchCall, WatchEvent
from runtime.api.errors import TIMEOUT, UNREACHABLE, ApiError
from runtime.cri.errors import StatusCode
from runtime.io.pending import Subscription
from simulation.chance.call_faults import CallFate, Faults
from simulation.chance.network import NetworkLink

SECOND_NS = 10**9
TIMEOUT_NS = 30 * SECOND_NS
"""The time limit of a call without one."""
LOST = "the connection broke before the answer was there"
NO_FAULT = CallFate()
_DOWN = "dial tcp: connect: connection refused"
_CODES = {
    StatusCode.UNAVAILABLE: (503, "ServiceUnavailable"),
    StatusCode.DEADLINE_EXCEEDED: (504, "Timeout"),
    StatusCode.RESOURCE_EXHAUSTED: (429, "TooManyRequests"),
}


S = TypeVar("S", bound="SentCall[Any]")
W = TypeVar("W", bound="FaultyWay[Any]")


class OpenWatch(Subscription, Protocol):
    """A watch on its way."""

    def begin(self) -> None:
        """It has reached the server."""

    def end(self, error: ApiError | None) -> None:
        """End it; None: in order."""


class FaultyWay(abc.ABC, Generic[S]):
    """See the module. `faults`: drawn by "VERB resource[/part]", as in `call.what`."""

    def __init__(self, dispatcher: Dispatcher, faults: Faults | None, link: NetworkLink) -> None:
        self._faults = faults
        self._link = link
        self._down = False
        self._back_ns = 0
        """When the last outage that was announced is over."""
        self._later = dispatcher.schedule
        self._now_ns = dispatcher.now_ns
        self._in_flight: dict[S, None] = {}
        self._watches: dict[OpenWatch, None] = {}
        self.hangs: Callable[[ApiCall[Any]], bool] | None = None
        """Whether a call is never answered: its caller gives up when its time is over."""

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`."""
        watch = self._watch_of(call, on_event, on_end)
        self._watches[watch] = None
        fate = self._fate(call.what)
        if self._down or fate.lose:
            watch.end(unreachable(call.verb))
        elif fate.fail is not None:
            watch.end(fault_of(fate.fail, call.verb))
        else:
            self._later(self._link.there_ns() + fate.slow_ns, watch.begin)
        return watch

    @abc.abstractmethod
    def _watch_of(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> OpenWatch:
        """The watch of this call, which has not begun."""

    def _fate(self, what: str) -> CallFate:
        fate = None if self._faults is None else self._faults.draw(what)
        return fate or NO_FAULT

    def _event_delay_ns(self) -> int | None:
        """How long an event of a watch is on its way; None: the watch is cut."""
        delay_ns, faults = self._link.there_ns(), self._faults
        if faults is not None and faults.events is not None:
            fate = faults.events.draw()
            if fate.cut:
                return None
            delay_ns += max(fate.delays_ns, default=0)
        return delay_ns

    # --- outages ------------------------------------------------------------------------------------------------------

    @property
    def is_down(self) -> bool:
        """Whether the server is unreachable."""
        return self._down

    def go_down(self) -> None:
        """Make the server unreachable: calls in flight and watches break."""
        self._down = True
        for sent in tuple(self._in_flight):
            sent.fail(ApiError(0, UNREACHABLE, LOST, sent.call.verb))
        self.cut_watches(ApiError(0, UNREACHABLE, LOST, "watch"))

    def come_back(self) -> None:
        """Make the server reachable again."""
        self._down = False

    def down(self, for_ns: int) -> None:
        """Begin an outage of that length now; a longer one under way goes on."""
        self.go_down()
        now_ns = self._now_ns
        self._back_ns = max(self._back_ns, now_ns() + for_ns)
        self._later(for_ns, lambda: self.come_back() if now_ns() >= self._back_ns else None)

    def cut_watches(self, error: ApiError | None = None) -> None:
        """End every watch of this front, as a proxy in between would: with an error, or (None) in order."""
        for watch in tuple(self._watches):
            watch.end(error)


class SentCall(msgspec.Struct, Generic[W], eq=False):
    """A call on its way.

    `timeout_ns`: after how long its caller gives up; `fate`: the fault that it meets.
    """

    way: W
    call: ApiCall[Any]
    answer: Promise[Any]
    timeout_ns: int
    fate: CallFate = NO_FAULT
    timer: Cancellable | None = None

    def give_up(self) -> None:
        """The caller has waited long enough."""
        message = f"no answer within {self.timeout_ns / SECOND_NS:g} s"
        self.fail(ApiError(0, TIMEOUT, message, self.call.verb))

    def fail(self, error: ApiError) -> None:
        self.land()
        self.answer.set_exception(error)

    def land(self) -> None:
        """The call is no longer in flight."""
        self.way._in_flight.pop(self, None)
        if self.timer is not None:
            self.timer.cancel()


def unreachable(verb: str) -> ApiError:
    return ApiError(0, UNREACHABLE, _DOWN, verb)


def fault_of(code: StatusCode, verb: str) -> ApiError:
    number, reason = _CODES.get(code, (500, "InternalError"))
    retry_after_ns = SECOND_NS if number == 429 else None
    return ApiError(number, reason, "a fault of the simulated API server", verb, retry_after_ns)
