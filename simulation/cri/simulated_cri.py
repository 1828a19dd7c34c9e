"""The container runtime that is not there, as actors see it: `Cri`, with a hand on its faults.

Each call goes through the same gates. First, is the runtime up? Then come the faults of the world, then the faults in
the pod's own annotations, and only then the verb. Most answers are there when `call` returns. Those that take time, or
never come, end at the caller's deadline like any other. Operations are done in the order of the calls, under one lock.

`go_down` and `come_back` play a runtime that dies and starts again: calls in flight and streams break, calls fail with
UNAVAILABLE, containers run on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.promise import Promise, broken, kept
from runtime.cri.deadlines import deadline_ns
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.verbs import ALL_VERBS, GET_CONTAINER_EVENTS, PULL_IMAGE, Req, Res, Verb
from runtime.io.pending import Subscription
from simulation.chance.call_faults import CallFate, Faults
from simulation.cri.behaviour_values import CallKind, CallRule
from simulation.cri.container_life import end, write
from simulation.cri.events import EventStream
from simulation.cri.files import ContainerFiles
from simulation.cri.handlers import HANDLERS, LISTS, NEWCOMERS, SUBJECTS, Subject
from simulation.cri.image_names import full_name, known_name, make_image
from simulation.cri.named_errors import error_text
from simulation.cri.runtime import Runtime, Settings
from simulation.cri.state import CriRefusal, RuntimeState
from simulation.cri.verbs.sandboxes import lose_sandbox

DoVerb = Callable[[str, Any], Any]
"""Does the verb of that name with a request; gives the answer, or a promise of it."""

PART = 500
"""Items in one answer of a streaming list."""
_DOWN = "the simulated runtime is down"
_RESPONSES: dict[str, type[Any]] = {verb.name: verb.response for verb in ALL_VERBS}


class SimulatedCri:
    """See the module. Works on any dispatcher; from many threads at once on one that has them."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        settings: Settings | None = None,
        *,
        files: ContainerFiles | None = None,
        faults: Faults | None = None,
    ) -> None:
        settings = settings or Settings()
        self._runtime = Runtime(dispatcher, settings, files)
        self._runtime.events.faults = faults.events if faults else None
        self._faults = faults
        self._down = False
        self._in_flight: dict[Promise[Any], str] = {}
        self._verbs: DoVerb = self._do
        state = self._runtime.state
        for name in settings.images:
            state.add_image(make_image(full_name(name), settings.image_size_bytes))
        state.add_image(make_image(full_name(settings.sandbox_image), 2**20, pinned=True))
        self.preloaded = frozenset(state.images)
        """Ids of the images that were here before anybody pulled one."""

    # --- the capability ---------------------------------------------------------------------------------------------

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> Promise[Res]:
        """See `Cri.call`."""
        name = verb.name
        runtime = self._runtime
        try:
            with runtime.lock:
                if self._down or self._faults is not None:
                    answer = self._begin(name, request)
                else:
                    answer = self._verbs(name, request)
                if not isinstance(answer, Promise):
                    answer = kept(answer)
                elif not answer.done():
                    answer = self._follow(verb, request, answer, timeout_ns)
        except CriRefusal as refusal:
            answer = broken(CriError(refusal.code, refusal.message, name))
        except Exception as error:
            fault = CriError(StatusCode.INTERNAL, f"the simulated runtime failed: {error!r}", name)
            fault.__cause__ = error
            answer = broken(fault)
        if runtime.outbox:
            runtime.tell()
        return answer

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """See `Cri.stream`."""
        runtime = self._runtime
        stream = EventStream(runtime.events, on_item, on_end)  # type: ignore[arg-type]  # only event streams last
        with runtime.held():
            try:
                self._check_up()
                if verb.name == GET_CONTAINER_EVENTS.name:
                    runtime.events.follow(stream)
                else:
                    (field,) = verb.response.__struct_fields__
                    items = LISTS[verb.name](runtime, request)
                    for start in range(0, len(items), PART):
                        part = {field: items[start : start + PART]}
                        runtime.later(stream.on_item, verb.response(**part))
                    runtime.later(stream.end, None)
            except CriRefusal as refusal:
                runtime.later(stream.end, CriError(refusal.code, refusal.message, verb.name))
        return stream

    # --- the hand on it ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> RuntimeState:
        """The state of the runtime, for invariants and tests, which only read it."""
        return self._runtime.state

    @property
    def image_directory(self) -> str:
        """The directory of images and writable layers."""
        return self._runtime.settings.image_directory

    @property
    def sandbox_image(self) -> str:
        """The image of sandboxes."""
        return self._runtime.settings.sandbox_image

    @property
    def in_flight(self) -> int:
        """Calls that have not been answered."""
        return len(self._in_flight)

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Calls that no fault of the world meets: for what was there before anything went wrong."""
        faults, self._faults = self._faults, None
        try:
            yield
        finally:
            self._faults = faults

    def intercept(self, intercepted: Callable[[str, Any, DoVerb], Any]) -> Callable[[], None]:
        """Call `intercepted(name, request, do)` in place of each verb. Call the result to end this.

        It runs under the lock, after the faults of the world. The last one that came is asked first.
        """
        do = self._verbs
        self._verbs = lambda name, request: intercepted(name, request, do)

        def end_it() -> None:
            self._verbs = do

        return end_it

    def set_ready(self, *, runtime: bool = True, network: bool = True) -> None:
        """Set the answer of Status. Without a network only sandboxes in the host's network are made."""
        with self._runtime.lock:
            self._runtime.runtime_ready, self._runtime.network_ready = runtime, network

    def go_down(self) -> None:
        """The runtime dies: every call in flight and every stream breaks. Containers run on."""
        runtime = self._runtime
        with runtime.held():
            self._down = True
            in_flight, self._in_flight = self._in_flight, {}
            for promise, name in in_flight.items():
                runtime.refuse(promise, CriError(StatusCode.UNAVAILABLE, _DOWN, name))
            runtime.events.cut(_DOWN)

    def come_back(self) -> None:
        """The runtime is up again, with all it had."""
        with self._runtime.lock:
            self._down = False

    def kill_container(self, container_id: str, exit_code: int = 137, reason: str = "") -> None:
        """A container dies by another hand than ours: the kernel, a user on the node."""
        with self._runtime.held():
            end(self._runtime, self.state.containers[container_id], exit_code, reason)

    def write_log(self, container_id: str, lines: Sequence[str]) -> None:
        """A container that runs writes these lines now."""
        with self._runtime.held():
            write(self._runtime, self.state.containers[container_id], lines)

    def lose_sandbox(self, sandbox_id: str) -> None:
        """The process of a sandbox dies; its containers run on."""
        with self._runtime.held():
            lose_sandbox(self._runtime, self.state.sandboxes[sandbox_id])

    # --- the gates --------------------------------------------------------------------------------------------------

    def _check_up(self) -> None:
        if self._down:
            raise CriRefusal(StatusCode.UNAVAILABLE, _DOWN)

    def _begin(self, name: str, request: Any) -> Any:
        """The answer, or a promise of it. Under the lock."""
        self._check_up()
        if self._faults is not None:
            fate = self._faults.draw(name)
            if fate is not None:
                return self._meet(fate, name, request)
        return self._verbs(name, request)

    def _meet(self, fate: CallFate, name: str, request: Any) -> Any:
        """Fail, hang or delay a call, as the world's faults have chosen (`fate`)."""
        if fate.fail is not None:
            raise CriRefusal(fate.fail, "a fault of the simulated runtime")
        if fate.hang:
            return Promise()
        if not fate.slow_ns:
            return self._done(fate, name, request)
        answer: Promise[Any] = Promise()

        def go_on() -> None:
            if not answer.done():
                _pass_on(self._runtime, answer, lambda: self._done(fate, name, request))

        self._runtime.after(fate.slow_ns, go_on)
        return answer

    def _done(self, fate: CallFate, name: str, request: Any) -> Any:
        """Do the operation; lose the answer, or give it late."""
        inner = _attempt(lambda: self._verbs(name, request))
        if not (fate.lose or fate.late_ns):
            return inner
        answer: Promise[Any] = Promise()

        def give(_: Any) -> None:
            runtime = self._runtime
            if fate.lose:
                inner.exception()
                error = CriRefusal(StatusCode.UNAVAILABLE, "the answer of the simulated runtime got lost")
                runtime.after(fate.late_ns, lambda: runtime.refuse(answer, error))
            else:
                runtime.after(fate.late_ns, lambda: _copy(runtime, inner, answer))

        inner.add_done_callback(give)
        return answer

    def _do(self, name: str, request: Any) -> Any:
        """The verb itself, unless the pod's annotations say otherwise."""
        find = (SUBJECTS if self._runtime.state.disturbing else NEWCOMERS).get(name)
        if find is not None:
            subject = find(self._runtime.state, request)
            if subject is not None:
                rule = self._rule(name, subject)
                if rule is not None:
                    return self._obey(rule, name, request, subject[2].fail_text)
        return HANDLERS[name](self._runtime, request)

    def _rule(self, name: str, subject: Subject) -> CallRule | None:
        """The first rule on this verb that is not used up: failures first, then hangs, then lies, then delays."""
        pod_uid, container, behaviour = subject
        for rules in (behaviour.fail, behaviour.hang, behaviour.lie, behaviour.late):
            for number, rule in enumerate(rules):
                if rule.verb != name:
                    continue
                if rule.times is None:
                    return rule
                key = f"{rule.kind.value}.{number}"
                if self._runtime.state.count_call(pod_uid, container, key) < rule.times:
                    return rule
        return None

    def _obey(self, rule: CallRule, name: str, request: Any, said: str) -> Any:
        if rule.kind is CallKind.FAIL:
            image = known_name(request.image.image) if name == PULL_IMAGE.name and request.image else ""
            text = error_text(name, rule.error, image) if rule.error else "the pod's annotations make this call fail"
            raise CriRefusal(rule.code, said or text)
        if rule.kind is CallKind.HANG:
            return Promise()
        if rule.kind is CallKind.LIE:
            return _RESPONSES[name]()
        inner = _attempt(lambda: HANDLERS[name](self._runtime, request))
        answer: Promise[Any] = Promise()
        runtime = self._runtime
        inner.add_done_callback(lambda _: runtime.after(rule.delay_ns, lambda: _copy(runtime, inner, answer)))
        return answer

    def _follow(self, verb: Verb[Any, Any], request: Any, inner: Promise[Any], timeout_ns: int | None) -> Promise[Any]:
        """The promise that the caller gets of a call in flight: it ends by its deadline, and names the verb."""
        runtime, in_flight, name = self._runtime, self._in_flight, verb.name
        outer: Promise[Any] = Promise()
        in_flight[outer] = name
        if timeout_ns is None:
            timeout_ns = deadline_ns(verb, request)
        timer = None
        if timeout_ns is not None:
            late = CriError(StatusCode.DEADLINE_EXCEEDED, f"no answer within {timeout_ns / 10**9:g} s", name)
            timer = runtime.after(timeout_ns, lambda: runtime.refuse(outer, late))

        def ended(_: Any) -> None:
            in_flight.pop(outer, None)
            if timer is not None:
                timer.cancel()
            inner.cancel()

        def answered(_: Any) -> None:
            if outer.done():
                return
            error = inner.exception()
            if error is None:
                outer.set_result(inner.result())
            elif isinstance(error, CriRefusal):
                outer.set_exception(CriError(error.code, error.message, name))
            else:
                outer.set_exception(error)

        outer.add_done_callback(ended)
        inner.add_done_callback(answered)
        return outer


def _attempt(operation: Callable[[], Any]) -> Promise[Any]:
    """The result of an operation, always as a promise."""
    try:
        answer = operation()
    except CriRefusal as refusal:
        return broken(refusal)
    return answer if isinstance(answer, Promise) else kept(answer)


def _copy(runtime: Runtime, inner: Promise[Any], outer: Promise[Any]) -> None:
    """End `outer` as `inner` has ended."""
    error = inner.exception()
    if error is None:
        runtime.answer(outer, inner.result())
    else:
        runtime.refuse(outer, error)


def _pass_on(runtime: Runtime, outer: Promise[Any], operation: Callable[[], Any]) -> None:
    """End `outer` as the operation ends, which may take time itself."""
    inner = _attempt(operation)
    inner.add_done_callback(lambda _: _copy(runtime, inner, outer))
