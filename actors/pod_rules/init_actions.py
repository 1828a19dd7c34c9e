"""Decides the actions for init containers while the sandbox is up (spec 3.3, KEP-753).

Pure. Regular init containers run one after the other, each until it succeeds. A sidecar only has to be started (its
startup probe decides) before the next begins, and is kept alive as long as the pod lives. The progress of a pod is the
newest container in this sandbox, searched from the last of the spec to the first. Earlier ones no longer matter, except
sidecars, which are restarted whenever they end. Containers of an earlier sandbox do not count: a new sandbox
initializes the pod anew.
"""

from __future__ import annotations

import msgspec

from actors.model.observed import ObservedContainer, liveness_failed, startup_of
from actors.pod_rules.action_types import Candidate, ContainerView, Kill, KillCause
from actors.pod_rules.restart_rules import should_restart_failed_init
from config.objects import Container
from config.pods.identity import is_sidecar
from runtime.cri.identity import same_definition


class InitStep(msgspec.Struct, frozen=True):
    """The actions for init containers.

    `initialized`: regular containers may run. `failed`: the init container that ends the pod.
    """

    initialized: bool
    failed: str = ""
    kill: tuple[Kill, ...] = ()
    candidates: tuple[Candidate, ...] = ()


INITIALIZED = InitStep(True)


class _Plan:
    """Collects actions, from the last init container to the first."""

    __slots__ = ("candidates", "kill", "view")

    def __init__(self, view: ContainerView) -> None:
        self.view = view
        self.kill: list[Kill] = []
        self.candidates: list[Candidate] = []

    def start_again(self, container: Container, here: ObservedContainer | None, cause: KillCause | None) -> None:
        """Start the container when its back-off allows; with a `cause`, kill the existing one first."""
        if container.name in self.view.in_flight.containers:
            return
        if cause is not None and here is not None:
            self.kill.append(Kill(here.id, container.name, cause, container, init=True))
        self.candidates.append(Candidate(container, here, cause is not None))

    def step(self, initialized: bool, failed: str = "") -> InitStep:
        return InitStep(initialized, failed, tuple(reversed(self.kill)), tuple(reversed(self.candidates)))


def init_actions(view: ContainerView) -> InitStep:
    pod = view.pod
    inits = pod.spec.init_containers
    plan = _Plan(view)
    for container in reversed(inits):
        plan.kill += kill_older(view, container)
    initialized = settled = any(view.here(container.name) is not None for container in pod.spec.containers)
    for index in range(len(inits) - 1, -1, -1):
        container = inits[index]
        sidecar = is_sidecar(container)
        if settled and not sidecar:
            continue
        here = view.here(container.name)
        if here is None:
            if settled or container.name in view.in_flight.containers:
                plan.start_again(container, None, None)
                settled = True
            continue
        done = _sidecar(plan, container, here) if sidecar else regular(plan, container, here)
        if done is None:
            return plan.step(False, container.name)
        if done and not settled:
            initialized = index == len(inits) - 1
            if not initialized:
                plan.start_again(inits[index + 1], None, None)
        settled = True
    if not settled:
        plan.start_again(inits[0], None, None)
    return plan.step(initialized)


def _sidecar(plan: _Plan, container: Container, here: ObservedContainer) -> bool:
    """Whether the sidecar is started, so that later containers may begin."""
    view = plan.view
    if not here.running:
        plan.start_again(container, here, KillCause.LOST if here.may_run else None)
        return False
    cause = kill_cause(view, container, here)
    if cause is not None:
        plan.start_again(container, here, cause)
        return False
    return not here.starting and startup_of(container, here, view.probes) is True


def regular(plan: _Plan, container: Container, here: ObservedContainer) -> bool | None:
    """Whether the container has succeeded. None: it has failed for good, and the pod with it."""
    if here.running:
        return False
    if here.exited and not here.failed and here.id not in plan.view.killed:
        return True
    if here.exited or here.may_run:
        # the exit code that the status shows for a lost container (spec 4.2)
        exit_code = here.exit_code if here.exited else 137
        if not should_restart_failed_init(plan.view.pod, container, exit_code):
            return None
    plan.start_again(container, here, KillCause.LOST if here.may_run else None)
    return False


def kill_older(view: ContainerView, container: Container) -> list[Kill]:
    """Kill older containers of this name that may still run: there must be one at most."""
    group = view.observed.by_name.get(container.name, ())
    if len(group) < 2 or container.name in view.in_flight.containers:
        return []
    return [Kill(each.id, container.name, KillCause.DUPLICATE, container) for each in group[1:] if each.may_run]


def kill_cause(view: ContainerView, container: Container, running: ObservedContainer) -> KillCause | None:
    """Why a running container must end; None if it may go on."""
    if not same_definition(container, running.labels, running.annotations):
        return KillCause.CHANGED
    probes = view.probes
    if probes.active:
        if liveness_failed(container, running, probes):
            return KillCause.LIVENESS
        if startup_of(container, running, probes) is False:
            return KillCause.STARTUP
    return KillCause.RESIZED if container.name in view.resized else None
