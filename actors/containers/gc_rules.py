"""Decides which dead containers and sandboxes are removed (spec 3.12). Pure.

A container is dead if it has exited or the runtime has lost its state. A created container that was never started is
dead only if its pod is gone, because the worker may be about to start it. Running containers are never removed, nor are
sandboxes that are ready or still have containers.

The newest dead containers of each name and pod stay, because the pod's status is made from them. A pod that is gone
keeps nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from runtime.cri.identity import (
    CONTAINER_NAME,
    POD_NAME,
    POD_NAMESPACE,
    POD_UID,
    TERMINATION_MESSAGE_FILE,
    pod_uid,
)
from runtime.cri.messages import Container, ContainerState, PodSandbox, PodSandboxState
from runtime.logs.pod_logs import log_link, pod_log_directory

LOGS_LANE = "pod logs"
"""The lane of all work on logs.

Its key is `logs_key`, so that removal and rotation of a pod's logs never overlap.
"""

DEAD_STATES = (ContainerState.CONTAINER_EXITED, ContainerState.CONTAINER_UNKNOWN)

Unit = tuple[str, str]
"""(pod UID, container name), to which a limit per container applies."""


def logs_key(pod_directory: str) -> str:
    """The key of calls about the logs of a pod: its UID, with which the name of its directory ends."""
    return pod_directory.rpartition("_")[2]


class GcPolicy(msgspec.Struct, frozen=True):
    """Limits: dead containers younger than `min_age_ns` stay.

    At most `per_container` per unit and `total` in all stay.

    A negative number means no limit.
    """

    min_age_ns: int = 0
    per_container: int = 1
    total: int = -1


class Places(msgspec.Struct, frozen=True):
    """The directories of pod logs, of the links to them, and of the agent's own files."""

    pod_logs: str = "/var/log/pods"
    container_logs: str = "/var/log/containers"
    root: str = "/var/lib/actorlet"


class DeadContainer(msgspec.Struct, frozen=True):
    """A dead container to remove, with the log of that attempt. `stop_first`: it may still run.

    `message`: the file of its termination message; empty where it has none.
    """

    id: str
    uid: str
    name: str
    stop_first: bool
    log_directory: str
    attempt: int
    link: str
    message: str = ""


def unit_of(container: Container) -> Unit:
    """The unit (pod and container name) that a container counts for."""
    return container.labels.get(POD_UID, ""), container.labels.get(CONTAINER_NAME, "")


def victim_of(container: Container, places: Places) -> DeadContainer:
    """Everything that the removal of a container needs."""
    labels = container.labels
    uid, name = unit_of(container)
    pod, namespace = labels.get(POD_NAME, ""), labels.get(POD_NAMESPACE, "")
    return DeadContainer(
        id=container.id,
        uid=uid,
        name=name,
        stop_first=container.state == ContainerState.CONTAINER_UNKNOWN,
        log_directory=f"{pod_log_directory(places.pod_logs, namespace, pod, uid)}/{name}",
        attempt=container.metadata.attempt if container.metadata is not None else 0,
        link=log_link(places.container_logs, pod, namespace, name, container.id),
        message=_message_of(container, places),
    )


def _message_of(container: Container, places: Places) -> str:
    """The file of the termination message that the container was made with.

    The runtime tells its path. So nothing outside of the directories of containers of that pod is believed.
    """
    file = container.annotations.get(TERMINATION_MESSAGE_FILE, "")
    uid, name = unit_of(container)
    around = f"{places.root.rstrip('/')}/pods/{uid}/containers/{name}/"
    is_plain = not {"", ".", ".."}.intersection(file.split("/")[1:])
    return file if is_plain and file.startswith(around) and "/" not in file[len(around) :] else ""


def surplus_of_names(containers: Iterable[Container], units: set[Unit], policy: GcPolicy) -> list[Container]:
    """The dead containers of these units to remove after a death, of any age."""
    keep = max(1, policy.per_container)
    of_units = [each for each in containers if each.state in DEAD_STATES and unit_of(each) in units]
    return [each for dead in _by_unit(of_units).values() for each in reversed(dead[keep:])]


def dead_containers(
    containers: Iterable[Container], policy: GcPolicy, now_wall_ns: int, is_gone: Callable[[str], bool]
) -> list[Container]:
    """What a regular pass removes: everything of removed pods, then what is over the limits."""
    of_gone: list[Container] = []
    of_others: list[Container] = []
    for container in containers:
        if container.state == ContainerState.CONTAINER_RUNNING:
            continue  # nearly all of them, at every pass
        uid = pod_uid(container.labels.get(POD_UID))
        if not uid:
            continue  # not made by an agent like this one
        gone = is_gone(uid)
        if is_dead(container, gone) and (gone or now_wall_ns - container.created_at >= policy.min_age_ns):
            (of_gone if gone else of_others).append(container)
    return of_gone + _over_limits(_by_unit(of_others), policy)


def removable_sandboxes(
    sandboxes: Iterable[PodSandbox], containers: Iterable[Container], is_gone: Callable[[str], bool]
) -> list[str]:
    """Ids of sandboxes that are not ready and have no containers.

    The newest sandbox stays unless its pod is gone.
    """
    sandboxes = tuple(sandboxes)
    if all(sandbox.state == PodSandboxState.SANDBOX_READY for sandbox in sandboxes):
        return []
    holding = {container.pod_sandbox_id for container in containers}
    by_pod: dict[str, list[PodSandbox]] = {}
    for sandbox in sandboxes:
        if sandbox.metadata is not None and pod_uid(sandbox.metadata.uid):
            by_pod.setdefault(sandbox.metadata.uid, []).append(sandbox)
    removable: list[str] = []
    for uid, of_pod in by_pod.items():
        if len(of_pod) == 1 and of_pod[0].state == PodSandboxState.SANDBOX_READY:
            continue  # nearly all of them
        of_pod.sort(key=_newest_sandbox_first)
        candidates = of_pod if is_gone(uid) else of_pod[1:]
        removable += [
            sandbox.id
            for sandbox in candidates
            if sandbox.state != PodSandboxState.SANDBOX_READY and sandbox.id not in holding
        ]
    return removable


def uncovers(
    dead: Iterable[Container],
    removable: Iterable[str],
    sandboxes: Iterable[PodSandbox],
    is_gone: Callable[[str], bool],
) -> bool:
    """Whether more can go once these containers and sandboxes are removed.

    A sandbox that is not ready goes after its containers, and the logs of a pod that is gone go after its sandbox.
    """
    by_id = {sandbox.id: sandbox for sandbox in sandboxes}
    for container in dead:
        sandbox = by_id.get(container.pod_sandbox_id)
        ended = sandbox is not None and sandbox.state != PodSandboxState.SANDBOX_READY
        if ended or is_gone(container.labels.get(POD_UID, "")):
            return True
    owners = (by_id[each].metadata for each in removable)
    return any(owner is not None and is_gone(owner.uid) for owner in owners)


def is_dead(container: Container, gone: bool) -> bool:
    state = container.state
    if state == ContainerState.CONTAINER_CREATED:
        return gone
    return state in DEAD_STATES


def _by_unit(containers: Sequence[Container]) -> dict[Unit, list[Container]]:
    """Newest first within each unit."""
    units: dict[Unit, list[Container]] = {}
    for container in containers:
        units.setdefault(unit_of(container), []).append(container)
    for of_unit in units.values():
        of_unit.sort(key=_newest_first)
    return units


def _over_limits(units: dict[Unit, list[Container]], policy: GcPolicy) -> list[Container]:
    kept, over = _keep_per_unit(units, policy.per_container)
    if policy.total < 0 or _count(kept) <= policy.total:
        return over
    # First an even share, so that one pod that crashes often does not cost others their last container.
    kept, more = _keep_per_unit(kept, max(1, policy.total // len(kept)))
    over += more
    surplus = _count(kept) - policy.total
    if surplus > 0:
        oldest_first = sorted((each for of_unit in kept.values() for each in of_unit), key=_newest_first, reverse=True)
        over += oldest_first[:surplus]
    return over


def _keep_per_unit(
    units: dict[Unit, list[Container]], keep: int
) -> tuple[dict[Unit, list[Container]], list[Container]]:
    """Split containers: each unit keeps its newest `keep` (negative: all), the others are removed."""
    if keep < 0:
        return units, []
    return (
        {unit: dead[:keep] for unit, dead in units.items()},
        [each for dead in units.values() for each in reversed(dead[keep:])],
    )


def _count(units: dict[Unit, list[Container]]) -> int:
    return sum(map(len, units.values()))


def _newest_first(container: Container) -> tuple[int, int, str]:
    attempt = container.metadata.attempt if container.metadata is not None else 0
    return -container.created_at, -attempt, container.id


def _newest_sandbox_first(sandbox: PodSandbox) -> tuple[int, int, str]:
    attempt = sandbox.metadata.attempt if sandbox.metadata is not None else 0
    return -sandbox.created_at, -attempt, sandbox.id
