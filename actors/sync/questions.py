"""Which pods there are: the sync loop's answers to other actors, and the workers' reports of ended pods."""

from __future__ import annotations

from actors.kernel import Actor, Message, handles
from actors.messages.admission import AllocationReleased, PodTurnedAway
from actors.messages.counts import CountPods, PodCount
from actors.messages.eviction import PodHere, PodsHere, WantPods
from actors.messages.pods import WantKnownPods
from actors.messages.status import PodFinished
from actors.pod.services import PodServices
from actors.sync.census import CountedPod, pod_count
from actors.sync.mirrors import MirrorPods
from actors.sync.state import SyncState

KNOWN_PODS_NS = 60_000_000_000
"""The interval between reports of the known pods."""


class TellKnownPods(Message, frozen=True):
    """SyncLoopActor to itself: report the known pods now."""


class PodQuestions:
    """See the module."""

    def __init__(self, sync_loop: Actor, state: SyncState, services: PodServices, mirrors: MirrorPods) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._owners = (
            services.container_gc,
            services.volumes,
            services.resources,
            services.image_gc,
            services.cgroups,
        )
        self._mirrors = mirrors

    @handles(TellKnownPods)
    def tell_known_pods(self, _: TellKnownPods) -> None:
        """Report the known pods once no other pod can turn up: the collectors of leftovers must know which pods exist
        (spec 1.5).
        """
        known = self._state.known_pods()
        if known is None:
            return
        for owner in self._owners:
            if owner is not None:
                owner.tell(known)
        self._sync_loop.after(KNOWN_PODS_NS, TellKnownPods())

    @handles(WantKnownPods)
    def want_known_pods(self, message: WantKnownPods) -> None:
        known = self._state.known_pods()
        if known is not None:
            message.asker.tell(known)

    @handles(WantPods)
    def want_pods(self, message: WantPods) -> None:
        here = (
            PodHere(pod, each.worker, each.released, each.finished, each.turned_away, each.lives)
            for uid, each in self._state.entries.items()
            if (pod := self._state.form_of(uid, each)) is not None
        )
        message.asker.tell(PodsHere(tuple(here), self._state.is_complete))

    @handles(CountPods)
    def count_pods(self, _: CountPods) -> PodCount:
        known = (
            CountedPod(each.pod, each.static, each.standing.name, has_worker=each.worker is not None)
            for each in self._state.entries.values()
        )
        return pod_count(known, len(self._mirrors))

    # --- what workers say of the end of their pods ------------------------------------------------------------------

    @handles(AllocationReleased)
    def allocation_released(self, message: AllocationReleased) -> None:
        entry = self._state.entries.get(message.uid)
        if entry is not None:
            entry.released = True

    @handles(PodTurnedAway)
    def pod_turned_away(self, message: PodTurnedAway) -> None:
        entry = self._state.entries.get(message.uid)
        if entry is not None:
            entry.turned_away = True

    @handles(PodFinished)
    def pod_finished(self, message: PodFinished) -> None:
        entry = self._state.entries.get(message.uid)
        if entry is not None:
            entry.released = entry.finished = True
