"""The pods that each source desires, and how a new set of one source changes them (spec 1.3 to 1.5). Pure.

A source gives the full set of its pods. The merge compares it with that source's last set and returns the changes in
telling order: REMOVE, ADD, UPDATE, DELETE, RECONCILE, so that a name is free before it is used again. One source never
touches the pods of another.

Local annotations (the source, the first-seen time, the mirrored pod) are set once and survive every update. They do not
make a pod changed. Nor does anything without meaning for a node: an object that differs only in its resource version is
not told again.
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


class SourcePod(msgspec.Struct, frozen=True, gc=False):
    """One pod of one source: `read` as the source last showed it, `pod` with the local annotations, as told."""

    read: Pod
    pod: Pod


class Desire(msgspec.Struct, frozen=True):
    """Everything desired: source -> uid -> pod. A source that is not ready is not in it."""

    sources: Mapping[str, dict[str, SourcePod]] = {}

    def take(self, source: str, difference: SourceDifference) -> None:
        """Update the pods of `source` in place; only the owner may. With hundreds of pods, a copy would cost more than
        the change of one.
        """
        pods = self.sources[source]
        for uid in difference.gone:
            pods.pop(uid, None)
        pods.update(difference.now)

    def uids(self) -> frozenset[str]:
        """The UIDs of all pods of all sources."""
        return frozenset(uid for pods in self.sources.values() for uid in pods)


NOTHING = Desire()


class PodChange(msgspec.Struct, frozen=True):
    """One pod changed. With REMOVE, `pod` is its last known object."""

    operation: Operation
    pod: Pod


class SourceDifference(msgspec.Struct, frozen=True):
    """What changed in one source: UIDs that are gone, the new and changed pods as desired `now`, and the changes in
    telling order.
    """

    gone: tuple[str, ...]
    now: Mapping[str, SourcePod]
    changes: tuple[PodChange, ...]


class Duplicate(msgspec.Struct, frozen=True):
    """A pod left out because an earlier one of the same set has its name or UID. `reason` is text for people."""

    pod: Pod
    reason: str


class Merged(msgspec.Struct, frozen=True):
    """The new state, the changes in telling order, the pods left out, and whether this was the source's first set."""

    desire: Desire
    changes: tuple[PodChange, ...]
    duplicates: tuple[Duplicate, ...]
    first: bool


def merge(desire: Desire, source: str, pods: Iterable[Pod], now_wall_ns: int) -> Merged:
    """Merge the full set `pods` of `source`. `now_wall_ns` becomes the first-seen time of new pods.

    The cost is linear in the two sets of that source; a pod that is the same object as last time costs one look-up.
    """
    before = desire.sources.get(source, {})
    unique, duplicates = _without_duplicates(pods)
    changes: list[PodChange] = []
    now: dict[str, SourcePod] = {}
    for uid, read in unique.items():
        now[uid] = _taken(before.get(uid), source, read, now_wall_ns, changes)
    changes += [PodChange(Operation.REMOVE, old.pod) for uid, old in before.items() if uid not in now]
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
    changes: list[PodChange] = []
    for uid in left:
        known = before.get(uid)
        if known is not None:
            changes.append(PodChange(Operation.REMOVE, known.pod))
    now: dict[str, SourcePod] = {}
    for read in changed:
        uid = read.metadata.uid
        now[uid] = _taken(before.get(uid), source, read, now_wall_ns, changes)
    return SourceDifference(left, now, _in_telling_order(changes) if len(changes) > 1 else tuple(changes))


def compare(known: Pod, read: Pod) -> Operation | None:
    """How `read` differs from the `known` object of the same UID (spec 1.4); None if a node need not care."""
    if differs_in_meaning(known, read):
        return Operation.UPDATE if read.metadata.deletion_timestamp is None else Operation.DELETE
    return Operation.RECONCILE if known.status != read.status else None


def differs_in_meaning(known: Pod, read: Pod) -> bool:
    """Whether a node that knows `known` has to act on `read`, leaving the status aside."""
    old, new = known.metadata, read.metadata
    return (
        _what_counts(old) != _what_counts(new)
        or (old.annotations != new.annotations and comparable_annotations(known) != comparable_annotations(read))
        or known.spec != read.spec
    )


# In the API the name of a UID never changes; in a manifest with an explicit UID it can.
_what_counts = attrgetter("name", "namespace", "deletion_timestamp", "deletion_grace_period_seconds", "labels")


@lru_cache(maxsize=16)
def fixed_width_time(wall_ns: int) -> str:
    """RFC 3339 with nine fractional digits, UTC, for times after 1970. Such texts sort as the times do."""
    second = api_time(wall_ns) or _FIRST_SECOND
    return f"{second[:-1]}.{wall_ns % 1_000_000_000:09d}Z"


def _taken(known: SourcePod | None, source: str, read: Pod, now_wall_ns: int, changes: list[PodChange]) -> SourcePod:
    """The desired pod now that its source shows `read`; `known` was desired before. Appends a change to `changes`."""
    if known is None:
        local = {CONFIG_SOURCE: source, CONFIG_SEEN: fixed_width_time(now_wall_ns)}
        pod = _with_annotations(read, {**read.metadata.annotations, **local})
        changes.append(PodChange(Operation.ADD, pod))
        return SourcePod(read, pod)
    operation = None if read is known.read else compare(known.read, read)
    if operation is None:
        return known
    annotations = known.pod.metadata.annotations
    if read.metadata.annotations != known.read.metadata.annotations:
        local = {key: value for key, value in annotations.items() if key in LOCAL_ANNOTATIONS}
        annotations = {**read.metadata.annotations, **local}
    pod = _with_annotations(read, annotations)
    changes.append(PodChange(operation, pod))
    return SourcePod(read, pod)


def _in_telling_order(changes: list[PodChange]) -> tuple[PodChange, ...]:
    """Sort by operation; changes of one operation keep their order."""
    changes.sort(key=lambda change: TELLING_ORDER.index(change.operation))
    return tuple(changes)


def _with_annotations(pod: Pod, annotations: Mapping[str, str]) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


def _without_duplicates(pods: Iterable[Pod]) -> tuple[dict[str, Pod], tuple[Duplicate, ...]]:
    """The first pod of each full name and UID, by UID in order; and the others."""
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
