"""Spawns the workers of pods, and briefs them."""

from __future__ import annotations

from collections.abc import Callable

from actors.eviction.local_limits import has_local_limits
from actors.kernel import Actor, ActorRef, ChildFailed, Message, RestartStrategy, handles
from actors.messages.events import pod_event
from actors.messages.eviction import LimitedPodSeen
from actors.messages.mirrors import StaticPodDesired
from actors.messages.pods import (
    Operation,
    PodWorkerStarted,
    RuntimePod,
    RuntimeStateObserved,
    SyncPod,
    TerminatePod,
)
from actors.messages.references import PodInputsChanged
from actors.model.pod_inputs import PodInputs
from actors.pod.services import PodServices
from actors.pod.worker import PodWorker
from actors.sync.entries import PodEntry
from actors.sync.mirrors import MirrorPods
from actors.sync.notes import worker_failed
from actors.sync.state import SyncState

SECOND_NS = 1_000_000_000
WORKER_STRATEGY = RestartStrategy(
    name="pod worker",
    budget=10,
    window_ns=600 * SECOND_NS,
    initial_ns=SECOND_NS,
    max_ns=60 * SECOND_NS,
    parked_retry_ns=60 * SECOND_NS,
)
"""A failed worker restarts within a minute, without end: its pod may have to be ended at any time."""
RUNTIME_NOT_ASKED = RuntimeStateObserved("the runtime has not been asked yet", "not known")

SpawnWorker = Callable[[Actor, str, PodServices, RuntimePod | None], ActorRef]
"""Spawn the worker of the pod with this UID. The last argument is an orphan as the runtime shows it."""


def spawn_worker(sync_loop: Actor, uid: str, services: PodServices, orphan: RuntimePod | None) -> ActorRef:
    return sync_loop.spawn(PodWorker, uid, services, orphan, name=uid, strategy=WORKER_STRATEGY)


class PodWorkers:
    """See the module."""

    def __init__(
        self, sync_loop: Actor, state: SyncState, services: PodServices, mirrors: MirrorPods, spawn: SpawnWorker
    ) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._mirrors = mirrors
        self._spawn = spawn
        self._runtime = RUNTIME_NOT_ASKED
        self._around: PodInputs | None = None
        """The last word of `ClusterCacheActor`; None: workers ask it."""

    def start(self, uid: str, entry: PodEntry) -> None:
        """Spawn the pod's worker."""
        entry.worker = self._spawn(self._sync_loop, uid, self._services, entry.orphan)
        self._sync_loop.watch(entry.worker)
        entry.lives += 1
        self._brief(entry, self._around)

    def tell_all(self, message: Message) -> None:
        for _, worker in self._state.workers():
            worker.tell(message)

    def _brief(self, entry: PodEntry, around: PodInputs | None = None) -> None:
        """Tell a worker all it must know: it has begun, restarted or lost messages.

        `around` only for a worker that reads it at once: in a waiting message it would be outdated.
        """
        if entry.worker is None:
            return
        if entry.is_ending():
            entry.worker.tell(self._runtime)
            entry.worker.tell(TerminatePod(pod=entry.pod, removed=True))
        else:
            self.tell_desired(entry, Operation.ADD, self._runtime, around)

    def tell_desired(
        self,
        entry: PodEntry,
        operation: Operation,
        runtime: RuntimeStateObserved | None = None,
        around: PodInputs | None = None,
    ) -> None:
        """Tell the worker of a desired pod its newest form."""
        worker, pod = entry.worker, entry.pod
        if worker is None:
            return
        ends = entry.is_to_be_deleted()
        if runtime is not None and (pod is None or ends):
            worker.tell(runtime)
        if pod is None:
            return  # known from before a restart of the sync loop, and the sources have not spoken since
        if entry.static:
            self._mirrors.tell(StaticPodDesired(pod))
        if ends:
            worker.tell(TerminatePod(pod=pod))
            return
        worker.tell(SyncPod(pod, operation, runtime, around))
        if self._services.eviction is not None and has_local_limits(pod):
            self._services.eviction.tell(LimitedPodSeen())

    @handles(PodWorkerStarted)
    def worker_announced(self, message: PodWorkerStarted) -> None:
        entry = self._state.entries.get(message.uid)
        if entry is None:
            message.worker.tell(TerminatePod(removed=True))
        else:
            self._brief(entry)

    @handles(ChildFailed)
    def worker_failed(self, message: ChildFailed) -> None:
        """The worker restarts after its back-off and finds its briefing in its mailbox."""
        entry = self._state.entries.get(message.name)
        if entry is None:
            return
        entry.lives += 1  # senders of orders repeat them for each life
        self._brief(entry)
        if entry.pod is not None:
            text = f"the pod's worker failed on {message.last_message}: {message.cause}"
            self._services.events.tell(pod_event(entry.pod, "Warning", "FailedSync", text))
            self._services.historian.tell(worker_failed(entry.pod, text, self._sync_loop.wall_ns()))

    # --- what all workers hear ----------------------------------------------------------------------------------------

    def runtime_state(self, state: RuntimeStateObserved) -> None:
        if state != self._runtime:
            self._runtime = state
            self.tell_all(state)

    def why_runtime_is_away(self) -> str:
        """Why the runtime is away; empty if it answers or has not been asked yet."""
        return "" if self._runtime is RUNTIME_NOT_ASKED else self._runtime.error

    @handles(PodInputsChanged)
    def pod_inputs_changed(self, message: PodInputsChanged) -> None:
        """For workers that start from now on; running ones ask when they need it."""
        self._around = message.around

    def forget_pod_inputs(self) -> None:
        """Forget the pod_inputs: a change of them may be lost and is not told again, so workers ask."""
        self._around = None
