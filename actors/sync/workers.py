"""The workers of pods: which pods get one, when, and with which information.

`PodStarts` decides who may start, `PodWorkers` spawns and briefs workers, and `MirrorPods` tells `MirrorPodActor` what
runs. An orphan, a pod that the runtime runs and no source desires, gets a worker that ends it (spec 2.10).
"""

from __future__ import annotations

from collections.abc import Callable

from actors.events.history_words import name_wait, shortened
from actors.kernel import Actor, ActorRef, ChildFailed, Message, RestartStrategy, handles, part
from actors.messages.events import pod_event
from actors.messages.history import HistoryEntry, HistoryKind, NoteHistory, PodWait
from actors.messages.mirrors import MirrorActorStarted, MirrorPodChanged, StaticPodDesired, StaticSourcesReady
from actors.messages.pods import (
    Operation,
    PodChanged,
    PodWorkerStarted,
    RuntimePod,
    RuntimeStateObserved,
    SyncPod,
    TerminatePod,
)
from actors.messages.references import PodInputs, PodInputsChanged
from actors.messages.status import PodStatusChanged
from actors.pod.services import PodServices
from actors.pod.worker import PodWorker
from actors.pod_rules.lifecycle import PodStage
from actors.sync.state import PodEntry, Standing, SyncState
from actors.sync.turns import PodTurns
from config.objects import Pod, PodStatus
from runtime.metrics import kubelet as names

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


class EndOnceMore(Message, frozen=True):
    """SyncLoopActor to itself: find pods that should have left the API and have not."""


class MirrorPods:
    """Sends `MirrorPodActor` its pods.

    These are the static pods, and the mirror pods that the API server shows.

    A mirror pod only represents a static pod in the API. The static pod runs under another UID, so a mirror pod never
    gets a worker. A standalone node has no such actor, and nothing is told.
    """

    def __init__(self, state: SyncState, services: PodServices) -> None:
        self._state = state
        self._listener = services.mirrors
        self._mirrors: dict[str, Pod] = {}
        self._ready_told = False

    def __len__(self) -> int:
        return len(self._mirrors)

    def tell(self, message: Message) -> None:
        if self._listener is not None:
            self._listener.tell(message)

    def changed(self, change: PodChanged) -> None:
        """The API server shows a mirror pod in another form, or no longer."""
        uid = change.pod.metadata.uid
        if change.operation is Operation.REMOVE:
            self._mirrors.pop(uid, None)
        else:
            self._mirrors[uid] = change.pod
        self.tell(MirrorPodChanged(change.operation, change.pod))

    @handles(MirrorActorStarted)
    def mirror_actor_started(self, _: MirrorActorStarted) -> None:
        """Tell the actor the mirrors first, so that it does not create existing ones.

        Work: all static pods.
        """
        for mirror in self._mirrors.values():
            self.tell(MirrorPodChanged(Operation.ADD, mirror))
        for entry in self._state.entries.values():
            if entry.static and entry.worker is not None and entry.pod is not None and not entry.is_ending():
                self.tell(StaticPodDesired(entry.pod))
        self._ready_told = False
        self.sources_ready()

    def sources_ready(self) -> None:
        """Say once that all static pods are known: a mirror of none of them goes.

        Only after those that may start have started. The mirrors of others would go and come again.
        """
        if self._state.all_ready and self._state.unknown is not None and not self._ready_told:
            self._ready_told = True
            self.tell(StaticSourcesReady())


class PodWorkers:
    """Spawns the workers of pods, and briefs them."""

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
        nothing_begun = entry.came_later and not self._state.is_in_runtime(uid)
        entry.came_later = False
        self._brief(entry, self._around, nothing_begun=nothing_begun)

    def tell_all(self, message: Message) -> None:
        for _, worker in self._state.workers():
            worker.tell(message)

    def _brief(self, entry: PodEntry, around: PodInputs | None = None, *, nothing_begun: bool = False) -> None:
        """Tell a worker all it must know: it has begun, restarted or lost messages.

        `around` only for a worker that reads it at once: in a waiting message it would be outdated. `nothing_begun`
        only for the first worker of a pod: one that restarts may have called the runtime.
        """
        if entry.worker is None:
            return
        if entry.is_ending():
            entry.worker.tell(self._runtime)
            entry.worker.tell(TerminatePod(pod=entry.pod, removed=True))
        else:
            self.tell_desired(entry, Operation.ADD, self._runtime, around, nothing_begun=nothing_begun)

    def tell_desired(
        self,
        entry: PodEntry,
        operation: Operation,
        runtime: RuntimeStateObserved | None = None,
        around: PodInputs | None = None,
        *,
        nothing_begun: bool = False,
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
        worker.tell(SyncPod(pod, operation, runtime, around, nothing_begun))

    @handles(PodWorkerStarted)
    def worker_announced(self, message: PodWorkerStarted) -> None:
        """Work: constant."""
        entry = self._state.entries.get(message.uid)
        if entry is None:
            message.worker.tell(TerminatePod(removed=True))
        else:
            self._brief(entry)

    @handles(ChildFailed)
    def worker_failed(self, message: ChildFailed) -> None:
        """The worker restarts after its back-off and finds its briefing in its mailbox.

        Work: constant.
        """
        entry = self._state.entries.get(message.name)
        if entry is None:
            return
        entry.lives += 1  # senders of orders repeat them for each life
        self._brief(entry)
        if entry.pod is not None:
            text = f"the pod's worker failed on {message.last_message}: {message.cause}"
            self._services.events.tell(pod_event(entry.pod, "Warning", "FailedSync", text))
            self._services.historian.tell(_worker_failed(entry.pod, text, self._sync_loop.wall_ns()))

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
        """Keep the inputs for workers that start from now on; running ones ask when they need them.

        Work: constant.
        """
        self._around = message.around

    def forget_pod_inputs(self) -> None:
        """A change of them may be lost and is not told again, so workers ask."""
        self._around = None


class PodStarts:
    """Decides which pods may start now, and tells why the others wait.

    A pod starts at once or in its turn (`actors.sync.turns`), unless it is static. Static pods of one full name run one
    at a time, first come first served. The next starts when the previous one has neither a worker nor an orphan in the
    runtime (spec 2.6, pains 7). That needs the pod's own source and the first list of the runtime, but never the API
    server.
    """

    turns = part(PodTurns)

    def __init__(
        self,
        sync_loop: Actor,
        state: SyncState,
        services: PodServices,
        workers: PodWorkers,
        attempt: Callable[[PodChanged, Callable[[], None]], None],
    ) -> None:
        self._sync_loop = sync_loop
        self._state = state
        self._services = services
        self._workers = workers
        self._attempt = attempt
        """Acts for a pod, so that a failure concerns only this pod."""
        self.turns = PodTurns(sync_loop, state, services, workers.start, attempt)

    def start_if_allowed(self, uid: str, entry: PodEntry) -> None:
        pod = entry.pod
        if entry.worker is None and not entry.ended and pod is not None:
            change = PodChanged(Operation.ADD, pod, entry.source)
            self._attempt(change, lambda: self.start_or_wait(uid, entry, pod))

    def waits_for_turn(self, uid: str) -> bool:
        return self.turns.most > 0 and uid in self.turns

    def start_all_allowed(self) -> None:
        for uid, entry in list(self._state.entries.items()):
            self.start_if_allowed(uid, entry)

    def start_next_of(self, name: str, uid: str) -> None:
        """Start the next pod of a name that this pod has left, because it has ended or was renamed."""
        following = self._state.lines.leave(name, uid)
        if following in self._state.entries:
            self.start_if_allowed(following, self._state.entries[following])

    def start_or_wait(self, uid: str, entry: PodEntry, pod: Pod) -> None:
        """Start the pod's worker, unless it must wait for its turn, or as a static pod for its name."""
        if not entry.static:
            if not (self.turns.most and self.turns.waits(uid, entry, pod)):
                self._workers.start(uid, entry)
            return
        if self.may_start_static(uid, entry):
            self._workers.start(uid, entry)
            return
        # Until its source and the runtime have spoken, the pod may be running, so it is not "Pending".
        known = self._state.unknown is not None and entry.source in self._state.ready
        self._note_name_wait(uid, entry)
        waits = PodStatus(phase="Pending") if known else PodStatus()
        self._services.status_manager.tell(PodStatusChanged(pod, waits, seen=known))

    def may_start_static(self, uid: str, entry: PodEntry) -> bool:
        """Whether it is the pod's turn: it is first in the line of its name, and no orphan of that name runs."""
        state = self._state
        state.lines.join(entry.name, uid)
        if state.unknown is None or entry.source not in state.ready or state.unreported:
            return False
        return state.lines.first(entry.name) == uid and not self._end_orphans_named(entry.name)

    def _note_name_wait(self, uid: str, entry: PodEntry) -> None:
        """Tell the historian why the pod waits: it has no worker to do that."""
        state = self._state
        first = state.lines.first(entry.name)
        text = name_wait(
            heard=entry.source in state.ready and not state.unreported,
            listed=state.unknown is not None,
            ahead=first if first != uid else "",
            orphan=first == uid,
            away=self._workers.why_runtime_is_away(),
        )
        if entry.pod is not None and text != entry.waits_for:
            entry.waits_for = text
            self._services.historian.tell(_waits_for_its_turn(entry.pod, text, self._sync_loop.wall_ns()))

    @handles(RuntimeStateObserved)
    def runtime_state(self, message: RuntimeStateObserved) -> None:
        """Pods without a worker may wait for the runtime, so update their notes.

        Work: all pods.
        """
        self._workers.runtime_state(message)
        self.turns.runtime_observed(message)
        if self._state.unknown is None:
            for uid, entry in self._state.entries.items():
                if entry.waits_for and entry.worker is None:
                    self._note_name_wait(uid, entry)

    @handles(EndOnceMore)
    def end_once_more(self, _: EndOnceMore) -> None:
        """Give ended pods that are still in the API a worker again.

        The status manager has restarted and lost their end. By now the API shows what was written last.

        Work: all pods.
        """
        for uid, entry in list(self._state.entries.items()):
            if entry.ended and entry.worker is None:
                entry.ended = False
                self.start_if_allowed(uid, entry)

    # --- orphans ------------------------------------------------------------------------------------------------------

    def end_orphans(self) -> None:
        """End all orphans, once every source has told its pods."""
        if self._state.all_ready:
            for orphan in self._state.orphans():
                self._end(orphan)

    def _end_orphans_named(self, name: str) -> bool:
        """End the orphans of one full name, even before that. Returns whether there were any."""
        named = [orphan for orphan in self._state.orphans() if _name_of(orphan) == name]
        for orphan in named:
            self._end(orphan)
        return bool(named)

    def _end(self, orphan: RuntimePod) -> None:
        text = "the runtime runs pod %s/%s (%s) that nobody desires; ending it"
        self._sync_loop.log.info(text, orphan.namespace, orphan.name, orphan.uid)
        self._services.meters.count(names.ORPHANED_PODS)
        name = _name_of(orphan)
        entry = self._state.entries[orphan.uid] = PodEntry(standing=Standing.ORPHAN, orphan=orphan, name=name)
        self._state.lines.goes_first(name, orphan.uid)  # it runs already, so the others of its name wait for it
        self._workers.start(orphan.uid, entry)


def _name_of(orphan: RuntimePod) -> str:
    """The full name of an orphan, as `full_name` of a pod."""
    return f"{orphan.name}_{orphan.namespace}"


def _waits_for_its_turn(pod: Pod, why: str, wall_ns: int) -> NoteHistory:
    """The pod has no worker yet, because others of its name come first."""
    entry = HistoryEntry(HistoryKind.WAIT, f"the pod waits for its turn: {why}", "", wall_ns, wall_ns)
    wait = PodWait("the pod", "", why, "it is started then")
    meta = pod.metadata
    return NoteHistory(meta.uid, meta.namespace, meta.name, PodStage.WAITING.value, wall_ns, (entry,), (wait,))


def _worker_failed(pod: Pod, text: str, wall_ns: int) -> NoteHistory:
    """A worker has failed. It forgets all it knew, so the sync loop tells this."""
    why = shortened(text)
    entry = HistoryEntry(HistoryKind.FAILURE, why, "", wall_ns, wall_ns)
    wait = PodWait("the pod", "FailedSync", why, "the worker is started again, and looks for itself")
    meta = pod.metadata
    return NoteHistory(meta.uid, meta.namespace, meta.name, "", 0, (entry,), (wait,))
