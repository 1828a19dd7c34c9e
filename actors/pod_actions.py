"""What to do next for a pod: a pure function from the pod and what the runtime shows (spec 3.2, 3.3).

`compute_pod_actions` gives *all* that is to be done now; the worker does it in this order: kill, make the sandbox,
start init containers, start containers. It is computed anew after every look, so it never plans ahead. A container
whose creation is still under way (`in_flight`) is neither started nor counted as absent: nothing is created twice.

Place is left for resizing (spec 10.16): a kept container may get an action of its own there.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from actors.observed import ObservedContainer, ObservedPod, RunState
from actors.restart_rules import NEVER, ON_FAILURE, effective_policy, init_may_run_again, should_restart
from actors.sandbox_changes import SandboxNeed, sandbox_need
from actors.start.identity import container_hash
from config.objects import Container, Pod
from config.pod_identity import is_sidecar


class Probed(enum.Enum):
    """The latest result of a probe that matters here."""

    SUCCESS = "success"
    FAILURE = "failure"


class ProbeResults(msgspec.Struct, frozen=True):
    """By container name. What is absent has no result yet."""

    startup: Mapping[str, Probed] = {}
    liveness: Mapping[str, Probed] = {}


NO_PROBES = ProbeResults()


class Kill(msgspec.Struct, frozen=True):
    """End one container; `message` is for the event, `reason` for the grace period."""

    container: ObservedContainer
    reason: str
    message: str


class PodActions(msgspec.Struct, frozen=True):
    """`kill_pod`: end every container and sandbox first. `sandbox`: make one. Names are of containers to start, in
    order.
    """

    kill_pod: bool = False
    sandbox: SandboxNeed | None = None
    sandbox_id: str = ""
    kill: tuple[Kill, ...] = ()
    ephemeral: tuple[str, ...] = ()
    init: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        return not (self.kill_pod or self.sandbox or self.kill or self.ephemeral or self.init or self.containers)


NOTHING = PodActions()


def compute_pod_actions(
    pod: Pod,
    observed: ObservedPod,
    probes: ProbeResults = NO_PROBES,
    in_flight: frozenset[str] = frozenset(),
    sandbox_in_flight: bool = False,
) -> PodActions:
    """See the module. `in_flight`: names of containers whose creation or start has not been answered yet."""
    if sandbox_in_flight:
        return NOTHING
    need = sandbox_need(pod, observed)
    if need.needed:
        return _with_new_sandbox(pod, observed, need)
    kills: list[Kill] = []
    ephemeral = tuple(
        container.name
        for container in pod.spec.ephemeral_containers
        if observed.newest(container.name) is None and container.name not in in_flight
    )
    init, initialized, kill_pod = _init_actions(pod, observed, probes, in_flight, kills)
    if kill_pod:
        return PodActions(kill_pod=True, sandbox_id=need.sandbox_id)
    if not initialized:
        return PodActions(
            sandbox_id=need.sandbox_id, kill=tuple(kills), ephemeral=ephemeral, init=tuple(reversed(init))
        )
    starts: list[str] = []
    kept = len(init)
    for container in pod.spec.containers:
        kept += _regular_action(pod, container, observed, probes, in_flight, kills, starts)
    if not kept and not starts:
        return PodActions(kill_pod=True, sandbox_id=need.sandbox_id)
    return PodActions(
        sandbox_id=need.sandbox_id,
        kill=tuple(kills),
        ephemeral=ephemeral,
        init=tuple(reversed(init)),
        containers=tuple(starts),
    )


def _with_new_sandbox(pod: Pod, observed: ObservedPod, need: SandboxNeed) -> PodActions:
    """The pod needs a sandbox: whatever is left of the old one ends first (spec 3.2)."""
    ends_old = bool(observed.sandboxes)
    if pod.spec.restart_policy == NEVER and need.attempt != 0 and observed.has_started_anything():
        return PodActions(kill_pod=True, sandbox_id=need.sandbox_id)
    starts = []
    for container in pod.spec.containers:
        newest = observed.newest(container.name)
        done = newest is not None and newest.succeeded
        if not (done and effective_policy(pod, container) in (ON_FAILURE, NEVER)):
            starts.append(container.name)
    if not starts and any(observed.newest(container.name) for container in pod.spec.containers):
        return PodActions(kill_pod=ends_old, sandbox_id=need.sandbox_id)
    if pod.spec.init_containers:
        return PodActions(kill_pod=ends_old, sandbox=need, init=(pod.spec.init_containers[0].name,))
    return PodActions(kill_pod=ends_old, sandbox=need, containers=tuple(starts))


def _regular_action(
    pod: Pod,
    container: Container,
    observed: ObservedPod,
    probes: ProbeResults,
    in_flight: frozenset[str],
    kills: list[Kill],
    starts: list[str],
) -> int:
    """Decide about one regular container; 1 when it is kept as it is."""
    name = container.name
    if name in in_flight:
        return 1
    newest = observed.newest(name)
    if newest is None or newest.state is not RunState.RUNNING:
        if should_restart(pod, container, newest):
            if newest is not None and newest.state is RunState.UNKNOWN:
                kills.append(Kill(newest, "unknown", f"Container {name} is in an unknown state, replacing it"))
            starts.append(name)
        return 0
    reason = _reason_to_kill(container, newest, probes)
    if reason is None:
        return 1
    kind, message, always = reason
    if always or effective_policy(pod, container) != NEVER:
        starts.append(name)
        message += ", will be restarted"
    kills.append(Kill(newest, kind, message))
    return 0


def _reason_to_kill(
    container: Container, running: ObservedContainer, probes: ProbeResults
) -> tuple[str, str, bool] | None:
    """(reason, message, restart whatever the policy) for a running container that must end; None to keep it."""
    name = container.name
    if running.hash and running.hash != container_hash(name, container.image):
        return "changed", f"Container {name} definition changed", True
    if probes.liveness.get(name) is Probed.FAILURE:
        return "liveness", f"Container {name} failed liveness probe", False
    if probes.startup.get(name) is Probed.FAILURE:
        return "startup", f"Container {name} failed startup probe", False
    return None


def _init_actions(
    pod: Pod,
    observed: ObservedPod,
    probes: ProbeResults,
    in_flight: frozenset[str],
    kills: list[Kill],
) -> tuple[list[str], bool, bool]:
    """(init containers to start, last first; whether the pod is initialized; whether to give the pod up). Spec 3.3."""
    inits = pod.spec.init_containers
    if not inits:
        return [], True, False
    started = any(
        (newest := observed.newest(container.name)) is not None and newest.state is not RunState.EXITED
        for container in pod.spec.containers
    ) or any(container.name in in_flight for container in pod.spec.containers)
    initialized = started or _regular_exited(pod, observed)
    starts: list[str] = []
    last = len(inits) - 1
    for index in range(last, -1, -1):
        container = inits[index]
        sidecar = is_sidecar(container)
        if container.name in in_flight:
            return starts, initialized, False
        newest = observed.newest(container.name)
        if newest is None:
            if initialized and sidecar:
                starts.append(container.name)
            continue
        if initialized and not sidecar:
            continue
        verdict = _init_verdict(pod, container, newest, probes)
        if verdict is _Init.KILL_POD:
            return [], False, True
        if verdict in (_Init.RESTART, _Init.REPLACE):
            if verdict is _Init.REPLACE:
                kills.append(Kill(newest, "replace", f"Init container {container.name} is replaced"))
            starts.append(container.name)
        elif verdict is _Init.DONE and not initialized:
            if index == last:
                return starts, True, False
            starts.append(inits[index + 1].name)
        if not initialized:
            # What stands before the position is done, except for sidecars, which run on through all of it.
            _keep_sidecars_before(inits, index, observed, probes, in_flight, pod, kills, starts)
            return starts, False, False
    if not initialized and not starts:
        starts.append(inits[0].name)
    return starts, initialized, False


class _Init(enum.Enum):
    WAIT = "wait"
    DONE = "done"
    RESTART = "restart"
    REPLACE = "replace"
    KILL_POD = "kill pod"


def _init_verdict(pod: Pod, container: Container, newest: ObservedContainer, probes: ProbeResults) -> _Init:
    """What the newest run of an init container means for the order."""
    if is_sidecar(container):
        return _sidecar_verdict(container, newest, probes)
    if newest.state is RunState.CREATED:
        return _Init.RESTART
    if newest.state is RunState.RUNNING:
        return _Init.WAIT
    if newest.succeeded:
        return _Init.DONE
    if not init_may_run_again(pod, container):
        return _Init.KILL_POD
    return _Init.REPLACE if newest.state is RunState.UNKNOWN else _Init.RESTART


def _sidecar_verdict(container: Container, newest: ObservedContainer, probes: ProbeResults) -> _Init:
    if newest.state is RunState.UNKNOWN:
        return _Init.REPLACE
    if newest.state is not RunState.RUNNING:
        return _Init.RESTART
    if _reason_to_kill(container, newest, probes) is not None:
        return _Init.REPLACE
    if container.startup_probe is not None and probes.startup.get(container.name) is not Probed.SUCCESS:
        return _Init.WAIT
    return _Init.DONE


def _keep_sidecars_before(
    inits: tuple[Container, ...],
    position: int,
    observed: ObservedPod,
    probes: ProbeResults,
    in_flight: frozenset[str],
    pod: Pod,
    kills: list[Kill],
    starts: list[str],
) -> None:
    """Restart the sidecars before the position that have ended or must be replaced."""
    for container in reversed(inits[:position]):
        newest = observed.newest(container.name)
        if not is_sidecar(container) or newest is None or container.name in in_flight:
            continue
        verdict = _sidecar_verdict(container, newest, probes)
        if verdict is _Init.REPLACE:
            kills.append(Kill(newest, "replace", f"Sidecar {container.name} is replaced"))
        if verdict in (_Init.RESTART, _Init.REPLACE):
            starts.append(container.name)


def _regular_exited(pod: Pod, observed: ObservedPod) -> bool:
    """A regular container of the newest sandbox has run: the init containers were done then."""
    sandbox = observed.ready_sandbox()
    if sandbox is None:
        return False
    return any(
        (newest := observed.newest(container.name)) is not None and newest.created_at_ns >= sandbox.created_at_ns
        for container in pod.spec.containers
    )
