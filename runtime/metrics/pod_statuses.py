"""Metrics from the published statuses of pods: starts, ends, failures, times (spec 11.7).

The sequence of a pod's statuses contains all of it. The worker of the pod counts what its containers do, since there
may be thousands of them. The first status of a worker is not counted: what it shows may be older than this agent, or
was counted by the worker before. The status manager measures what concerns the pod as a whole.
"""

from __future__ import annotations

import msgspec
from cachetools import FIFOCache

from config.objects import ContainerStateTerminated, ContainerStatus, Pod, PodStatus
from config.pods.identity import is_static
from config.values.api_time import seconds_of
from runtime.metrics import kubelet as names
from runtime.metrics import own
from runtime.metrics.meters import Meters

SECOND_NS = 1_000_000_000
PODS_AT_MOST = 10_000
"""How many pods may wait for images before the times of the first are forgotten."""
_FAILURES = frozenset(
    {
        *("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError"),
        *("ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable"),
        *("SignatureValidationFailed", "CreatePodSandboxError", "RunInitContainerError"),
    }
)
"""Waiting reasons that count as failures. Back-off reasons do not: the failure was counted before."""


class EndedContainer(msgspec.Struct, frozen=True):
    """A container that has ended since the status before."""

    kind: str
    exit_code: int
    reason: str


class Changes(msgspec.Struct, frozen=True):
    """The changes of containers in a status.

    `started` and `ended` by type of container, `failed`: (type, reason).
    """

    started: tuple[str, ...] = ()
    ended: tuple[EndedContainer, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def changes(before: PodStatus, after: PodStatus) -> Changes:
    """The changes from `before` to `after`.

    Pure. A container that ran only between two statuses is in the next one's last state.
    """
    known_ids, known_ends = set[str](), set[str]()
    known = _containers(before)
    for _, status in known:
        for end in _ends(status):
            known_ends.add(end.container_id or "")
        known_ids.add(status.container_id or "")
    known_ids |= known_ends
    known_waits = {(kind, each.name, reason) for kind, each in known if (reason := _waits_for(each)) in _FAILURES}
    started: list[str] = []
    ended: list[EndedContainer] = []
    failed: list[tuple[str, str]] = []
    for kind, status in _containers(after):
        for end in _ends(status):
            id_ = end.container_id or ""
            if id_ not in known_ends:
                ended.append(EndedContainer(kind, end.exit_code or 0, end.reason or ""))
            if id_ and id_ not in known_ids:
                known_ids.add(id_)
                started.append(kind)
        if status.container_id and status.container_id not in known_ids:
            started.append(kind)
        reason = _waits_for(status)
        if reason in _FAILURES and (kind, status.name, reason) not in known_waits:
            failed.append((kind, reason))
    return Changes(tuple(started), tuple(ended), tuple(failed))


def count_changes(meters: Meters, before: PodStatus, after: PodStatus) -> None:
    """Count what the containers of a pod have done between two statuses of its worker."""
    found = changes(before, after)
    for kind in found.started:
        meters.count(names.STARTED_CONTAINERS, kind)
    for end in found.ended:
        meters.count(names.TERMINATED_CONTAINERS, end.kind, str(end.exit_code), end.reason)
    for kind, reason in found.failed:
        meters.count(names.STARTED_CONTAINERS_ERRORS, kind, reason)


def _containers(status: PodStatus) -> list[tuple[str, ContainerStatus]]:
    found = [("container", each) for each in status.container_statuses]
    if status.init_container_statuses:
        found = [("init_container", each) for each in status.init_container_statuses] + found
    if status.ephemeral_container_statuses:
        found += [("ephemeral_container", each) for each in status.ephemeral_container_statuses]
    return found


def _ends(status: ContainerStatus) -> tuple[ContainerStateTerminated, ...]:
    """The ends in the status, oldest first."""
    before, now = status.last_state, status.state
    ends = () if before is None or before.terminated is None else (before.terminated,)
    return ends if now is None or now.terminated is None else (*ends, now.terminated)


def _waits_for(status: ContainerStatus) -> str:
    """Why the container waits, or ""."""
    state = status.state
    return "" if state is None or state.waiting is None else state.waiting.reason or ""


class StatusMeasures:
    """Measures what happens to pods, for the actor that publishes all statuses."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._wanted_ns: dict[str, int] = {}
        """UID -> since when a status of the pod waits to be written."""
        self._first_network = True
        self._pulls: FIFOCache[str, tuple[int, int]] = FIFOCache(PODS_AT_MOST)
        """By UID: when the pod began to wait for its first image, and when the last one came."""

    def pulled(self, uid: str, began_ns: int, ended_ns: int) -> None:
        """Note that the pod has waited for an image; times are monotonic."""
        before = self._pulls.get(uid, (began_ns, ended_ns))
        self._pulls[uid] = (min(before[0], began_ns), max(before[1], ended_ns))

    def came(self, pod: Pod) -> None:
        """A pod has published its first status."""
        self._meters.observe(names.CONTAINERS_PER_POD, len(pod.spec.containers))

    def changed(self, pod: Pod, before: PodStatus, after: PodStatus, wall_ns: int) -> None:
        """A changed status is published, or the first one."""
        if after is not before and after.phase == "Running" and before.phase in ("Pending", None, ""):
            self._runs(pod, after, wall_ns)

    def _runs(self, pod: Pod, status: PodStatus, wall_ns: int) -> None:
        meters, (pull_began_ns, pull_ended_ns) = self._meters, self._pulls.pop(pod.metadata.uid, (0, 0))
        seen_s, made_s = seconds_of(status.start_time), seconds_of(pod.metadata.creation_timestamp)
        if seen_s is not None:
            meters.took(names.POD_START, max(0, wall_ns - seen_s * SECOND_NS))
        if made_s is None or is_static(pod):
            return
        total_ns = max(0, wall_ns - made_s * SECOND_NS)
        without_ns = max(0, total_ns - (pull_ended_ns - pull_began_ns))
        meters.took(names.POD_START_TOTAL, total_ns)
        meters.took(names.POD_START_SLI, without_ns)
        if self._first_network and not pod.spec.host_network:
            self._first_network = False
            meters.put(names.FIRST_NETWORK_POD_START_SLI, without_ns / SECOND_NS)

    def refused(self, code: int) -> None:
        """The API server has refused a status."""
        self._meters.count(own.STATUSES_REFUSED, str(code))

    def wanted(self, uid: str, now_ns: int) -> None:
        """The wanted status differs from what the API shows."""
        self._wanted_ns.setdefault(uid, now_ns)

    def shown(self, uid: str, now_ns: int) -> None:
        """The API shows the wanted status."""
        since_ns = self._wanted_ns.pop(uid, None)
        if since_ns is not None:
            self._meters.took(names.STATUS_SYNC, now_ns - since_ns)

    def forgotten(self, uid: str) -> None:
        """Forget a removed pod."""
        self._wanted_ns.pop(uid, None)
        self._pulls.pop(uid, None)
