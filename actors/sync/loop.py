"""`SyncLoopActor`: which pod workers exist.

It gives each desired pod a worker, tells the worker what is desired, and lets it go when the pod is no longer desired
and has ended. It decides no more than that:

- One worker per UID. A UID that comes back while its old worker is still ending starts anew after that (spec 2.6).
- Static pods of one full name run one at a time (`PodStarts`).
- A pod that the runtime runs and no source desires is an orphan, and is ended once every source has told its pods
  (spec 2.10).
- A pod on which the sync loop itself fails goes into quarantine, until it changes or a retry succeeds.

This file routes the changes of pods; its parts are in `actors.sync`. Messages may be lost on the way here (a full
mailbox, a restart of this actor): `PublishAgain` asks for everything again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from actors.kernel import Actor, ActorRef, ActorStopped, MailboxOverflowed, Message, handles, part
from actors.messages.events import PodEventsOver, pod_event
from actors.messages.history import gone
from actors.messages.mirrors import StaticPodGone
from actors.messages.pods import (
    AnnounceYourself,
    Operation,
    PodCameBack,
    PodChanged,
    PublishAgain,
    SourceReady,
    StorageStarted,
    SyncLoopStarted,
    TerminatePod,
    UnknownPodsObserved,
)
from actors.messages.status import PodForgotten, PodLeftApi, PodReconciled
from actors.pod.services import PodServices
from actors.sources.pod_changes import concerns_worker
from actors.sync.partners import Partners, TellKnownPods
from actors.sync.state import PodEntry, Standing, SyncState
from actors.sync.workers import MirrorPods, PodStarts, PodWorkers, SpawnWorker, spawn_worker
from config.objects import Pod
from config.pods.identity import SOURCE_API, full_name, is_mirror, is_static
from runtime.metrics import kubelet as names

HOUSEKEEPING_NS = 2_000_000_000
"""The delay from the end of an orphan to the report that it is no longer known (spec 2.1).

Only then its leftovers on disk go.
"""


REPLACE_NS = 1_000_000_000
"""From the end of a worker that should not have ended to its replacement.

One that ends at once costs little then.
"""


class ReplaceWorker(Message, frozen=True):
    """To itself: give this pod another worker, if it still needs one."""

    uid: str


class RetryQuarantined(Message, frozen=True):
    """To itself: try the change of this pod again."""

    uid: str


class SyncLoopActor(Actor):
    """See the module. `sources` names the sources that will tell their pods."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 300_000_000_000

    _mirrors = part(MirrorPods)
    _workers = part(PodWorkers)
    _starts = part(PodStarts)
    _partners = part(Partners)

    def __init__(
        self,
        services: PodServices,
        storage: ActorRef,
        runtime_monitor: ActorRef,
        sources: tuple[str, ...],
        spawn: SpawnWorker = spawn_worker,
    ) -> None:
        super().__init__()
        self._services = services
        self._storage = storage
        self._runtime_monitor = runtime_monitor
        self._number = 0
        """The number of its last question to the storage.

        Answers to an earlier life of this actor may still come.
        """
        state = self._state = SyncState(frozenset(sources))
        self._mirrors = MirrorPods(state, services)
        self._workers = PodWorkers(self, state, services, self._mirrors, spawn)
        self._starts = PodStarts(self, state, services, self._workers, self._attempt)
        self._partners = Partners(self, state, services, self._workers, self._mirrors)

    def on_start(self) -> None:
        self._number = self.now_ns()
        for static in ("", "true"):
            self._services.meters.count(names.RESTARTED_PODS, static, by=0)  # a kubelet shows both from its start
        # Workers outlive a restart of this actor. Until the sources have spoken again, nobody desires their pods.
        for uid, worker in self.children.items():
            # Earlier counts of lives are lost, and none of their numbers may be used again.
            self._state.entries[uid] = PodEntry(worker=worker, lives=self._number)
            self._state.unreported.add(uid)
            self.watch(worker)
            worker.tell(AnnounceYourself())
        self._ask_again()
        self._ask_for_the_runtime()

    @handles(StorageStarted)
    def storage_started(self, _: StorageStarted) -> None:
        """Work: all pods."""
        self._ask_again()

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Work: all pods."""
        self._state.lost_messages = True
        self._workers.forget_pod_inputs()
        self._ask_again()
        self._ask_for_the_runtime()
        self._workers.tell_all(AnnounceYourself())

    def _ask_again(self) -> None:
        forms = (
            self._state.form_of(uid, entry)
            for uid, entry in self._state.entries.items()
            if entry.standing is Standing.DESIRED
        )
        self._storage.tell(PublishAgain(tuple(pod for pod in forms if pod is not None), self._number))

    def _ask_for_the_runtime(self) -> None:
        for listener in (self._services.pleg, self._runtime_monitor):
            listener.tell(SyncLoopStarted())

    # --- what is desired --------------------------------------------------------------------------------------------

    @handles(PodChanged)
    def pod_changed(self, change: PodChanged) -> None:
        """Work: one pod, compared as a whole."""
        if not self._state.quarantine.holds(change):
            self._attempt(change, lambda: self._meet(change))

    def _meet(self, change: PodChanged) -> None:
        pod, uid = change.pod, change.pod.metadata.uid
        entry = self._state.entries.get(uid)
        if change.source == SOURCE_API:
            if is_mirror(pod):
                self._mirrors.changed(change)
                return
            self._tell_what_the_api_shows(change, entry)
        self._state.unreported.discard(uid)
        if change.operation is Operation.REMOVE:
            if entry is not None:
                if entry.standing is Standing.DESIRED and pod.metadata.deletion_timestamp is not None:
                    entry.pod = pod  # its last form has the grace for its end
                self.remove(uid, entry)
        elif entry is None or not entry.has_begun():
            self._begin(uid, entry, change)
        elif change.anew and entry.worker is None:
            self.remove(uid, entry)
            self._begin(uid, None, change)
        elif entry.is_ending() or change.anew or _is_renamed_while_it_runs(entry, pod):
            self._services.meters.count(names.RESTARTED_PODS, "true" if entry.static else "")
            if not entry.is_ending():
                self.remove(uid, entry)
            entry.restart = pod
            if entry.worker is not None:
                entry.worker.tell(PodCameBack())
            entry.source = change.source
        else:
            self._update(uid, entry, change)

    def _begin(self, uid: str, entry: PodEntry | None, change: PodChanged) -> None:
        """The pod is new, or was quarantined before it could begin."""
        if entry is not None and entry.name != full_name(change.pod):
            self._starts.start_next_of(entry.name, uid)
        entry = self._state.entries[uid] = PodEntry(came_later=entry is None and self._state.comes_later(change))
        entry.adopt(change.pod, change.source)
        self._starts.start_if_allowed(uid, entry)

    def _update(self, uid: str, entry: PodEntry, change: PodChanged) -> None:
        before = entry.pod
        if self._adopt(uid, entry, change.pod, change.source) or self._starts.waits_for_turn(uid):
            self._starts.start_if_allowed(uid, entry)
        is_for_worker = concerns_worker(before, change.pod) or entry.has_failed()
        if change.operation is Operation.RECONCILE and not is_for_worker:
            return
        if entry.static and entry.worker is not None:
            # A pod that has run since before a restart of this actor goes ahead of later ones.
            self._state.lines.goes_first(entry.name, uid)
        self._workers.tell_desired(entry, change.operation)

    def _adopt(self, uid: str, entry: PodEntry, pod: Pod, source: str) -> bool:
        """A source desires the pod in this form.

        Returns whether a static pod has changed its name and freed the old one.
        """
        static, name = entry.static, entry.name
        entry.adopt(pod, source)
        renamed = static and entry.name != name
        if renamed:
            self._mirrors.tell(StaticPodGone(uid))
            self._starts.start_next_of(name, uid)
        return renamed

    def _tell_what_the_api_shows(self, change: PodChanged, entry: PodEntry | None) -> None:
        """Tell the status manager what the API server shows of a pod.

        The manager hears of a new pod from its worker, and of a removed pod without a worker through `PodForgotten`.
        """
        status_manager = self._services.status_manager
        if change.operation is Operation.REMOVE:
            if entry is None or entry.worker is not None:
                status_manager.tell(PodLeftApi(change.pod.metadata.uid))
        elif entry is not None:
            status_manager.tell(PodReconciled(change.pod))

    # --- ends -------------------------------------------------------------------------------------------------------

    def remove(self, uid: str, entry: PodEntry) -> None:
        """No source desires the pod any more: end it, or forget it if it has no worker."""
        entry.restart = None
        if entry.worker is None:
            self._forget(uid, entry)
        elif not entry.is_ending():
            entry.standing = Standing.GOING
            entry.worker.tell(TerminatePod(pod=entry.pod, removed=True))

    def _forget(self, uid: str, entry: PodEntry) -> None:
        state = self._state
        del state.entries[uid]
        if entry.standing is Standing.ORPHAN:
            self.after(HOUSEKEEPING_NS, TellKnownPods())
        if state.unknown:
            state.unknown = tuple(pod for pod in state.unknown if pod.uid != uid)
        self._services.status_manager.tell(PodForgotten(uid))
        self._services.events.tell(PodEventsOver(uid))
        if entry.static:
            self._mirrors.tell(StaticPodGone(uid))
        self._starts.turns.leave(uid)
        self._starts.start_next_of(entry.name, uid)

    @handles(ActorStopped)
    def worker_stopped(self, message: ActorStopped) -> None:
        """Work: the pods of one name, and those whose turn has come."""
        uid = message.ref.name
        entry = self._state.entries.get(uid)
        if entry is None or entry.worker is not message.ref:
            return
        entry.worker = None
        self._services.historian.tell(gone(uid, self.wall_ns()))
        if entry.restart is not None:
            entry.ended = entry.released = entry.turned_away = entry.finished = False
            self._adopt(uid, entry, entry.restart, entry.source)
            # The published status of the last life is final; the new life begins without one.
            self._services.status_manager.tell(PodForgotten(uid))
            # It keeps its place in the line of its name: the others came later.
            self._starts.start_if_allowed(uid, entry)
        elif entry.standing is Standing.DESIRED and entry.is_to_be_deleted():
            # Nothing is left of it; its object will soon leave the API.
            entry.ended = entry.released = entry.finished = True
        elif entry.standing is Standing.DESIRED:
            self.log.error("the worker of %s stopped though the pod is desired; starting another", entry.name)
            self.after(REPLACE_NS, ReplaceWorker(uid), key=("replace", uid))
        else:
            self._forget(uid, entry)

    @handles(ReplaceWorker)
    def replace_worker(self, message: ReplaceWorker) -> None:
        """Work: the pods of one name."""
        entry = self._state.entries.get(message.uid)
        if entry is not None and entry.standing is Standing.DESIRED:
            self._starts.start_if_allowed(message.uid, entry)

    # --- sources and runtime ----------------------------------------------------------------------------------------

    @handles(SourceReady)
    def source_ready(self, message: SourceReady) -> None:
        # After a restart of this actor, nothing counts as gone before each source has spoken again. An answer to an
        # earlier life does not count.
        """Work: all pods."""
        if message.asked < self._number:
            return
        state = self._state
        state.ready.add(message.source)
        if not state.all_ready and state.sources <= state.ready:
            state.all_ready = True
            for uid, entry in list(state.entries.items()):
                if entry.standing is Standing.UNREPORTED:
                    state.unreported.discard(uid)
                    self.remove(uid, entry)
        self._starts.end_orphans()
        self._starts.start_all_allowed()
        self._mirrors.sources_ready()
        self._partners.tell_known_pods(TellKnownPods())

    @handles(UnknownPodsObserved)
    def unknown_pods(self, message: UnknownPodsObserved) -> None:
        """Work: all pods."""
        first = self._state.unknown is None
        self._state.unknown = message.pods
        self._starts.end_orphans()
        if first:
            self._starts.start_all_allowed()
            self._mirrors.sources_ready()
            self._partners.tell_known_pods(TellKnownPods())

    # --- a pod on which it fails itself -------------------------------------------------------------------------------

    def _attempt(self, change: PodChanged, action: Callable[[], None]) -> None:
        """Act for a pod. A failure puts only this pod into quarantine.

        Without this, the sync loop would restart, ask for all pods, fail on the same one, and restart later each time.
        The pods behind it would wait for minutes.
        """
        before = self._state.quarantine.find(change.pod.metadata.uid)
        try:
            action()
        except Exception as failure:
            self._quarantine(change, failure)
        else:
            if before is not None:
                self._state.quarantine.release(before)

    @handles(RetryQuarantined)
    def retry(self, message: RetryQuarantined) -> None:
        """Work: one pod, compared as a whole."""
        quarantined = self._state.quarantine.find(message.uid)
        if quarantined is not None:
            change = quarantined.change
            self._attempt(change, lambda: self._meet(change))

    def _quarantine(self, change: PodChanged, failure: Exception) -> None:
        """The pod stays known and keeps its worker, which goes on with what it knows.

        Nothing of the pod counts as a leftover, and its name stays taken.
        """
        quarantined, pod, state = self._state.quarantine.failed(change, failure), change.pod, self._state
        uid = pod.metadata.uid
        # Log the stack of the first failure only.
        trace = failure if quarantined.failures == 1 else None
        self.log.error("failed on pod %s: %s", full_name(pod), quarantined.cause, exc_info=trace)
        self.after(quarantined.retry_in_ns, RetryQuarantined(uid), key=("try again", uid))
        if is_mirror(pod):
            return
        entry = state.entries.setdefault(uid, PodEntry())
        entry.pod = entry.restart = None
        entry.standing, entry.static, entry.name = Standing.DESIRED, is_static(pod), entry.name or full_name(pod)
        entry.worker = entry.worker or self.children.get(uid)
        state.unreported.discard(uid)
        if entry.static:
            (state.lines.join if entry.worker is None else state.lines.goes_first)(entry.name, uid)
        if quarantined.failures > 1:
            text = f"the agent fails on this pod and leaves it as it is, until it changes: {quarantined.cause}"
            self._services.events.tell(pod_event(pod, "Warning", "FailedSync", text))


def _is_renamed_while_it_runs(entry: PodEntry, pod: Pod) -> bool:
    """Whether a static pod with a UID of its own has a new name while it runs.

    Other pods may want its old name.
    """
    return entry.static and entry.pod is not None and entry.name != full_name(pod) and entry.worker is not None
