"""The sync loop's knowledge of each pod.

Its parts share this data. Nothing here does anything to a pod.

`PodEntry` holds one pod, `NameLines` the static pods that wait for a name, and `Quarantine` the pods on which the sync
loop itself fails.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

import msgspec

from actors.kernel import ActorRef
from actors.messages.pods import KnownPods, Operation, PodChanged, RuntimePod
from actors.sources.pod_changes import differs_in_meaning
from config.objects import Pod
from config.pods.identity import SOURCE_API, full_name, is_static

SECOND_NS = 1_000_000_000
RETRIES_NS = (SECOND_NS, 60 * SECOND_NS, 600 * SECOND_NS)
"""The pauses after the first, second and later failures in the same form."""


PENDING = "Pending"


class Standing(enum.Enum):
    """Whether the sources desire a pod."""

    DESIRED = "desired"
    GOING = "no longer desired; its worker is ending it"
    ORPHAN = "never desired; the runtime runs it; its worker is ending it"
    UNREPORTED = "known from before a restart of the sync loop; the sources have not spoken since"


class PodEntry(msgspec.Struct, eq=False):
    """One pod.

    `pod`: its last known form. `restart`: the form to start anew with. `orphan`: what the runtime shows.
    """

    standing: Standing = Standing.UNREPORTED
    pod: Pod | None = None
    orphan: RuntimePod | None = None
    static: bool = False
    name: str = ""
    source: str = ""
    worker: ActorRef | None = None
    lives: int = 0
    """How many workers it has had, plus a start value."""
    came_later: bool = False
    """It came after this agent had read all pods of its source, so no earlier agent has begun it."""
    restart: Pod | None = None
    waits_for: str = ""
    """The last reason told to the historian why it has no worker yet."""
    ended: bool = False
    """It is to be deleted, and its worker has finished: nothing is left to start."""
    released: bool = False
    """Nothing of it runs any more, and nothing will start again."""
    turned_away: bool = False
    """The node does not admit it."""
    finished: bool = False
    """Its volumes are taken down as well."""

    __repr__ = object.__repr__  # the default repr would show every field in full

    def adopt(self, pod: Pod, source: str) -> None:
        """A source desires the pod in this form."""
        self.standing = Standing.DESIRED
        self.source = source
        self.pod = pod
        self.orphan = None
        self.restart = None
        self.static = is_static(pod)
        self.name = full_name(pod)

    def is_to_be_deleted(self) -> bool:
        """Whether its API object waits for its end."""
        return self.pod is not None and self.pod.metadata.deletion_timestamp is not None

    def is_ending(self) -> bool:
        return self.standing in (Standing.GOING, Standing.ORPHAN)

    def has_failed(self) -> bool:
        """Whether its worker has failed, or may have.

        It may still wait for its restart. What it published before is then in the status of its pod only.
        """
        return self.lives > 1

    def has_begun(self) -> bool:
        """Whether it has begun. False for a pod quarantined before that."""
        return self.pod is not None or self.worker is not None


class NameLines:
    """A waiting line for each name.

    Static pods of one full name run one at a time, in the order in which they came (spec 2.6, pains 7).

    It knows only names and UIDs. An orphan that still runs stands in the line of its name too, ahead of pods that came
    later.
    """

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def join(self, name: str, uid: str) -> None:
        """Join at the end; one that already stands in the line keeps its place."""
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.append(uid)

    def goes_first(self, name: str, uid: str) -> None:
        """Join at the front: it ran before the others came.

        One that already stands in the line keeps its place.
        """
        line = self._lines.setdefault(name, [])
        if uid not in line:
            line.insert(0, uid)

    def first(self, name: str) -> str:
        """The UID whose turn it is; empty if the line is empty."""
        line = self._lines.get(name)
        return line[0] if line else ""

    def leave(self, name: str, uid: str) -> str:
        """Leave the line, when nothing of the pod is left.

        Returns the UID whose turn it is now; empty if there is none or `uid` was not in the line.
        """
        line = self._lines.get(name)
        if line is None or uid not in line:
            return ""
        line.remove(uid)
        if not line:
            del self._lines[name]
        return self.first(name)


def has_begun(pod: Pod) -> bool:
    """Whether the API shows that a node has taken the pod."""
    status = pod.status
    return status is not None and (status.phase or PENDING, status.start_time) != (PENDING, None)


class QuarantinedPod(msgspec.Struct, frozen=True):
    """The pending change of a quarantined pod, and how often and why it failed."""

    change: PodChanged
    failures: int
    cause: str

    @property
    def retry_in_ns(self) -> int:
        return RETRIES_NS[min(self.failures, len(RETRIES_NS)) - 1]


class Quarantine:
    """The pods on which the sync loop fails, and when to retry each. Usually empty.

    A pod is retried when it changes or goes. The form that failed is retried after a second, because a single failure
    may not repeat. The next retry follows after a minute, because the cause may be gone, then one every ten minutes.
    """

    def __init__(self) -> None:
        self._pods: dict[str, QuarantinedPod] = {}

    def find(self, uid: str) -> QuarantinedPod | None:
        return self._pods.get(uid)

    def failed(self, change: PodChanged, failure: Exception) -> QuarantinedPod:
        """Put a pod into quarantine, or count one more failure of it."""
        uid = change.pod.metadata.uid
        known = self._pods.get(uid)
        failures = 1 if known is None or differs_in_meaning(known.change.pod, change.pod) else known.failures + 1
        # Nothing of the pod counts as told, so the retry adds it.
        operation = Operation.REMOVE if change.operation is Operation.REMOVE else Operation.ADD
        change = msgspec.structs.replace(change, operation=operation)
        quarantined = self._pods[uid] = QuarantinedPod(change, failures, f"{type(failure).__name__}: {failure}")
        return quarantined

    def release(self, quarantined: QuarantinedPod) -> None:
        """The change succeeded: forget it, unless the pod has failed once more meanwhile."""
        if self._pods.get(quarantined.change.pod.metadata.uid) is quarantined:
            del self._pods[quarantined.change.pod.metadata.uid]

    def holds(self, change: PodChanged) -> bool:
        """Whether the pod stays in quarantine; its retry then uses this form.

        A removal or a real change releases it.
        """
        uid = change.pod.metadata.uid
        quarantined = self._pods.get(uid)
        if quarantined is None or change.operation is Operation.REMOVE:
            return False
        if differs_in_meaning(quarantined.change.pod, change.pod):
            return False
        newest = msgspec.structs.replace(change, operation=Operation.ADD)
        self._pods[uid] = msgspec.structs.replace(quarantined, change=newest)
        return True

    def form_of(self, uid: str) -> Pod | None:
        """The newest form of a quarantined pod, or None."""
        quarantined = self._pods.get(uid)
        return None if quarantined is None else quarantined.change.pod


class SyncState(msgspec.Struct, eq=False):
    """Everything that the parts share. `sources`: the names of the sources that will tell their pods."""

    sources: frozenset[str]
    entries: dict[str, PodEntry] = {}
    """Entries by UID. The sync loop adds and removes entries; the parts change their fields."""
    lines: NameLines = msgspec.field(default_factory=NameLines)
    quarantine: Quarantine = msgspec.field(default_factory=Quarantine)
    ready: set[str] = set()
    """The sources that have told all of their pods since the sync loop began. The sync loop adds them."""
    all_ready: bool = False
    """Whether every source has told all of its pods."""
    lost_messages: bool = False
    """Whether messages to the sync loop were lost: a pod that comes later may be an old one then."""
    unreported: set[str] = set()
    """UIDs from before a restart that no source has named since."""
    unknown: tuple[RuntimePod, ...] | None = None
    """The pods that the runtime runs and no worker has announced; None until the first list."""

    def form_of(self, uid: str, entry: PodEntry) -> Pod | None:
        """The last known form of a pod, even of one in quarantine."""
        return entry.pod or self.quarantine.form_of(uid)

    def comes_later(self, change: PodChanged) -> bool:
        """Whether a pod without an entry came after this agent had read all pods.

        Nothing of it can exist in the runtime then. Only pods of the API: a static pod keeps its UID when its manifest
        goes and comes back. The API server may have been behind when it told all pods. So a pod that a node has taken
        does not count.
        """
        if change.source != SOURCE_API or SOURCE_API not in self.ready or self.lost_messages or self.unknown is None:
            return False
        return not has_begun(change.pod)

    def is_in_runtime(self, uid: str) -> bool:
        """Whether the runtime shows a pod that no worker has announced."""
        return any(each.uid == uid for each in self.unknown or ())

    def workers(self) -> tuple[tuple[str, ActorRef], ...]:
        """Every worker, with the UID of its pod."""
        workers = ((uid, entry.worker) for uid, entry in self.entries.items())
        return tuple((uid, worker) for uid, worker in workers if worker is not None)

    def orphans(self) -> Iterator[RuntimePod]:
        """The pods that the runtime runs and no source desires, as far as they are known."""
        return (pod for pod in self.unknown or () if pod.uid not in self.entries)

    @property
    def is_complete(self) -> bool:
        """Whether all sources and the runtime have told their pods, so that no other can turn up."""
        return self.all_ready and self.unknown is not None

    def known_pods(self) -> KnownPods | None:
        """All pods; None while others may turn up."""
        return KnownPods(frozenset(self.entries)) if self.is_complete else None
