"""`ResourceClaimsActor`: the one owner of claims on this node (spec 10.12).

A pod asks before it has a sandbox, and tells when nothing of it runs any more. The owner reads the claims of the pod,
checks that the pod may use them, and waits until their drivers are here. Only then do they enter the book: a pod that
fails before leaves nothing behind. `life.py` says what is due of each claim; what drivers said goes to the disk before
the pod hears it. A call that failed is made again after a pause, while somebody needs it.

A pod whose driver is away ends all the same. Its claims stay in the book, and are unprepared when the driver is back.
Pods that went while no agent was here are found out by `KnownPods`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import msgspec

from actors.kernel import Actor, ActorRef, Message, Rank, handles, part
from actors.messages.pods import KnownPods
from actors.messages.resource_claims import (
    ClaimHealthTold,
    ClaimsAnswered,
    ClaimsReleased,
    ClaimsTold,
    DraDriversChanged,
    ListClaims,
    PrepareClaims,
    ReleaseClaims,
    TellClaims,
)
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.model.resource_claims import DeviceKey, HealthOfDevices, PodClaims, ReadyClaim
from actors.resources.book_saves import BookSaves
from actors.resources.claims.allowed import AllocatedClaim
from actors.resources.claims.calls import PREPARE, UNPREPARE, DriverCalls
from actors.resources.claims.health import DriverHealth
from actors.resources.claims.life import (
    Called,
    ClaimLife,
    ClaimStage,
    Event,
    Held,
    Left,
    PreparedBy,
    UnpreparedBy,
    advance,
)
from actors.resources.claims.reads import ClaimReads
from actors.resources.claims.written import read_claims, written_claims
from config.frozen_map import FrozenMap
from runtime.api import Api
from runtime.dra.capability import DraDrivers, Prepared
from runtime.metrics.claims import ANY, IN_USE
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.opaque_file import OpaqueFile

T = TypeVar("T")

SECOND_NS = 1_000_000_000
DISK_NS = 15 * SECOND_NS
SAVE_AGAIN_NS = 30 * SECOND_NS
FIRST_PAUSE_NS = SECOND_NS
LONGEST_PAUSE_NS = 60 * SECOND_NS


class ClaimsRead(Message, frozen=True):
    """To itself: the claims in the file, or why it is of no use."""

    lives: tuple[ClaimLife, ...]
    error: str


class BookWritten(Message, frozen=True):
    """To itself: this write has ended."""

    number: int
    error: str


class WriteAgain(Message, frozen=True):
    """To itself: try the disk again."""


class TryClaim(Message, frozen=True):
    """To itself: the pause of this claim is over."""

    uid: str


class _Question(msgspec.Struct):
    """A pod that waits for its claims. `found`: its claims, once they are read and it may use them."""

    asked: PrepareClaims
    found: Mapping[str, AllocatedClaim] = {}
    missing: frozenset[str] = frozenset()
    """Drivers that are not here; the claims are not in the book yet."""
    said: tuple[str, bool] = ("", False)


class _Leaving(msgspec.Struct):
    """A pod that ends. `claims`: UIDs of those that it had."""

    worker: ActorRef
    claims: frozenset[str] = frozenset()


class ResourceClaimsActor(Actor):
    """See the module. `api` None: a node without an API server.

    `shows_health`: feature gate ResourceHealthStatus.
    """

    max_effects: ClassVar[int] = 256
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    calls = part(DriverCalls)
    health = part(DriverHealth)
    reads = part(ClaimReads)

    def __init__(
        self,
        api: Api | None,
        drivers: DraDrivers,
        file: OpaqueFile,
        *,
        shows_health: bool = True,
        meters: Meters = UNMEASURED,
    ) -> None:
        super().__init__()
        self._file = file
        self._here = frozenset(drivers.names())
        self._lives: dict[str, ClaimLife] = {}
        """By the UID of the claim."""
        self._questions: dict[str, _Question] = {}
        """By the UID of the pod."""
        self._leaving: dict[str, _Leaving] = {}
        """Pods that wait until their claims are unprepared."""
        self._answers: dict[str, dict[str, Prepared]] = {}
        """Claim -> driver -> its answer to the call under way."""
        self._failures: dict[str, int] = {}
        self._pausing: set[str] = set()
        self._saves = BookSaves()
        self._is_read = False
        self.reads = ClaimReads(self, api, self._objects_read, self._not_allowed)
        self.calls = DriverCalls(self, drivers, self._driver_answered)
        self.health = DriverHealth(self, drivers, self._health_changed)
        self._shows_health = shows_health
        self._meters = meters
        self._counted: dict[str, int] = {}
        """Driver -> its claims that are prepared, as the metric has it."""
        self._workers: dict[str, ActorRef] = {}
        """Of pods that have asked for claims."""
        self._looking: list[TellClaims] = []
        """Pods that ask what they have while the file is being read."""

    def on_start(self) -> None:
        self._disk = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self.attempt(
            lambda: self._on_disk(self._file.load, read_claims),
            lambda lives, error: ClaimsRead(lives or (), error),
        )
        self._meters.put(IN_USE, 0, ANY)
        if self._shows_health:
            self.health.drivers_here(self._here)

    def on_stop(self) -> None:
        self.health.close()

    def on_failure(self, *_: Any) -> None:
        self.health.close()

    def _on_disk(self, operation: Callable[..., T], *args: Any) -> Any:
        return self._disk.submit("claims", operation, *args, deadline_ns=DISK_NS, rank=Rank.FIRST)

    @handles(ClaimsRead)
    def claims_read(self, message: ClaimsRead) -> None:
        """Work: all claims in use."""
        self._is_read = True
        if message.error:
            self.log.warning("which claims are prepared cannot be read, and is found out anew: %s", message.error)
        for life in message.lives:
            self._lives.setdefault(life.ref.uid, life)
        for uid in list(self._questions):
            self.reads.read(self._questions[uid].asked.pod)
        for uid, leaving in list(self._leaving.items()):
            self._leave(uid, leaving.worker)
        looking, self._looking = self._looking, []
        for asked in looking:
            self.tell_claims(asked)
        self._go_on()

    # --- a pod needs its claims -------------------------------------------------------------------------------------

    @handles(PrepareClaims)
    def prepare(self, message: PrepareClaims) -> None:
        """Work: the claims of one pod, of which the API has at most 64."""
        self._workers[message.pod.uid] = message.worker
        self._questions[message.pod.uid] = _Question(message)
        if self._is_read:
            self.reads.read(message.pod)

    def _not_allowed(self, uid: str, why: str) -> None:
        if (question := self._questions.get(uid)) is not None:
            self._say(question, why, refused=True)

    def _objects_read(self, uid: str, claims: Mapping[str, AllocatedClaim]) -> None:
        question = self._questions.get(uid)
        if question is None:
            return
        for claim in claims.values():
            old = self._of_same_name(claim)
            if old is not None:
                text = f"an old ResourceClaim {claim.ref.name} with another UID ({old.ref.uid}) is not unprepared yet"
                self._say(question, text, refused=True)
                return
        question.found = claims
        self._hold(question)

    def _of_same_name(self, claim: AllocatedClaim) -> ClaimLife | None:
        for life in self._lives.values():
            same = (life.ref.namespace, life.ref.name) == (claim.ref.namespace, claim.ref.name)
            if same and life.ref.uid != claim.ref.uid:
                return life
        return None

    def _hold(self, question: _Question) -> None:
        """Enter the claims into the book, unless a driver of them is away."""
        uid = question.asked.pod.uid
        drivers = {driver for claim in question.found.values() for driver in claim.drivers}
        known = all(self._is_known(question, claim) for claim in question.found.values())
        question.missing = frozenset() if known else frozenset(drivers - self._here)
        if question.missing:
            names = ", ".join(sorted(question.missing))
            verb = "is" if len(question.missing) == 1 else "are"
            self._say(question, f"DRA driver {names} {verb} not registered", refused=True)
            return
        for claim in question.found.values():
            life = self._lives.get(claim.ref.uid) or ClaimLife(claim.ref, claim.drivers)
            if self._is_known(question, claim):
                life = msgspec.structs.replace(life, stage=ClaimStage.PREPARED)
            self._advance(life, Held(uid))
        self._go_on()
        self._answer_if_ready(uid)

    def _is_known(self, question: _Question, claim: AllocatedClaim) -> bool:
        """Whether an earlier agent has made the claim ready for a sandbox that is still there."""
        life = self._lives.get(claim.ref.uid)
        return (
            not question.asked.anew
            and life is not None
            and life.stage is ClaimStage.WANTED
            and question.asked.pod.uid in life.pods
            and not life.missing
        )

    def _answer_if_ready(self, uid: str) -> None:
        question = self._questions.get(uid)
        if question is None or not question.found or question.missing:
            return
        lives = {name: self._lives.get(claim.ref.uid) for name, claim in question.found.items()}
        ready: dict[str, ReadyClaim] = {}
        for name, life in lives.items():
            if life is None or life.stage is not ClaimStage.PREPARED or uid not in life.pods:
                error = "" if life is None else life.error
                self._say(question, error or f"ResourceClaim {name} is being prepared", refused=bool(error))
                return
            ready[name] = ReadyClaim(life.ref, life.devices)
        if not self._saves.is_saved():
            return  # the end of the write looks again
        del self._questions[uid]
        question.asked.worker.tell(ClaimsAnswered(FrozenMap(ready), health=self._health_of(uid)))

    def _say(self, question: _Question, text: str, *, refused: bool) -> None:
        """Tell what the pod waits for, once."""
        if question.said != (text, refused):
            question.said = (text, refused)
            question.asked.worker.tell(ClaimsAnswered(None, text, refused))

    @handles(TellClaims)
    def tell_claims(self, message: TellClaims) -> None:
        """Work: all claims in use."""
        if not self._is_read:
            self._looking.append(message)
            return
        self._workers[message.uid] = message.worker
        claims = self._ready_claims().get(message.uid, {})
        message.worker.tell(ClaimsTold(FrozenMap(claims), self._health_of(message.uid)))

    # --- a pod ends -------------------------------------------------------------------------------------------------

    @handles(ReleaseClaims)
    def release(self, message: ReleaseClaims) -> None:
        """Work: all claims in use."""
        self._questions.pop(message.uid, None)
        self._workers.pop(message.uid, None)
        self.reads.forget(message.uid)
        if self._is_read:
            self._leave(message.uid, message.worker)
            self._go_on()
        else:
            self._leaving[message.uid] = _Leaving(message.worker)

    def _leave(self, uid: str, worker: ActorRef | None) -> None:
        known = self._leaving.get(uid)
        had = known.claims if known is not None else frozenset[str]()
        for life in list(self._lives.values()):
            if uid in life.pods:
                had |= {life.ref.uid}
                self._advance(life, Left(uid))
        if worker is not None:
            self._leaving[uid] = _Leaving(worker, had)
            self._let_go(uid)

    def _let_go(self, uid: str) -> None:
        """Tell the worker that its pod may end, unless a driver that is here is still to be called for it."""
        leaving, waits = self._leaving[uid], list[str]()
        for life in [self._lives[claim] for claim in sorted(leaving.claims) if claim in self._lives]:
            if life.pods:
                continue  # another pod uses it
            away = [driver for driver in life.drivers if driver not in self._here]
            if not away and not life.error:
                return
            why = f"DRA driver {', '.join(away)}: it is not registered" if away else life.error
            waits.append(f"ResourceClaim {life.ref.name} stays prepared: {why}")
        del self._leaving[uid]
        leaving.worker.tell(ClaimsReleased("; ".join(waits)))

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Let go of claims of pods that went while no agent was here.

        Work: all claims in use.
        """
        if not self._is_read:
            return
        for uid in sorted({pod for life in self._lives.values() for pod in life.pods} - message.uids):
            if uid not in self._questions and uid not in self._leaving:
                self._leave(uid, None)
        self._go_on()

    # --- drivers ----------------------------------------------------------------------------------------------------

    @handles(DraDriversChanged)
    def drivers_changed(self, message: DraDriversChanged) -> None:
        """Work: all claims in use, and the pods that wait."""
        self._here = frozenset(message.names)
        self._pausing.clear()
        if self._shows_health:
            self.health.drivers_here(self._here)
        for question in list(self._questions.values()):
            if question.missing:
                self._hold(question)
        for uid in list(self._leaving):
            self._let_go(uid)
        self._go_on()

    def _health_changed(self, devices: frozenset[DeviceKey]) -> None:
        """Work: all claims in use."""
        drivers = {each.driver for each in devices}
        for uid, worker in list(self._workers.items()):
            if uid not in self._questions and any(each in devices for each in self._devices_of(uid, drivers)):
                health = self._health_of(uid)
                if health is not None:
                    worker.tell(ClaimHealthTold(health))

    def _health_of(self, uid: str) -> HealthOfDevices | None:
        return self.health.of(self._devices_of(uid, self._here)) if self._shows_health else None

    def _devices_of(self, uid: str, drivers: Collection[str]) -> Iterator[DeviceKey]:
        """The devices of these drivers that the pod has."""
        for life in self._lives.values():
            if uid in life.pods:
                for driver in drivers:
                    for each in life.devices.get(driver, ()):
                        yield DeviceKey(driver, each.pool, each.device)

    def _driver_answered(self, driver: str, method: str, uid: str, answer: Prepared) -> None:
        life = self._lives.get(uid)
        if life is None:
            return
        answers = self._answers.setdefault(uid, {})
        answers[driver] = answer
        wanted = life.missing if method == PREPARE else life.drivers
        if any(each not in answers for each in wanted):
            return
        del self._answers[uid]
        error = "; ".join(answers[each].error for each in sorted(answers) if answers[each].error)
        if method == PREPARE:
            devices = {each: answer.devices for each, answer in answers.items() if not answer.error}
            life = self._advance(life, PreparedBy(FrozenMap(devices), error))
        else:
            done = frozenset(each for each, answer in answers.items() if not answer.error)
            life = self._advance(life, UnpreparedBy(done, error))
        if error:
            self._pause(life, error)
        else:
            self._failures.pop(uid, None)
        self._tell_pods()
        self._go_on()

    def _tell_pods(self) -> None:
        """A claim has changed: pods may wait for that."""
        for pod in list(self._questions):
            self._answer_if_ready(pod)
        for pod in list(self._leaving):
            self._let_go(pod)

    def _pause(self, life: ClaimLife, error: str) -> None:
        uid = life.ref.uid
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        pause_ns = min(FIRST_PAUSE_NS << min(failures - 1, 10), LONGEST_PAUSE_NS)
        self._pausing.add(uid)
        self.log.warning("claim %s/%s: %s", life.ref.namespace, life.ref.name, error)
        self.after(pause_ns, TryClaim(uid), key=("claim", uid))

    @handles(TryClaim)
    def try_claim(self, message: TryClaim) -> None:
        """Work: all claims in use."""
        self._pausing.discard(message.uid)
        self._go_on()

    # --- the book ---------------------------------------------------------------------------------------------------

    def _advance(self, life: ClaimLife, event: Event) -> ClaimLife:
        before = self._lives.get(life.ref.uid)
        after = advance(life, event)
        if after.stage is ClaimStage.GONE:
            self._lives.pop(after.ref.uid, None)
            self._failures.pop(after.ref.uid, None)
            self._pausing.discard(after.ref.uid)
        else:
            self._lives[after.ref.uid] = after
        if (before is not None and before.stage is ClaimStage.PREPARED) is not (after.stage is ClaimStage.PREPARED):
            self._count(after, 1 if after.stage is ClaimStage.PREPARED else -1)
        if before is None or after.stage is ClaimStage.GONE or _kept(before) != _kept(after):
            self._saves.changed()
        return after

    def _count(self, life: ClaimLife, by: int) -> None:
        """A claim is prepared now, or is no more. A driver without claims has no series."""
        for driver in (ANY, *life.drivers):
            count = self._counted[driver] = self._counted.get(driver, 0) + by
            if count or driver == ANY:
                self._meters.put(IN_USE, count, driver)
            else:
                del self._counted[driver]
                self._meters.drop(IN_USE, driver)

    def _go_on(self) -> None:
        """Save what has changed; call drivers for what is on the disk."""
        if not self._is_read:
            return
        self._save()
        if not self._saves.is_saved():
            return
        for life in list(self._lives.values()):
            if life.ref.uid in self._pausing or not self._here.issuperset(life.drivers):
                continue
            if life.stage is ClaimStage.WANTED and self._is_wanted(life):
                self._call(life, PREPARE, life.missing)
            elif life.stage is ClaimStage.ENDING:
                self._call(life, UNPREPARE, life.drivers)

    def _is_wanted(self, life: ClaimLife) -> bool:
        """Whether a pod waits for it now: claims of pods that run already are as an earlier agent left them."""
        return any(pod in self._questions for pod in life.pods)

    def _call(self, life: ClaimLife, method: str, drivers: tuple[str, ...]) -> None:
        if method == PREPARE and not drivers:
            # An earlier agent has heard of all of them; a new sandbox wants to hear it again.
            life = msgspec.structs.replace(life, devices=FrozenMap())
            drivers = life.drivers
        self._advance(life, Called())
        self._answers[life.ref.uid] = {}
        for driver in drivers:
            self.calls.ask(driver, method, life.ref, min(life.pods, default=""))
        if not drivers:
            self._advance(self._lives[life.ref.uid], PreparedBy(FrozenMap()) if method == PREPARE else _ALL_DONE)
            self._tell_pods()
            self._save()

    def _save(self) -> None:
        number = self._saves.begin()
        if number is not None:
            content = written_claims(self._lives.values())
            self.attempt(lambda: self._on_disk(self._file.save, content), lambda _, error: BookWritten(number, error))

    @handles(BookWritten)
    def book_written(self, message: BookWritten) -> None:
        """Work: all claims in use, and the pods that wait."""
        self._saves.ended(message.number, message.error)
        if message.error:
            self.log.warning("which claims are prepared cannot be saved: %s", message.error)
            self.after(SAVE_AGAIN_NS, WriteAgain(), key="write")
            for question in self._questions.values():
                self._say(question, f"which claims are prepared cannot be saved: {message.error}", refused=True)
            return
        for pod in list(self._questions):
            self._answer_if_ready(pod)
        self._go_on()

    @handles(WriteAgain)
    def write_again(self, _: WriteAgain) -> None:
        """Work: all claims in use."""
        self._go_on()

    @handles(ListClaims)
    def list_claims(self, _: ListClaims) -> Mapping[str, PodClaims]:
        """Work: all claims in use."""
        return {pod: FrozenMap(claims) for pod, claims in self._ready_claims().items()}

    def _ready_claims(self) -> dict[str, dict[str, ReadyClaim]]:
        """By the UID of the pod, and the name of the claim."""
        found: dict[str, dict[str, ReadyClaim]] = {}
        for life in self._lives.values():
            if not life.missing and life.stage in (ClaimStage.PREPARED, ClaimStage.WANTED):
                for pod in life.pods:
                    found.setdefault(pod, {})[life.ref.name] = ReadyClaim(life.ref, life.devices)
        return found


_ALL_DONE = UnpreparedBy(frozenset())


def _kept(life: ClaimLife) -> tuple[Any, ...]:
    """What the file tells of the claim."""
    return (life.drivers, life.pods, life.devices)
