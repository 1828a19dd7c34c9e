"""`ResourceClaimsActor`: the one owner of claims on this node (spec 10.12).

A pod asks before it has a sandbox, and tells when nothing of it runs any more. The owner reads the claims of the pod,
checks that the pod may use them, and waits until their drivers are here. Only then do they enter the book: a pod that
fails before leaves nothing behind. `ClaimBook` saves them, and calls drivers for what is due.

A pod whose driver is away ends all the same. Its claims stay in the book, and are unprepared when the driver is back.
Pods that went while no agent was here are found out by `KnownPods`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, handles, part
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
from actors.model.resource_claims import DeviceKey, HealthOfDevices, PodClaims, ReadyClaim
from actors.resources.claims.allowed import AllocatedClaim
from actors.resources.claims.book import ClaimBook
from actors.resources.claims.health import DriverHealth
from actors.resources.claims.life import ClaimLife, ClaimStage, Held, Left
from actors.resources.claims.reads import ClaimReads
from config.frozen_map import FrozenMap
from runtime.api import Api
from runtime.dra.capability import DraDrivers
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.opaque_file import OpaqueFile

SECOND_NS = 1_000_000_000


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

    book = part(ClaimBook)
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
        self._questions: dict[str, _Question] = {}
        """By the UID of the pod."""
        self._leaving: dict[str, _Leaving] = {}
        """Pods that wait until their claims are unprepared."""
        self.book = ClaimBook(
            self,
            drivers,
            file,
            meters,
            is_wanted=self._is_wanted,
            on_read=self._book_read,
            on_change=self._tell_pods,
            on_write=self._book_written,
        )
        self.reads = ClaimReads(self, api, self._objects_read, self._not_allowed)
        self.health = DriverHealth(self, drivers, self._health_changed)
        self._shows_health = shows_health
        self._workers: dict[str, ActorRef] = {}
        """Of pods that have asked for claims."""
        self._looking: list[TellClaims] = []
        """Pods that ask what they have while the file is being read."""

    def on_start(self) -> None:
        self.book.read()
        if self._shows_health:
            self.health.drivers_here(self.book.here)

    def on_stop(self) -> None:
        self.health.close()

    def on_failure(self, *_: Any) -> None:
        self.health.close()

    def _book_read(self) -> None:
        """Look at pods that have asked meanwhile."""
        for uid in list(self._questions):
            self.reads.read(self._questions[uid].asked.pod)
        for uid, leaving in list(self._leaving.items()):
            self._leave(uid, leaving.worker)
        looking, self._looking = self._looking, []
        for asked in looking:
            self.tell_claims(asked)

    def _book_written(self, error: str) -> None:
        if not error:
            for pod in list(self._questions):
                self._answer_if_ready(pod)
            return
        for question in self._questions.values():
            self._say(question, f"which claims are prepared cannot be saved: {error}", refused=True)

    # --- a pod needs its claims -------------------------------------------------------------------------------------

    @handles(PrepareClaims)
    def prepare(self, message: PrepareClaims) -> None:
        """Work: the claims of one pod, of which the API has at most 64."""
        self._workers[message.pod.uid] = message.worker
        self._questions[message.pod.uid] = _Question(message)
        if self.book.is_read:
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
        for life in self.book.lives.values():
            same = (life.ref.namespace, life.ref.name) == (claim.ref.namespace, claim.ref.name)
            if same and life.ref.uid != claim.ref.uid:
                return life
        return None

    def _hold(self, question: _Question) -> None:
        """Enter the claims into the book, unless a driver of them is away."""
        uid = question.asked.pod.uid
        drivers = {driver for claim in question.found.values() for driver in claim.drivers}
        known = all(self._is_known(question, claim) for claim in question.found.values())
        question.missing = frozenset() if known else frozenset(drivers - self.book.here)
        if question.missing:
            names = ", ".join(sorted(question.missing))
            verb = "is" if len(question.missing) == 1 else "are"
            self._say(question, f"DRA driver {names} {verb} not registered", refused=True)
            return
        for claim in question.found.values():
            life = self.book.lives.get(claim.ref.uid) or ClaimLife(claim.ref, claim.drivers)
            if self._is_known(question, claim):
                life = msgspec.structs.replace(life, stage=ClaimStage.PREPARED)
            self.book.advance(life, Held(uid))
        self.book.go_on()
        self._answer_if_ready(uid)

    def _is_known(self, question: _Question, claim: AllocatedClaim) -> bool:
        """Whether an earlier agent has made the claim ready for a sandbox that is still there."""
        life = self.book.lives.get(claim.ref.uid)
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
        lives = {name: self.book.lives.get(claim.ref.uid) for name, claim in question.found.items()}
        ready: dict[str, ReadyClaim] = {}
        for name, life in lives.items():
            if life is None or life.stage is not ClaimStage.PREPARED or uid not in life.pods:
                error = "" if life is None else life.error
                self._say(question, error or f"ResourceClaim {name} is being prepared", refused=bool(error))
                return
            ready[name] = ReadyClaim(life.ref, life.devices)
        if not self.book.is_saved():
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
        if not self.book.is_read:
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
        if self.book.is_read:
            self._leave(message.uid, message.worker)
            self.book.go_on()
        else:
            self._leaving[message.uid] = _Leaving(message.worker)

    def _leave(self, uid: str, worker: ActorRef | None) -> None:
        known = self._leaving.get(uid)
        had = known.claims if known is not None else frozenset[str]()
        for life in list(self.book.lives.values()):
            if uid in life.pods:
                had |= {life.ref.uid}
                self.book.advance(life, Left(uid))
        if worker is not None:
            self._leaving[uid] = _Leaving(worker, had)
            self._let_go(uid)

    def _let_go(self, uid: str) -> None:
        """Tell the worker that its pod may end, unless a driver that is here is still to be called for it."""
        leaving, waits = self._leaving[uid], list[str]()
        for life in [self.book.lives[claim] for claim in sorted(leaving.claims) if claim in self.book.lives]:
            if life.pods:
                continue  # another pod uses it
            away = [driver for driver in life.drivers if driver not in self.book.here]
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
        if not self.book.is_read:
            return
        for uid in sorted({pod for life in self.book.lives.values() for pod in life.pods} - message.uids):
            if uid not in self._questions and uid not in self._leaving:
                self._leave(uid, None)
        self.book.go_on()

    # --- drivers ----------------------------------------------------------------------------------------------------

    @handles(DraDriversChanged)
    def drivers_changed(self, message: DraDriversChanged) -> None:
        """Work: all claims in use, and the pods that wait."""
        self.book.drivers_here(frozenset(message.names))
        if self._shows_health:
            self.health.drivers_here(self.book.here)
        for question in list(self._questions.values()):
            if question.missing:
                self._hold(question)
        for uid in list(self._leaving):
            self._let_go(uid)
        self.book.go_on()

    def _health_changed(self, devices: frozenset[DeviceKey]) -> None:
        """Work: all claims in use."""
        drivers = {each.driver for each in devices}
        for uid, worker in list(self._workers.items()):
            if uid not in self._questions and any(each in devices for each in self._devices_of(uid, drivers)):
                health = self._health_of(uid)
                if health is not None:
                    worker.tell(ClaimHealthTold(health))

    def _health_of(self, uid: str) -> HealthOfDevices | None:
        return self.health.of(self._devices_of(uid, self.book.here)) if self._shows_health else None

    def _devices_of(self, uid: str, drivers: Collection[str]) -> Iterator[DeviceKey]:
        """The devices of these drivers that the pod has."""
        for life in self.book.lives.values():
            if uid in life.pods:
                for driver in drivers:
                    for each in life.devices.get(driver, ()):
                        yield DeviceKey(driver, each.pool, each.device)

    def _tell_pods(self) -> None:
        """A claim has changed: pods may wait for that."""
        for pod in list(self._questions):
            self._answer_if_ready(pod)
        for pod in list(self._leaving):
            self._let_go(pod)

    def _is_wanted(self, life: ClaimLife) -> bool:
        """Whether a pod waits for it now: claims of pods that run already are as an earlier agent left them."""
        return any(pod in self._questions for pod in life.pods)

    # --- who has what -----------------------------------------------------------------------------------------------

    @handles(ListClaims)
    def list_claims(self, _: ListClaims) -> Mapping[str, PodClaims]:
        """Work: all claims in use."""
        return {pod: FrozenMap(claims) for pod, claims in self._ready_claims().items()}

    def _ready_claims(self) -> dict[str, dict[str, ReadyClaim]]:
        """By the UID of the pod, and the name of the claim."""
        found: dict[str, dict[str, ReadyClaim]] = {}
        for life in self.book.lives.values():
            if not life.missing and life.stage in (ClaimStage.PREPARED, ClaimStage.WANTED):
                for pod in life.pods:
                    found.setdefault(pod, {})[life.ref.name] = ReadyClaim(life.ref, life.devices)
        return found
