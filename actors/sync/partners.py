"""Sends other actors the sync loop's knowledge of pods.

An actor that has restarted gets everything again.

Either the sync loop sends it, or the workers do. `MirrorPodActor` is served in `actors.sync.workers`, the
storage in `actors.sync.loop`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from actors.kernel import Actor, Message, handles
from actors.messages.admission import AllocationReleased, PodTurnedAway, ResourceManagerStarted
from actors.messages.counts import CountPods, PodCount
from actors.messages.eviction import PodHere, PodsHere, WantPods
from actors.messages.history import HistorianStarted
from actors.messages.pods import (
    AnnounceYourself,
    CollectorStarted,
    ListAwaitedSources,
    ListDesiredPods,
    PlegStarted,
    PodWorkerStarted,
    WantKnownPods,
    WorkersKnown,
)
from actors.messages.references import ObjectCacheStarted
from actors.messages.status import PodFinished, PodReconciled, StatusManagerStarted
from actors.messages.volumes import RenewVolumes, VolumeReconcilerStarted
from actors.pod.services import PodServices
from actors.sync.state import PodEntry, Standing, SyncState
from actors.sync.workers import EndOnceMore, MirrorPods, PodWorkers
from config.objects import Pod
from config.pods.identity import SOURCE_API, has_ended

KNOWN_PODS_NS = 60_000_000_000
"""The interval between reports of the known pods."""
STILL_THERE_NS = 5_000_000_000
"""How long after a restart of the status manager to check for pods that should have left the API."""


class TellKnownPods(Message, frozen=True):
    """SyncLoopActor to itself: report the known pods now."""


class Partners:
    def __init__(
        self, sync_loop: Actor, state: SyncState, services: PodServices, workers: PodWorkers, mirrors: MirrorPods
    ) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._workers = workers
        self._mirrors = mirrors

    @handles(TellKnownPods)
    def tell_known_pods(self, _: TellKnownPods) -> None:
        """Report the known pods once no other pod can turn up (spec 1.5).

        The collectors of leftovers must know which pods exist.

        Work: all pods.
        """
        known = self._state.known_pods()
        if known is None:
            return
        to = self._services
        for owner in (to.container_gc, to.volumes, to.resources, to.image_gc, to.cgroups, to.resource_claims):
            if owner is not None:
                owner.tell(known)
        self._sync_loop.after(KNOWN_PODS_NS, TellKnownPods())

    @handles(WantKnownPods)
    def want_known_pods(self, message: WantKnownPods) -> None:
        """Work: all pods."""
        known = self._state.known_pods()
        if known is not None:
            message.asker.tell(known)

    @handles(WantPods)
    def want_pods(self, message: WantPods) -> None:
        """Work: all pods."""
        here = (
            PodHere(pod, each.worker, each.released, each.finished, each.turned_away, each.lives)
            for uid, each in self._state.entries.items()
            if (pod := self._state.form_of(uid, each)) is not None
        )
        message.asker.tell(PodsHere(tuple(here), self._state.is_complete, message.number))

    @handles(CountPods)
    def count_pods(self, _: CountPods) -> PodCount:
        """Work: all pods."""
        return pod_count(self._state.entries.values(), len(self._mirrors))

    @handles(ListDesiredPods)
    def list_desired_pods(self, _: ListDesiredPods) -> tuple[Pod, ...]:
        """Work: all pods."""
        return tuple(each.pod for each in self._state.entries.values() if each.pod is not None)

    @handles(ListAwaitedSources)
    def list_awaited_sources(self, _: ListAwaitedSources) -> frozenset[str]:
        """Work: constant."""
        return self._state.sources - self._state.ready

    # --- what workers say of the end of their pods ------------------------------------------------------------------

    @handles(AllocationReleased)
    def allocation_released(self, message: AllocationReleased) -> None:
        """Work: constant."""
        entry = self._state.entries.get(message.uid)
        if entry is not None:
            entry.released = True

    @handles(PodTurnedAway)
    def pod_turned_away(self, message: PodTurnedAway) -> None:
        """Work: constant."""
        entry = self._state.entries.get(message.uid)
        if entry is not None:
            entry.turned_away = True

    @handles(PodFinished)
    def pod_finished(self, message: PodFinished) -> None:
        """Work: constant."""
        entry = self._state.entries.get(message.uid)
        if entry is not None:
            entry.released = entry.finished = True

    # --- who has restarted and forgotten what it was told -------------------------------------------------------------

    @handles(StatusManagerStarted)
    def status_manager_started(self, message: StatusManagerStarted) -> None:
        """Tell the status manager what the API shows. The workers tell what they have computed.

        Work: all pods.
        """
        for entry in self._state.entries.values():
            if entry.source == SOURCE_API and entry.pod is not None:
                self._services.status_manager.tell(PodReconciled(entry.pod))
        self._workers.tell_all(message)
        self._mirrors.tell(message)
        self._sync_loop.after(STILL_THERE_NS, EndOnceMore())

    @handles(HistorianStarted, CollectorStarted)
    def workers_tell_it_again(self, message: Message) -> None:
        """Work: all pods."""
        self._workers.tell_all(message)

    @handles(VolumeReconcilerStarted)
    def volume_reconciler_started(self, _: VolumeReconcilerStarted) -> None:
        """Work: all pods."""
        self._workers.tell_all(RenewVolumes())

    @handles(ObjectCacheStarted)
    def object_cache_started(self, _: ObjectCacheStarted) -> None:
        """Work: all pods."""
        self._workers.tell_all(AnnounceYourself())

    @handles(ResourceManagerStarted)
    def resource_manager_started(self, message: ResourceManagerStarted) -> None:
        """Work: all pods."""
        for uid, worker in self._state.workers():
            self._services.resources.tell(PodWorkerStarted(uid, worker))
        self._workers.tell_all(message)

    @handles(PlegStarted)
    def pleg_started(self, _: PlegStarted) -> None:
        """Work: all pods."""
        self._services.pleg.tell(WorkersKnown(self._state.workers()))


_CONFIGS = {
    Standing.DESIRED: "desired",
    Standing.UNREPORTED: "desired",
    Standing.GOING: "orphan",
    Standing.ORPHAN: "runtime_only",
}


def pod_count(entries: Iterable[PodEntry], mirrors: int) -> PodCount:
    """How many pods of each kind this node handles, for its metrics (spec 11.7). Pure.

    Active: desired and not ended. Working: has a worker.
    """
    desired, active, working = Counter[bool](), Counter[bool](), Counter[tuple[str, str, bool]]()
    ephemeral = 0
    for each in entries:
        if not each.is_ending():
            desired[each.static] += 1
            active[each.static] += not has_ended(each.pod)
            ephemeral += 0 if each.pod is None else len(each.pod.spec.ephemeral_containers)
        if each.worker is not None:
            working[_lifecycle(each), _CONFIGS[each.standing], each.static] += 1
    return PodCount(
        desired=(desired[True], desired[False]),
        active=(active[True], active[False]),
        mirrors=mirrors,
        working=working,
        ephemeral=ephemeral,
    )


def _lifecycle(entry: PodEntry) -> str:
    if has_ended(entry.pod):
        return "terminated"
    return "terminating" if entry.is_ending() or entry.is_to_be_deleted() else "sync"
