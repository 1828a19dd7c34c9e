"""Decides the next actions for a pod that shall run.

It is a pure function of the desired pod, the observed pod, and the calls in flight.

`compute_pod_actions` (spec 3.1 to 3.4) is called at every look and uses only its arguments. If a part of its answer was
done, the next call returns the rest. How a pod ends is decided in `actors.pod_rules.termination`.

Two containers of one name never run at once. A container with a call in flight is left alone until the outcome is
known. A container starts only when its predecessor does not run or is killed in the same answer. A container that was
created but not started is started, not created again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from actors.model.observed import (
    NO_RESULTS,
    ObservedContainer,
    ObservedPod,
    ProbeResults,
    SandboxChange,
    sandbox_change,
)
from actors.pod_rules.action_types import (
    AT_ONCE_FIRST,
    NOTHING_IN_FLIGHT,
    BackingOff,
    BackOffWait,
    Candidate,
    ContainerView,
    InFlight,
    Kill,
    KillCause,
    Start,
)
from actors.pod_rules.back_off import after_own_kill, back_off
from actors.pod_rules.init_actions import INITIALIZED, init_actions, kill_cause, kill_older
from actors.pod_rules.restart_all import Reset, resets
from actors.pod_rules.restart_rules import (
    ALWAYS,
    NEVER,
    ON_FAILURE,
    effective_policy,
    restarts_after,
    should_restart,
)
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import Container, Pod
from config.pods.identity import restarts_all_containers
from runtime.cri.identity import same_definition
from runtime.cri.messages import ContainerState

_NOTHING_KILLED: Mapping[str, KillCause] = {}
_NOTHING_OWED: Mapping[str, BackOffWait] = {}


class PodActions(msgspec.Struct, frozen=True):
    """The next actions; the steps of a pass carry them out. Each list is in order of execution.

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


def in_flight_of(calls: Iterable[str], containers: Iterable[str] = ()) -> InFlight:
    """The work in flight, from names of calls and of containers that are busy otherwise.

    Names of calls are like `sandbox 0` and `container web 2`.
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


def compute_pod_actions(
    pod: Pod,
    observed: ObservedPod,
    *,
    wall_ns: int,
    crash_loop: CrashLoopPeriods,
    probes: ProbeResults = NO_RESULTS,
    in_flight: InFlight = NOTHING_IN_FLIGHT,
    resized: frozenset[str] = frozenset(),
    killed: Mapping[str, KillCause] = _NOTHING_KILLED,
    owed: Mapping[str, BackOffWait] = _NOTHING_OWED,
) -> PodActions:
    """See the module.

    `resized`: names of running containers that need a restart to get their new resources.

    `killed`: container id -> why this agent has ended it, until its successor exists. `owed`: container name -> the
    back-off of one that was removed to be made anew.
    """
    change = sandbox_change(pod, observed)
    if in_flight.sandbox:
        return PodActions(sandbox_id="" if change.needed else change.id, sandbox_attempt=change.attempt)
    reset = resets(pod, observed) if restarts_all_containers(pod.spec) else ()
    if reset:
        return PodActions(sandbox_id="" if change.needed else change.id, sandbox_attempt=change.attempt, reset=reset)
    view = ContainerView(pod, observed, change.attempt, probes, in_flight, crash_loop, wall_ns, killed, owed, resized)
    if change.needed:
        return _with_new_sandbox(view, change)
    init = init_actions(view) if pod.spec.init_containers else INITIALIZED
    start_ephemeral = _ephemeral(view) if pod.spec.ephemeral_containers else ()
    if init.failed:
        return PodActions(
            kill_pod=_anything_to_stop(observed),
            why_kill_pod=f"init container {init.failed} has failed and is not restarted",
            sandbox_id=change.id,
            sandbox_attempt=change.attempt,
        )
    start_init, init_backing_off = _begin(view, init.candidates)
    if not init.initialized:
        return PodActions(
            sandbox_id=change.id,
            sandbox_attempt=change.attempt,
            kill=init.kill,
            start_ephemeral=start_ephemeral,
            start_init=start_init,
            backing_off=init_backing_off,
        )
    kill = list(init.kill)
    candidates: list[Candidate] = []
    alive = _regular(view, kill, candidates)
    # A container that fails its probe as the last one ends with its pod: the grace is the pod's, as with a kubelet.
    if not alive:
        return PodActions(
            kill_pod=_anything_to_stop(observed),
            why_kill_pod="every container has ended and none is restarted",
            sandbox_id=change.id,
            sandbox_attempt=change.attempt,
        )
    start, backing_off = _begin(view, candidates)
    return PodActions(
        sandbox_id=change.id,
        sandbox_attempt=change.attempt,
        kill=tuple(kill),
        start_ephemeral=start_ephemeral,
        start_init=start_init,
        start=start,
        backing_off=init_backing_off + backing_off,
    )


def all_started(pod: Pod, observed: ObservedPod, actions: PodActions) -> bool:
    """Whether `actions` started all that the pod has, and all of it now runs in a usable sandbox.

    Then nothing is left to do, and `compute_pod_actions` need not be called: no older container counts, and nothing is
    known yet against the new ones.
    """
    spec, starts = pod.spec, actions.start
    if actions.kill_pod or actions.kill or len(starts) < len(spec.containers):
        return False
    if spec.init_containers or spec.ephemeral_containers:
        return False
    for start in starts:
        newest = observed.newest(start.container.name)
        if newest is None or not newest.running or newest.starting or start.created_id:
            return False
    return not sandbox_change(pod, observed).needed


def _with_new_sandbox(view: ContainerView, change: SandboxChange) -> PodActions:
    """The sandbox is missing or unusable: end its rest and, if there is work left, begin with a new one."""
    pod, observed = view.pod, view.observed
    anything = _anything_to_stop(observed)
    deleted = pod.metadata.deletion_timestamp is not None
    never = pod.spec.restart_policy == NEVER
    if deleted or (never and change.attempt != 0 and observed.by_name):
        return PodActions(
            kill_pod=anything,
            why_kill_pod="the sandbox has ended and the pod is not to be restarted",
            sandbox_attempt=change.attempt,
        )
    wanted = [container for container in pod.spec.containers if _runs_in_new_sandbox(view, container)]
    if not wanted and any(observed.newest(container.name) is not None for container in pod.spec.containers):
        return PodActions(
            kill_pod=anything,
            why_kill_pod="every container has ended and none is restarted",
            sandbox_attempt=change.attempt,
        )
    inits = pod.spec.init_containers
    first = [
        Candidate(container, None if inits else observed.newest(container.name))
        for container in inits[:1] or wanted
        if container.name not in view.in_flight.containers
    ]
    starts, backing_off = _begin(view, first)
    return PodActions(
        kill_pod=anything or bool(observed.sandboxes),
        why_kill_pod=change.why if observed.sandboxes else "",
        create_sandbox=True,
        why_sandbox=change.why,
        sandbox_attempt=change.attempt,
        start_init=starts if inits else (),
        start=() if inits else starts,
        backing_off=backing_off,
    )


def _runs_in_new_sandbox(view: ContainerView, container: Container) -> bool:
    """Whether a regular container has work left. With policy Never, one that has run is done."""
    last = view.observed.newest(container.name)
    if last is None:
        return True
    policy = effective_policy(view.pod, container)
    if last.id in view.killed:
        return policy != NEVER
    if last.exited:
        return policy == ALWAYS or should_restart(view.pod, container, last)
    return policy in (ON_FAILURE, ALWAYS) or not last.may_run


def _regular(view: ContainerView, kill: list[Kill], candidates: list[Candidate]) -> bool:
    """Decide on every regular container; returns whether any has work left."""
    alive = held = False
    for container in view.pod.spec.containers:
        name = container.name
        if name in view.in_flight.containers:
            alive = True
            continue
        last = view.observed.newest(name)
        kill += kill_older(view, container)
        if last is not None and last.running:
            cause = kill_cause(view, container, last)
            if cause is None:
                alive = True
                held = held or last.starting  # later containers of the spec wait for its postStart hook
                continue
            comes_again = restarts_after(view.pod, container, cause)
            kill.append(Kill(last.id, name, cause, container, comes_again))
            if not comes_again:
                continue
        elif not _starts(view, container, last):
            continue
        else:
            cause = _lost(kill, container, last)
        alive = True
        if not held:
            candidates.append(Candidate(container, last, cause is not None))
    return alive


def _starts(view: ContainerView, container: Container, last: ObservedContainer | None) -> bool:
    """Whether to start a container that does not run. If this agent ended it, the cause of that decides."""
    cause = view.killed.get(last.id) if last is not None and last.exited else None
    if cause is None:
        return should_restart(view.pod, container, last)
    return view.pod.metadata.deletion_timestamp is None and restarts_after(view.pod, container, cause)


def _lost(kill: list[Kill], container: Container, last: ObservedContainer | None) -> KillCause | None:
    """A lost container may still run: kill it before another starts."""
    if last is None or not last.may_run:
        return None
    kill.append(Kill(last.id, container.name, KillCause.LOST, container))
    return KillCause.LOST


def _ephemeral(view: ContainerView) -> tuple[Start, ...]:
    """Start each ephemeral container once and never again."""
    return tuple(
        Start(container, 0)
        for container in view.pod.spec.ephemeral_containers
        if view.observed.newest(container.name) is None and container.name not in view.in_flight.containers
    )


def _anything_to_stop(observed: ObservedPod) -> bool:
    return observed.any_sandbox_ready() or observed.anything_runs()


def _begin(view: ContainerView, candidates: Iterable[Candidate]) -> tuple[tuple[Start, ...], tuple[BackingOff, ...]]:
    """Divide the candidates into those that start now and those that wait for their back-off."""
    begun = [_begin_one(view, each) for each in candidates]
    return (
        tuple([each for each in begun if isinstance(each, Start)]),
        tuple([each for each in begun if isinstance(each, BackingOff)]),
    )


def _wait_after(view: ContainerView, container: Container, last: ObservedContainer) -> BackOffWait:
    """When the successor of `last`, which may have been killed, may start."""
    cause = view.killed.get(last.id)
    excused = cause is not None and not cause.own_doing
    wait = back_off(container, last, view.crash_loop, view.wall_ns, excused=excused)
    if cause is not None and cause.own_doing:
        return after_own_kill(wait, last, view.observed.by_name[container.name])
    return wait


def _begin_one(view: ContainerView, candidate: Candidate) -> Start | BackingOff:
    container, last = candidate.container, candidate.last
    newest = view.observed.newest(container.name)
    attempt = None if newest is None else newest.attempt + 1
    wait = AT_ONCE_FIRST if last is None else _wait_after(view, container, last)
    if newest is None and container.name in view.owed:
        wait = view.owed[container.name]
        if wait.until_ns <= view.wall_ns:
            wait = BackOffWait(0, wait.delay_ns, wait.next_delay_ns)
    if (
        not candidate.forced
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
