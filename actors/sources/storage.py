"""`StorageActor`: the desired pods of this node, merged from all sources.

It owns the only picture of what is desired and tells the sync loop how it changes, pod by pod, in the order of
`merge`. A source sends its full set whenever it has read it; a set that says nothing new costs nothing, so a
message that was lost, or a restart of this actor, heals with the next reading. A source with a watch tells what has
changed of its set, and is asked for the whole (`ReadAgain`) where that set is not known here. What the sync loop lost
it asks for with `PublishAgain`, which names the pods it knows: it is then told every pod again, and the end of those
that are gone.

`merge` compares the full set of a source with what that source said before (spec 1.3 to 1.5). It gives the changes in
the order REMOVE, ADD, UPDATE, DELETE, RECONCILE, so that a name is free before it is used again. One source never
touches the pods of another. Our own annotations (where a pod came from, when it was first seen, whose mirror it is) are
set once, outlive every update, and do not count as a change. Neither does the resource version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import ClassVar

import msgspec

from actors.kernel import Actor, ActorRef, MailboxOverflowed, handles
from actors.messages.events import pod_event
from actors.messages.pods import (
    ADD,
    DELETE,
    RECONCILE,
    REMOVE,
    UPDATE,
    Operation,
    PodChanged,
    PublishAgain,
    ReadAgain,
    SourceChanged,
    SourceRead,
    SourceReady,
    StorageStarted,
)
from config.api_time import api_time
from config.objects import Pod
from config.pods.identity import CONFIG_SEEN, CONFIG_SOURCE, LOCAL_ANNOTATIONS, comparable_annotations, source_of

_FIRST_SECOND = "1970-01-01T00:00:00Z"
TELLING_ORDER = (REMOVE, ADD, UPDATE, DELETE, RECONCILE)


class Desired(msgspec.Struct, frozen=True, gc=False):
    """One pod of one source: `read` as the source last showed it, `pod` as it is told, with the local annotations."""

    read: Pod
    pod: Pod


class Desire(msgspec.Struct, frozen=True):
    """Everything desired: source -> uid -> pod. A source that has never spoken is not in it."""

    sources: Mapping[str, dict[str, Desired]] = {}

    def take(self, source: str, difference: Difference) -> None:
        """Bring what is desired of `source` up to date, in place, as only its one owner may: on a node of hundreds of
        pods a copy would cost more than the change of one.
        """
        pods = self.sources[source]
        for uid in difference.gone:
            pods.pop(uid, None)
        pods.update(difference.now)

    def uids(self) -> frozenset[str]:
        """Of every pod of every source."""
        return frozenset(uid for pods in self.sources.values() for uid in pods)


NOTHING = Desire()


class Change(msgspec.Struct, frozen=True):
    """One pod changed. With REMOVE `pod` is the last object known of it."""

    operation: Operation
    pod: Pod


class Difference(msgspec.Struct, frozen=True):
    """What is another in one source: who is gone, what is desired `now` of those that are new or have changed, and the
    changes in telling order.
    """

    gone: tuple[str, ...]
    now: Mapping[str, Desired]
    changes: tuple[Change, ...]


class Duplicate(msgspec.Struct, frozen=True):
    """A pod left out because an earlier one of the same set has its name, or its UID. `reason` is for people."""

    pod: Pod
    reason: str


class Merged(msgspec.Struct, frozen=True):
    """The new state, the changes in telling order, what was left out, and whether this was the source's first set."""

    desire: Desire
    changes: tuple[Change, ...]
    duplicates: tuple[Duplicate, ...]
    first: bool


def merge(desire: Desire, source: str, pods: Iterable[Pod], now_wall_ns: int) -> Merged:
    """Take the full set `pods` of `source`. `now_wall_ns` becomes the first-seen time of pods that are new.

    Cost is linear in the two sets of that source; a pod that is the very object of last time costs one look-up.
    """
    before = desire.sources.get(source, {})
    unique, duplicates = _without_duplicates(pods)
    changes: list[Change] = []
    now: dict[str, Desired] = {}
    for uid, read in unique.items():
        now[uid] = _taken(before.get(uid), source, read, now_wall_ns, changes)
    changes += [Change(REMOVE, old.pod) for uid, old in before.items() if uid not in now]
    first = source not in desire.sources
    return Merged(Desire({**desire.sources, source: now}), _in_telling_order(changes), duplicates, first)


def merge_changes(
    desire: Desire, source: str, changed: Iterable[Pod], gone: Iterable[str], now_wall_ns: int
) -> Difference:
    """What becomes another when `source`, which has spoken before, tells what has changed. Otherwise like `merge`.

    The source answers for names being unique. Cost is that of the changes.
    """
    before = desire.sources[source]
    left = tuple(sorted(gone))
    changes: list[Change] = []
    for uid in left:
        known = before.get(uid)
        if known is not None:
            changes.append(Change(REMOVE, known.pod))
    now: dict[str, Desired] = {}
    for read in changed:
        uid = read.metadata.uid
        now[uid] = _taken(before.get(uid), source, read, now_wall_ns, changes)
    return Difference(left, now, _in_telling_order(changes) if len(changes) > 1 else tuple(changes))


def compare(known: Pod, read: Pod) -> Operation | None:
    """How `read` differs from the `known` object of the same UID (spec 1.4); None when for a node it does not."""
    if differs_in_meaning(known, read):
        return UPDATE if read.metadata.deletion_timestamp is None else DELETE
    return RECONCILE if known.status != read.status else None


def differs_in_meaning(known: Pod, read: Pod) -> bool:
    """Whether a node that knows `known` has to do anything about `read`, whatever the status of it says."""
    old, new = known.metadata, read.metadata
    return (
        _what_counts(old) != _what_counts(new)
        or (old.annotations != new.annotations and comparable_annotations(known) != comparable_annotations(read))
        or known.spec != read.spec
    )


# Names of one UID never change in the API; in a manifest with a UID of its own they can.
_what_counts = attrgetter("name", "namespace", "deletion_timestamp", "deletion_grace_period_seconds", "labels")


@lru_cache(maxsize=16)
def fixed_width_time(wall_ns: int) -> str:
    """RFC 3339 with nine digits of a second, UTC: texts of this form sort as the times do. Of a time after 1970."""
    second = api_time(wall_ns) or _FIRST_SECOND
    return f"{second[:-1]}.{wall_ns % 1_000_000_000:09d}Z"


def _taken(known: Desired | None, source: str, read: Pod, now_wall_ns: int, changes: list[Change]) -> Desired:
    """What is desired of a pod of which `known` was, now that its source shows `read`. What is new in it is added to
    `changes`.
    """
    if known is None:
        local = {CONFIG_SOURCE: source, CONFIG_SEEN: fixed_width_time(now_wall_ns)}
        pod = _with_annotations(read, {**read.metadata.annotations, **local})
        changes.append(Change(ADD, pod))
        return Desired(read, pod)
    operation = None if read is known.read else compare(known.read, read)
    if operation is None:
        return known
    annotations = known.pod.metadata.annotations
    if read.metadata.annotations != known.read.metadata.annotations:
        local = {key: value for key, value in annotations.items() if key in LOCAL_ANNOTATIONS}
        annotations = {**read.metadata.annotations, **local}
    pod = _with_annotations(read, annotations)
    changes.append(Change(operation, pod))
    return Desired(read, pod)


def _in_telling_order(changes: list[Change]) -> tuple[Change, ...]:
    """Those of one kind stay in their order."""
    changes.sort(key=lambda change: TELLING_ORDER.index(change.operation))
    return tuple(changes)


def _with_annotations(pod: Pod, annotations: Mapping[str, str]) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


def _without_duplicates(pods: Iterable[Pod]) -> tuple[dict[str, Pod], tuple[Duplicate, ...]]:
    """The first of each full name and of each UID, in order, by UID; and the others."""
    unique: dict[str, Pod] = {}
    names: set[tuple[str, str]] = set()
    duplicates: list[Duplicate] = []
    for pod in pods:
        meta = pod.metadata
        name = (meta.namespace, meta.name)
        if name in names:
            text = f"another pod of this source is named {meta.namespace}/{meta.name}; rename one, this one is ignored"
            duplicates.append(Duplicate(pod, text))
        elif meta.uid in unique:
            other = unique[meta.uid].metadata
            text = f"pod {other.namespace}/{other.name} of this source has the same UID {meta.uid}; this one is ignored"
            duplicates.append(Duplicate(pod, text))
        else:
            unique[meta.uid] = pod
            names.add(name)
    return unique, tuple(duplicates)


SECOND_NS = 1_000_000_000


class StorageActor(Actor):
    """See the module. `sources` names every source that will speak: the node is ready when all have."""

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
        self._readers: dict[str, ActorRef] = {}
        """Of sources that tell changes, who can tell all."""

    def on_start(self) -> None:
        self._sync_loop.tell(StorageStarted())

    @handles(SourceRead)
    def source_read(self, message: SourceRead) -> None:
        source = message.source
        if message.pods is self._last_read.get(source):
            return
        merged = merge(self._desire, source, message.pods, self.wall_ns())
        self._desire = merged.desire
        self._last_read[source] = message.pods
        for change in merged.changes:
            self._sync_loop.tell(PodChanged(change.operation, change.pod, source))
        self._report(source, merged.duplicates)
        if merged.first:
            self._sync_loop.tell(SourceReady(source, self._all_ready(), self._asked))
            self._end_what_is_gone()

    @handles(SourceChanged)
    def source_changed(self, message: SourceChanged) -> None:
        source = message.source
        self._readers[source] = message.source_ref
        if source not in self._desire.sources:
            message.source_ref.tell(ReadAgain())
            return
        difference = merge_changes(self._desire, source, message.changed, message.gone, self.wall_ns())
        self._desire.take(source, difference)
        self._last_read.pop(source, None)
        for change in difference.changes:
            self._sync_loop.tell(PodChanged(change.operation, change.pod, source))

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        for reader in self._readers.values():
            reader.tell(ReadAgain())
        self._sync_loop.tell(StorageStarted())  # its question may be among what was lost

    @handles(PublishAgain)
    def publish_again(self, message: PublishAgain) -> None:
        self._asked = message.number
        for source, pods in self._desire.sources.items():
            for desired in pods.values():
                self._sync_loop.tell(PodChanged(Operation.ADD, desired.pod, source))
            self._sync_loop.tell(SourceReady(source, self._all_ready(), self._asked))
        self._known_to_sync_loop = message.known
        self._end_what_is_gone()
        for reader in self._readers.values():
            reader.tell(ReadAgain())  # it may keep back what nobody waited for, until now

    def _end_what_is_gone(self) -> None:
        """Once every source has spoken: what the sync loop knows and nobody desires has gone unheard."""
        if not self._all_ready() or not self._known_to_sync_loop:
            return
        desired = self._desire.uids()
        for pod in self._known_to_sync_loop:
            if pod.metadata.uid not in desired:
                self._sync_loop.tell(PodChanged(Operation.REMOVE, pod, source_of(pod) or ""))
        self._known_to_sync_loop = ()

    def _all_ready(self) -> bool:
        return self._sources <= self._desire.sources.keys()

    def _report(self, source: str, duplicates: tuple[Duplicate, ...]) -> None:
        """Say each duplicate once, not at every reading."""
        known = self._duplicates.get(source, frozenset())
        for duplicate in duplicates:
            meta = duplicate.pod.metadata
            if (meta.uid, duplicate.reason) not in known:
                self.log.warning("pod %s/%s from %s: %s", meta.namespace, meta.name, source, duplicate.reason)
                self._events.tell(pod_event(duplicate.pod, "Warning", "FailedValidation", duplicate.reason))
        self._duplicates[source] = frozenset((each.pod.metadata.uid, each.reason) for each in duplicates)
