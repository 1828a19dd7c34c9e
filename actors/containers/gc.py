"""`ContainerGCActor`: the one owner of dead containers and sandboxes and of their logs (spec 3.12).

It decides and never waits: its children list and remove (`actors.containers.removal`). It acts on four occasions.

- A container dies: only the newest dead container of its name and pod stays. Deaths within a second share one list.
- A pod ends (`CollectPod`): everything of it goes at once, independent of other work, and its worker is told.
- Every minute: removes what is over the limits, and what is left of unknown pods. A pod is unknown when every source is
  ready (`KnownPods`), none has it, and no worker has announced itself for it. A sandbox can go once its containers are
  gone, logs once the sandbox is, and links once their logs are. So a pass that has uncovered something is followed by
  another at once.
- The eviction manager needs space (`ReclaimContainers`): the same without a minimum age, and all of pods that have
  finished and are shown so by the API. For other pods the newest containers stay. Without its record, a container that
  succeeded would be started again, and a static pod would not be known to have run.

A worker announces itself before it makes anything in the runtime, and a list reaches the mailbox after that
announcement. So whatever a list shows of a pod without a worker is old. A failed removal is left for the next pass.

A log belongs to `LogRotationActor` while its container runs, then to this actor. It is removed after its container,
with all rotated files beside it. Workers make the links to logs; only this actor removes them.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

import msgspec

from actors.containers.gc_rules import (
    DeadContainer,
    Unit,
    dead_containers,
    removable_sandboxes,
    surplus_of_names,
    uncovers,
    victim_of,
)
from actors.containers.removal import (
    Collected,
    DeadListed,
    DeadLister,
    GcTools,
    ListDead,
    PodCollector,
    Remove,
    Removed,
    Remover,
)
from actors.kernel import (
    STOP,
    Actor,
    ActorRef,
    ActorStopped,
    ChildFailed,
    MailboxOverflowed,
    SoleMessage,
    handles,
)
from actors.messages.pods import CollectorStarted, CollectPod, ContainersDied, KnownPods, PodCollected, PodWorkerStarted
from actors.messages.reclaim import ContainersReclaimed, ReclaimContainers
from actors.messages.status import PodFinished
from runtime.cri.identity import POD_UID
from runtime.logs.pod_logs import uid_of_log_directory
from runtime.traces.rounds import Rounds
from runtime.traces.spans import TraceContext

SECOND_NS = 1_000_000_000
PASS_NS = 60 * SECOND_NS
GATHER_NS = SECOND_NS
"""Deaths within this time share one list."""
PASSES_AT_ONCE = 4
"""Containers, then sandboxes, then logs, then links to logs."""
REMOVERS = 8
CHUNK = 4
"""Victims that a remover takes at a time; one that hangs delays the others of its chunk."""
COLLECTORS = 64
IDLE_COLLECTORS = 8
"""Idle collectors kept for the next pods; the others stop."""
LISTER = "lister"
COLLECTOR = "collector"


class BeginContainerPass(SoleMessage, frozen=True):
    """To itself: time for a regular pass."""


class LookAtDeaths(SoleMessage, frozen=True):
    """To itself: time to handle the gathered deaths."""


class ContainerGCActor(Actor):
    mailbox_capacity: ClassVar[int] = 50_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef, tools: GcTools) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._tools = tools
        self._workers: set[str] = set()
        self._known: frozenset[str] | None = None
        self._since_known: set[str] = set()
        self._finished: set[str] = set()
        self._deaths: set[Unit] = set()
        self._looking_at: frozenset[Unit] = frozenset()
        self._listing = False
        self._pass_is_due = False
        self._collecting: dict[str, CollectPod] = {}
        self._to_collect: dict[str, CollectPod] = {}
        self._asked_again: dict[str, CollectPod] = {}
        self._collectors = 0
        """How many have been made; each has its own name."""
        self._idle: list[ActorRef] = []
        self._at_work: dict[ActorRef, str] = {}
        """Collector -> UID of the pod that it collects.

        Keyed by reference: a name could match a collector from before a restart of this actor.
        """
        self._queue: deque[Remove] = deque()
        self._taken: set[str] = set()
        self._busy: dict[str, Remove] = {}
        self._errors: list[str] = []
        self._askers: dict[str, ActorRef] = {}
        self._asked_by: tuple[ActorRef, ...] = ()
        """Who asked for the pass under way."""
        self._passes_at_once = 0
        self._uncovers = False
        """Whether the pass under way leaves something that the next list shows as removable."""
        self._removed = 0
        self._spans = Rounds("Containers/GarbageCollect", tools.tracer)

    def on_start(self) -> None:
        # Children outlive a restart of this actor, but their work for the last life is unknown.
        for name, child in self.children.items():
            kind, _, number = name.partition(" ")
            if kind == COLLECTOR:
                self._collectors = max(self._collectors, int(number))
                child.stop(block=False)
        if LISTER not in self.children:
            self.spawn(DeadLister, self.ref, self._tools, name=LISTER)
        self.every(PASS_NS, BeginContainerPass())
        self._sync_loop.tell(CollectorStarted())

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Deaths or announcements were lost: remove nothing unknown before the next `KnownPods`.

        Workers repeat their requests after a while.

        Work: constant.
        """
        self._known = None
        self.ref.tell(BeginContainerPass())

    # --- who is known -----------------------------------------------------------------------------------------------

    @handles(PodWorkerStarted)
    def worker_started(self, message: PodWorkerStarted) -> None:
        """Work: constant."""
        self._workers.add(message.uid)
        self._since_known.add(message.uid)
        self._finished.discard(message.uid)

    @handles(PodFinished)
    def pod_finished(self, message: PodFinished) -> None:
        """Work: constant."""
        self._finished.add(message.uid)

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Work: all pods."""
        first = self._known is None
        self._known = message.uids
        # A pod has ended that is not known and has not announced itself since the last `KnownPods`.
        here = message.uids | self._since_known
        self._workers &= here
        self._finished &= here
        self._since_known.clear()
        if first:
            self.ref.tell(BeginContainerPass())

    def _is_gone(self, uid: str) -> bool:
        return (
            self._known is not None
            and uid not in self._known
            and uid not in self._workers
            and uid not in self._collecting
            and uid not in self._to_collect
        )

    def _is_gone_or_finished(self, uid: str) -> bool:
        taken = uid in self._collecting or uid in self._to_collect
        return self._is_gone(uid) or (uid in self._finished and not taken)

    # --- one pod has ended ------------------------------------------------------------------------------------------

    @handles(CollectPod)
    def collect_pod(self, message: CollectPod) -> None:
        """Work: constant."""
        if message.uid in self._collecting:
            # Drop the worker's `remains`: they are out of date after the collection under way. By then a pod of the
            # same UID may run, with the same log directory.
            self._asked_again[message.uid] = msgspec.structs.replace(message, remains=None)
        else:
            self._to_collect[message.uid] = message
        self._start_collectors()

    def _start_collectors(self) -> None:
        while self._to_collect and len(self._collecting) < COLLECTORS:
            uid = next(iter(self._to_collect))
            request = self._collecting[uid] = self._to_collect.pop(uid)
            collector = self._idle.pop() if self._idle else self._new_collector()
            self._at_work[collector] = uid
            collector.tell(request)

    def _new_collector(self) -> ActorRef:
        self._collectors += 1
        name = f"{COLLECTOR} {self._collectors}"
        collector = self.spawn(PodCollector, self.ref, self._tools, name=name, strategy=STOP)
        self.watch(collector)
        return collector

    @handles(Collected)
    def collected(self, message: Collected) -> None:
        """Work: constant."""
        if self._at_work.pop(message.collector, None) is None:
            return  # a collector from before a restart of this actor
        if len(self._idle) < IDLE_COLLECTORS:
            self._idle.append(message.collector)
        else:
            message.collector.stop(block=False)
        self._collection_ended(message.uid, message.error)

    @handles(ActorStopped)
    def collector_stopped(self, message: ActorStopped) -> None:
        # An idle collector may fail too; do not give it the next pod.
        """Work: constant."""
        self._idle = [each for each in self._idle if each is not message.ref]
        uid = self._at_work.pop(message.ref, None)
        if uid is not None:
            self._collection_ended(uid, f"the collection failed: {message.cause}")

    def _collection_ended(self, uid: str, error: str) -> None:
        request = self._collecting.pop(uid, None)
        if request is not None and request.worker is not None:
            request.worker.tell(PodCollected(uid, error))
        again = self._asked_again.pop(uid, None)
        if again is not None:
            self._to_collect[uid] = again
        self._start_collectors()

    # --- a container has died ---------------------------------------------------------------------------------------

    @handles(ContainersDied)
    def containers_died(self, message: ContainersDied) -> None:
        """Work: the containers that have died."""
        if not self._deaths:
            self.after(GATHER_NS, LookAtDeaths())
        self._deaths.update(message.died)

    @handles(LookAtDeaths)
    def look_at_deaths(self, _: LookAtDeaths) -> None:
        """Work: the containers that have died."""
        self._list()

    # --- every minute, and on demand --------------------------------------------------------------------------------

    @handles(ReclaimContainers)
    def reclaim(self, message: ReclaimContainers) -> None:
        """Work: the containers that have died."""
        self._askers[message.asker.path] = message.asker
        self._pass_is_due = True
        self._list()

    def _answer_if_done(self, error: str = "") -> None:
        """Tell the requesters of the pass if it is over."""
        if not self._busy and not self._queue:
            self._spans.end(error)
            askers, self._asked_by = self._asked_by, ()
            for asker in askers:
                asker.tell(ContainersReclaimed(error))
            if self._uncovers and self._removed and self._passes_at_once < PASSES_AT_ONCE:
                self._pass_is_due = True
            self._uncovers = False

    @handles(BeginContainerPass)
    def begin_pass(self, _: BeginContainerPass) -> None:
        """Work: the containers that have died."""
        self._pass_is_due = True
        self._passes_at_once = 0
        self._list()

    def _list(self) -> None:
        """Ask for the list that is due, one at a time."""
        if self._listing:
            return
        if self._pass_is_due and not self._queue and not self._busy:
            self._pass_is_due = False
            self._passes_at_once += 1
            self._removed = 0
            self._listing = True
            self._asked_by, self._askers = tuple(self._askers.values()), {}
            self._spans.begin()
            self.children[LISTER].tell(ListDead("", True, self._spans.context))
        elif self._deaths:
            self._looking_at, self._deaths = frozenset(self._deaths), set()
            self._listing = True
            uids = {uid for uid, _ in self._looking_at}
            self.children[LISTER].tell(ListDead(uids.pop() if len(uids) == 1 else "", False))

    @handles(DeadListed)
    def dead_listed(self, message: DeadListed) -> None:
        """Work: all containers that the runtime lists."""
        self._listing = False
        if message.error:
            self.log.warning("dead containers cannot be listed: %s", message.error)
            if message.asked.disk:
                self._tools.tell_failure(message.error)
                self._answer_if_done(f"dead containers cannot be listed: {message.error}")
        elif message.asked.disk:
            self._judge_all(message)
            self._answer_if_done()
        else:
            self._judge_deaths(message)
        self._list()

    def _judge_deaths(self, listed: DeadListed) -> None:
        looked_at, self._looking_at = self._looking_at, frozenset()
        units = {unit for unit in looked_at if unit[0] not in self._collecting}
        surplus = surplus_of_names(listed.containers, units, self._tools.policy)
        self._enqueue_containers([victim_of(each, self._tools.places) for each in surplus])

    def _judge_all(self, listed: DeadListed) -> None:
        places = self._tools.places
        containers, sandboxes, collecting = listed.containers, listed.sandboxes, self._collecting
        if collecting:
            containers = tuple(each for each in containers if each.labels.get(POD_UID, "") not in collecting)
            sandboxes = tuple(each for each in sandboxes if each.metadata and each.metadata.uid not in collecting)
        policy, is_spent = self._tools.policy, self._is_gone
        if self._asked_by:
            policy, is_spent = msgspec.structs.replace(policy, min_age_ns=0), self._is_gone_or_finished
        dead = dead_containers(containers, policy, self.wall_ns(), is_spent)
        gone_sandboxes = removable_sandboxes(sandboxes, listed.containers, is_spent)
        orphaned_logs = self._orphaned_logs(listed)
        self._uncovers = bool(orphaned_logs) or uncovers(dead, gone_sandboxes, sandboxes, self._is_gone)
        trace = listed.asked.trace
        self._enqueue_containers([victim_of(container, places) for container in dead], trace)
        self._enqueue(
            Remove(
                sandboxes=tuple(gone_sandboxes),
                log_directories=orphaned_logs,
                links=listed.orphaned_links(),
                trace=trace,
            )
        )

    def _orphaned_logs(self, listed: DeadListed) -> tuple[str, ...]:
        """Log directories of pods that are gone here and in the runtime."""
        known = self._known or frozenset()
        gone = [
            (uid, directory)
            for directory in listed.log_directories
            # A cheap first test: nearly all belong to known pods, and the name of a directory ends with the UID.
            if directory.rpartition("_")[2] not in known
            and (uid := uid_of_log_directory(directory))
            and self._is_gone(uid)
        ]
        if not gone:
            return ()
        in_runtime = {each.labels.get(POD_UID, "") for each in listed.containers}
        in_runtime.update(each.metadata.uid for each in listed.sandboxes if each.metadata is not None)
        return tuple(directory for uid, directory in gone if uid not in in_runtime)

    # --- removing ---------------------------------------------------------------------------------------------------

    def _enqueue_containers(self, victims: list[DeadContainer], trace: TraceContext | None = None) -> None:
        new = [victim for victim in victims if victim.id not in self._taken]
        self._taken.update(victim.id for victim in new)
        for start in range(0, len(new), CHUNK):
            self._enqueue(Remove(containers=tuple(new[start : start + CHUNK]), trace=trace))

    def _enqueue(self, work: Remove) -> None:
        if not work.is_nothing():
            self._queue.append(work)
            self._give_work()

    def _give_work(self) -> None:
        for number in range(REMOVERS):
            name = f"remover {number}"
            if not self._queue:
                return
            if name in self._busy:
                continue
            remover = self.children.get(name) or self.spawn(Remover, self.ref, self._tools, name=name)
            work = self._busy[name] = self._queue.popleft()
            remover.tell(work)

    @handles(Removed)
    def removed(self, message: Removed) -> None:
        """Work: constant."""
        self._errors += message.errors
        self._removed += message.removed
        self._work_ended(message.remover.name)

    def _work_ended(self, name: str) -> None:
        work = self._busy.pop(name, None)
        if work is not None:
            self._taken.difference_update(victim.id for victim in work.containers)
        self._give_work()
        if not self._busy:
            first = self._errors[0] if self._errors else ""
            if first:
                self.log.warning("%d removals failed, the first: %s", len(self._errors), first)
                self._errors = []
            self._answer_if_done(first)
            self._list()

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        """The failed child has lost its work; the next pass finds what is left.

        Work: constant.
        """
        if message.name == LISTER:
            self._listing = False
            self._answer_if_done(f"the list failed: {message.cause}")
        elif message.name in self._busy:
            self._work_ended(message.name)

    def on_failure(self, *failure: Any) -> None:
        """Answer the requesters: the restart loses their pass."""
        for asker in {each.path: each for each in (*self._asked_by, *self._askers.values())}.values():
            asker.tell(ContainersReclaimed("the collection failed"))
