"""What the sync loop says to those who begin anew, and to those who ask: what it knows of the pods, and no decision.

Whoever restarts has forgotten what it was told, and says so; the answer is that, or the word to the workers to tell it
again. What a worker says of its pod's end is only kept here, for those who ask which pods there are.
"""

from __future__ import annotations

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.admission import AllocationReleased, PodTurnedAway, ResourceManagerStarted
from actors.messages.counts import CountPods, PodCount
from actors.messages.eviction import PodHere, PodsHere, WantPods
from actors.messages.history import HistorianStarted
from actors.messages.mirrors import MirrorActorStarted, MirrorPodChanged, StaticPodDesired, StaticSourcesReady
from actors.messages.pods import (
    AnnounceYourself,
    CollectorStarted,
    KnownPods,
    Operation,
    PlegStarted,
    PodWorkerStarted,
    RuntimePod,
    RuntimeStateObserved,
    WantKnownPods,
    WorkersKnown,
)
from actors.messages.references import ObjectCacheStarted, SurroundingsChanged
from actors.messages.status import PodFinished, PodReconciled, StatusManagerStarted
from actors.messages.volumes import RenewVolumes, VolumeReconcilerStarted
from actors.model.surroundings import Surroundings
from actors.pod.services import PodServices
from actors.sync.census import CountedPod, pod_count
from actors.sync.entries import Entry
from actors.sync.set_aside import SetAside
from config.objects import Pod
from config.pods.identity import SOURCE_API

SECOND_NS = 1_000_000_000
STILL_THERE_NS = 5 * SECOND_NS
"""From a new beginning of the status manager to a look at who ought to have left the API."""


_UNASKED = RuntimeStateObserved("the runtime has not been asked yet", "not known")


class EndOnceMore(Message, frozen=True):
    """SyncLoopActor to itself: see who ought to have left the API."""


class SyncPartners(Actor):
    """See the module. `SyncLoopActor` is the one that changes what stands here."""

    def __init__(self, services: PodServices) -> None:
        super().__init__()
        self._services = services
        self._entries: dict[str, Entry] = {}
        self._mirrors: dict[str, Pod] = {}
        """By UID, as the API server shows them."""
        self._all_ready = False
        """Every source has spoken."""
        self._unknown: tuple[RuntimePod, ...] | None = None
        """What the runtime runs that nobody works on; None: it has not been listed."""
        self._runtime = _UNASKED
        self._around: Surroundings | None = None
        """What `ClusterCacheActor` has told; None: workers ask it."""
        self._set_aside = SetAside()

    def _form_of(self, uid: str, entry: Entry) -> Pod | None:
        """In which a pod is known, be it one that is left alone."""
        return entry.pod or self._set_aside.form_of(uid)

    def _workers(self) -> tuple[tuple[str, ActorRef], ...]:
        """Every worker that there is, by the UID of its pod."""
        workers = ((uid, entry.worker) for uid, entry in self._entries.items())
        return tuple((uid, worker) for uid, worker in workers if worker is not None)

    def _tell_workers(self, message: Message) -> None:
        for _, worker in self._workers():
            worker.tell(message)

    # --- who begins anew, and what reaches everybody ----------------------------------------------------------------

    @handles(RuntimeStateObserved)
    def runtime_state(self, message: RuntimeStateObserved) -> None:
        if message != self._runtime:
            self._runtime = message
            self._tell_workers(message)

    def _away(self) -> str:
        """Why the runtime cannot be asked; empty where it can be, or was not asked yet."""
        return "" if self._runtime is _UNASKED else self._runtime.error

    @handles(SurroundingsChanged)
    def surroundings_changed(self, message: SurroundingsChanged) -> None:
        """For those who begin from now on; whoever is there asks when it needs to know."""
        self._around = message.around

    @handles(StatusManagerStarted)
    def status_manager_started(self, message: StatusManagerStarted) -> None:
        """The workers tell what they have computed; what the API shows they need not know in its last form."""
        for entry in self._entries.values():
            if entry.source == SOURCE_API and entry.pod is not None:
                self._services.status_manager.tell(PodReconciled(entry.pod))
        self._tell_workers(message)
        if self._services.mirrors is not None:
            self._services.mirrors.tell(message)
        self.after(STILL_THERE_NS, EndOnceMore())

    @handles(HistorianStarted)
    def historian_started(self, message: HistorianStarted) -> None:
        self._tell_workers(message)

    @handles(CollectorStarted)
    def collector_started(self, message: CollectorStarted) -> None:
        self._tell_workers(message)

    @handles(VolumeReconcilerStarted)
    def volume_reconciler_started(self, _: VolumeReconcilerStarted) -> None:
        self._tell_workers(RenewVolumes())

    @handles(ResourceManagerStarted)
    def resource_manager_started(self, _: ResourceManagerStarted) -> None:
        for uid, worker in self._workers():
            self._services.resources.tell(PodWorkerStarted(uid, worker))

    @handles(PlegStarted)
    def pleg_started(self, _: PlegStarted) -> None:
        self._services.pleg.tell(WorkersKnown(self._workers()))

    @handles(ObjectCacheStarted)
    def object_cache_started(self, _: ObjectCacheStarted) -> None:
        self._tell_workers(AnnounceYourself())

    @handles(MirrorActorStarted)
    def mirror_actor_started(self, _: MirrorActorStarted) -> None:
        """Tell it all: the mirrors first, so that none is made that is there."""
        if self._services.mirrors is None:
            return
        for mirror in self._mirrors.values():
            self._services.mirrors.tell(MirrorPodChanged(Operation.ADD, mirror))
        for entry in self._entries.values():
            if entry.static and entry.worker is not None and entry.pod is not None and not entry.is_ending():
                self._services.mirrors.tell(StaticPodDesired(entry.pod))
        if self._all_ready:
            self._services.mirrors.tell(StaticSourcesReady())

    # --- what workers say of the end of their pods ------------------------------------------------------------------

    @handles(AllocationReleased)
    def allocation_released(self, message: AllocationReleased) -> None:
        entry = self._entries.get(message.uid)
        if entry is not None:
            entry.released = True

    @handles(PodTurnedAway)
    def pod_turned_away(self, message: PodTurnedAway) -> None:
        entry = self._entries.get(message.uid)
        if entry is not None:
            entry.turned_away = True

    @handles(PodFinished)
    def pod_finished(self, message: PodFinished) -> None:
        entry = self._entries.get(message.uid)
        if entry is not None:
            entry.released = entry.finished = True

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(WantPods)
    def want_pods(self, message: WantPods) -> None:
        here = (
            PodHere(pod, each.worker, each.released, each.finished, each.turned_away, each.lives)
            for uid, each in self._entries.items()
            if (pod := self._form_of(uid, each)) is not None
        )
        message.asker.tell(PodsHere(tuple(here), self._all_ready and self._unknown is not None))

    def _known_pods(self) -> KnownPods | None:
        """None as long as somebody can still turn up."""
        return KnownPods(frozenset(self._entries)) if self._all_ready and self._unknown is not None else None

    @handles(WantKnownPods)
    def want_known_pods(self, message: WantKnownPods) -> None:
        known = self._known_pods()
        if known is not None:
            message.asker.tell(known)

    @handles(CountPods)
    def count_pods(self, _: CountPods) -> PodCount:
        known = (
            CountedPod(each.pod, each.static, each.standing.name, has_worker=each.worker is not None)
            for each in self._entries.values()
        )
        return pod_count(known, len(self._mirrors))
