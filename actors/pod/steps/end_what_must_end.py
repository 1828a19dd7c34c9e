"""Step: end what must not go on.

That is all containers for a restart of all, the whole pod, or single containers.

No container end is awaited here: it begins a new pass. When the whole pod is ended, this pass stops here, unless
nothing ran any more and the sandboxes have stopped.
"""

from __future__ import annotations

from actors.kernel import Actor
from actors.pod.container_stops import ContainerStops
from actors.pod.one_pass import CONTINUE, WAIT, Outcome, PassWait, PodPass
from actors.pod.runtime import PodCalls
from actors.pod.steps.look import PodLook
from actors.pod.steps.sandbox import PodSandbox
from actors.pod.view import PodView
from actors.pod_rules.action_types import Kill, KillCause
from actors.pod_rules.back_off import back_off
from actors.pod_rules.restart_all import Reset
from actors.pod_rules.termination import Ending, GraceCause, grace_seconds, plan_ending, sandboxes_to_stop
from config.kubelet import CrashLoopPeriods
from config.objects import Pod

_KILLING = "killing"
"""The event text for a container that is restarted with all others."""
_GRACE_CAUSES = {KillCause.LIVENESS: GraceCause.LIVENESS, KillCause.STARTUP: GraceCause.STARTUP}


class EndWhatMustEnd:
    def __init__(
        self,
        worker: Actor,
        crash_loop: CrashLoopPeriods,
        view: PodView,
        look: PodLook,
        calls: PodCalls,
        stops: ContainerStops,
        sandbox: PodSandbox,
    ) -> None:
        self._worker = worker
        self._crash_loop = crash_loop
        self._view = view
        self._look = look
        self._calls = calls
        self._stops = stops
        self._sandbox = sandbox

    async def step(self, this: PodPass) -> Outcome:
        """End the containers that must end, or the whole pod. Raises CriError."""
        actions = this.actions
        if actions.reset:
            await self._reset(this)
            return WAIT
        if actions.kill_pod:
            outcome = await self._end_pod(this)
            if outcome is not CONTINUE:
                return outcome
        if actions.kill:
            with self._stops.together():
                for kill in actions.kill:
                    self._end_container(this.pod, kill)
        return CONTINUE

    async def _end_pod(self, this: PodPass) -> Outcome:
        """End every container, sidecars in their order, then stop every sandbox."""
        plan = plan_ending(this.pod, this.observed)
        if this.actions.create_sandbox:
            self._sandbox.say_changed()  # before anything of the old one ends
            for ending in plan:
                self._view.decided.killed.setdefault(ending.id, KillCause.SANDBOX)
        next_ns = self._stops.end_all(plan)
        if next_ns is not None:
            return PassWait(retry_ns=next_ns)
        for sandbox_id in sandboxes_to_stop(this.observed):
            if network := await self._calls.stop_sandbox(sandbox_id):
                self._view.say("Warning", "FailedKillPod", network)
        if (await self._look.see()).any_sandbox_ready():
            return WAIT  # whatever the runtime answered to the stop, two sandboxes must not run at once
        self._stops.all_ended()
        return CONTINUE

    def _end_container(self, pod: Pod, kill: Kill) -> None:
        container = kill.container
        grace = grace_seconds(pod, container, _GRACE_CAUSES.get(kill.cause, GraceCause.OTHER))
        hook = container.lifecycle.pre_stop if container.lifecycle is not None and grace > 0 else None
        self._view.decided.killed[kill.id] = kill.cause
        ending = Ending(kill.id, kill.name, grace, (), hook, kill.message)
        self._stops.request(ending, container, ip=self._view.ip())

    async def _reset(self, this: PodPass) -> None:
        """Kill everything that runs at once, without a grace; then remove the containers one by one
        (`actors.pod_rules.restart_all`).
        """
        resets = this.actions.reset
        running = [each for each in resets if each.may_run]
        if running:
            with self._stops.together():
                for each in running:
                    self._stops.request(Ending(each.id, each.name, 0, (), None, _KILLING), each.container)
            return
        await self._keep_back_off(this, resets)
        for each in resets:
            await self._calls.remove_container(each.id)
        await self._look.see()

    async def _keep_back_off(self, this: PodPass, resets: tuple[Reset, ...]) -> None:
        """Keep the back-off of the containers whose end triggered the restart: it outlives their removal."""
        owed = {
            each.name: back_off(each.container, last, self._crash_loop, self._worker.wall_ns())
            for each in resets
            if each.source and (last := this.observed.newest(each.name)) is not None and each.id == last.id
        }
        if owed:
            decided = self._view.decided
            decided.owed.update(owed)
            await decided.keep()
