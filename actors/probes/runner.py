"""`ProbeRunner`: checks the containers of one pod, each probe at its time (spec 5).

It is a child of the pod's worker, so probes keep their times whatever the worker waits for. It owns the timers, the
checks under way, and the verdicts from their answers. It walks the state machine of `actors.probes.state` and decides
nothing itself. The worker decides what a verdict means for the pod.

No check is awaited. One that hangs delays no other; one that never ends is given up. Pods without probes have no
runner, and a waiting probe costs one timer.
"""

from __future__ import annotations

from typing import ClassVar, Protocol, TypeAlias

import msgspec

from actors.events.history_words import shortened
from actors.kernel import Actor, ActorRef, Message, Pending, broken, handles, kept
from actors.messages.events import pod_event
from actors.messages.history import HistoryKind, note_of
from actors.messages.probes import (
    ContainersSeen,
    ProbeRunnerStarted,
    ProbesJudged,
    RunningContainer,
    TellVerdicts,
)
from actors.model.observed import ProbeResults
from actors.probes.measures import ProbeMeter, forget_probe
from actors.probes.rules import (
    CheckImpossibleError,
    ProbeKind,
    Terms,
    check_of,
    first_due_ns,
    first_tick_ns,
    given_up_after_ns,
    jitter_ns,
    probes_of,
    said_of,
    terms_of,
)
from actors.probes.state import (
    Answered,
    CheckDue,
    ContainerGone,
    ContainerRuns,
    Event,
    PodEnding,
    ProbeLife,
    ProbeStage,
    advance,
    beginning,
    is_well,
)
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, Probe
from config.pods.identity import field_path, lasting_containers
from runtime.metrics.meters import Meters
from runtime.probes import Check, ProbeAnswer, ProbeOutcome, Prober

SECOND_NS = 1_000_000_000
_SUCCESS = ProbeOutcome.SUCCESS
_STARTUP, _READINESS, _LIVENESS = ProbeKind

Begun: TypeAlias = Pending[ProbeAnswer] | ProbeAnswer
"""A check that was begun; it may have been answered at once."""


class ProbeKey(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """One probe of the pod; also the key of its timer."""

    container: str
    kind: ProbeKind


class ProbeDue(Message, frozen=True):
    """To itself: a probe is due."""

    key: ProbeKey


class CheckEnded(Message, frozen=True):
    """To itself: check number `number` of a probe has ended."""

    key: ProbeKey
    number: int
    answer: ProbeAnswer


class _Asked(msgspec.Struct):
    """A check under way.

    `pending` is None once it has ended: a future keeps its callback, which keeps this.
    """

    pending: Pending[ProbeAnswer] | None
    dropped: bool = False


class _Asker(msgspec.Struct, frozen=True):
    """The inputs of a probe at each check: the check, its target, its counters.

    It is made once per look at the pod.
    """

    container_id: str
    timeout_ns: int
    check: Check
    kind: str
    meter: ProbeMeter


def probed_containers(pod: Pod) -> tuple[Container, ...]:
    """The containers that may have probes: regular ones and sidecars."""
    return lasting_containers(pod.spec)


class ProbeServices(Protocol):
    """The inputs of the runner from its node."""

    @property
    def prober(self) -> Prober: ...
    @property
    def meters(self) -> Meters: ...
    @property
    def events(self) -> ActorRef: ...
    @property
    def historian(self) -> ActorRef: ...
    @property
    def began_ns(self) -> int:
        """When the agent began, monotonic."""


class ProbeRunner(Actor):
    mailbox_capacity: ClassVar[int] = 2_000
    max_effects: ClassVar[int] = 1_000
    """More than a pod has probes, so no check queues."""
    health_limit_ns: ClassVar[int | None] = 30 * SECOND_NS

    def __init__(self, worker: ActorRef, services: ProbeServices) -> None:
        super().__init__()
        self._worker = worker
        self._services = services
        self._probe = services.prober.probe
        self._seen: ContainersSeen | None = None
        self._containers: dict[str, Container] = {}
        self._running: dict[str, RunningContainer] = {}
        self._lives: dict[ProbeKey, ProbeLife] = {}
        self._ticks_from_ns: dict[ProbeKey, int] = {}
        """When the timer of a probe that may end its container began."""
        self._asked: dict[ProbeKey, _Asked] = {}
        self._askers: dict[ProbeKey, _Asker] = {}
        self._well: dict[ProbeKey, _Asker] = {}
        """Waiting probes for which one more success changes nothing."""
        self._told: ProbeResults | None = None
        self._unsaid = True
        """A verdict has changed since the last look at all of them."""

    def on_start(self) -> None:
        self._worker.tell(ProbeRunnerStarted())

    def on_stop(self) -> None:
        if self._seen is not None:
            for key in self._lives:
                forget_probe(self._services.meters, self._seen.pod, key.container, key.kind)

    @handles(TellVerdicts)
    def tell_verdicts(self, _: TellVerdicts) -> None:
        self._told, self._unsaid = None, True
        self._tell()

    # --- what there is to ask ---------------------------------------------------------------------------------------

    @handles(ContainersSeen)
    def seen(self, message: ContainersSeen) -> None:
        self._seen = message
        self._running = {each.name: each for each in message.running}
        self._containers = {each.name: each for each in probed_containers(message.pod)}
        self._askers.clear()
        self._well.clear()
        probes = {
            ProbeKey(container.name, kind): probe
            for container in self._containers.values()
            for kind, probe in probes_of(container)
        }
        for key in [known for known in self._lives if known not in probes]:
            self._end(key, message.pod)
        for key, probe in probes.items():
            terms = terms_of(key.kind, probe)
            life = self._lives.get(key)
            if life is None:
                self._lives[key] = beginning(terms)
                self._unsaid = True
                if key.kind.ends_containers:
                    self._ticks_from_ns[key] = self.now_ns() + self._jitter_ns(key, terms)
            elif life.terms != terms:
                self._lives[key] = msgspec.structs.replace(life, terms=terms)
            if message.ending:
                self._meet(key, PodEnding())
            self._meet(key, self._state_of(key))
        self._tell()

    def _end(self, key: ProbeKey, pod: Pod) -> None:
        """The pod no longer has this probe, as after an edit of a static pod's manifest."""
        self._drop(key)
        self.cancel_timer(key)
        del self._lives[key]
        self._unsaid = True
        self._ticks_from_ns.pop(key, None)
        forget_probe(self._services.meters, pod, key.container, key.kind)

    def _state_of(self, key: ProbeKey) -> Event:
        """The current state of the container, as an event for its probe."""
        found, life = self._running.get(key.container), self._lives[key]
        if found is None:
            return ContainerGone()
        terms, now_ns = life.terms, self.now_ns()
        due_ns = first_due_ns(terms, max(0, self.wall_ns() - found.started_wall_ns), now_ns)
        if key.kind.ends_containers:
            due_ns = first_tick_ns(terms, self._ticks_from_ns[key], due_ns, now_ns)
        elif found.id != life.container_id:
            due_ns += self._jitter_ns(key, terms)
        return ContainerRuns(found.id, due_ns, self._is_gated(key.container), _kept(key.kind, found))

    def _jitter_ns(self, key: ProbeKey, terms: Terms) -> int:
        found, up_ns = self._running.get(key.container), self.now_ns() - self._services.began_ns
        began_wall_ns = self.wall_ns() - up_ns
        unknown = found is not None and found.started_wall_ns < began_wall_ns and _kept(key.kind, found) is None
        return jitter_ns(terms, up_ns, self.chance.random(), unknown=unknown)

    def _is_gated(self, container: str) -> bool:
        startup = self._lives.get(ProbeKey(container, ProbeKind.STARTUP))
        return startup is not None and startup.result is not True

    # --- the walk ---------------------------------------------------------------------------------------------------

    def _meet(self, key: ProbeKey, event: Event, begun: Begun | None = None) -> None:
        """`begun`: the check that the event leads to, if it has already begun."""
        before = self._lives[key]
        after = advance(before, event)
        if after is before:
            return
        self._lives[key] = after
        if after.result is not before.result or after.container_id != before.container_id:
            self._unsaid = True
        self._well.pop(key, None)
        under_way = before.stage is ProbeStage.CHECKING
        if under_way and (after.stage is not ProbeStage.CHECKING or after.check != before.check):
            self._drop(key)
        if after.stage is ProbeStage.CHECKING and after.check != before.check:
            self._ask(key, after, begun)
        elif after.stage is ProbeStage.WAITING:
            self.wait_for_next(key, after)
        elif before.stage in (ProbeStage.WAITING, ProbeStage.CHECKING):
            self.cancel_timer(key)
        if key.kind is ProbeKind.STARTUP and (before.result is True) is not (after.result is True):
            for kind in (ProbeKind.READINESS, ProbeKind.LIVENESS):
                other = ProbeKey(key.container, kind)
                if other in self._lives:
                    self._meet(other, self._state_of(other))

    def wait_for_next(self, key: ProbeKey, life: ProbeLife) -> None:
        """Set a timer for the next check and the grid behind it."""
        self.every(life.terms.period_ns, ProbeDue(key), key, max(0, life.due_ns - self.now_ns()))
        asker = self._askers.get(key)
        if asker is not None and is_well(life):
            self._well[key] = asker

    @handles(ProbeDue)
    def due(self, message: ProbeDue) -> None:
        key = message.key
        asker, begun = self._well.get(key), None
        if asker is not None:
            begun = self._begun(asker)
            if type(begun) is ProbeAnswer and begun.outcome is _SUCCESS:
                # In a simulated world nearly every probe takes this path: the answer comes at once and changes nothing.
                asker.meter.succeeded_at_once()
                return
        if key in self._lives:
            self._meet(key, CheckDue(self.now_ns()), begun)
            self._tell()

    @handles(CheckEnded)
    def check_ended(self, message: CheckEnded) -> None:
        if message.key in self._lives:
            self._answered(message.key, message.number, message.answer)
            self._tell()

    def _answered(self, key: ProbeKey, number: int, answer: ProbeAnswer) -> None:
        life = self._lives[key]
        if life.stage is not ProbeStage.CHECKING or life.check != number:
            return
        now_ns = self.now_ns()
        took_ns = now_ns - life.asked_at_ns
        self._meet(key, Answered(number, answer.outcome, now_ns))
        asker = self._askers.get(key)
        if asker is not None:
            asker.meter.answered(answer.outcome, took_ns)
        if answer.outcome is ProbeOutcome.LATE:
            self.log.warning("%s probe of %s: %s", key.kind.heading, key.container, answer.text)
        elif self._lives[key].stage is not ProbeStage.CHECKING:
            self._say(key, answer)

    # --- checks -----------------------------------------------------------------------------------------------------

    def _ask(self, key: ProbeKey, life: ProbeLife, begun: Begun | None) -> None:
        """Begin the check; a timer gives it up if it never ends."""
        try:
            asker = self._asker_of(key, life)
        except CheckImpossibleError as failure:
            self._say(key, ProbeAnswer(ProbeOutcome.UNKNOWN, str(failure)))
            self._meet(key, Answered(life.check, ProbeOutcome.UNKNOWN, self.now_ns(), final=True))
            return
        if begun is None:
            begun = self._begun(asker)
        pending = kept(begun) if isinstance(begun, ProbeAnswer) else begun
        asked = self._asked[key] = _Asked(pending)
        number = life.check
        if pending.done():
            self._answered(key, number, _answer_of(pending))
            return

        def then(done: Pending[ProbeAnswer]) -> CheckEnded | None:
            asked.pending = None
            return None if asked.dropped else CheckEnded(key, number, _answer_of(done))

        self.begin(lambda: pending, then)
        self.after(given_up_after_ns(asker.check, life.terms.timeout_ns), ProbeDue(key), key=key)

    def _begun(self, asker: _Asker) -> Begun:
        try:
            return self._probe(asker.container_id, asker.kind, asker.check, asker.timeout_ns)
        except Exception as failure:
            return broken(failure)

    def _asker_of(self, key: ProbeKey, life: ProbeLife) -> _Asker:
        """The asker of a probe. Raises CheckImpossibleError."""
        asker, seen = self._askers.get(key), self._seen
        if asker is None:
            assert seen is not None, "who asks has been told whom"
            check = check_of(self._containers[key.container], self._probe_of(key), seen.ip)
            meter = ProbeMeter(self._services.meters, seen.pod, key.container, key.kind)
            asker = _Asker(life.container_id, life.terms.timeout_ns, check, key.kind.value, meter)
            self._askers[key] = asker
        return asker

    def _probe_of(self, key: ProbeKey) -> Probe:
        return dict(probes_of(self._containers[key.container]))[key.kind]

    def _drop(self, key: ProbeKey) -> None:
        """Drop the check under way: its answer is no longer needed."""
        asked = self._asked.pop(key, None)
        if asked is not None:
            asked.dropped = True
            if asked.pending is not None:
                asked.pending.cancel()

    # --- what comes of it -------------------------------------------------------------------------------------------

    def _say(self, key: ProbeKey, answer: ProbeAnswer) -> None:
        said, seen = said_of(key.kind, answer), self._seen
        if said is not None and seen is not None:
            path = field_path(seen.pod, key.container)
            self._services.events.tell(pod_event(seen.pod, "Warning", said.reason, said.message, path))
            text = shortened(f"container {key.container}: {said.message}")
            note = note_of(seen.pod, HistoryKind.FAILURE, text, said.reason, self.wall_ns())
            self._services.historian.tell(note)

    def _tell(self) -> None:
        """Send the verdicts to the worker if they have changed."""
        if not self._unsaid:
            return  # as after nearly every check; a pod may have thousands of probes
        self._unsaid = False
        results = self._results()
        if results != self._told:
            self._told = results
            self._worker.tell(ProbesJudged(results))

    def _results(self) -> ProbeResults:
        found: dict[ProbeKind, dict[str, bool]] = {_STARTUP: {}, _READINESS: {}, _LIVENESS: {}}
        for key, life in self._lives.items():
            if life.container_id and life.result is not None:
                found[key.kind][life.container_id] = life.result
        return ProbeResults(True, *(FrozenMap(found[kind]) for kind in (_STARTUP, _LIVENESS, _READINESS)))


def _kept(kind: ProbeKind, found: RunningContainer) -> bool | None:
    """The result that an earlier agent published for a container."""
    return {ProbeKind.READINESS: found.ready, ProbeKind.STARTUP: found.started or None}.get(kind)


def _answer_of(done: Pending[ProbeAnswer]) -> ProbeAnswer:
    """The answer of a check. A prober should not fail; if it does, that says nothing of the container."""
    try:
        return done.result(0)
    except BaseException as failure:
        return ProbeAnswer(ProbeOutcome.UNKNOWN, f"the probe itself has failed: {failure!r}")
