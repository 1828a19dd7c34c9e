"""The API server as the actors of a simulated world reach it: `runtime.api.Api` without a network.

Calls and watch events take `latency_ns` each way together, and meet what the faults of the world have for them: calls
that fail, hang, are slow, are answered late, or are done and their answer is lost; watches that are cut or come late.
`down` plays an outage: whatever is in flight breaks, nothing can be reached for a while, and the server keeps what it
has. `ApiServer.forget` and `cut_watches` play a history that is lost.

Safe for threads, under the lock of the server; callbacks run outside of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.promise import Promise
from config.codec import DocumentError
from config.objects import ApiObject
from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent, nothing
from runtime.api.errors import TIMEOUT, UNREACHABLE, ApiError
from runtime.cri.errors import StatusCode
from runtime.pending import Subscription
from simulation.apiserver.reading import read_version
from simulation.apiserver.requests import (
    ADMIN,
    Answer,
    JsonAnswer,
    NodeAnswer,
    ObjectAnswer,
    Request,
    User,
    WatchAnswer,
)
from simulation.apiserver.server import ApiServer, refused
from simulation.apiserver.status import StatusError
from simulation.apiserver.store import BOOKMARK, Version
from simulation.faults import CallFate, Faults
from simulation.network import Link

SECOND_NS = 10**9
TIMEOUT_NS = 30 * SECOND_NS
"""Of a call that does not say how long it waits."""

_DOWN = "dial tcp: connect: connection refused"
_LOST = "the connection broke before the answer was there"
_CODES = {
    StatusCode.UNAVAILABLE: (503, "ServiceUnavailable"),
    StatusCode.DEADLINE_EXCEEDED: (504, "Timeout"),
    StatusCode.RESOURCE_EXHAUSTED: (429, "TooManyRequests"),
}


class InProcessApi:
    """See the module. `user`: who the calls come from. `faults`: drawn by "VERB resource[/part]", as in `call.what`.
    `link`: the way to the server, instead of one that takes `latency_ns`.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        server: ApiServer,
        *,
        user: User = ADMIN,
        latency_ns: int = 0,
        faults: Faults | None = None,
        link: Link | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._server = server
        self._user = user
        self._latency_ns = latency_ns
        self._link = link or Link(dispatcher.now_ns, latency_ns, "none")
        self._faults = faults
        self._down = False
        self._back_ns = 0
        """When the last outage that was announced is over."""
        self._connection = 0
        self._lock = server.lock
        self._later = dispatcher.schedule
        self._in_flight: dict[Promise[Any], _Waiting] = {}
        self._gives_up_ns: int | None = None
        """When the timer of those calls is due: there is one for all of them, at the time of the first."""
        self._watches: dict[_Watch, None] = {}
        self.calls: dict[str, int] = {}
        """How often which "VERB resource[/part]" was asked."""

    # --- the capability ---------------------------------------------------------------------------------------------

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> Promise[R]:
        """See `Api.call`."""
        kind = call.what
        self.calls[kind] = self.calls.get(kind, 0) + 1
        answer: Promise[R] = Promise()
        if self._down:
            self._later(self._latency_ns, lambda: answer.set_exception(_unreachable(call.verb)))
            return answer
        body = b"" if call.content is None else call.content
        request = Request(call.method, call.path, call.query, body, call.content_type, self._user)
        fate = self._faults.draw(kind) if self._faults is not None else None
        if fate is None and not self._latency_ns and self._link.is_plain():
            self._give(call, answer, self._server.handle(request))
            return answer
        self._send(call, request, answer, fate or _NO_FATE, TIMEOUT_NS if timeout_ns is None else timeout_ns)
        return answer

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """See `Api.watch`."""
        kind = call.what
        self.calls[kind] = self.calls.get(kind, 0) + 1
        watch = _Watch(self, call, on_event, on_end)
        self._watches[watch] = None
        fate = self._faults.draw(kind) if self._faults is not None else None
        if self._down or (fate is not None and fate.lose):
            watch.end(_unreachable(call.verb))
        elif fate is not None and fate.fail is not None:
            watch.end(_fault(fate.fail, call.verb))
        else:
            self._later(self._link.there_ns() + (fate.slow_ns if fate else 0), watch.begin)
        return watch

    # --- the hand on it ---------------------------------------------------------------------------------------------

    @property
    def in_flight(self) -> int:
        """Calls that have not been answered."""
        return sum(not answer.done() for answer in self._in_flight)

    @property
    def is_down(self) -> bool:
        """Whether nobody reaches the server."""
        return self._down

    def go_down(self) -> None:
        """The server cannot be reached: whatever is in flight breaks."""
        self._down = True
        with self._lock:
            in_flight = tuple(self._in_flight.items())
            self._in_flight.clear()
        for answer, waiting in in_flight:
            answer.set_exception(ApiError(0, UNREACHABLE, _LOST, waiting.call.verb))
        self.cut_watches(ApiError(0, UNREACHABLE, _LOST, "watch"))

    def hang_up(self) -> None:
        """Whoever called is dead: what has been sent arrives, but a call that the server takes its time with is dropped
        there, since nobody is at the other end of its connection.
        """
        self._connection += 1

    def come_back(self) -> None:
        """It can be reached again."""
        self._down = False

    def down(self, for_ns: int) -> None:
        """An outage of that length, from now; one that lasts longer goes on."""
        self.go_down()
        now_ns = self._dispatcher.now_ns
        self._back_ns = max(self._back_ns, now_ns() + for_ns)
        self._later(for_ns, lambda: self.come_back() if now_ns() >= self._back_ns else None)

    def cut_watches(self, error: ApiError | None = None) -> None:
        """End every watch of this front, as a proxy between does it: with an error, or (None) in order."""
        for watch in tuple(self._watches):
            watch.end(error)

    # --- calls ------------------------------------------------------------------------------------------------------

    def _send(self, call: ApiCall[R], request: Request, answer: Promise[R], fate: CallFate, timeout_ns: int) -> None:
        """A call that takes time, or goes wrong."""
        waiting = _Waiting(call, self._dispatcher.now_ns() + timeout_ns, timeout_ns)
        self._in_flight[answer] = waiting
        if self._gives_up_ns is None or waiting.due_ns < self._gives_up_ns:
            self._await_the_first()
        if fate.hang:
            return
        if fate.fail is not None:
            error = _fault(fate.fail, call.verb)
            self._later(self._link.there_ns(), lambda: self._break(answer, error))
            return

        connection, link = self._connection, self._link

        def arrive() -> None:
            # What was cancelled or cut on its way does not arrive.
            if answer.done():
                self._in_flight.pop(answer, None)
                return
            if fate.slow_ns and connection != self._connection:
                return
            done = self._server.handle(request)
            late_ns = fate.late_ns if link.is_well else fate.late_ns + link.back_ns()
            if fate.lose:
                lost = ApiError(0, UNREACHABLE, _LOST, call.verb)
                self._later(late_ns, lambda: self._break(answer, lost))
            elif late_ns:
                self._later(late_ns, lambda: self._give(call, answer, done))
            else:
                self._give(call, answer, done)

        there_ns = link.latency_ns if link.is_well else link.there_ns()
        self._later(there_ns + fate.slow_ns, arrive)

    def _break(self, answer: Promise[Any], error: ApiError) -> None:
        self._in_flight.pop(answer, None)
        answer.set_exception(error)

    def _await_the_first(self) -> None:
        """See to it that somebody looks when the first of the calls has waited long enough.

        Nearly every call is answered long before; so it costs no timer of its own, and those in flight are looked
        through only when that time has come.
        """
        with self._lock:
            due_ns = self._gives_up_ns = min((each.due_ns for each in tuple(self._in_flight.values())), default=None)
        if due_ns is not None:
            self._later(due_ns - self._dispatcher.now_ns(), lambda: self._give_up(due_ns))

    def _give_up(self, due_ns: int) -> None:
        if due_ns != self._gives_up_ns:
            return  # another call was due before, and its timer has taken over
        late = [(answer, each) for answer, each in tuple(self._in_flight.items()) if each.due_ns <= due_ns]
        for answer, each in late:
            message = f"no answer within {each.timeout_ns / SECOND_NS:g} s"
            self._break(answer, ApiError(0, TIMEOUT, message, each.call.verb))
        self._await_the_first()

    def _give(self, call: ApiCall[R], answer: Promise[R], done: Answer) -> None:
        """What the caller gets. One object is made of what JSON knows, without the text between (see `read_version`);
        all else is read from the text, if anybody reads it.
        """
        self._in_flight.pop(answer, None)
        value: Any = None
        try:
            if isinstance(done, ObjectAnswer):
                if call.read is not nothing:
                    value = call.read(done.body()) if call.kind is None else read_version(done.version, call.kind)
            elif isinstance(done, WatchAnswer | NodeAnswer):
                raise ApiError(400, "BadRequest", "what streams is no call", call.verb)
            elif isinstance(done, JsonAnswer) and done.code >= 400:
                raise _refusal(done, call.verb)
            else:
                value = call.read(done.body())
        except ApiError as error:
            answer.set_exception(error)
        except DocumentError as error:
            answer.set_exception(ApiError(200, "NotUnderstood", str(error), call.verb))
        else:
            answer.set_result(value)


class _Watch:
    """One watch: what comes from the server waits for the latency, then is told, in order, from one place."""

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
        """When it is told, what it is, and the version; or `_END` and the error."""
        self._armed = False
        self._answer: WatchAnswer | None = None
        self._closed = False
        self._ended = False

    def close(self) -> None:
        """See `Subscription.close`; `on_end` is told None."""
        self._closed = True
        self.end(None)

    def begin(self) -> None:
        api, call = self._api, self._call
        if self._ended:
            return
        done = api._server.handle(Request("GET", call.path, call.query, user=api._user))
        if not isinstance(done, WatchAnswer):
            error = _refusal(done, call.verb) if isinstance(done, JsonAnswer) else None
            self.end(error or ApiError(200, "NotUnderstood", "the answer is no watch", call.verb))
            return
        self._answer = done
        with api._lock:
            done.watcher.start(self._take, lambda refusal: self.end(_as_error(refusal, call.verb)))
        if self._ended:
            done.watcher.end()

    def end(self, error: ApiError | None) -> None:
        """Nothing more comes; what has come before is told first, unless the listener has gone."""
        with self._api._lock:
            if self._ended:
                return
            self._ended = True
        if self._answer is not None:
            with self._api._lock:
                self._answer.watcher.end()
        self._put(0, _END, error)

    def _tell_end(self, error: ApiError | None) -> None:
        self._api._watches.pop(self, None)
        self._on_end(error)

    def _take(self, kind: str, version: Version) -> None:
        """From the server, under its lock."""
        if self._ended:
            return
        api, link = self._api, self._api._link
        delay_ns = link.latency_ns if link.is_well else link.there_ns()
        if api._faults is not None and api._faults.events is not None:
            fate = api._faults.events.draw()
            if fate.cut:
                self.end(ApiError(0, UNREACHABLE, _LOST, self._call.verb))
                return
            delay_ns += max(fate.delays_ns, default=0)
        self._put(delay_ns, kind, version)

    def _tell(self, kind: str, version: Version) -> None:
        if self._closed:
            return
        assert self._answer is not None, "nothing is told before the watch has begun"
        answer = self._answer
        try:
            if kind == BOOKMARK:
                value = None
            else:
                seen = answer.shape(version) if answer.resource.storage else version
                value = read_version(seen, self._kind)
        except DocumentError as error:
            self.end(ApiError(200, "NotUnderstood", str(error), self._call.verb))
            return
        self._on_event(WatchEvent(kind, value, str(version.revision)))

    def _put(self, delay_ns: int, kind: str, what: Version | ApiError | None) -> None:
        with self._api._lock:
            due_ns = self._api._dispatcher.now_ns() + delay_ns
            if self._waiting:
                due_ns = max(due_ns, self._waiting[-1][0])
            self._waiting.append((due_ns, kind, what))
            if self._armed:
                return
            self._armed = True
        self._api._later(delay_ns, self._flush)

    def _flush(self) -> None:
        api, waiting = self._api, self._waiting
        now_ns = api._dispatcher.now_ns()
        while True:
            with api._lock:
                if not waiting:
                    self._armed = False
                    return
                due_ns = waiting[0][0]
                if due_ns <= now_ns:
                    _, kind, what = waiting.popleft()
            if due_ns > now_ns:
                api._later(due_ns - now_ns, self._flush)
                return
            if kind is _END:
                self._tell_end(what)
            else:
                self._tell(kind, what)


_NO_FATE = CallFate()
_END = "END"


class _Waiting(msgspec.Struct, frozen=True):
    """A call that has not been answered: when its caller gives up, and after how long."""

    call: ApiCall[Any]
    due_ns: int
    timeout_ns: int


def _unreachable(verb: str) -> ApiError:
    return ApiError(0, UNREACHABLE, _DOWN, verb)


def _fault(code: StatusCode, verb: str) -> ApiError:
    number, reason = _CODES.get(code, (500, "InternalError"))
    retry_after_ns = SECOND_NS if number == 429 else None
    return ApiError(number, reason, "a fault of the simulated API server", verb, retry_after_ns)


def _refusal(done: JsonAnswer, verb: str) -> ApiError:
    retry_after_ns = None if done.retry_after_s is None else done.retry_after_s * SECOND_NS
    status = done.value
    return ApiError(done.code, status.get("reason", ""), status.get("message", ""), verb, retry_after_ns)


def _as_error(refusal: StatusError | None, verb: str) -> ApiError | None:
    return None if refusal is None else _refusal(refused(refusal), verb)
