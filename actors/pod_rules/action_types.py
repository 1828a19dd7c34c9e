"""What to do to a pod next, as data; and the back-off of a container that keeps ending (spec 2.1, 3.5, 3.6).

`actors.pod_rules.actions` computes `PodActions`; the steps of a pass carry them out: kill (the whole pod, or single
containers), make the sandbox, start. Each list is in order of execution.

After its first end a container starts again at once. Each further end doubles the delay (10, 20, 40 ... 300 s), counted
from the end of the container. After a quiet time (600 s) the back-off begins anew. No table in memory holds the
back-offs, so a restart of the agent loses none. Each container carries the delay of its successor as an annotation, and
the runtime knows when it ended. A container of another agent carries none; its restart count stands for the number of
failures. Times are wall-clock nanoseconds. If the clock was set back, nobody waits longer than the delay from now.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

import msgspec

from actors.model.identity import CONTAINER_IMAGE, RESOURCES, resources_text, same_definition
from actors.model.observed import ObservedContainer, ObservedPod, ProbeResults
from actors.pod_rules.restart_all import Reset
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import Container, Pod
from runtime.cri.messages import ContainerState


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
        """Whether its successor must back off, as after a crash."""
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
        """The message of the event. For a failed probe it uses the words that people search for."""
        if self.cause is KillCause.LIVENESS or self.cause is KillCause.STARTUP:
            after = ", will be restarted" if self.comes_again else ""
            return f"Container {self.name} failed {self.cause.name.lower()} probe{after}"
        return f"Stopping container {self.name}: {self.cause.value}"


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
    """Actions whose outcome is unknown. `sandbox`: one is being made. `containers`: names of those being pulled for,
    made, hooked or killed.

    Nothing new is decided about them.
    """

    sandbox: bool = False
    containers: frozenset[str] = frozenset()


NOTHING_IN_FLIGHT = InFlight()


def in_flight_of(calls: Iterable[str], containers: Iterable[str] = ()) -> InFlight:
    """Build it from names of calls such as `sandbox 0` and `container web 2`, and from names of containers busy
    otherwise.
    """
    sandbox = False
    names = set(containers)
    for call in calls:
        kind, _, rest = call.partition(" ")
        if kind == "sandbox":
            sandbox = True
        else:
            names.add(rest.rpartition(" ")[0])
    return InFlight(sandbox, frozenset(names)) if sandbox or names else NOTHING_IN_FLIGHT


class PodActions(msgspec.Struct, frozen=True):
    """See the module.

    `kill_pod`: end every container and stop every sandbox; `why_kill_pod` is for people. `create_sandbox`: make one, of
    attempt `sandbox_attempt`, for the reason `why_sandbox`. Otherwise `sandbox_id` is the one to use, if any.
    `start_init` may hold several sidecars; a regular init container that fails to start stops the pass, a sidecar does
    not. `reset`: only remove all containers, to make them anew (`actors.pod_rules.restart_all`).
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
        """Nothing is to be done now (the pod may still wait for something)."""
        return not (self.kill_pod or self.create_sandbox or self.kill or self.reset or self.starts)

    @property
    def wake_at_ns(self) -> int | None:
        """When the first back-off ends (wall clock); None when none is running."""
        return min([each.until_ns for each in self.backing_off]) if self.backing_off else None


class BackOffWait(msgspec.Struct, frozen=True, gc=False):
    """`until_ns`: do not start before (0: at once). `delay_ns`: the back-off behind it.

    `next_delay_ns`: the back-off of the successor, noted on the container that starts now.
    """

    until_ns: int
    delay_ns: int
    next_delay_ns: int


AT_ONCE_FIRST = BackOffWait(0, 0, 0)


def back_off(
    container: Container,
    last: ObservedContainer | None,
    periods: CrashLoopPeriods,
    wall_ns: int,
    *,
    excused: bool = False,
) -> BackOffWait:
    """When `container` may start after `last`, the newest of its name. `excused`: its end was not its own doing.

    Only a container that exited causes a delay. With another image or other resources the back-off begins anew.
    """
    if last is None:
        return AT_ONCE_FIRST
    owed_ns = _owed_ns(last, periods)
    if not last.exited or excused:
        return BackOffWait(0, 0, owed_ns)  # it never started or is lost: its delay stays
    if last.annotations and not _same_key(container, last):
        return AT_ONCE_FIRST
    ran_ns = last.finished_at_ns - (last.started_at_ns or last.created_at_ns)
    if owed_ns == 0 or ran_ns > periods.reset_after_ns:
        return BackOffWait(0, 0, periods.initial_ns)
    until_ns = min(last.finished_at_ns, wall_ns) + owed_ns
    next_delay_ns = min(2 * owed_ns, periods.max_ns)
    return BackOffWait(until_ns if until_ns > wall_ns else 0, owed_ns, next_delay_ns)


def back_off_message(pod: Pod, name: str, delay_ns: int) -> str:
    """The message for the waiting state of the container."""
    seconds = delay_ns / 1_000_000_000
    meta = pod.metadata
    return f"back-off {seconds:g}s restarting failed container={name} pod={meta.name}_{meta.namespace}({meta.uid})"


def _owed_ns(last: ObservedContainer, periods: CrashLoopPeriods) -> int:
    """The back-off after the end of `last`: 0 after the first."""
    noted = last.back_off_ns
    if noted is not None:
        return min(noted, periods.max_ns)
    if last.attempt == 0:
        return 0
    # Twenty doublings exceed every maximum, and a restart count may be any number.
    return min(periods.initial_ns << min(last.attempt - 1, 20), periods.max_ns)


def _same_key(container: Container, last: ObservedContainer) -> bool:
    """Whether image and resources are those that failed before (spec 3.5). A container without the note counts as the
    same.
    """
    image, resources = last.annotations.get(CONTAINER_IMAGE), last.annotations.get(RESOURCES)
    same_resources = resources is None or resources == resources_text(container)
    return same_resources and (image is None or image == container.image)


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

    def here(self, name: str) -> ObservedContainer | None:
        """The newest container of that name in the current sandbox, or one that may still run in another."""
        for container in self.observed.by_name.get(name, ()):
            if container.sandbox_attempt == self.sandbox_attempt or container.may_run:
                return container
        return None


def begin(
    view: ContainerView, container: Container, last: ObservedContainer | None, *, forced: bool = False
) -> Start | BackingOff:
    """How to start a container after `last`. `forced`: `last` is killed in the same answer."""
    newest = view.observed.newest(container.name)
    attempt = None if newest is None else newest.attempt + 1
    cause = view.killed.get(last.id) if last is not None else None
    excused = cause is not None and not cause.own_doing
    wait = back_off(container, last, view.crash_loop, view.wall_ns, excused=excused)
    if newest is None and container.name in view.owed:
        wait = view.owed[container.name]
        if wait.until_ns <= view.wall_ns:
            wait = BackOffWait(0, wait.delay_ns, wait.next_delay_ns)
    if (
        not forced
        and last is not None
        and last.state == ContainerState.CONTAINER_CREATED
        and last is newest
        and last.sandbox_attempt == view.sandbox_attempt
        and same_definition(container, last.labels, last.annotations)
    ):
        return Start(container, last.attempt, last.id, last.back_off_ns or 0)
    if wait.until_ns:
        return BackingOff(container.name, wait.until_ns, wait.delay_ns)
    return Start(container, attempt, "", wait.next_delay_ns)
