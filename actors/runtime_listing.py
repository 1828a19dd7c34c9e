"""What the runtime lists, as one immutable picture, and how two pictures differ (spec 2.5).

Pure. A picture maps each pod UID to the states of its sandboxes and containers. The difference names the pods to look
at again and the containers that have died; what exactly happened is found by whoever looks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from actors.count_messages import RunningCount
from actors.messages import RuntimePod
from actors.runtime_shown import GONE, Shown
from runtime.cri.messages import Container, ContainerState, PodSandbox, PodSandboxState

POD_UID_LABEL = "io.kubernetes.pod.uid"
CONTAINER_NAME_LABEL = "io.kubernetes.container.name"


class Listed(msgspec.Struct, frozen=True, gc=False):
    """One sandbox (`name` empty) or container as listed."""

    uid: str
    name: str
    running: bool
    state: int


class Picture(msgspec.Struct, frozen=True):
    """Everything with a pod UID that the runtime lists, by id; and the pods' names by UID."""

    entries: Mapping[str, Listed]
    pods: Mapping[str, RuntimePod]


NOTHING = Picture({}, {})


_STATES = {each.value: each.name.removeprefix("CONTAINER_").lower() for each in ContainerState}


def count_of(picture: Picture) -> RunningCount:
    """How many pods have a sandbox that is ready, and how many containers are in which state."""
    ready = {entry.uid for entry in picture.entries.values() if not entry.name and entry.running}
    states = Counter(_STATES.get(entry.state, "unknown") for entry in picture.entries.values() if entry.name)
    return RunningCount(len(ready), states)


class Difference(msgspec.Struct, frozen=True):
    """`changed`: by UID, in the order of listing, what has changed of it. `died`: (uid, container name) of containers
    that no longer run.
    """

    changed: Mapping[str, Shown]
    died: tuple[tuple[str, str], ...]


def picture_of(sandboxes: Iterable[PodSandbox], containers: Iterable[Container]) -> Picture:
    """Put the two lists together. What carries no pod UID is not ours and is left out."""
    entries: dict[str, Listed] = {}
    names: dict[str, tuple[str, str]] = {}
    running: set[str] = set()
    for sandbox in sandboxes:
        meta = sandbox.metadata
        if meta is None or not meta.uid:
            continue
        ready = sandbox.state == PodSandboxState.SANDBOX_READY
        entries[sandbox.id] = Listed(meta.uid, "", ready, int(sandbox.state))
        names[meta.uid] = (meta.name, meta.namespace)
        if ready:
            running.add(meta.uid)
    for container in containers:
        labels = container.labels
        uid = labels.get(POD_UID_LABEL)
        if not uid:
            continue
        runs = container.state == ContainerState.CONTAINER_RUNNING
        entries[container.id] = Listed(uid, labels.get(CONTAINER_NAME_LABEL, ""), runs, int(container.state))
        if uid not in names:
            names[uid] = (labels.get("io.kubernetes.pod.name", ""), labels.get("io.kubernetes.pod.namespace", ""))
        if runs:
            running.add(uid)
    pods = {uid: RuntimePod(uid, name, namespace, uid in running) for uid, (name, namespace) in names.items()}
    return Picture(entries, pods)


def difference(before: Picture, now: Picture) -> Difference:
    """What happened between two pictures. Cost is linear in what they hold."""
    changed: dict[str, dict[str, int]] = {}
    died: dict[tuple[str, str], None] = {}
    old = before.entries
    for entry_id, entry in now.entries.items():
        was = old.get(entry_id)
        if was is None or was.state != entry.state:
            changed.setdefault(entry.uid, {})[entry_id] = entry.state
            if entry.name and not entry.running and was is not None and was.running:
                died[entry.uid, entry.name] = None
    for entry_id, was in old.items():
        if entry_id not in now.entries:
            changed.setdefault(was.uid, {})[entry_id] = GONE
            if was.name and was.running:
                died[was.uid, was.name] = None
    return Difference(changed, tuple(died))
