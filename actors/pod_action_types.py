"""What is to be done to a pod next, as data. Computed by `pod_actions`, done by the pod's worker.

Order of doing (spec 3.6): kill (the whole pod, or single containers), make the sandbox, start. Each list is in the
order in which its deeds are begun. Nothing to do, nothing wanted later: `PodActions.idle`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from actors.restart_all import Reset
from config.objects import Container


class KillCause(enum.Enum):
    """Why a single container is killed; the value is the message of the event."""

    CHANGED = "its definition has changed"
    LIVENESS = "its liveness probe has failed"
    STARTUP = "its startup probe has failed"
    LOST = "the runtime has lost its state"
    RESIZED = "its new resources need a restart"
    DUPLICATE = "a newer container of the same name exists"
    SANDBOX = "the sandbox of its pod is made anew"

    @property
    def own_doing(self) -> bool:
        """Whether its successor has to wait for it, as after a crash."""
        return self in (KillCause.LIVENESS, KillCause.STARTUP)


class Kill(msgspec.Struct, frozen=True, gc=False):
    """End one container. `comes_again`: another is started in its place."""

    id: str
    name: str
    cause: KillCause
    container: Container
    comes_again: bool = True

    @property
    def message(self) -> str:
        """Of the event. What a failed probe does is said in the words that people look for."""
        if self.cause is KillCause.LIVENESS or self.cause is KillCause.STARTUP:
            after = ", will be restarted" if self.comes_again else ""
            return f"Container {self.name} failed {self.cause.name.lower()} probe{after}"
        return f"Stopping container {self.name}: {self.cause.value}"


class Start(msgspec.Struct, frozen=True, gc=False):
    """Make and start a container as the `attempt`th of its name.

    `attempt` is None when no container of that name is known to the runtime: then logs on disk tell the number.
    `created_id`: it has been made already (a create in flight when the agent was killed): only start it.
    `back_off_ns`: to be written on it for its successor.
    """

    container: Container
    attempt: int | None
    created_id: str = ""
    back_off_ns: int = 0


class BackingOff(msgspec.Struct, frozen=True, gc=False):
    """A container that would be started, but not before `until_ns` (wall clock)."""

    name: str
    until_ns: int
    delay_ns: int


class InFlight(msgspec.Struct, frozen=True):
    """Deeds whose end is not known: a sandbox is being made; containers, by name, are pulled for, made, hooked, killed.

    Nothing is decided anew about what is in flight.
    """

    sandbox: bool = False
    containers: frozenset[str] = frozenset()


NOTHING_IN_FLIGHT = InFlight()


def in_flight_of(deeds: Iterable[str], containers: Iterable[str] = ()) -> InFlight:
    """From names of deeds such as `sandbox 0` and `container web 2`, and names of containers busy otherwise."""
    sandbox = False
    names = set(containers)
    for deed in deeds:
        kind, _, rest = deed.partition(" ")
        if kind == "sandbox":
            sandbox = True
        else:
            names.add(rest.rpartition(" ")[0])
    return InFlight(sandbox, frozenset(names)) if sandbox or names else NOTHING_IN_FLIGHT


class PodActions(msgspec.Struct, frozen=True):
    """See the module.

    `kill_pod`: end every container and stop every sandbox. `create_sandbox`: make one, of attempt `sandbox_attempt`;
    else `sandbox_id` is the one to use, if any. `why_sandbox` is the reason for a new one. `start_init` may hold
    several sidecars; a regular init container that fails to start stops the pass, a sidecar does not.
    `why_kill_pod` is for people. `reset`: all containers are removed, to be made anew (`actors.restart_all`); nothing
    else is done then.
    """

    kill_pod: bool = False
    why_kill_pod: str = ""
    create_sandbox: bool = False
    why_sandbox: str = ""
    sandbox_id: str = ""
    sandbox_attempt: int = 0
    kill: tuple[Kill, ...] = ()
    start_ephemeral: tuple[Start, ...] = ()
    start_init: tuple[Start, ...] = ()
    start: tuple[Start, ...] = ()
    backing_off: tuple[BackingOff, ...] = ()
    reset: tuple[Reset, ...] = ()

    @property
    def starts(self) -> tuple[Start, ...]:
        """All containers to start, in order."""
        return (*self.start_ephemeral, *self.start_init, *self.start)

    @property
    def idle(self) -> bool:
        """Nothing is to be done now (something may be waited for)."""
        return not (self.kill_pod or self.create_sandbox or self.kill or self.reset or self.starts)

    @property
    def wake_at_ns(self) -> int | None:
        """When the first back-off ends (wall clock); None when none is running."""
        return min([each.until_ns for each in self.backing_off]) if self.backing_off else None
