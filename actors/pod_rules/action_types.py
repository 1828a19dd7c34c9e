"""The parts of a decision on a pod's containers, as data (spec 2.1, 3.5).

These are the containers to kill and to start, and the input of the decision.

`actors.pod_rules.actions` makes the decisions. Times are wall-clock nanoseconds.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from actors.model.observed import ObservedContainer, ObservedPod, ProbeResults
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import Container, Pod


class KillCause(enum.Enum):
    """Why a single container is killed, in words for people."""

    CHANGED = "its definition has changed"
    LIVENESS = "its liveness probe has failed"
    STARTUP = "its startup probe has failed"
    LOST = "the runtime has lost its state"
    RESIZED = "its new resources need a restart"
    DUPLICATE = "a newer container of the same name exists"
    SANDBOX = "the sandbox of its pod is made anew"

    @property
    def own_doing(self) -> bool:
        """Whether its successor must back off, as after a crash."""
        return self in (KillCause.LIVENESS, KillCause.STARTUP)


_CAUSES = {
    KillCause.CHANGED: "definition changed",
    KillCause.LIVENESS: "failed liveness probe",
    KillCause.STARTUP: "failed startup probe",
}


class Kill(msgspec.Struct, frozen=True, gc=False):
    """End one container. `comes_again`: another is started in its place. `init`: it is an init container."""

    id: str
    name: str
    cause: KillCause
    container: Container
    comes_again: bool = True
    init: bool = False

    @property
    def message(self) -> str:
        """The message of the event, in the words that people search for."""
        if self.cause in (KillCause.DUPLICATE, KillCause.SANDBOX):
            return f"Stopping container {self.name}: {self.cause.value}"
        kind = "Init container" if self.init else "Container"
        if self.cause is KillCause.LOST:
            return f'{kind} is in "unknown" state, try killing it before restart'
        if self.cause is KillCause.RESIZED:
            return f"Container {self.name} resize requires restart"  # so of an init container too
        after = ", will be restarted" if self.comes_again and not self.init else ""
        return f"{kind} {self.name} {_CAUSES[self.cause]}{after}"


class Start(msgspec.Struct, frozen=True, gc=False):
    """Make and start a container as the `attempt`th of its name.

    `attempt` None: the runtime knows no container of that name, so logs on disk tell the number. `created_id`: the
    container exists already (the agent was killed during the create), so only start it. `back_off_ns`: noted on the
    container for its successor.
    """

    container: Container
    attempt: int | None
    created_id: str = ""
    back_off_ns: int = 0


class BackingOff(msgspec.Struct, frozen=True, gc=False):
    """A container that must not start before `until_ns` (wall clock)."""

    name: str
    until_ns: int
    delay_ns: int


class InFlight(msgspec.Struct, frozen=True):
    """Actions whose outcome is unknown.

    `sandbox`: one is being made. `containers`: names of those being pulled for, made, hooked or killed.

    Nothing new is decided about them.
    """

    sandbox: bool = False
    containers: frozenset[str] = frozenset()


NOTHING_IN_FLIGHT = InFlight()


class BackOffWait(msgspec.Struct, frozen=True, gc=False):
    """`until_ns`: do not start before (0: at once). `delay_ns`: the back-off behind it.

    `next_delay_ns`: the back-off of the successor, noted on the container that starts now.
    """

    until_ns: int
    delay_ns: int
    next_delay_ns: int


AT_ONCE_FIRST = BackOffWait(0, 0, 0)


class ContainerView(msgspec.Struct, frozen=True):
    """The input for decisions on containers."""

    pod: Pod
    observed: ObservedPod
    sandbox_attempt: int
    probes: ProbeResults
    in_flight: InFlight
    crash_loop: CrashLoopPeriods
    wall_ns: int
    killed: Mapping[str, KillCause] = {}
    """Container id -> why this agent has ended it."""
    owed: Mapping[str, BackOffWait] = {}
    """Container name -> the back-off of one that was removed to be made anew."""
    resized: frozenset[str] = frozenset()
    """Names of running containers that need a restart to get their new resources."""

    def here(self, name: str) -> ObservedContainer | None:
        """The newest container of that name in the current sandbox, or one that may still run in another."""
        for container in self.observed.by_name.get(name, ()):
            if container.sandbox_attempt == self.sandbox_attempt or container.may_run:
                return container
        return None


class Candidate(msgspec.Struct, frozen=True, gc=False):
    """A container to start, when its back-off allows, after `last`.

    `forced`: `last` is killed in the same answer.
    """

    container: Container
    last: ObservedContainer | None
    forced: bool = False
