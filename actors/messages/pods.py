"""Messages on the way of a pod from its source to its worker.

No actor imports another to talk to it: what they say to each other stands in this package, one file per subject.
Everything is immutable. How a message waits (coalescing, interrupting) is part of its meaning and stands with it.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from typing import ClassVar, Self

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from actors.messages.references import PodInputs
from actors.model.runtime_shown import Shown, both
from config.objects import Node, Pod


class Operation(enum.StrEnum):
    """How a pod of a source changed (spec 1.4)."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    REMOVE = "REMOVE"
    RECONCILE = "RECONCILE"


# --- sources -> storage -> sync loop ----------------------------------------------------------------------------------


class DuplicatePod(msgspec.Struct, frozen=True):
    """A pod left out because an earlier one of the same set has its name or UID.

    `reason` is text for people.
    """

    pod: Pod
    reason: str


class SourceRead(Message, frozen=True):
    """SourceActor -> StorageActor: the full set of pods that `source` (file, http, api) shows now.

    `duplicates`: pods that the source itself left out of it. `anew`: UIDs of pods that were gone since the last set.
    They end, and begin anew.
    """

    source: str
    pods: tuple[Pod, ...]
    duplicates: tuple[DuplicatePod, ...] = ()
    anew: frozenset[str] = frozenset()

    def coalesce_key(self) -> Hashable:
        return self.source

    def merged(self, waiting: Self) -> Self:
        return msgspec.structs.replace(self, anew=self.anew | waiting.anew) if waiting.anew else self


class SourceRemembered(Message, frozen=True):
    """ApiSourceActor -> StorageActor: the pods of `source` from memory, until it can tell its own.

    They are desired, but nothing else counts as gone: the source is not ready.
    """

    source: str
    pods: tuple[Pod, ...]

    def coalesce_key(self) -> Hashable:
        return self.source


class SourceChanged(Message, frozen=True):
    """SourceActor -> StorageActor: changes of the set that it sent last.

    New or changed pods, and removed UIDs.

    `source_ref` gets `ReadAgain` if the storage does not know that set.
    """

    source: str
    changed: tuple[Pod, ...]
    gone: frozenset[str]
    source_ref: ActorRef


class ReadAgain(SoleMessage, frozen=True):
    """StorageActor -> SourceActor: tell the full set again."""


class PublishAgain(SoleMessage, frozen=True):
    """SyncLoopActor -> StorageActor: some changes were lost on the way; tell every desired pod again.

    `known` are the pods that the sync loop believes to be desired: those that are not are told as REMOVE, as soon as
    every source has spoken. A removal that was lost leaves no other trace. `number` grows with each life of the sync
    loop: see `SourceReady`.
    """

    known: tuple[Pod, ...] = ()
    number: int = 0


class PodChanged(Message, frozen=True):
    """StorageActor -> SyncLoopActor: one pod of one source changed.

    `pod` is the newest object known; with REMOVE it is the last one. Waiting changes of one pod become one: the
    reader sees where the pod got to, not each step. `anew`: the pod was gone, and begins anew.
    """

    operation: Operation
    pod: Pod
    source: str
    anew: bool = False

    def coalesce_key(self) -> Hashable:
        return self.pod.metadata.uid

    def merged(self, waiting: Self) -> Self:
        anew = self.anew or waiting.anew
        return msgspec.structs.replace(self, operation=_MERGED[waiting.operation, self.operation], anew=anew)


def _merged_operations() -> Mapping[tuple[Operation, Operation], Operation]:
    add, update, delete = Operation.ADD, Operation.UPDATE, Operation.DELETE
    remove, reconcile = Operation.REMOVE, Operation.RECONCILE
    table = {(waiting, newer): newer for waiting in Operation for newer in Operation}
    for newer in (update, delete, reconcile, add):
        table[add, newer] = add  # nobody has seen it yet, so it stays an addition, of the newer object
    table[update, reconcile] = update
    table[delete, reconcile] = table[delete, update] = delete
    table[remove, add] = update  # gone and back before anybody looked
    return table


_MERGED = _merged_operations()


class SourceReady(Message, frozen=True):
    """StorageActor -> SyncLoopActor: the first full set of `source` has been sent.

    `all_ready`: so have those of every source (spec 1.5). `asked`: the number of the last `PublishAgain` answered
    before. If it is not the reader's own number, the set was sent to an earlier life of the reader.
    """

    source: str
    all_ready: bool
    asked: int = 0

    def coalesce_key(self) -> Hashable:
        return self.source, self.asked


class StorageStarted(SoleMessage, frozen=True):
    """StorageActor -> SyncLoopActor: I know no pod (any more).

    Answer with `PublishAgain` and what you know.
    """


# --- sync loop and others -> pod worker -------------------------------------------------------------------------------


class SyncPod(SoleMessage, frozen=True):
    """SyncLoopActor -> PodWorker: this is the pod as desired now.

    `runtime`: the last report of the runtime's state, for a worker that has not had one. It is part of this message
    because the mailbox may take no second one. `around`: the cluster as it is now, where that is known, for a worker
    that is about to begin. `nothing_begun`: the pod came after this agent did, and this is its first worker, so the
    runtime can have nothing of it.
    """

    pod: Pod
    operation: Operation
    runtime: RuntimeStateObserved | None = None
    around: PodInputs | None = None
    nothing_begun: bool = False

    def merged(self, waiting: Self) -> Self:
        operation = _MERGED[waiting.operation, self.operation]
        runtime, around = _later_of(waiting.runtime, self.runtime), self.around or waiting.around
        # A worker that has failed before it took the waiting message has begun nothing either.
        nothing_begun = self.nothing_begun or waiting.nothing_begun
        return msgspec.structs.replace(
            self, operation=operation, runtime=runtime, around=around, nothing_begun=nothing_begun
        )


def _later_of(before: RuntimeStateObserved | None, after: RuntimeStateObserved | None) -> RuntimeStateObserved | None:
    if before is None or after is None:
        return after or before
    return before if after.is_outdated_by(before) else after


class TerminatePod(Message, frozen=True):
    """SyncLoopActor, EvictionActor, ... -> PodWorker: end this pod.

    `grace_seconds` overrides the pod's own (None: it does not). `removed` says that the pod is no longer desired at
    all. `reason` and `message` become the status' when not empty. For controllers, `evicted` marks an eviction, and
    `disrupted` an end that is not the pod's own fault. Cancels a sync that waits.
    """

    interrupts: ClassVar[bool] = True

    pod: Pod | None = None
    grace_seconds: int | None = None
    removed: bool = False
    evicted: bool = False
    disrupted: bool = False
    reason: str = ""
    message: str = ""


class PodCameBack(SoleMessage, frozen=True):
    """SyncLoopActor -> PodWorker: a source brings the pod again while it ends.

    It begins anew after its end.
    """


class LookAgain(SoleMessage, frozen=True):
    """Anybody -> PodWorker: something about your pod may have changed; a flag, not an event.

    `runtime` False: this says nothing of the runtime, and what has been seen there holds where it is not in doubt.
    """

    runtime: bool = True

    def merged(self, waiting: Self) -> Self:
        return self if self.runtime else waiting


class ExplainWaits(SoleMessage, frozen=True):
    """PodWorker -> itself: tell what your pod waits for.

    A pod of many containers gathers what changes until then.
    """


class RuntimeTold(SoleMessage, frozen=True):
    """PlegActor -> PodWorker: the runtime has told this of your pod; look, unless you have seen all of it."""

    shown: Shown

    def merged(self, waiting: RuntimeTold) -> RuntimeTold:
        return RuntimeTold(both(self.shown, waiting.shown))


# --- PLEG -------------------------------------------------------------------------------------------------------------


class PodWorkerStarted(Message, frozen=True):
    """PodWorker -> PlegActor, ContainerGCActor: tell me when the runtime's picture of this pod changes.

    To SyncLoopActor and ResourceManagerActor, in answer to `AnnounceYourself` or when messages were lost: here I am,
    tell me what I must know. They know a new worker already: one has made it, and the other is asked by it.
    """

    uid: str
    worker: ActorRef


class StartOver(Message, frozen=True):
    """PodWorker -> SyncLoopActor: the pod runs (`started`), or waits for something that may take long.

    Another pod may start.
    """

    uid: str
    started: bool = False


class StartGoesOn(Message, frozen=True):
    """PodWorker -> SyncLoopActor: the runtime has made a sandbox, and took long.

    So it is slow, and does not hang.
    """


class PlegStarted(Message, frozen=True):
    """PlegActor -> SyncLoopActor: I do not know all workers (any more); answer with `WorkersKnown`."""


class WorkersKnown(SoleMessage, frozen=True):
    """SyncLoopActor -> PlegActor: every worker that there is, by the UID of its pod."""

    workers: tuple[tuple[str, ActorRef], ...]


class AnnounceYourself(Message, frozen=True):
    """SyncLoopActor -> PodWorker: send `PodWorkerStarted` again to all that need to know you."""


class RuntimePod(msgspec.Struct, frozen=True):
    """A pod as the runtime lists it, for those who know nothing else of it."""

    uid: str
    name: str
    namespace: str
    running: bool


class SyncLoopStarted(SoleMessage, frozen=True):
    """SyncLoopActor -> PlegActor, RuntimeMonitorActor: I know nothing of the runtime (any more).

    Answered by `UnknownPodsObserved` and `RuntimeStateObserved`, where they know more themselves.
    """


class UnknownPodsObserved(SoleMessage, frozen=True):
    """PlegActor -> SyncLoopActor: the runtime runs pods that no worker has announced.

    Sent with every list that shows any, with the first list in any case, and to a sync loop that has begun anew.
    """

    pods: tuple[RuntimePod, ...]


class ContainersDied(Message, frozen=True):
    """PlegActor -> ContainerGCActor: these containers have exited, as a list of the runtime shows.

    By UID of the pod and name.
    """

    died: tuple[tuple[str, str], ...]


class RuntimeStateObserved(SoleMessage, frozen=True):
    """RuntimeMonitorActor -> SyncLoopActor -> PodWorker, NodeStatusActor: the runtime's own report.

    See spec 2.12.

    `error` is empty when all is well. `runtime_name` stands in front of container ids; it and `runtime_version` are
    empty before they are known. `silent_since_ns` (monotonic): since when it has given no answer; None: it answers.
    `user_namespace_handlers`: names of the handlers that can make user namespaces. `groups_policy`: whether it knows
    the policy Strict of supplemental groups. `recursive_read_only_handlers`: names of the handlers that can make mounts
    read-only with all below them. `since_ns` (monotonic): since when all this is so; -1 before the runtime was
    asked. Of two reports the later one counts, whichever is taken first.
    """

    error: str
    network_error: str
    runtime_name: str = ""
    silent_since_ns: int | None = None
    user_namespace_handlers: tuple[str, ...] = ()
    groups_policy: bool = False
    recursive_read_only_handlers: tuple[str, ...] = ()
    runtime_version: str = ""
    since_ns: int = -1

    def is_outdated_by(self, other: RuntimeStateObserved) -> bool:
        return self.since_ns < other.since_ns


# --- the node itself --------------------------------------------------------------------------------------------------


class NodeObserved(SoleMessage, frozen=True):
    """NodeStatusActor -> its followers: the Node object as it is now.

    They use its labels, addresses, resources and UID.

    Sent when something other than heartbeats has changed. A standalone node has one too, without a UID.
    """

    node: Node


class FollowNode(Message, frozen=True):
    """Anybody -> NodeStatusActor: send me `NodeObserved` now, if the node is known, and at each change."""

    follower: ActorRef

    def coalesce_key(self) -> Hashable:
        return self.follower.path


# --- dead containers --------------------------------------------------------------------------------------------------


class Remains(msgspec.Struct, frozen=True, gc=False):
    """The remains of a pod in which nothing runs: sandbox ids and log links.

    Sandboxes include their containers.
    """

    sandboxes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()


class CollectPod(Message, frozen=True):
    """PodWorker -> ContainerGCActor: the pod has ended and nobody wants its remains.

    Answered by `PodCollected`.

    `keep_content`: the object is still there (its logs may be asked for): only what the policy would remove goes.
    `remains`: all there is, as the worker has seen it; None where it is in doubt, and has to be listed.
    """

    worker: ActorRef | None
    uid: str
    log_directory: str
    keep_content: bool = False
    remains: Remains | None = None

    def coalesce_key(self) -> Hashable:
        return self.uid


class CollectorStarted(SoleMessage, frozen=True):
    """ContainerGCActor -> SyncLoopActor -> PodWorker: I know of no remains (any more).

    Tell again whose are to go.
    """


class PodCollected(Message, frozen=True):
    """ContainerGCActor -> PodWorker: no container and no sandbox of the pod is left, or why one is."""

    uid: str
    error: str = ""


class KnownPods(SoleMessage, frozen=True):
    """SyncLoopActor -> ContainerGCActor, VolumeReconcilerActor: all pods that this node deals with.

    They are desired, ending, or orphans. Every source is ready.

    Sent when the last source has become ready and the runtime has been listed: a pod it still runs is an orphan with a
    worker by then. Sent again every minute or so. What is left of any other pod is removed, unless its worker has
    announced itself since. Also the answer to `WantKnownPods`.
    """

    uids: frozenset[str]


# --- questions from the edges -----------------------------------------------------------------------------------------


class WantKnownPods(Message, frozen=True):
    """HistorianActor -> SyncLoopActor: which pods are there?

    Answered by `KnownPods`, not before that can be known.
    """

    asker: ActorRef


class ListPods(Message, frozen=True):
    """Edge -> StatusManagerActor (ask): every pod with its published status, as `tuple[Pod, ...]`."""


class ListDesiredPods(Message, frozen=True):
    """Edge -> SyncLoopActor (ask): every pod of a source, as that has it, as `tuple[Pod, ...]`."""


class ListAwaitedSources(Message, frozen=True):
    """Edge -> SyncLoopActor (ask): the sources that have not told their pods yet, as `frozenset[str]`."""


class SourceProblem(msgspec.Struct, frozen=True):
    """Something that a source could not use.

    `origin` is the file or URL (with the line where known). `path` is the place in the document, or empty. Not `fatal`:
    the pods of the document run, without the part that the problem is about.

    `pods`: of a fatal problem, the pods that do not run for it: `namespace/name` as written, where they can be read.
    """

    source: str
    origin: str
    path: str
    reason: str
    fatal: bool = True
    pods: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.origin}: {self.path}: {self.reason}" if self.path else f"{self.origin}: {self.reason}"


class ListProblems(Message, frozen=True):
    """Edge -> SourceActor (ask): what it cannot use now, as `tuple[SourceProblem, ...]`."""


class PullInProgress(msgspec.Struct, frozen=True):
    """The pull of one image.

    It says how long the image has been wanted, whether the pull has begun, and who waits (namespace/name).
    """

    image: str
    age_ns: int
    begun: bool
    pods: tuple[str, ...]


class ListPulls(Message, frozen=True):
    """Edge -> ImagePullActor (ask): the pulls wanted now, oldest first, as `tuple[PullInProgress, ...]`."""


class ListEvents(Message, frozen=True):
    """Edge -> EventRecorderActor (ask): the last events, oldest first, as `tuple[RecordedEvent, ...]`."""
