"""`Night`: what a replay shows of pods and their runtime.

A book that is fed with the calls, answers and messages of the replay.

Times are ns since the night began. A container that the agent has stopped did not end by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.messages.pods import Operation, PodChanged
from config.objects import Pod
from config.pods.identity import is_mirror
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.identity import POD_UID
from runtime.cri.v1.messages import (
    ContainerEventResponse,
    ContainerStatus,
    ContainerStatusResponse,
    CreateContainerRequest,
    CreateContainerResponse,
    RunPodSandboxRequest,
    RunPodSandboxResponse,
    StartContainerRequest,
    StopContainerRequest,
)

CALL = "cri.call "
OOM_KILLED = "OOMKilled"
POD_WIDE = ""
"""The container of a call that is about the whole pod."""


@dataclass(slots=True)
class Attempt:
    """One container of a name. `ran_ns`: from its start to its own end; None: it ran on, or was stopped.

    `stopped_ns`: from its start until the agent stopped it, while its pod was to stay.
    """

    ran_ns: int | None = None
    started_ns: int | None = None
    stopped_ns: int | None = None
    exit_code: int = 0
    oom: bool = False


@dataclass(slots=True)
class SeenPod:
    """`attempts`: container -> number -> attempt. `failed`: (container, verb, code) -> how often."""

    pod: Pod
    arrived_ns: int
    deleted_ns: int | None = None
    attempts: dict[str, dict[int, Attempt]] = field(default_factory=dict)
    failed: Counter[tuple[str, str, StatusCode]] = field(default_factory=Counter)


@dataclass(slots=True)
class Stretch:
    """A time without answers of the runtime."""

    from_ns: int
    to_ns: int


@dataclass(slots=True)
class Night:
    """See the module. `begin_agent` for each agent, then the others as it goes."""

    pods: dict[str, SeenPod] = field(default_factory=dict)
    agents_ns: list[tuple[int, int]] = field(default_factory=list)
    """Of each agent after the first: when the one before ended, and when it began."""
    away: list[Stretch] = field(default_factory=list)
    ends_ns: int = 0
    _asked: dict[int, tuple[str, Any]] = field(default_factory=dict)
    _sandboxes: dict[str, str] = field(default_factory=dict)
    _containers: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Container ID -> UID of the pod, name, attempt."""
    _stopped: set[str] = field(default_factory=set)

    def begin_agent(self, now_ns: int) -> None:
        """The next agent begins: effects are counted anew."""
        if self.ends_ns:
            self.agents_ns.append((self.ends_ns, now_ns))
        self._asked.clear()

    # --- what is told -----------------------------------------------------------------------------------------------

    def told(self, message: Any, now_ns: int) -> None:
        """An actor sends that message."""
        self.ends_ns = max(self.ends_ns, now_ns)
        if not isinstance(message, PodChanged):
            return
        if is_mirror(message.pod):
            return
        uid = message.pod.metadata.uid
        known = self.pods.get(uid)
        if known is None:
            known = self.pods[uid] = SeenPod(message.pod, now_ns)
        known.pod = message.pod
        if message.operation in (Operation.DELETE, Operation.REMOVE) and known.deleted_ns is None:
            known.deleted_ns = now_ns

    def called(self, site: str, arguments: tuple[Any, ...], effect: int, now_ns: int) -> None:
        """A call of a capability begins that effect."""
        if site.startswith(CALL) and len(arguments) > 1:
            request = arguments[1]
            self._asked[effect] = site.removeprefix(CALL), request
            if isinstance(request, StopContainerRequest):
                self._stops(request.container_id, now_ns)

    def ended(self, effect: int, value: Any, now_ns: int) -> None:
        """The effect has ended, with a result or an exception."""
        self.ends_ns = max(self.ends_ns, now_ns)
        asked = self._asked.pop(effect, None)
        if asked is None:
            return
        verb, request = asked
        if isinstance(value, CriError):
            self._failed(verb, request, value.code, now_ns)
        elif isinstance(value, RunPodSandboxResponse) and isinstance(request, RunPodSandboxRequest):
            if request.config is not None and request.config.metadata is not None:
                self._sandboxes[value.pod_sandbox_id] = request.config.metadata.uid
        elif isinstance(value, CreateContainerResponse) and isinstance(request, CreateContainerRequest):
            self._created(request, value.container_id)
        elif isinstance(request, StartContainerRequest):
            attempt = self._of(request.container_id)
            if attempt is not None:
                attempt.started_ns = now_ns
        elif isinstance(value, ContainerStatusResponse) and value.status is not None:
            self._status(value.status)

    def happened(self, arguments: tuple[Any, ...]) -> None:
        """A capability calls back with these arguments."""
        for event in arguments:
            if isinstance(event, ContainerEventResponse):
                for status in event.containers_statuses:
                    self._status(status)

    # --- what that means --------------------------------------------------------------------------------------------

    def _created(self, request: CreateContainerRequest, container_id: str) -> None:
        config = request.config
        uid = self._sandboxes.get(request.pod_sandbox_id)
        if uid is None and request.sandbox_config is not None and request.sandbox_config.metadata is not None:
            uid = request.sandbox_config.metadata.uid
        if uid is not None and config is not None and config.metadata is not None:
            self._containers[container_id] = uid, config.metadata.name, config.metadata.attempt
            self._attempt(uid, config.metadata.name, config.metadata.attempt)

    def _of(self, container_id: str) -> Attempt | None:
        known = self._containers.get(container_id)
        return None if known is None else self._attempt(*known)

    def _stops(self, container_id: str, now_ns: int) -> None:
        """The agent stops a container that may run."""
        known, attempt = self._containers.get(container_id), self._of(container_id)
        if known is None or attempt is None or attempt.ran_ns is not None:
            return
        self._stopped.add(container_id)
        if self.pods[known[0]].deleted_ns is None and attempt.started_ns is not None:
            attempt.stopped_ns = now_ns - attempt.started_ns

    def _attempt(self, uid: str, name: str, number: int) -> Attempt | None:
        pod = self.pods.get(uid)
        return None if pod is None else pod.attempts.setdefault(name, {}).setdefault(number, Attempt())

    def _status(self, status: ContainerStatus) -> None:
        uid, metadata = status.labels.get(POD_UID), status.metadata
        if uid is None or metadata is None:
            return
        self._containers.setdefault(status.id, (uid, metadata.name, metadata.attempt))
        attempt = self._attempt(uid, metadata.name, metadata.attempt)
        if attempt is None or not status.finished_at or status.id in self._stopped:
            return
        attempt.ran_ns = max(0, status.finished_at - (status.started_at or status.finished_at))
        attempt.exit_code = status.exit_code
        attempt.oom = status.reason == OOM_KILLED

    def _failed(self, verb: str, request: Any, code: StatusCode, now_ns: int) -> None:
        uid, container = self._about(request)
        pod = self.pods.get(uid)
        if code is StatusCode.UNAVAILABLE:
            if self.away and now_ns - self.away[-1].to_ns < AWAY_TOGETHER_NS:
                self.away[-1].to_ns = now_ns
            else:
                self.away.append(Stretch(now_ns, now_ns))
        elif pod is not None and code is not StatusCode.NOT_FOUND:  # what is gone is no trouble
            pod.failed[container, verb, code] += 1

    def _about(self, request: Any) -> tuple[str, str]:
        """The UID of the pod, and the name of the container, that a request is about."""
        known = self._containers.get(getattr(request, "container_id", ""))
        if known is not None:
            return known[0], known[1]
        for name in ("sandbox_config", "config"):
            uid = getattr(getattr(getattr(request, name, None), "metadata", None), "uid", "")
            if uid:
                config = request.config if isinstance(request, CreateContainerRequest) else None
                return uid, POD_WIDE if config is None or config.metadata is None else config.metadata.name
        return self._sandboxes.get(getattr(request, "pod_sandbox_id", ""), ""), POD_WIDE


AWAY_TOGETHER_NS = 20_000_000_000
"""Failures of a runtime that is away are one stretch when they follow each other so soon."""


def restarted(pod: SeenPod) -> Iterator[tuple[str, Mapping[int, Attempt]]]:
    """The containers that were started more than once, or will be."""
    for name, attempts in pod.attempts.items():
        if max(attempts) > 0:
            yield name, attempts
