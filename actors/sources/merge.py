"""What each source desires, and how a new set of one source changes it (spec 1.3 to 1.5).

Pure. A source always says the full set of its pods. The merge compares it with what that source said before and gives
the changes in the order in which they are to be told: REMOVE, ADD, UPDATE, DELETE, RECONCILE, so that a name is free
before it is used again. One source never touches the pods of another.

Annotations that are ours ("local": where a pod came from, when it was first seen, whose mirror it is) are set once and
outlive every update; they are no reason to call a pod changed. Neither is what changes nothing for a node, such as the
resource version: an object that differs in that alone is not told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import attrgetter

import msgspec

from actors.messages.pods import Operation
from config.objects import Pod
from config.pods.identity import CONFIG_SEEN, CONFIG_SOURCE, LOCAL_ANNOTATIONS, comparable_annotations
from config.values.api_time import api_time

_FIRST_SECOND = "1970-01-01T00:00:00Z"
TELLING_ORDER = (Operation.REMOVE, Operation.ADD, Operation.UPDATE, Operation.DELETE, Operation.RECONCILE)


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
    changes += [Change(Operation.REMOVE, old.pod) for uid, old in before.items() if uid not in now]
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
            changes.append(Change(Operation.REMOVE, known.pod))
    now: dict[str, Desired] = {}
    for read in changed:
        uid = read.metadata.uid
        now[uid] = _taken(before.get(uid), source, read, now_wall_ns, changes)
    return Difference(left, now, _in_telling_order(changes) if len(changes) > 1 else tuple(changes))


def compare(known: Pod, read: Pod) -> Operation | None:
    """How `read` differs from the `known` object of the same UID (spec 1.4); None when for a node it does not."""
    if differs_in_meaning(known, read):
        return Operation.UPDATE if read.metadata.deletion_timestamp is None else Operation.DELETE
    return Operation.RECONCILE if known.status != read.status else None


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
        changes.append(Change(Operation.ADD, pod))
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
