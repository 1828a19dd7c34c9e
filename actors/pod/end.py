"""Ends a pod: stops its containers, releases its volumes, collects its remains.

Every step may be repeated from its start, after a failed call or a restart of the agent. Steps that cannot be undone
come last: the final status is published before the content of the pod is removed.
"""

from __future__ import annotations

from actors.kernel import handles
from actors.messages.history import PodWait
from actors.messages.pods import CollectPod, PodCollected, Remains
from actors.messages.volumes import ReleaseVolumes, VolumesReleased
from actors.model.observed import ObservedPod
from actors.pod.one_pass import CONTINUE, WAIT, Outcome, PassWait
from actors.pod.parts import PodParts
from actors.pod.pod_actor import Pass
from actors.pod.view import Question
from actors.pod_rules.lifecycle import PodLife, PodStage, should_content_be_removed
from actors.pod_rules.restart_rules import should_restart
from actors.pod_rules.termination import left_of, overdue_after_ns, plan_ending, plan_orphan_ending, sandboxes_to_stop
from runtime.logs.pod_logs import link_path

SECOND_NS = 1_000_000_000
RETRY_NS = 10 * SECOND_NS
_SANDBOX_STOPS = (
    PodWait("the pod", "Terminating", "its sandbox and its network are being taken down", "nothing of it runs then"),
)
_CLAIMS_GO = (PodWait("the pod", "Terminating", "its claims of devices are being given back", "it ends then"),)
_VOLUMES_GO = (PodWait("the pod", "Terminating", "its volumes are being taken down", "its remains go then"),)
_REMAINS_GO = (PodWait("the pod", "Terminating", "its remains are being collected", "it is gone then"),)


class PodEnd:
    def __init__(self, parts: PodParts) -> None:
        self._parts = parts
        self._worker = parts.worker
        self._services = parts.services
        self._view = parts.view
        self._history = parts.history
        self._calls = parts.calls
        self._stops = parts.stops
        self._release = Question(self._worker, "release")
        self._collect = Question(self._worker, "collect")
        self._released = False
        self._collected = False
        self._collection_ordered = False
        self._grace: int | None = None
        self._since_ns: int | None = None
        """When the present grace began, on the monotonic clock; None before the first order."""
        self._overdue = False
        self._failed = ""
        """Why the remains could not be removed, until the next try."""
        self._trouble = ""
        """The last failure, until a try succeeds."""

    # --- TERMINATING ------------------------------------------------------------------------------------------------

    async def terminate(self) -> Outcome:
        """End every container, in order and within the grace, then the sandboxes.

        Continue when nothing may run.

        The end starts from what is known, and a look confirms that it is over. The final status follows one more look,
        after the sandboxes have gone (spec 2.8).
        """
        view, calls = self._view, self._calls
        if self._parts.observer.in_doubt():
            self._history.tell()  # tell first: asking the runtime may take long
        observed = await self._parts.look.see()
        self._parts.post_starts.drop()
        runs = observed.anything_runs()
        sandboxes = () if runs else sandboxes_to_stop(observed)
        for sandbox_id in sandboxes:
            await self._stop_sandbox(sandbox_id, observed)
        begun = calls.under_way()
        if sandboxes and not begun and view.pod is not None:
            observed = await self._parts.look.see()
            runs = observed.anything_runs()
        # The cluster gives the devices to others when it sees the end.
        giving_back = self._parts.claims.give_back() if not runs and not begun else None
        await self._parts.look.publish(observed, last=not runs and not begun and giving_back is None)
        if giving_back is not None:
            return giving_back
        if runs:
            return PassWait(retry_ns=self._stop_in_turn(observed, view.life))
        # An unfinished call may still create something; when it ends, a new pass begins.
        return PassWait(retry_ns=RETRY_NS) if begun else CONTINUE

    async def _stop_sandbox(self, sandbox_id: str, observed: ObservedPod) -> None:
        """Stop a sandbox. Publish what is seen while the stop takes long or fails."""
        stopping = self._calls.ask_sandbox_to_stop(sandbox_id)
        if not stopping.done() or stopping.exception() is not None:
            await self._parts.look.publish(observed)
            self._history.waits(_SANDBOX_STOPS)
            self._history.tell()
        if network := await self._calls.sandbox_stopped(stopping, sandbox_id):
            self._view.say("Warning", "FailedKillPod", network)

    def _stop_in_turn(self, observed: ObservedPod, life: PodLife) -> int:
        """End in parallel the containers whose turn it is. Returns the ns until the next look if nothing else
        happens.
        """
        now_ns, grace = self._worker.now_ns(), life.grace_seconds
        since_ns = self._since_ns
        if since_ns is None or self._grace != grace:
            # A second order gives its own time from now on, however much of the first has passed. No grace at all, of a
            # pod that ended by itself, is an order too.
            wall_ns = self._worker.wall_ns()
            passed_ns = max(0, wall_ns - (life.terminating_at_ns or wall_ns)) if since_ns is None else 0
            # From here on only the monotonic clock counts, which nobody can set.
            since_ns = now_ns - passed_ns
            self._grace, self._since_ns = grace, since_ns
        pod = self._view.pod
        if pod is None:
            plan = plan_orphan_ending(observed, grace, self._view.decided.graces())
        else:
            plan = plan_ending(pod, observed, grace)
        elapsed_ns = now_ns - since_ns
        wait_ns = self._stops.request_in_turn(plan, elapsed_ns) or RETRY_NS
        return min(wait_ns, self._until_overdue_ns(life, elapsed_ns) or wait_ns)

    def _until_overdue_ns(self, life: PodLife, elapsed_ns: int) -> int | None:
        """How many ns until an eviction or node shutdown takes too long. Records an event once when it does."""
        if not (life.evicted or life.reason) or life.grace_seconds is None or self._overdue:
            return None
        left_ns = overdue_after_ns(life.grace_seconds) - elapsed_ns
        if left_ns > 0:
            return left_ns
        self._overdue = True
        text = f"the pod was given {life.grace_seconds} s to end and has not ended"
        self._view.say("Warning", "ExceededGracePeriod", text)
        return None

    def waits(self) -> tuple[PodWait, ...]:
        """The waits of an ending pod, after a pass."""
        life = self._view.life
        stage = life.stage
        if stage is PodStage.TERMINATING:
            if self._stops.ends:
                return self._stops.waits()
            if not (under_way := self._calls.under_way()):
                return _CLAIMS_GO
            calls = ", ".join(sorted(under_way))
            return (PodWait("the pod", "Terminating", f"what was begun has to end first: {calls}", "it ends then"),)
        if self._trouble:
            at_ns = self._worker.wall_ns() + RETRY_NS
            return (PodWait("the pod", "Terminating", self._trouble, "its remains are taken away again", at_ns),)
        if stage is PodStage.TERMINATED and not self._released:
            return _VOLUMES_GO
        if self._must_collect() and not self._collected:
            return _REMAINS_GO
        return ()

    # --- TERMINATED -------------------------------------------------------------------------------------------------

    async def clean_up(self) -> Outcome:
        """Release the volumes, and have the remains removed if nobody needs them. Continue when that is done."""
        retry = await self._after_failure()
        if retry is not None:
            return retry
        if not self._released:
            if self._release.may_ask():
                self._services.volumes.tell(ReleaseVolumes(self._worker.ref, self._view.uid))
            return WAIT
        if self._must_collect() and not self._is_collected():
            return WAIT
        return CONTINUE

    async def remove_remains(self) -> Outcome:
        """Have the remains removed if that is allowed. Continue when they are gone."""
        retry = await self._after_failure()
        if retry is not None:
            return retry
        if not should_content_be_removed(self._view.life, True):
            return WAIT
        if self._must_collect() and not self._is_collected():
            return WAIT
        return CONTINUE

    def _must_collect(self) -> bool:
        """Whether the dead containers must go.

        They stay for a pod that comes back and starts all of them again, as with a kubelet. Its restart counts go on,
        and the logs of the last life can be read.
        """
        life, pod = self._view.life, self._view.pod
        if not should_content_be_removed(life, True):
            return False
        if not life.restart_requested or self._collection_ordered or pod is None:
            return True
        observed = self._view.seen()
        return not all(should_restart(pod, each, observed.newest(each.name)) for each in pod.spec.containers)

    async def _after_failure(self) -> Outcome | None:
        """Wait before the next try. A call of an earlier agent may have created something late that blocks the
        removal.
        """
        if self._failed:
            self._parts.observer.doubt_all()
            observed = await self._parts.look.see()
            if observed.anything_runs():
                return PassWait(retry_ns=self._stop_in_turn(observed, self._view.life))
            for sandbox_id in sandboxes_to_stop(observed):
                await self._calls.stop_sandbox(sandbox_id)
        self._trouble, self._failed = self._failed, ""
        return PassWait(retry_ns=RETRY_NS) if self._trouble else None

    def _is_collected(self) -> bool:
        if not self._collected and self._collect.may_ask():
            view = self._view
            self._collection_ordered = True
            collect = CollectPod(self._worker.ref, view.uid, view.log_directory(), remains=self._remains())
            self._services.container_gc.tell(collect)
        return self._collected

    def _remains(self) -> Remains | None:
        """The remains that the last look has shown; None if anything was reported or begun since."""
        view, pod = self._view, self._view.pod
        if pod is None or self._parts.observer.in_doubt() or self._calls.under_way():
            return None
        observed = view.seen()
        left = left_of(observed)
        if left is None:
            return None
        logs = self._services.node.container_logs_directory
        links = tuple(link_path(logs, pod, each.name, each.id) for each in left)
        return Remains(tuple(sandbox.id for sandbox in observed.sandboxes), links)

    def release_again(self) -> Pass | None:
        """Order the release of volumes again: the volume reconciler restarted and forgot the order."""
        return self._ask_anew(self._release)

    def collect_again(self) -> Pass | None:
        """The collector has restarted and has forgotten the order."""
        return self._ask_anew(self._collect)

    def _ask_anew(self, question: Question) -> Pass | None:
        asked = not question.is_due()
        question.answered()
        return self._worker.go_on() if asked else None

    @handles(VolumesReleased)
    def volumes_released(self, message: VolumesReleased) -> Pass | None:
        self._release.answered()
        if message.error:
            self._failed = message.error
            self._view.say("Warning", "FailedUnmount", f"volumes of the pod cannot be taken down: {message.error}")
        else:
            self._released = True
        return self._worker.go_on()

    @handles(PodCollected)
    def pod_collected(self, message: PodCollected) -> Pass | None:
        self._collected = not message.error
        self._collect.answered()
        self._failed = message.error
        if message.error:
            self._view.say("Warning", "FailedKillPod", f"the pod's remains cannot be removed: {message.error}")
        return self._worker.go_on()
