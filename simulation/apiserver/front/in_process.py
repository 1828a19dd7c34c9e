"""The API server as the actors of a simulated world reach it: `runtime.api.Api` without a network.

Calls and watch events take `latency_ns` each way together, and meet the faults of the world (`FaultyWay`). A watch may
be cut or come late. `down` plays an outage: the server keeps what it has. `ApiServer.forget` and `cut_watches` play a
history that is lost.

Safe for threads, under the lock of the server; callbacks run outside of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.promise import Promise
from config.documents.codec import DocumentError
from config.objects import ApiObject
from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent, nothing
from runtime.api.errors import UNREACHABLE, ApiError
from simulation.apiserver.requests.answers import Answer, JsonAnswer, NodeAnswer, ObjectAnswer, WatchAnswer, refused
from simulation.apiserver.requests.calls import ADMIN, ApiRequest, ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import StatusError
from simulation.apiserver.store.store import BOOKMARK, Version, Watcher
from simulation.apiserver.store.structs import read_version
from simulation.chance.call_faults import Faults
from simulation.chance.faulty_way import (
    LOST,
    NO_FAULT,
    SECOND_NS,
    TIMEOUT_NS,
    FaultyWay,
    OpenWatch,
    SentCall,
    fault_of,
    unreachable,
)
from simulation.chance.network import NetworkLink


class InProcessApi(FaultyWay["_Sent"]):
    """See the module.

    `user`: who the calls come from. `faults`: drawn by "VERB resource[/part]", as in `call.what`. `link`: the way to
    the server, instead of one that takes `latency_ns`. `user_agent`: the program, which owns the fields that it sets.
    Objects that are read as structs have no managed fields; those that are read as text do.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        server: ApiServer,
        *,
        user: ApiUser = ADMIN,
        latency_ns: int = 0,
        faults: Faults | None = None,
        link: NetworkLink | None = None,
        user_agent: str = "actorlet",
    ) -> None:
        super().__init__(dispatcher, faults, link or NetworkLink(dispatcher.now_ns, latency_ns, "none"))
        self._server = server
        self._user = user
        self._user_agent = user_agent
        self._latency_ns = latency_ns
        self._lock = server.lock
        self.calls: dict[str, int] = {}
        """How often which "VERB resource[/part]" was asked."""
        self.rewrite: Callable[[ApiCall[Any]], ApiCall[Any]] | None = None
        """Replaces each call before it is counted and sent; tests note or change calls with it."""
        self.hold: Callable[[Any], object] = _hold_nothing
        """Gets each object that is read here. Where work takes time they must live on: see `effort`."""

    # --- the capability ---------------------------------------------------------------------------------------------

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> Promise[R]:
        """See `Api.call`."""
        if self.rewrite is not None:
            call = self.rewrite(call)
        answer: Promise[R] = Promise()
        sent = _Sent(self, call, answer, TIMEOUT_NS if timeout_ns is None else timeout_ns)
        self._count(call.what)
        if self._down:
            self._later(self._latency_ns, lambda: sent.fail(unreachable(call.verb)))
            return answer
        sent.fate = self._fate(call.what)
        if sent.fate is NO_FAULT and not self._latency_ns and self._link.is_plain() and self.hangs is None:
            sent.arrive()
            return answer
        self._in_flight[sent] = None
        sent.timer = self._later(sent.timeout_ns, sent.give_up)
        if not sent.fate.hang and not (self.hangs is not None and self.hangs(call)):
            self._later(self._link.there_ns() + sent.fate.slow_ns, sent.arrive)
        return answer

    def _watch_of(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> OpenWatch:
        self._count(call.what)
        return _Watch(self, call, on_event, on_end)

    def _count(self, what: str) -> None:
        self.calls[what] = self.calls.get(what, 0) + 1

    # --- outages and views --------------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Calls that have not been answered."""
        return sum(not sent.answer.done() for sent in self._in_flight)

    def hang_up(self) -> None:
        """The caller is dead: end its connection.

        Sent requests arrive. A call that the server is still working on is dropped.
        """
        for sent in tuple(self._in_flight):
            sent.hung_up = True


class _Watch:
    """One watch: events wait for the latency and are then delivered in order, from one place."""

    def __init__(
        self,
        api: InProcessApi,
        call: WatchCall[Any],
        on_event: Callable[[WatchEvent[Any]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> None:
        self._api = api
        self._call = call
        self._kind: type[ApiObject] = call.kind
        self._on_event = on_event
        self._on_end = on_end
        self._waiting: deque[tuple[int, str, Any]] = deque()
        """When it is told, what it is, and the event; or `_END` and the error.

        The first stays until it was told: as long as there is one, somebody sees to it.
        """
        self._watcher: Watcher | None = None
        self._shape: Callable[[Version], Version] | None = None
        """How what is stored looks here, where that is not as it is."""
        self._closed = False
        self._ended = False

    def close(self) -> None:
        """See `Subscription.close`; `on_end` gets None."""
        self._closed = True
        self.end(None)

    def begin(self) -> None:
        api, call = self._api, self._call
        if self._ended:
            return
        done = api._server.handle(ApiRequest("GET", call.path, call.query, user=api._user))
        if not isinstance(done, WatchAnswer):
            assert isinstance(done, JsonAnswer)
            self.end(_refusal(done, call.verb))
            return
        self._watcher = done.watcher
        if done.resource.storage:
            self._shape = done.shape
        with api._lock:
            done.watcher.start(self._take, lambda refusal: self.end(_as_error(refusal, call.verb)))
        if self._ended:
            done.watcher.end()

    def end(self, error: ApiError | None) -> None:
        """End the watch. Earlier events are delivered first, unless the listener has gone."""
        with self._api._lock:
            if self._ended:
                return
            self._ended = True
            if self._watcher is not None:
                self._watcher.end()
            self._put(0, _END, error)

    def _tell_end(self, error: ApiError | None) -> None:
        self._api._watches.pop(self, None)
        self._on_end(error)

    def _take(self, kind: str, version: Version) -> None:
        """From the server, under its lock.

        The version is read now: soon the parts that it shares with others are no longer at hand.
        """
        if self._ended:
            return
        delay_ns = self._api._event_delay_ns()
        if delay_ns is None:
            self.end(ApiError(0, UNREACHABLE, LOST, self._call.verb))
        else:
            self._put(delay_ns, kind, self._read(kind, version))

    def _read(self, kind: str, version: Version) -> WatchEvent[Any] | DocumentError:
        value, shape = None, self._shape
        try:
            if kind != BOOKMARK:
                value = read_version(version if shape is None else shape(version), self._kind)
                self._api.hold(value)
        except DocumentError as error:
            return error
        return WatchEvent(kind, value, str(version.revision))

    def _tell(self, event: WatchEvent[Any] | DocumentError) -> None:
        if self._closed:
            return
        if isinstance(event, DocumentError):
            self.end(ApiError(200, "NotUnderstood", str(event), self._call.verb))
        else:
            self._on_event(event)

    def _put(self, delay_ns: int, kind: str, what: WatchEvent[Any] | DocumentError | ApiError | None) -> None:
        """Under the lock."""
        api, waiting = self._api, self._waiting
        due_ns = api._now_ns() + delay_ns
        waiting.append((max(due_ns, waiting[-1][0] if waiting else 0), kind, what))
        if len(waiting) == 1:
            api._later(delay_ns, self._flush)

    def _flush(self) -> None:
        """The time of the first has come."""
        api, waiting = self._api, self._waiting
        while True:
            _, kind, what = waiting[0]
            if kind is _END:
                self._tell_end(what)
            else:
                self._tell(what)
            with api._lock:
                waiting.popleft()
                if not waiting:
                    return
            later_ns = waiting[0][0] - api._now_ns()
            if later_ns > 0:
                api._later(later_ns, self._flush)
                return


_END = "END"


class _Sent(SentCall[InProcessApi], eq=False):
    """A call on its way. `hung_up`: whether its caller has gone."""

    hung_up: bool = False

    def arrive(self) -> None:
        """The call has reached the server, unless it was cancelled or cut on its way."""
        api, call, fate = self.way, self.call, self.fate
        if self.answer.done():
            self.land()
            return
        if fate.fail is not None:
            self.fail(fault_of(fate.fail, call.verb))
            return
        if fate.slow_ns and self.hung_up:
            return
        body = b"" if call.content is None else call.content
        asked = ApiRequest(
            call.method, call.path, call.query, body, call.content_type, api._user, user_agent=api._user_agent
        )
        done = api._server.handle(asked)
        late_ns = api._link.back_ns() + fate.late_ns
        if fate.lose:
            api._later(late_ns, lambda: self.fail(ApiError(0, UNREACHABLE, LOST, call.verb)))
            return
        value = self._read_now(done)
        if late_ns:
            api._later(late_ns, lambda: self._give(done, value))
        else:
            self._give(done, value)

    def _read_now(self, done: Answer) -> Any:
        """The object in the answer, read while its parts are at hand (see `_Watch._take`).

        None: it has none.
        """
        if not isinstance(done, ObjectAnswer) or self.call.kind is None or self.call.read is nothing:
            return None
        try:
            value = read_version(done.version, self.call.kind)
        except DocumentError as error:
            return error
        self.way.hold(value)
        return value

    def _give(self, done: Answer, value: Any) -> None:
        """The result for the caller. `value`: the object in the answer, an error in it, or None.

        One object is made from JSON data without the text (see `read_version`). Other answers are parsed from the text,
        if they are read at all.
        """
        self.land()
        call = self.call
        try:
            if isinstance(done, JsonAnswer) and done.code >= 400:
                raise _refusal(done, call.verb)
            if isinstance(done, WatchAnswer | NodeAnswer):
                raise ApiError(400, "BadRequest", "this request streams; open it with `watch`", call.verb)
            if isinstance(value, DocumentError):
                raise value
            if value is None and call.read is not nothing:
                value = call.read(done.body())
        except ApiError as error:
            self.answer.set_exception(error)
        except DocumentError as error:
            self.answer.set_exception(ApiError(200, "NotUnderstood", str(error), call.verb))
        else:
            self.answer.set_result(value)


def _hold_nothing(_: object) -> None:
    """Objects end when their last reader lets go of them."""


def _refusal(done: JsonAnswer, verb: str) -> ApiError:
    retry_after_ns = None if done.retry_after_s is None else done.retry_after_s * SECOND_NS
    status = done.value
    return ApiError(done.code, status.get("reason", ""), status.get("message", ""), verb, retry_after_ns)


def _as_error(refusal: StatusError | None, verb: str) -> ApiError | None:
    return None if refusal is None else _refusal(refused(refusal), verb)
