"""A real API server as the agent of a simulated node reaches it: with the faults of the world between.

The calls go through an `ApiClient` on the one loop. On their way they meet what `InProcessApi` has for the embedded
server: the link of the node, drawn faults, outages. Callbacks run on the loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.promise import Promise
from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.api.capability import Api
from runtime.api.errors import UNREACHABLE, ApiError
from runtime.io.pending import PendingAnswer, Subscription
from simulation.chance.call_faults import Faults
from simulation.chance.faulty_way import LOST, TIMEOUT_NS, FaultyWay, OpenWatch, SentCall, fault_of, unreachable
from simulation.chance.network import NetworkLink


class RemoteApi(FaultyWay["_Sent"]):
    """An `Api`. `api`: the way to the server without faults."""

    def __init__(self, dispatcher: Dispatcher, api: Api, *, faults: Faults | None, link: NetworkLink) -> None:
        super().__init__(dispatcher, faults, link)
        self._api = api

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> Promise[R]:
        """See `Api.call`."""
        answer: Promise[R] = Promise()
        fate = self._fate(call.what)
        sent = _Sent(self, call, answer, TIMEOUT_NS if timeout_ns is None else timeout_ns, fate)
        if self._down:
            self._later(self._link.latency_ns, lambda: sent.fail(unreachable(call.verb)))
            return answer
        self._in_flight[sent] = None
        sent.timer = self._later(sent.timeout_ns, sent.give_up)
        if not fate.hang and not (self.hangs is not None and self.hangs(call)):
            self._later(self._link.there_ns() + fate.slow_ns, sent.leave)
        return answer

    def _watch_of(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> OpenWatch:
        return _Watch(self, call, on_event, on_end)

    def hang_up(self) -> None:
        """The caller is dead. Calls that have left are carried out, and the others are not."""
        for sent in tuple(self._in_flight):
            if not sent.has_left:
                sent.fail(ApiError(0, UNREACHABLE, LOST, sent.call.verb))


class _Sent(SentCall[RemoteApi], eq=False):
    """A call on its way."""

    has_left: bool = False

    def leave(self) -> None:
        """Ask the server, unless the call was cancelled or cut on its way."""
        if self.answer.done():
            self.land()
        elif self.fate.fail is not None:
            self.fail(fault_of(self.fate.fail, self.call.verb))
        else:
            self.has_left = True
            self.way._api.call(self.call, timeout_ns=self.timeout_ns).add_done_callback(self._come_back)

    def _come_back(self, done: PendingAnswer[Any]) -> None:
        late_ns = self.way._link.back_ns() + self.fate.late_ns
        if self.fate.lose:
            lost = ApiError(0, UNREACHABLE, LOST, self.call.verb)
            self.way._later(late_ns, lambda: self.fail(lost))
        else:
            # Also without a delay: the loop must not run an actor between two turns.
            self.way._later(late_ns, lambda: self._give(done))

    def _give(self, done: PendingAnswer[Any]) -> None:
        self.land()
        try:
            self.answer.set_result(done.result(0))
        except ApiError as error:
            self.answer.set_exception(error)


class _Watch:
    """One watch: events wait for the link, and are then delivered in order."""

    def __init__(
        self,
        api: RemoteApi,
        call: WatchCall[Any],
        on_event: Callable[[WatchEvent[Any]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> None:
        self._api = api
        self._call = call
        self._on_event = on_event
        self._on_end = on_end
        self._inner: Subscription | None = None
        self._waiting: deque[tuple[int, WatchEvent[Any] | ApiError | None]] = deque()
        """When each is told. The last one is the error of the end, or None."""
        self._closed = False
        self._ended = False

    def close(self) -> None:
        """See `Subscription.close`; `on_end` gets None."""
        self._closed = True
        self.end(None)

    def begin(self) -> None:
        if not self._ended:
            self._inner = self._api._api.watch(self._call, self._take, self.end)

    def end(self, error: ApiError | None) -> None:
        """End the watch. Earlier events are delivered first, unless the listener has gone."""
        if self._ended:
            return
        self._ended = True
        if self._inner is not None:
            self._inner.close()
        self._put(0, error)

    def _take(self, event: WatchEvent[Any]) -> None:
        if self._ended:
            return
        delay_ns = self._api._event_delay_ns()
        if delay_ns is None:
            self.end(ApiError(0, UNREACHABLE, LOST, self._call.verb))
        else:
            self._put(delay_ns, event)

    def _put(self, delay_ns: int, what: WatchEvent[Any] | ApiError | None) -> None:
        due_ns = self._api._now_ns() + delay_ns
        self._waiting.append((max(due_ns, self._waiting[-1][0] if self._waiting else 0), what))
        if len(self._waiting) == 1:
            self._api._later(delay_ns, self._flush)

    def _flush(self) -> None:
        """The time of the first has come."""
        while self._waiting:
            due_ns, what = self._waiting[0]
            later_ns = due_ns - self._api._now_ns()
            if later_ns > 0:
                self._api._later(later_ns, self._flush)
                return
            self._tell(what)
            self._waiting.popleft()

    def _tell(self, what: WatchEvent[Any] | ApiError | None) -> None:
        if isinstance(what, WatchEvent):
            if not self._closed:
                self._on_event(what)
            return
        self._api._watches.pop(self, None)
        self._on_end(what)
