"""What a pod's published status becomes when its worker computes a new one (spec 4.5).

Pure. The worker says what it sees; this keeps the promises that whoever reads a status relies on:

- A terminal phase is the end: nothing is published after it that says otherwise.
- "I do not know" keeps the last value: a phase or an address that the new status leaves out stays as it was.
- The start time never changes, and a condition's transition time changes with its status only.

`StatusMeasures` counts starts, ends and failures, and measures times, from one status to the next (spec 11.7). The
first status of a pod is only remembered: what it shows may be older than this agent.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.pod_status.conditions import by_type, type_of
from config.api_time import seconds_of
from config.objects import ContainerStateTerminated, ContainerStatus, Pod, PodCondition, PodStatus
from config.pods.identity import is_static
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})
_KEPT = ("phase", "host_ip", "host_ips", "pod_ip", "pod_ips")
"""What stays as it was where a new status leaves it out."""


def next_status(published: PodStatus | None, computed: PodStatus) -> PodStatus | None:
    """The status to publish after `published`; None when `computed` would bring an ended pod back to life.

    Gives `published` itself when nothing has changed.
    """
    if published is None:
        return computed
    if published.phase in TERMINAL_PHASES and computed.phase not in (None, published.phase):
        return None
    kept: dict[str, Any] = {}
    if not (computed.phase and computed.host_ip and computed.host_ips and computed.pod_ip and computed.pod_ips):
        kept = {name: old for name in _KEPT if not getattr(computed, name) and (old := getattr(published, name))}
    if published.start_time and published.start_time != computed.start_time:
        kept["start_time"] = published.start_time
    conditions = _with_kept_times(published.conditions, computed.conditions)
    if conditions is not computed.conditions:
        kept["conditions"] = conditions
    status = msgspec.structs.replace(computed, **kept) if kept else computed
    return published if status == published else status


def _with_kept_times(
    published: tuple[PodCondition, ...], computed: tuple[PodCondition, ...]
) -> tuple[PodCondition, ...]:
    """The computed ones, each with the time since when it has its status; themselves when they have that already."""
    before = by_type(published)
    moved = [
        new.type
        for old, new in zip(map(before.get, map(type_of, computed)), computed, strict=True)
        if old is not new
        and old is not None
        and old.status == new.status
        and old.last_transition_time is not None
        and old.last_transition_time != new.last_transition_time
    ]
    if not moved:
        return computed
    return tuple(
        msgspec.structs.replace(each, last_transition_time=before[each.type].last_transition_time)
        if each.type in moved
        else each
        for each in computed
    )


SECOND_NS = 1_000_000_000
_FAILURES = frozenset(
    {
        *("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError"),
        *("ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable"),
        *("SignatureValidationFailed", "CreatePodSandboxError", "RunInitContainerError"),
    }
)
"""Reasons of a container that waits which are failures; what backs off has failed before."""


class Ended(msgspec.Struct, frozen=True):
    """A container that has ended since the status before."""

    kind: str
    exit_code: int
    reason: str


class Changes(msgspec.Struct, frozen=True):
    """What is new in a status. `started` and `ended` by type of container, `failed`: (type, reason)."""

    started: tuple[str, ...] = ()
    ended: tuple[Ended, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    runs: bool = False
    """The pod runs, and did not."""


def changes(before: PodStatus, after: PodStatus) -> Changes:
    """Pure. A container that came and went between two statuses is found as the last state of the next."""
    known_ids, known_ends = set[str](), set[str]()
    known = _containers(before)
    for _, status in known:
        for end in _ends(status):
            known_ends.add(end.container_id or "")
        known_ids.add(status.container_id or "")
    known_ids |= known_ends
    started: tuple[str, ...] = ()
    ended: tuple[Ended, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    for kind, status in _containers(after):
        for end in _ends(status):
            id_ = end.container_id or ""
            if id_ not in known_ends:
                ended += (Ended(kind, end.exit_code or 0, end.reason or ""),)
            if id_ and id_ not in known_ids:
                known_ids.add(id_)
                started += (kind,)
        if status.container_id and status.container_id not in known_ids:
            started += (kind,)
        reason = _waits_for(status)
        if reason in _FAILURES and (kind, status.name, reason) not in [
            (its_kind, each.name, _waits_for(each)) for its_kind, each in known
        ]:
            failed += ((kind, reason),)
    runs = after.phase == "Running" and before.phase in ("Pending", None, "")
    return Changes(started, ended, failed, runs)


def _containers(status: PodStatus) -> list[tuple[str, ContainerStatus]]:
    found = [("container", each) for each in status.container_statuses]
    if status.init_container_statuses:
        found = [("init_container", each) for each in status.init_container_statuses] + found
    if status.ephemeral_container_statuses:
        found += [("ephemeral_container", each) for each in status.ephemeral_container_statuses]
    return found


def _ends(status: ContainerStatus) -> tuple[ContainerStateTerminated, ...]:
    """The ends that the status knows of, the one before last."""
    before, now = status.last_state, status.state
    ends = () if before is None or before.terminated is None else (before.terminated,)
    return ends if now is None or now.terminated is None else (*ends, now.terminated)


def _waits_for(status: ContainerStatus) -> str:
    """Why the container waits, if it does."""
    state = status.state
    return "" if state is None or state.waiting is None else state.waiting.reason or ""


class StatusMeasures:
    """Counts what comes by. Belongs to one actor."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._wanted_ns: dict[str, int] = {}
        """Since when a status of this pod is to be written."""
        self._first_network = True

    def came(self, pod: Pod) -> None:
        """A pod of which nothing was published before."""
        self._meters.observe(names.CONTAINERS_PER_POD, len(pod.spec.containers))

    def changed(self, pod: Pod, before: PodStatus, after: PodStatus, wall_ns: int) -> None:
        """Another status than before is published, or the first one."""
        if after is before:
            return
        meters, found = self._meters, changes(before, after)
        for kind in found.started:
            meters.count(names.STARTED_CONTAINERS, kind)
        for end in found.ended:
            meters.count(names.TERMINATED_CONTAINERS, end.kind, str(end.exit_code), end.reason)
        for kind, reason in found.failed:
            meters.count(names.STARTED_CONTAINERS_ERRORS, kind, reason)
        if found.runs:
            self._runs(pod, after, wall_ns)

    def _runs(self, pod: Pod, status: PodStatus, wall_ns: int) -> None:
        meters, pulling_ns = self._meters, self._meters.pulls.take(pod.metadata.uid)
        seen_s, made_s = seconds_of(status.start_time), seconds_of(pod.metadata.creation_timestamp)
        if seen_s is not None:
            meters.took(names.POD_START, max(0, wall_ns - seen_s * SECOND_NS))
        if made_s is None or is_static(pod):
            return
        total_ns = max(0, wall_ns - made_s * SECOND_NS)
        without_ns = max(0, total_ns - pulling_ns)
        meters.took(names.POD_START_TOTAL, total_ns)
        meters.took(names.POD_START_SLI, without_ns)
        if self._first_network and not pod.spec.host_network:
            self._first_network = False
            meters.put(names.FIRST_NETWORK_POD_START_SLI, without_ns / SECOND_NS)

    def wanted(self, uid: str, now_ns: int) -> None:
        """What is to be written differs from what the API shows."""
        self._wanted_ns.setdefault(uid, now_ns)

    def shown(self, uid: str, now_ns: int) -> None:
        """The API shows it, or nobody wants that any more."""
        since_ns = self._wanted_ns.pop(uid, None)
        if since_ns is not None:
            self._meters.took(names.STATUS_SYNC, now_ns - since_ns)

    def forgotten(self, uid: str) -> None:
        """The pod is no more."""
        self._wanted_ns.pop(uid, None)
        self._meters.pulls.take(uid)
