"""Step: end what must not go on: all containers for a restart of all, the whole pod, or single containers.

No container end is awaited here: it begins a new pass. When the whole pod is ended, this pass stops here, unless
nothing ran any more and the sandboxes have stopped.
"""

from __future__ import annotations

from actors.pod.outcome import CONTINUE, WAIT, Outcome, PassWait
from actors.pod.pod_pass import PodPass
from actors.pod_rules.action_types import Kill, KillCause, back_off
from actors.pod_rules.restart_all import Reset
from actors.pod_rules.termination import Ending, GraceCause, grace_seconds, plan_ending, sandboxes_to_stop

_GRACE_CAUSES = {KillCause.LIVENESS: GraceCause.LIVENESS, KillCause.STARTUP: GraceCause.STARTUP}


async def end_what_must_end(pod: PodPass) -> Outcome:
    """Raises CriError."""
    actions = pod.actions
    if actions.reset:
        await _reset(pod, actions.reset)
        return WAIT
    if actions.kill_pod:
        outcome = await _end_pod(pod)
        if outcome is not CONTINUE:
            return outcome
    for kill in actions.kill:
        _end_container(pod, kill)
    return CONTINUE


async def _end_pod(pod: PodPass) -> Outcome:
    """End every container, sidecars in their order, then stop every sandbox."""
    parts = pod.parts
    plan = plan_ending(pod.pod, pod.observed)
    if pod.actions.create_sandbox:
        for ending in plan:
            parts.decided.killed.setdefault(ending.id, KillCause.SANDBOX)
    next_ns = parts.stops.end_all(plan)
    if next_ns is not None:
        return PassWait(retry_ns=next_ns)
    for sandbox_id in sandboxes_to_stop(pod.observed):
        await parts.calls.stop_sandbox(sandbox_id)
    if (await parts.look()).any_sandbox_ready():
        return WAIT  # whatever the runtime answered to the stop, two sandboxes must not run at once
    parts.stops.all_ended()
    return CONTINUE


def _end_container(pod: PodPass, kill: Kill) -> None:
    parts, container = pod.parts, kill.container
    grace = grace_seconds(pod.pod, container, _GRACE_CAUSES.get(kill.cause, GraceCause.OTHER))
    hook = container.lifecycle.pre_stop if container.lifecycle is not None and grace > 0 else None
    parts.decided.killed[kill.id] = kill.cause
    parts.stops.request(Ending(kill.id, kill.name, grace, (), hook, kill.message), container, ip=parts.view.ip())


async def _reset(pod: PodPass, resets: tuple[Reset, ...]) -> None:
    """Kill everything that runs at once, without a grace; then remove the containers one by one
    (`actors.pod_rules.restart_all`).
    """
    parts = pod.parts
    running = [each for each in resets if each.may_run]
    for each in running:
        why = f"Stopping container {each.name}: all containers of the pod are restarted"
        parts.stops.request(Ending(each.id, each.name, 0, (), None, why), each.container)
    if running:
        return
    await _keep_back_off(pod, resets)
    for each in resets:
        await parts.calls.remove_container(each.id)
    await parts.look()


async def _keep_back_off(pod: PodPass, resets: tuple[Reset, ...]) -> None:
    """Keep the back-off of the containers whose end triggered the restart: it outlives their removal."""
    parts = pod.parts
    owed = {
        each.name: back_off(each.container, last, parts.services.crash_loop, parts.worker.wall_ns())
        for each in resets
        if each.source and (last := pod.observed.newest(each.name)) is not None and each.id == last.id
    }
    if owed:
        parts.decided.owed.update(owed)
        await parts.decided.keep()
