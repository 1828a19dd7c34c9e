"""`SyncLoopActor`: which pod workers exist.

It gives each desired pod a worker, tells the worker what is desired, and lets it go when the pod is desired no more
and has ended. It decides no more than that:

- One worker per UID. A UID that comes back while its old worker is still ending starts anew after that (spec 2.6).
- Static pods of one full name run one at a time, first come first served; the next starts when nothing of the one
  before is left, be it a worker of ours or an orphan that the runtime still runs (spec 2.6, pains 7). This waits for
  the pod's own source and for the first list of the runtime, never for the API server.
- A pod that the runtime runs and no source desires is an orphan and is ended, once every source has spoken (2.10).

What is lost on the way here (a full mailbox, a restart of this actor) is asked for again: `PublishAgain`. What it says
to those who begin anew themselves, or ask, stands in `sync_partners`; who waits for which name in `name_lines`; which
pods it leaves alone since it has failed on them itself, in `set_aside`.
"""

from __future__ import annotations

from typing import ClassVar

from actors.events.history_words import name_wait
from actors.eviction.local_limits import has_local_limits
from actors.kernel import (
    ActorRef,
    ActorStopped,
    ChildFailed,
    MailboxOverflowed,
    Message,
    RestartStrategy,
    handles,
)
from actors.messages.events import pod_event
from actors.messages.eviction import LimitedPodSeen
from actors.messages.history import gone
from actors.messages.mirrors import (
    MirrorPodChanged,
    StaticPodDesired,
    StaticPodGone,
    StaticSourcesReady,
)
from actors.messages.pods import (
    ADD,
    RECONCILE,
    REMOVE,
    AnnounceYourself,
    Operation,
    PodChanged,
    PodWorkerStarted,
    PublishAgain,
    RuntimePod,
    RuntimeStateObserved,
    SourceReady,
    StorageStarted,
    SyncLoopStarted,
    SyncPod,
    TerminatePod,
    UnknownPodsObserved,
)
from actors.messages.status import (
    PodForgotten,
    PodLeftApi,
    PodReconciled,
    PodStatusChanged,
)
from actors.model.surroundings import Surroundings
from actors.pod.services import PodServices
from actors.pod.worker import PodWorker
from actors.sync.entries import DESIRED, GOING, ORPHAN, UNHEARD, Entry, NameLines, concerns_worker
from actors.sync.notes import waits_for_its_turn, worker_failed
from actors.sync.partners import EndOnceMore, SyncPartners
from actors.sync.set_aside import TryAgain
from config.objects import Pod, PodStatus
from config.pods.identity import SOURCE_API, full_name, is_mirror, is_static
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
"""A worker that fails is tried again within a minute, for ever: its pod may have to be ended at any time."""


KNOWN_PODS_NS = 60 * SECOND_NS
"""Between two words on which pods are known."""
HOUSEKEEPING_NS = 2 * SECOND_NS
"""From the end of an orphan to the word that it is known no more (spec 2.1): only then its remains on disk go."""


class TellKnownPods(Message, frozen=True):
    """To itself: time to say which pods are known."""


class SyncLoopActor(SyncPartners):
    """See the module. `sources` names the sources that will speak."""

    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 300 * SECOND_NS

    def __init__(
        self, services: PodServices, storage: ActorRef, runtime_monitor: ActorRef, sources: tuple[str, ...]
    ) -> None:
        super().__init__(services)
        self._storage = storage
        self._runtime_monitor = runtime_monitor
        self._sources = frozenset(sources)
        self._lines = NameLines()
        self._unheard: set[str] = set()
        self._ready: set[str] = set()
        self._number = 0
        """Of its questions to the storage. Answers to the life before this one may still wait."""

    def on_start(self) -> None:
        self._number = self.now_ns()
        # Workers outlive a restart of this actor. Until the sources have spoken again they are desired by nobody.
        for uid, worker in self.children.items():
            entry = self._entries[uid] = Entry()
            self._unheard.add(uid)
            entry.worker = worker
            entry.lives = self._number  # those counted before are forgotten: no number of them may come again
            self.watch(worker)
            worker.tell(AnnounceYourself())
        self._ask_again()
        for listener in (self._services.pleg, self._runtime_monitor):
            listener.tell(SyncLoopStarted())

    @handles(StorageStarted)
    def storage_started(self, _: StorageStarted) -> None:
        self._ask_again()

    def _ask_again(self) -> None:
        desired = (self._form_of(uid, entry) for uid, entry in self._entries.items() if entry.standing is DESIRED)
        self._storage.tell(PublishAgain(tuple(pod for pod in desired if pod is not None), self._number))

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        self._around = None  # news of it may be among what was lost, and are not told again
        self._ask_again()
        for listener in (self._services.pleg, self._runtime_monitor):
            listener.tell(SyncLoopStarted())
        self._tell_workers(AnnounceYourself())

    # --- what is desired --------------------------------------------------------------------------------------------

    @handles(PodChanged)
    def pod_changed(self, message: PodChanged) -> None:
        if self._set_aside.troubles:
            if not self._set_aside.holds(message):
                self._try_to_meet(message)
            return
        try:
            self._meet(message)
        except Exception as failure:
            self._leave_alone(message, failure)

    def _try_to_meet(self, change: PodChanged) -> None:
        """What fails here fails because of this pod, which is set aside; all others go on."""
        before = self._set_aside.troubles.get(change.pod.metadata.uid)
        try:
            self._meet(change)
        except Exception as failure:
            self._leave_alone(change, failure)
        else:
            if before is not None:
                self._set_aside.met(before)

    def _meet(self, message: PodChanged) -> None:
        pod, operation = message.pod, message.operation
        uid = pod.metadata.uid
        entry = self._entries.get(uid)
        if message.source == SOURCE_API:
            if is_mirror(pod):
                self._mirror_changed(message)
                return
            self._tell_what_the_api_shows(message, entry)
        self._unheard.discard(uid)
        if operation is REMOVE:
            if entry is not None:
                if entry.standing is DESIRED and pod.metadata.deletion_timestamp is not None:
                    entry.pod = pod  # its last form says how fast it is to end
                self._remove(uid, entry)
            return
        if entry is None or (entry.pod is None and entry.worker is None):  # or it was set aside before it could begin
            if entry is not None and entry.name != full_name(pod):
                self._next_of(entry.name, uid)
            entry = self._entries[uid] = Entry()
            entry.adopt(pod, message.source)
            self._start_if_allowed(uid, entry)
        elif entry.is_ending() or (entry.static and self._is_renamed(entry, pod)):
            self._services.meters.count(names.RESTARTED_PODS, "true" if entry.static else "")
            if not entry.is_ending():
                self._remove(uid, entry)
            entry.restart = pod
            entry.source = message.source
        else:
            before = entry.pod
            if self._adopt(uid, entry, pod, message.source):
                self._start_if_allowed(uid, entry)
            if operation is RECONCILE and not concerns_worker(before, pod):
                return
            if entry.static and entry.worker is not None:
                # If it has run since before a restart of this actor, it is ahead of whoever came since.
                self._lines.goes_first(entry.name, uid)
            self._tell_desired(entry, operation)

    def _leave_alone(self, change: PodChanged, failure: Exception) -> None:
        """The pod is known, has the worker that it has, and no more is done."""
        trouble, pod = self._set_aside.failed(change, failure), change.pod
        uid = pod.metadata.uid
        # The first failure shows where it came from; those after it do not repeat the stack for ever.
        trace = failure if trouble.failures == 1 else None
        self.log.error("failed on pod %s: %s", full_name(pod), trouble.cause, exc_info=trace)
        self.after(trouble.try_in_ns, TryAgain(uid), key=("try again", uid))
        if is_mirror(pod):
            return
        entry = self._entries.setdefault(uid, Entry())
        entry.pod = entry.restart = None
        entry.standing, entry.static, entry.name = DESIRED, is_static(pod), entry.name or full_name(pod)
        entry.worker = entry.worker or self.children.get(uid)
        self._unheard.discard(uid)
        if entry.static:
            (self._lines.join if entry.worker is None else self._lines.goes_first)(entry.name, uid)
        if trouble.failures > 1:
            text = f"the agent fails on this pod and leaves it as it is, until it changes: {trouble.cause}"
            self._services.events.tell(pod_event(pod, "Warning", "FailedSync", text))

    @handles(TryAgain)
    def try_again(self, message: TryAgain) -> None:
        trouble = self._set_aside.troubles.get(message.uid)
        if trouble is not None:
            self._try_to_meet(trouble.change)

    def _tell_what_the_api_shows(self, change: PodChanged, entry: Entry | None) -> None:
        """To the status manager, where it does not hear of it anyway: of a pod that is new its worker tells, and one of
        which nothing is left is forgotten altogether.
        """
        status_manager = self._services.status_manager
        if change.operation is REMOVE:
            if entry is None or entry.worker is not None:
                status_manager.tell(PodLeftApi(change.pod.metadata.uid))
        elif entry is not None:
            status_manager.tell(PodReconciled(change.pod))

    def _mirror_changed(self, message: PodChanged) -> None:
        """A mirror pod is a picture in the API: its static pod runs under another UID."""
        uid = message.pod.metadata.uid
        if message.operation is REMOVE:
            self._mirrors.pop(uid, None)
        else:
            self._mirrors[uid] = message.pod
        if self._services.mirrors is not None:
            self._services.mirrors.tell(MirrorPodChanged(message.operation, message.pod))

    def _is_renamed(self, entry: Entry, pod: Pod) -> bool:
        """A manifest with a UID of its own has another name now: what runs has the old one, which others may want."""
        return entry.pod is not None and entry.name != full_name(pod) and entry.worker is not None

    def _remove(self, uid: str, entry: Entry) -> None:
        entry.restart = None
        if entry.worker is None:
            self._forget(uid, entry)
        elif not entry.is_ending():
            entry.standing = GOING
            entry.worker.tell(TerminatePod(pod=entry.pod, removed=True))

    def _tell_desired(
        self,
        entry: Entry,
        operation: Operation,
        runtime: RuntimeStateObserved | None = None,
        around: Surroundings | None = None,
    ) -> None:
        worker, pod = entry.worker, entry.pod
        if worker is None:
            return
        ends = entry.is_to_be_deleted()
        if runtime is not None and (pod is None or ends):
            worker.tell(runtime)
        if pod is None:
            return  # known since before a restart of this actor, and the sources have not spoken since
        if entry.static and self._services.mirrors is not None:
            self._services.mirrors.tell(StaticPodDesired(pod))
        if ends:
            worker.tell(TerminatePod(pod=pod))
        else:
            worker.tell(SyncPod(pod, operation, runtime, around))
            if self._services.eviction is not None and has_local_limits(pod):
                self._services.eviction.tell(LimitedPodSeen())

    # --- who may start ----------------------------------------------------------------------------------------------

    def _start_if_allowed(self, uid: str, entry: Entry) -> None:
        pod = entry.pod
        if entry.worker is None and not entry.ended and pod is not None:
            before = self._set_aside.troubles.get(uid)
            try:
                self._start_or_wait(uid, entry, pod)
            except Exception as failure:
                self._leave_alone(PodChanged(ADD, pod, entry.source), failure)
            else:
                if before is not None:
                    self._set_aside.met(before)

    def _start_or_wait(self, uid: str, entry: Entry, pod: Pod) -> None:
        """Give the pod its worker, unless it is a static pod that must wait for its name to be free."""
        if entry.static and not self._may_start_static(uid, entry):
            # Before its source and the runtime have spoken it may well be running: that is not "Pending".
            known = self._unknown is not None and entry.source in self._ready
            self._note_name_wait(uid, entry)
            waits = PodStatus(phase="Pending") if known else PodStatus()
            self._services.status_manager.tell(PodStatusChanged(pod, waits, seen=known))
            return
        entry.worker = self._spawn(uid, None)
        entry.lives += 1
        self._brief(entry, self._around)

    def _note_name_wait(self, uid: str, entry: Entry) -> None:
        """There is no worker yet that could tell it."""
        first = self._lines.first(entry.name)
        text = name_wait(
            heard=entry.source in self._ready and not self._unheard,
            listed=self._unknown is not None,
            ahead=first if first != uid else "",
            orphan=first == uid,
            away=self._away(),
        )
        if entry.pod is not None and text != entry.waits_for:
            entry.waits_for = text
            self._services.historian.tell(waits_for_its_turn(entry.pod, text, self.wall_ns()))

    def runtime_state(self, message: RuntimeStateObserved) -> None:
        """Who has no worker yet may wait for the runtime, and nobody else tells people why."""
        super().runtime_state(message)
        for uid, entry in self._entries.items() if self._unknown is None else ():
            if entry.waits_for and entry.worker is None:
                self._note_name_wait(uid, entry)

    def _may_start_static(self, uid: str, entry: Entry) -> bool:
        """Whether it is the pod's turn: it is the first of its name in line, and no orphan of that name runs."""
        self._lines.join(entry.name, uid)
        if self._unknown is None or entry.source not in self._ready or self._unheard:
            return False
        return self._lines.first(entry.name) == uid and not self._end_orphans_named(entry.name)

    def _end_orphans_named(self, name: str) -> bool:
        """The runtime still runs an earlier pod of that name: end it. True when there was one."""
        found = False
        for pod in self._unknown or ():
            if f"{pod.name}_{pod.namespace}" == name and pod.uid not in self._entries:
                self._end_orphan(pod)
                found = True
        return found

    def _adopt(self, uid: str, entry: Entry, pod: Pod, source: str) -> bool:
        """The pod is desired, in this form. Whether under another name than before, which others may have now."""
        static, name = entry.static, entry.name
        entry.adopt(pod, source)
        renamed = static and entry.name != name
        if renamed:
            if self._services.mirrors is not None:
                self._services.mirrors.tell(StaticPodGone(uid))
            self._next_of(name, uid)
        return renamed

    def _next_of(self, name: str, uid: str) -> None:
        following = self._lines.leave(name, uid)
        if following in self._entries:
            self._start_if_allowed(following, self._entries[following])

    def _spawn(self, uid: str, orphan: RuntimePod | None) -> ActorRef:
        worker = self.spawn(PodWorker, uid, self._services, orphan, name=uid, strategy=WORKER_STRATEGY)
        self.watch(worker)
        return worker

    def _start_all_allowed(self) -> None:
        for uid, entry in list(self._entries.items()):
            if entry.worker is None:
                self._start_if_allowed(uid, entry)

    # --- workers ----------------------------------------------------------------------------------------------------

    def _brief(self, entry: Entry, around: Surroundings | None = None) -> None:
        """Tell its worker, which has begun, or begun again, or has lost something, all it must know. `around`: for one
        that hears it at once; what waits for a worker would be taken for new when it is not.
        """
        if entry.worker is None:
            return
        if entry.is_ending():
            entry.worker.tell(self._runtime)
            entry.worker.tell(TerminatePod(pod=entry.pod, removed=True))
        else:
            self._tell_desired(entry, ADD, self._runtime, around)

    @handles(PodWorkerStarted)
    def worker_announced(self, message: PodWorkerStarted) -> None:
        entry = self._entries.get(message.uid)
        if entry is None:
            message.worker.tell(TerminatePod(removed=True))
        else:
            self._brief(entry)

    @handles(ActorStopped)
    def worker_stopped(self, message: ActorStopped) -> None:
        uid = message.ref.name
        entry = self._entries.get(uid)
        if entry is None or entry.worker is not message.ref:
            return
        entry.worker = None
        self._services.historian.tell(gone(uid, self.wall_ns()))
        if entry.restart is not None:
            entry.ended = entry.released = entry.turned_away = entry.finished = False
            self._adopt(uid, entry, entry.restart, entry.source)
            # What was published of the life before is final; the new one begins with nothing.
            self._services.status_manager.tell(PodForgotten(uid))
            # Whoever waits for the name came later than the pod that comes back: it keeps its place in the line.
            self._start_if_allowed(uid, entry)
        elif entry.standing is DESIRED and entry.is_to_be_deleted():
            # Nothing is left of it; its object is about to leave the API.
            entry.ended = entry.released = entry.finished = True
        elif entry.standing is DESIRED:
            self.log.error("the worker of %s stopped though the pod is desired; starting another", entry.name)
            self._start_if_allowed(uid, entry)
        else:
            self._forget(uid, entry)

    def _forget(self, uid: str, entry: Entry) -> None:
        del self._entries[uid]
        if entry.standing is ORPHAN:
            self.after(HOUSEKEEPING_NS, TellKnownPods())
        if self._unknown:
            self._unknown = tuple(pod for pod in self._unknown if pod.uid != uid)
        self._services.status_manager.tell(PodForgotten(uid))
        if entry.static and self._services.mirrors is not None:
            self._services.mirrors.tell(StaticPodGone(uid))
        # Nothing of the pod is left: the next of its name may start.
        self._next_of(entry.name, uid)

    @handles(EndOnceMore)
    def end_once_more(self, _: EndOnceMore) -> None:
        """Those whose worker has gone and whose object has not get another: that nothing is left of them was told to a
        status manager that is no more. By now the API has shown what was written last.
        """
        for uid, entry in list(self._entries.items()):
            if entry.ended and entry.worker is None:
                entry.ended = False
                self._start_if_allowed(uid, entry)

    @handles(ChildFailed)
    def worker_failed(self, message: ChildFailed) -> None:
        """It begins again when its back-off is over, and finds in its mailbox what it must know."""
        entry = self._entries.get(message.name)
        if entry is None:
            return
        entry.lives += 1  # whoever has given it an order gives it again
        self._brief(entry)
        if entry.pod is not None:
            text = f"the pod's worker failed on {message.last_message}: {message.cause}"
            self._services.events.tell(pod_event(entry.pod, "Warning", "FailedSync", text))
            self._services.historian.tell(worker_failed(entry.pod, text, self.wall_ns()))

    # --- sources and runtime ----------------------------------------------------------------------------------------

    @handles(SourceReady)
    def source_ready(self, message: SourceReady) -> None:
        # Counted here, not taken from the message: after a restart of this actor each source must be heard again
        # before anything that was known is taken for gone. What was told to the life before is no such word.
        if message.asked < self._number:
            return
        self._ready.add(message.source)
        if not self._all_ready and self._sources <= self._ready:
            self._all_ready = True
            for uid, entry in list(self._entries.items()):
                if entry.standing is UNHEARD:
                    self._unheard.discard(uid)
                    self._remove(uid, entry)
            if self._services.mirrors is not None:
                self._services.mirrors.tell(StaticSourcesReady())
        self._consider_orphans()
        self._start_all_allowed()
        self.tell_known_pods(TellKnownPods())

    @handles(UnknownPodsObserved)
    def unknown_pods(self, message: UnknownPodsObserved) -> None:
        first = self._unknown is None
        self._unknown = message.pods
        self._consider_orphans()
        if first:
            self._start_all_allowed()
            self.tell_known_pods(TellKnownPods())

    @handles(TellKnownPods)
    def tell_known_pods(self, _: TellKnownPods) -> None:
        """Whoever removes remains must know whose they are; only once nobody can still turn up (spec 1.5)."""
        known = self._known_pods()
        if known is None:
            return
        services = self._services
        owners = (services.container_gc, services.volumes, services.resources, services.image_gc, services.cgroups)
        for listener in owners:
            if listener is not None:
                listener.tell(known)
        self.after(KNOWN_PODS_NS, TellKnownPods())

    def _consider_orphans(self) -> None:
        if not self._all_ready:
            return
        for pod in self._unknown or ():
            if pod.uid not in self._entries:
                self._end_orphan(pod)

    def _end_orphan(self, pod: RuntimePod) -> None:
        self.log.info(
            "the runtime runs pod %s/%s (%s) that nobody desires; ending it", pod.namespace, pod.name, pod.uid
        )
        self._services.meters.count(names.ORPHANED_PODS)
        entry = self._entries[pod.uid] = Entry()
        entry.standing = ORPHAN
        entry.orphan = pod
        entry.name = f"{pod.name}_{pod.namespace}"
        # Ahead of whoever waits for the name: it runs already.
        self._lines.goes_first(entry.name, pod.uid)
        entry.worker = self._spawn(pod.uid, pod)
        self._brief(entry)
