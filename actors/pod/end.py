"""The last part of a pod's life: its containers end, its volumes are taken down, its remains are collected.

Every step may be repeated from its start, after a failed call or a restart of the agent: ending what has ended is
nothing. The order is that of the design: what cannot be undone is done last, and the final status is told before the
pod's content goes.
"""

from __future__ import annotations

from actors.kernel import Actor
from actors.messages.history import PodWait
from actors.messages.pods import CollectPod, PodCollected, Remains
from actors.messages.volumes import ReleaseVolumes, VolumesReleased
from actors.model.observed import ObservedPod
from actors.pod.container_stops import stop_in_turn
from actors.pod.part import WorkerPart
from actors.pod.services import PodServices
from actors.pod.show import PodShow
from actors.pod.view import PodView, Question, RetryLaterError
from actors.pod_rules.lifecycle import PodLife, PodStage, should_content_be_removed
from actors.pod_rules.termination import left_of, overdue_after_ns, plan_ending, plan_orphan_ending, sandboxes_to_stop
from actors.start.logs import link_path

SECOND_NS = 1_000_000_000
RETRY_NS = 10 * SECOND_NS
_SANDBOX_STOPS = (
    PodWait("the pod", "Terminating", "its sandbox and its network are being taken down", "nothing of it runs then"),
)
_VOLUMES_GO = (PodWait("the pod", "Terminating", "its volumes are being taken down", "its remains go then"),)
_REMAINS_GO = (PodWait("the pod", "Terminating", "its remains are being collected", "it is gone then"),)


class PodEnd(WorkerPart):
    """See the module. One per worker."""

    _worker: Actor
    _services: PodServices
    _view: PodView
    _show: PodShow
    _release: Question
    _collect: Question
    _released: bool = False
    _collected: bool = False
    _grace: int | None = None
    _since_ns: int = 0
    _overdue: bool = False
    failed: str = ""
    """What keeps the remains from going, until it is tried again."""
    _trouble: str = ""
    """What failed the last time, until it goes well."""

    # --- TERMINATING ------------------------------------------------------------------------------------------------

    async def terminate(self, life: PodLife) -> None:
        """End every container, in order and within the grace, then the sandboxes. Raises while something may run.

        An end is begun on what is known, and over on what is seen: who was asked to stop is looked at after that, and
        everything once more when the sandboxes have gone: the last status says that there is none (spec 2.8).
        """
        view = self._view
        if view.observer.in_doubt():
            view.history.tell()  # the runtime is asked first, and that may take long
        observed = await view.look()
        view.post_starts.drop()
        runs = observed.anything_runs()
        sandboxes = () if runs else sandboxes_to_stop(observed)
        for sandbox_id in sandboxes:
            await self._stop_sandbox(sandbox_id, observed, life)
        begun = view.deeds.under_way()
        if sandboxes and not begun and view.pod is not None:
            observed = await view.look()
            runs = observed.anything_runs()
        await self._show.publish(observed, life, last=not runs and not begun)
        if runs:
            raise RetryLaterError(self._stop_whose_turn_it_is(observed, life))
        if begun:
            raise RetryLaterError(RETRY_NS)  # what was begun before may still appear; its end is a reason to look again

    async def _stop_sandbox(self, sandbox_id: str, observed: ObservedPod, life: PodLife) -> None:
        """What is seen till then is shown while it stops, or fails to; what is over at once has its end to show."""
        deeds = self._view.deeds
        stopping = deeds.ask_sandbox_to_stop(sandbox_id)
        if not stopping.done() or stopping.exception() is not None:
            await self._show.publish(observed, life)
            self._view.history.waits(_SANDBOX_STOPS)
            self._view.history.tell()
        await deeds.sandbox_stopped(stopping, sandbox_id)

    def _stop_whose_turn_it_is(self, observed: ObservedPod, life: PodLife) -> int:
        """All that wait for nobody are ended in parallel. After how many ns to look again if nothing else happens."""
        now_ns, grace = self._worker.now_ns(), life.grace_seconds
        if self._grace != grace:
            # A second order gives its own time from now on, however much of the first has passed.
            wall_ns = self._worker.wall_ns()
            passed_ns = max(0, wall_ns - (life.terminating_at_ns or wall_ns)) if self._grace is None else 0
            # From here on no clock is asked that may be set.
            self._grace, self._since_ns = grace, now_ns - passed_ns
        pod = self._view.pod
        if pod is None:
            plan = plan_orphan_ending(observed, grace, self._view.decided.graces())
        else:
            plan = plan_ending(pod, observed, grace)
        elapsed_ns = now_ns - self._since_ns
        wait_ns = stop_in_turn(self._view, plan, elapsed_ns) or RETRY_NS
        return min(wait_ns, self._until_overdue_ns(life, elapsed_ns) or wait_ns)

    def _until_overdue_ns(self, life: PodLife, elapsed_ns: int) -> int | None:
        """Of a pod that this node ends for the sake of others: in how many ns it takes too long. Says so, once."""
        if not (life.evicted or life.reason) or life.grace_seconds is None or self._overdue:
            return None
        left_ns = overdue_after_ns(life.grace_seconds) - elapsed_ns
        if left_ns > 0:
            return left_ns
        self._overdue = True
        text = f"the pod was given {life.grace_seconds} s to end and has not ended"
        self._view.say("Warning", "ExceededGracePeriod", text)
        return None

    def waits(self, life: PodLife) -> tuple[PodWait, ...]:
        """What the end of the pod waits for, after a pass."""
        stage = life.stage
        if stage is PodStage.TERMINATING:
            if self._view.stops.under_way():
                return self._view.stops.waits()
            deeds = ", ".join(sorted(self._view.deeds.under_way()))
            return (PodWait("the pod", "Terminating", f"what was begun has to end first: {deeds}", "it ends then"),)
        if self._trouble:
            at_ns = self._worker.wall_ns() + RETRY_NS
            return (PodWait("the pod", "Terminating", self._trouble, "its remains are taken away again", at_ns),)
        if stage is PodStage.TERMINATED and not self._released:
            return _VOLUMES_GO
        if should_content_be_removed(life, True) and not self._collected:
            return _REMAINS_GO
        return ()

    # --- TERMINATED -------------------------------------------------------------------------------------------------

    async def end_latecomers(self, life: PodLife) -> None:
        """What an agent before had asked the runtime for may come to be only now, and keeps the remains from going."""
        self._view.observer.doubt_all()
        observed = await self._view.look()
        if observed.anything_runs():
            raise RetryLaterError(self._stop_whose_turn_it_is(observed, life))
        for sandbox_id in sandboxes_to_stop(observed):
            await self._view.deeds.stop_sandbox(sandbox_id)

    def clean_up(self, life: PodLife) -> bool:
        """Give back the volumes, and the remains where nobody needs them; True when that is done."""
        self._wait_after_failure()
        if not self._released:
            if self._release.may_ask():
                self._services.volumes.tell(ReleaseVolumes(self._worker.ref, self._view.uid))
            return False
        return not should_content_be_removed(life, True) or self._is_collected()

    def nothing_is_left(self, life: PodLife) -> bool:
        """True when nobody desires the pod and its remains are gone; asks for their removal where they may go."""
        if not should_content_be_removed(life, True):
            return False
        self._wait_after_failure()
        return self._is_collected()

    def _is_collected(self) -> bool:
        if not self._collected and self._collect.may_ask():
            view = self._view
            collect = CollectPod(self._worker.ref, view.uid, view.log_directory(), remains=self._remains())
            self._services.container_gc.tell(collect)
        return self._collected

    def _remains(self) -> Remains | None:
        """What the last look has shown, unless something was told or begun since."""
        view, pod = self._view, self._view.pod
        if pod is None or view.observer.in_doubt() or view.deeds.under_way():
            return None
        observed = view.seen()
        left = left_of(observed)
        if left is None:
            return None
        logs = self._services.node.container_logs_directory
        links = tuple(link_path(logs, pod, each.name, each.id) for each in left)
        return Remains(tuple(sandbox.id for sandbox in observed.sandboxes), links)

    def _wait_after_failure(self) -> None:
        """What failed is asked for again after a while, not at once."""
        self._trouble = self.failed
        if self.failed:
            self.failed = ""
            raise RetryLaterError(RETRY_NS)

    def release_again(self) -> bool:
        """Whoever was asked for the volumes has begun anew, and has forgotten it. Whether somebody was."""
        asked = not self._release.is_due()
        self._release.answered()
        return asked

    def collect_again(self) -> bool:
        """Whoever was asked for the remains has begun anew, and has forgotten it. Whether somebody was."""
        asked = not self._collect.is_due()
        self._collect.answered()
        return asked

    def volumes_released(self, message: VolumesReleased) -> None:
        self._release.answered()
        if message.error:
            self.failed = message.error
            self._view.say("Warning", "FailedUnmount", f"volumes of the pod cannot be taken down: {message.error}")
        else:
            self._released = True

    def pod_collected(self, message: PodCollected) -> None:
        self._collected = not message.error
        self._collect.answered()
        self.failed = message.error
