"""`StorageActor`: the desired pods of this node, merged from all sources (spec 1.3 to 1.5).

It owns the only record of what is desired and tells the sync loop each change, pod by pod. The merge is pure: it
compares the pods of a source with those it showed last, and returns the changes in telling order: REMOVE, ADD, UPDATE,
DELETE, RECONCILE. So a name is free before it is used again. One source never touches the pods of another.

A source sends its full set after each reading. An unchanged set costs nothing, so the next reading heals a lost message
or a restart of this actor. A source with a watch sends only changes, and is asked for the full set (`ReadAgain`) if
this actor does not have it. The sync loop recovers with `PublishAgain`, which names the pods it knows: it then gets
every pod again, and the removal of those that are gone.

The pods of a source may come from memory first (`SourceRemembered`). They are desired, but the source is not ready
by them: what it has not told yet may run, too.

Local annotations (the source, the first-seen time, the mirrored pod) are set once and survive every update. They do not
make a pod changed. Nor does anything without meaning for a node: an object that differs only in its resource version is
not sent again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, MailboxOverflowed, handles
from actors.messages.events import pod_event
from actors.messages.pods import (
    DuplicatePod,
    Operation,
    PodChanged,
    PublishAgain,
    ReadAgain,
    SourceChanged,
    SourceRead,
    SourceReady,
    SourceRemembered,
    StorageStarted,
)
from actors.sources.pod_changes import compare
from config.objects import Pod
from config.pods.identity import CONFIG_SEEN, CONFIG_SOURCE, LOCAL_ANNOTATIONS, source_of
from config.values.api_time import api_time

SECOND_NS = 1_000_000_000
TELLING_ORDER = (Operation.REMOVE, Operation.ADD, Operation.UPDATE, Operation.DELETE, Operation.RECONCILE)
_FIRST_SECOND = "1970-01-01T00:00:00Z"


class StorageActor(Actor):
    """See the module. `sources` names all sources; the node is ready when each has sent its first set."""

    mailbox_capacity: ClassVar[int] = 1_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef, events: ActorRef, sources: tuple[str, ...]) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._events = events
        self._sources = frozenset(sources)
        self._desire = NOTHING
        self._last_read: dict[str, tuple[Pod, ...]] = {}
        self._duplicates: dict[str, frozenset[tuple[str, str]]] = {}
        self._known_to_sync_loop: tuple[Pod, ...] = ()
        self._asked = 0
        """The number of the last question of the sync loop."""
        self._remembered: set[str] = set()
        """Sources whose pods are known from memory only."""
        self._readers: dict[str, ActorRef] = {}
        """Sources that send changes -> the actor to ask for the full set."""

    def on_start(self) -> None:
        self._sync_loop.tell(StorageStarted())

    @handles(SourceRead)
    def source_read(self, message: SourceRead) -> None:
        """Work: all pods of the source; those that came anew are compared as a whole."""
        source = message.source
        if message.pods is self._last_read.get(source) and not message.anew:
            return
        merged = merge(self._desire, source, message.pods, self.wall_ns(), message.anew)
        self._desire = merged.desire
        self._last_read[source] = message.pods
        for change in merged.changes:
            self._sync_loop.tell(change)
        self._report(source, (*message.duplicates, *merged.duplicates))
        if merged.first or source in self._remembered:
            self._remembered.discard(source)
            self._sync_loop.tell(SourceReady(source, self._all_ready(), self._asked))
            self._end_what_is_gone()

    @handles(SourceRemembered)
    def source_remembered(self, message: SourceRemembered) -> None:
        """Work: all pods of the source."""
        source = message.source
        if source in self._desire.sources:
            return
        merged = merge(self._desire, source, message.pods, self.wall_ns())
        self._desire = merged.desire
        self._remembered.add(source)
        for change in merged.changes:
            self._sync_loop.tell(change)

    @handles(SourceChanged)
    def source_changed(self, message: SourceChanged) -> None:
        """Work: the changed pods, each compared as a whole."""
        source = message.source
        self._readers[source] = message.source_ref
        if not self._is_ready(source):
            message.source_ref.tell(ReadAgain())
            return
        difference = merge_changes(self._desire, source, message.changed, message.gone, self.wall_ns())
        self._desire.take(source, difference)
        self._last_read.pop(source, None)
        for change in difference.changes:
            self._sync_loop.tell(change)

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Work: constant."""
        for reader in self._readers.values():
            reader.tell(ReadAgain())
        self._sync_loop.tell(StorageStarted())  # its `PublishAgain` may be lost too

    @handles(PublishAgain)
    def publish_again(self, message: PublishAgain) -> None:
        """Work: all pods."""
        self._asked = message.number
        for source, pods in self._desire.sources.items():
            for desired in pods.values():
                self._sync_loop.tell(PodChanged(Operation.ADD, desired.pod, source))
            if self._is_ready(source):
                self._sync_loop.tell(SourceReady(source, self._all_ready(), self._asked))
        self._known_to_sync_loop = message.known
        self._end_what_is_gone()
        for reader in self._readers.values():
            reader.tell(ReadAgain())  # it may hold back status echoes, which are needed now

    def _end_what_is_gone(self) -> None:
        """Once every source is ready, remove the pods that the sync loop knows and no source desires."""
        if not self._all_ready() or not self._known_to_sync_loop:
            return
        desired = self._desire.uids()
        for pod in self._known_to_sync_loop:
            if pod.metadata.uid not in desired:
                self._sync_loop.tell(PodChanged(Operation.REMOVE, pod, source_of(pod) or ""))
        self._known_to_sync_loop = ()

    def _is_ready(self, source: str) -> bool:
        """Whether the source has told its pods, and not only a memory of them."""
        return source in self._desire.sources and source not in self._remembered

    def _all_ready(self) -> bool:
        return all(map(self._is_ready, sorted(self._sources)))

    def _report(self, source: str, duplicates: tuple[DuplicatePod, ...]) -> None:
        """Report each duplicate once, not at every reading. The event is logged, too."""
        known = self._duplicates.get(source, frozenset())
        for duplicate in duplicates:
            meta = duplicate.pod.metadata
            if (meta.uid, duplicate.reason) not in known:
                self._events.tell(pod_event(duplicate.pod, "Warning", "FailedValidation", duplicate.reason))
        self._duplicates[source] = frozenset((each.pod.metadata.uid, each.reason) for each in duplicates)


# --- the merge, pure --------------------------------------------------------------------------------------------------


class SourcePod(msgspec.Struct, frozen=True, gc=False):
    """One pod of one source.

    `read` is as the source last showed it, `pod` with the local annotations, as sent.
    """

    read: Pod
    pod: Pod


class Desire(msgspec.Struct, frozen=True):
    """Everything desired: source -> uid -> pod. A source that is not ready is not in it."""

    sources: Mapping[str, dict[str, SourcePod]] = {}

    def take(self, source: str, difference: SourceDifference) -> None:
        """Update the pods of `source` in place; only the owner may.

        With hundreds of pods, a copy would cost more than the change of one.
        """
        pods = self.sources[source]
        for uid in difference.gone:
            pods.pop(uid, None)
        pods.update(difference.now)

    def uids(self) -> frozenset[str]:
        """The UIDs of all pods of all sources."""
        return frozenset(uid for pods in self.sources.values() for uid in pods)


NOTHING = Desire()


class SourceDifference(msgspec.Struct, frozen=True):
    """What changed in one source.

    UIDs that are gone, the new and changed pods as desired `now`, and the changes in the order to send them.
    """

    gone: tuple[str, ...]
    now: Mapping[str, SourcePod]
    changes: tuple[PodChanged, ...]


class Merged(msgspec.Struct, frozen=True):
    """The merged state after a set of one source.

    It has the new state, the changes in the order to send them, the pods left out, and whether this was the source's
    first set.
    """

    desire: Desire
    changes: tuple[PodChanged, ...]
    duplicates: tuple[DuplicatePod, ...]
    first: bool


def merge(desire: Desire, source: str, pods: Iterable[Pod], now_wall_ns: int, anew: Collection[str] = ()) -> Merged:
    """Merge the full set `pods` of `source`. `now_wall_ns` becomes the first-seen time of new pods.

    `anew`: UIDs of pods that were gone since the last set.

    The cost is linear in the two sets of that source; a pod that is the same object as last time costs one look-up.
    """
    before = desire.sources.get(source, {})
    unique, duplicates = _without_duplicates(pods)
    changes: list[PodChanged] = []
    now: dict[str, SourcePod] = {}
    for uid, read in unique.items():
        known = before.get(uid)
        if known is not None and uid in anew:
            now[uid] = _added(source, read, now_wall_ns, changes, anew=True)
        else:
            now[uid] = _taken(known, source, read, now_wall_ns, changes)
    changes += [PodChanged(Operation.REMOVE, old.pod, source) for uid, old in before.items() if uid not in now]
    first = source not in desire.sources
    return Merged(Desire({**desire.sources, source: now}), _in_telling_order(changes), duplicates, first)


def merge_changes(
    desire: Desire, source: str, changed: Iterable[Pod], gone: Iterable[str], now_wall_ns: int
) -> SourceDifference:
    """Like `merge`, for a source that is ready and tells only its changes.

    The source guarantees unique names. The cost is linear in the changes.
    """
    before = desire.sources[source]
    left = tuple(sorted(gone))
    changes = [PodChanged(Operation.REMOVE, before[uid].pod, source) for uid in left if uid in before]
    now: dict[str, SourcePod] = {}
    for read in changed:
        uid = read.metadata.uid
        now[uid] = _taken(before.get(uid), source, read, now_wall_ns, changes)
    return SourceDifference(left, now, _in_telling_order(changes))


@lru_cache(maxsize=16)
def fixed_width_time(wall_ns: int) -> str:
    """RFC 3339 with nine fractional digits, UTC, for times after 1970. Such texts sort as the times do."""
    second = api_time(wall_ns) or _FIRST_SECOND
    return f"{second[:-1]}.{wall_ns % 1_000_000_000:09d}Z"


def _taken(known: SourcePod | None, source: str, read: Pod, now_wall_ns: int, changes: list[PodChanged]) -> SourcePod:
    """The desired pod now that its source shows `read`; `known` was desired before.

    Appends a change to `changes`.
    """
    if known is None:
        return _added(source, read, now_wall_ns, changes)
    operation = None if read is known.read else compare(known.read, read)
    if operation is None:
        return known
    annotations = known.pod.metadata.annotations
    if read.metadata.annotations != known.read.metadata.annotations:
        local = {key: annotations[key] for key in sorted(LOCAL_ANNOTATIONS) if key in annotations}
        annotations = {**read.metadata.annotations, **local}
    pod = _with_annotations(read, annotations)
    changes.append(PodChanged(operation, pod, source))
    return SourcePod(read, pod)


def _added(source: str, read: Pod, now_wall_ns: int, changes: list[PodChanged], *, anew: bool = False) -> SourcePod:
    local = {CONFIG_SOURCE: source, CONFIG_SEEN: fixed_width_time(now_wall_ns)}
    pod = _with_annotations(read, {**read.metadata.annotations, **local})
    changes.append(PodChanged(Operation.ADD, pod, source, anew))
    return SourcePod(read, pod)


def _in_telling_order(changes: list[PodChanged]) -> tuple[PodChanged, ...]:
    """Sort by operation; changes of one operation keep their order."""
    changes.sort(key=lambda change: TELLING_ORDER.index(change.operation))
    return tuple(changes)


def _with_annotations(pod: Pod, annotations: Mapping[str, str]) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


def _without_duplicates(pods: Iterable[Pod]) -> tuple[dict[str, Pod], tuple[DuplicatePod, ...]]:
    """The first pod of each full name and UID, by UID in order; and the others."""
    unique: dict[str, Pod] = {}
    names: set[tuple[str, str]] = set()
    duplicates: list[DuplicatePod] = []
    for pod in pods:
        meta = pod.metadata
        name = (meta.namespace, meta.name)
        if name in names:
            text = f"another pod of this source is named {meta.namespace}/{meta.name}; rename one, this one is ignored"
            duplicates.append(DuplicatePod(pod, text))
        elif meta.uid in unique:
            other = unique[meta.uid].metadata
            text = f"pod {other.namespace}/{other.name} of this source has the same UID {meta.uid}; this one is ignored"
            duplicates.append(DuplicatePod(pod, text))
        else:
            unique[meta.uid] = pod
            names.add(name)
    return unique, tuple(duplicates)
