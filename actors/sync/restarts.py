"""What the sync loop does when another actor restarts and has forgotten what it was told.

Either the sync loop tells it again, or it lets the workers do so. `MirrorPodActor` is served in `mirrors`, the storage
in `actors.sync.loop`.
"""

from __future__ import annotations

from actors.kernel import Actor, Message, handles
from actors.messages.admission import ResourceManagerStarted
from actors.messages.history import HistorianStarted
from actors.messages.pods import AnnounceYourself, CollectorStarted, PlegStarted, PodWorkerStarted, WorkersKnown
from actors.messages.references import ObjectCacheStarted
from actors.messages.status import PodReconciled, StatusManagerStarted
from actors.messages.volumes import RenewVolumes, VolumeReconcilerStarted
from actors.pod.services import PodServices
from actors.sync.mirrors import MirrorPods
from actors.sync.starts import EndOnceMore
from actors.sync.state import SyncState
from actors.sync.workers import PodWorkers
from config.pods.identity import SOURCE_API

STILL_THERE_NS = 5_000_000_000
"""How long after a restart of the status manager to check for pods that should have left the API."""


class PartnerRestarts:
    """See the module."""

    def __init__(
        self, sync_loop: Actor, state: SyncState, services: PodServices, workers: PodWorkers, mirrors: MirrorPods
    ) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._workers = workers
        self._mirrors = mirrors

    @handles(StatusManagerStarted)
    def status_manager_started(self, message: StatusManagerStarted) -> None:
        """Tell the status manager what the API shows. The workers tell what they have computed."""
        for entry in self._state.entries.values():
            if entry.source == SOURCE_API and entry.pod is not None:
                self._services.status_manager.tell(PodReconciled(entry.pod))
        self._workers.tell_all(message)
        self._mirrors.tell(message)
        self._sync_loop.after(STILL_THERE_NS, EndOnceMore())

    @handles(HistorianStarted, CollectorStarted)
    def workers_tell_it_again(self, message: Message) -> None:
        self._workers.tell_all(message)

    @handles(VolumeReconcilerStarted)
    def volume_reconciler_started(self, _: VolumeReconcilerStarted) -> None:
        self._workers.tell_all(RenewVolumes())

    @handles(ObjectCacheStarted)
    def object_cache_started(self, _: ObjectCacheStarted) -> None:
        self._workers.tell_all(AnnounceYourself())

    @handles(ResourceManagerStarted)
    def resource_manager_started(self, _: ResourceManagerStarted) -> None:
        for uid, worker in self._state.workers():
            self._services.resources.tell(PodWorkerStarted(uid, worker))

    @handles(PlegStarted)
    def pleg_started(self, _: PlegStarted) -> None:
        self._services.pleg.tell(WorkersKnown(self._state.workers()))
