"""What is to be done to a pod next, as data; and how long a container that keeps ending waits (spec 2.1, 3.5, 3.6).

`pod_actions` computes `PodActions`, the steps of a pass do them: kill (the whole pod, or single containers), make the
sandbox, start. Each list is in the order in which it is done.

The first end of a container is forgiven: it starts again at once. Each further one waits twice as long as the one
before (10, 20, 40 ... 300 s), counted from the end of the container. After the quiet time (600 s) all is forgiven. No
table in memory holds the back-offs, so a restart of the agent loses none. Each container carries the delay of its
successor as an annotation, and the runtime knows when it ended. A container of another agent carries none; its restart
count stands for the number of failures. Times are wall-clock nanoseconds. When the clock was set back, nobody waits
longer than the delay from now.
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


def in_flight_of(calls: Iterable[str], containers: Iterable[str] = ()) -> InFlight:
    """From names of calls such as `sandbox 0` and `container web 2`, and names of containers busy otherwise."""
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

    `kill_pod`: end every container and stop every sandbox. `create_sandbox`: make one, of attempt `sandbox_attempt`;
    else `sandbox_id` is the one to use, if any. `why_sandbox` is the reason for a new one. `start_init` may hold
    several sidecars; a regular init container that fails to start stops the pass, a sidecar does not.
    `why_kill_pod` is for people. `reset`: all containers are removed, to be made anew (`actors.pod_rules.restart_all`);
    nothing else is done then.
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


class Wait(msgspec.Struct, frozen=True, gc=False):
    """`until_ns`: not to be started before (0: at once). `delay_ns`: the back-off that makes this so.

    `next_delay_ns`: what the container that is now started will owe, to be written on it.
    """

    until_ns: int
    delay_ns: int
    next_delay_ns: int


AT_ONCE_FIRST = Wait(0, 0, 0)


def back_off(
    container: Container,
    last: ObservedContainer | None,
    periods: CrashLoopPeriods,
    wall_ns: int,
    *,
    excused: bool = False,
) -> Wait:
    """When `container` may be started, given the `last` of its name. `excused`: its end was not its own doing.

    Only one that exited makes anybody wait. With another image or other resources it is another: it begins anew.
    """
    if last is None:
        return AT_ONCE_FIRST
    owed_ns = _owed_ns(last, periods)
    if not last.exited or excused:
        return Wait(0, 0, owed_ns)  # it was never started or is lost: it owes what it owed
    if last.annotations and not _same_key(container, last):
        return AT_ONCE_FIRST
    ran_ns = last.finished_at_ns - (last.started_at_ns or last.created_at_ns)
    if owed_ns == 0 or ran_ns > periods.reset_after_ns:
        return Wait(0, 0, periods.initial_ns)
    until_ns = min(last.finished_at_ns, wall_ns) + owed_ns
    next_delay_ns = min(2 * owed_ns, periods.max_ns)
    return Wait(until_ns if until_ns > wall_ns else 0, owed_ns, next_delay_ns)


def back_off_message(pod: Pod, name: str, delay_ns: int) -> str:
    """For the waiting state of the container."""
    seconds = delay_ns / 1_000_000_000
    meta = pod.metadata
    return f"back-off {seconds:g}s restarting failed container={name} pod={meta.name}_{meta.namespace}({meta.uid})"


def _owed_ns(last: ObservedContainer, periods: CrashLoopPeriods) -> int:
    """The back-off after the end of `last`: 0 for the first of its kind."""
    noted = last.back_off_ns
    if noted is not None:
        return min(noted, periods.max_ns)
    if last.attempt == 0:
        return 0
    # Twenty doublings exceed every maximum; a restart count may be anything.
    return min(periods.initial_ns << min(last.attempt - 1, 20), periods.max_ns)


def _same_key(container: Container, last: ObservedContainer) -> bool:
    """Whether image and resources are what failed before (spec 3.5); who carries no note of one is not judged by it."""
    image, resources = last.annotations.get(CONTAINER_IMAGE), last.annotations.get(RESOURCES)
    same_resources = resources is None or resources == resources_text(container)
    return same_resources and (image is None or image == container.image)


class ContainerView(msgspec.Struct, frozen=True):
    """What decisions on containers are made from."""

    pod: Pod
    observed: ObservedPod
    sandbox_attempt: int
    probes: ProbeResults
    in_flight: InFlight
    crash_loop: CrashLoopPeriods
    wall_ns: int
    killed: Mapping[str, KillCause] = {}
    """Container id -> why we have ended it."""
    owed: Mapping[str, Wait] = {}
    """Container name -> the back-off of one that was removed to be made anew."""

    def here(self, name: str) -> ObservedContainer | None:
        """The newest container of that name in the sandbox that is in use, or one that may still run in another."""
        for container in self.observed.by_name.get(name, ()):
            if container.sandbox_attempt == self.sandbox_attempt or container.may_run:
                return container
        return None


def begin(
    view: ContainerView, container: Container, last: ObservedContainer | None, *, forced: bool = False
) -> Start | BackingOff:
    """How to start a container whose predecessor is `last`. `forced`: that one is killed by us now."""
    newest = view.observed.newest(container.name)
    attempt = None if newest is None else newest.attempt + 1
    cause = view.killed.get(last.id) if last is not None else None
    excused = cause is not None and not cause.own_doing
    wait = back_off(container, last, view.crash_loop, view.wall_ns, excused=excused)
    if newest is None and container.name in view.owed:
        wait = view.owed[container.name]
        if wait.until_ns <= view.wall_ns:
            wait = Wait(0, wait.delay_ns, wait.next_delay_ns)
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
