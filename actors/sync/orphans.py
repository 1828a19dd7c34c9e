"""Orphans: pods that the runtime runs and no source desires. Each gets a worker that ends it (spec 2.10)."""

from __future__ import annotations

from actors.kernel import Actor
from actors.messages.pods import RuntimePod
from actors.pod.services import PodServices
from actors.sync.entries import PodEntry, Standing
from actors.sync.state import SyncState
from actors.sync.workers import PodWorkers
from runtime.metrics import kubelet as names


class OrphanPods:
    """See the module."""

    def __init__(self, sync_loop: Actor, state: SyncState, services: PodServices, workers: PodWorkers) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._workers = workers

    def end_all(self) -> None:
        """End all orphans, once every source has told its pods."""
        if self._state.all_ready:
            for pod in self._state.unknown or ():
                if pod.uid not in self._state.entries:
                    self._end(pod)

    def end_named(self, name: str) -> bool:
        """End the orphans of one full name, even before that. Returns whether there were any."""
        named = [
            pod
            for pod in self._state.unknown or ()
            if f"{pod.name}_{pod.namespace}" == name and pod.uid not in self._state.entries
        ]
        for pod in named:
            self._end(pod)
        return bool(named)

    def _end(self, pod: RuntimePod) -> None:
        self._sync_loop.log.info(
            "the runtime runs pod %s/%s (%s) that nobody desires; ending it", pod.namespace, pod.name, pod.uid
        )
        self._services.meters.count(names.ORPHANED_PODS)
        name = f"{pod.name}_{pod.namespace}"
        entry = self._state.entries[pod.uid] = PodEntry(standing=Standing.ORPHAN, orphan=pod, name=name)
        self._state.lines.goes_first(name, pod.uid)  # it runs already, so the others of its name wait for it
        self._workers.start(pod.uid, entry)
