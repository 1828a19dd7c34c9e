"""The runtime's lists as one immutable picture, and the difference of two pictures (spec 2.5).

Pure.

A picture has the states of all sandboxes and containers, by id. The difference names the pods to look at again and the
containers that have died. The worker that looks finds out what exactly happened.

Little changes between two lists, and ids are never reused. So each picture is made from the one before it, and only new
ids and new states are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from actors.messages.counts import RunningCount
from actors.messages.pods import RuntimePod
from actors.model.runtime_shown import GONE, Shown
from config.frozen_map import FrozenMap
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID, pod_uid
from runtime.cri.messages import Container, ContainerState, PodSandbox, PodSandboxState

Of = TypeVar("Of", PodSandbox, Container)


class ListedContainer(msgspec.Struct, frozen=True, gc=False):
    """One listed sandbox (`name` empty) or container, with its pod's UID, name and namespace."""

    uid: str
    pod: str
    namespace: str
    name: str
    running: bool
    state: int


class Picture(msgspec.Struct, frozen=True):
    """Everything with a pod UID that the runtime lists, by id.

    `new`: the ids that are new, or have another state than in the picture that it was made from. `foreign`: the ids of
    what has a UID that no agent gives, with that UID; it is left alone.
    """

    entries: Mapping[str, ListedContainer]
    states: dict[str, int]
    new: tuple[str, ...]
    foreign: Mapping[str, str] = {}


NOTHING = Picture({}, {}, ())

_STATES = {each.value: each.name.removeprefix("CONTAINER_").lower() for each in ContainerState}


def count_of(picture: Picture) -> RunningCount:
    """The number of pods with a ready sandbox, and of containers by state."""
    ready = {entry.uid for entry in picture.entries.values() if not entry.name and entry.running}
    states = Counter(_STATES.get(entry.state, "unknown") for entry in picture.entries.values() if entry.name)
    return RunningCount(len(ready), states)


class ListingDifference(msgspec.Struct, frozen=True):
    """`changed`: UID -> what has changed of the pod, in the order of listing.

    `died`: (uid, container name) of containers that no longer run.
    """

    changed: Mapping[str, Shown]
    died: tuple[tuple[str, str], ...]


def picture_of(sandboxes: Sequence[PodSandbox], containers: Sequence[Container], before: Picture = NOTHING) -> Picture:
    """Combine the two lists; returns `before` itself when nothing has changed.

    Leaves out what carries no pod UID, or one that no agent gives, because it is not ours.
    """
    new: dict[str, ListedContainer] = {}
    foreign: dict[str, str] = {}
    for sandbox in _changed(sandboxes, before):
        meta = sandbox.metadata
        uid = "" if meta is None else pod_uid(meta.uid)
        if meta is not None and uid:
            ready = sandbox.state == PodSandboxState.SANDBOX_READY
            new[sandbox.id] = ListedContainer(uid, meta.name, meta.namespace, "", ready, int(sandbox.state))
        elif meta is not None and meta.uid:
            foreign[sandbox.id] = meta.uid
    for container in _changed(containers, before):
        labels = container.labels
        uid = pod_uid(labels.get(POD_UID))
        if uid:
            pod, namespace = labels.get(POD_NAME, ""), labels.get(POD_NAMESPACE, "")
            runs = container.state == ContainerState.CONTAINER_RUNNING
            name = labels.get(CONTAINER_NAME, "")
            new[container.id] = ListedContainer(uid, pod, namespace, name, runs, int(container.state))
        elif labels.get(POD_UID):
            foreign[container.id] = labels[POD_UID]
    listed = {each.id for each in sandboxes} | {each.id for each in containers}
    gone = [each for each in before.entries if each not in listed]
    if not new and not gone and foreign == before.foreign:
        return before
    entries = {**before.entries, **new}
    for each in gone:
        del entries[each]
    return Picture(entries, {each: entry.state for each, entry in entries.items()}, tuple(new), foreign)


def _changed(listed: Sequence[Of], before: Picture) -> list[Of]:
    """The entries that are new, or in another state than in `before`."""
    return [each for each in listed if before.states.get(each.id) != each.state]


def strangers(picture: Picture, known: Iterable[str]) -> tuple[RuntimePod, ...]:
    """Pods of which something runs and whose UID is not in `known`, in the order of listing."""
    entries = picture.entries.values()
    running = {entry.uid for entry in entries if entry.running}.difference(known)
    if not running:
        return ()
    pods: dict[str, RuntimePod] = {}
    for entry in entries:
        if entry.uid in running and entry.uid not in pods:
            pods[entry.uid] = RuntimePod(entry.uid, entry.pod, entry.namespace, True)
    return tuple(pods.values())


def difference(before: Picture, now: Picture) -> ListingDifference:
    """What changed between two pictures; `now` was made from `before`, or from nothing."""
    changed: dict[str, dict[str, int]] = {}
    died: dict[tuple[str, str], None] = {}
    old, entries = before.entries, now.entries
    for entry_id in now.new:
        was, entry = old.get(entry_id), entries[entry_id]
        if was is not None:
            if was.state == entry.state:
                continue
            if entry.name and not entry.running and was.running:
                died[entry.uid, entry.name] = None
        changed.setdefault(entry.uid, {})[entry_id] = entry.state
    for entry_id, was in old.items():
        if entry_id in entries:
            continue
        changed.setdefault(was.uid, {})[entry_id] = GONE
        if was.name and was.running:
            died[was.uid, was.name] = None
    return ListingDifference({uid: FrozenMap(shown) for uid, shown in changed.items()}, tuple(died))
