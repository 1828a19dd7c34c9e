"""`PodWorker`: one pod, from its first sync to its last trace.

The worker walks the state machine of `actors.pod_rules.lifecycle`, and makes passes in each stage. `actors.pod.sync`
takes the steps of a pod that is to run; `actors.pod.end` ends one. `actors.pod_rules.actions` decides what to do next,
`actors.pod_status` computes what to show, and `actors.start` configures containers. Slow work (pulls, volumes, removal
of the remains) is requested from other actors. The part that asks handles the answer (`actors.pod.parts` lists the
parts), and the next pass follows in the same turn. If more messages wait, one pass serves all of them.

The order to end the pod cancels a pass that waits for the runtime. `actors.pod.runtime` remembers the calls under
way.

A worker can find out again all that it knows. So the worker, or the agent, may restart at any time.
"""

from __future__ import annotations

from collections.abc import Coroutine, Hashable
from typing import Any, ClassVar

from actors.kernel import DeadlineExceededError, MailboxOverflowed, Message, handles, part
from actors.messages.admission import AllocationReleased
from actors.messages.events import pod_event
from actors.messages.eviction import LimitedPodSeen
from actors.messages.history import HistorianStarted, PodWait
from actors.messages.pods import (
    AnnounceYourself,
    CollectorStarted,
    ExplainWaits,
    LookAgain,
    Operation,
    PodCameBack,
    PodWorkerStarted,
    RuntimePod,
    RuntimeStateObserved,
    RuntimeTold,
    StartOver,
    SyncPod,
    TerminatePod,
)
from actors.messages.status import PodFinished, StatusManagerStarted
from actors.messages.volumes import RenewVolumes
from actors.pod.end import PodEnd
from actors.pod.one_pass import CONTINUE, Continue, Outcome, may_take_long
from actors.pod.parts import PodParts
from actors.pod.pass_traces import PassTraces
from actors.pod.passes_in_a_row import rest_ns
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.probes import RUNNER
from actors.pod.services import PodServices
from actors.pod.sync import PodSync
from actors.pod.troubles import failed_sync_text
from actors.pod_rules.lifecycle import (
    CleanedUp,
    ContainersStopped,
    Event,
    Orphaned,
    PodStage,
    Synced,
    advance,
    desired,
    is_termination_requested,
    kill_requested,
)
from actors.pod_rules.restart_all import without_rules
from actors.pod_status.api_status import Forced
from actors.pod_status.conditions import FAILED, TERMINAL
from config.objects import Pod
from config.pods.identity import has_ended, is_static
from config.pods.requests import has_disk_limits
from config.pods.resource_claims import has_claims
from runtime.cri import CriError
from runtime.cri.torn_network import with_way_out
from runtime.metrics.measured_passes import PassMeters

_OPERATIONS = {
    PodStage.SYNCING: "sync",
    PodStage.TERMINATING: "terminating",
    PodStage.TERMINATED: "terminated",
    PodStage.FINISHED: "terminated",
}

SECOND_NS = 1_000_000_000
TOLD_AGAIN_NS = SECOND_NS
RETRY_NS = 10 * SECOND_NS
RETRY_JITTER = 0.5
"""A failed pass is retried after this, plus up to half of it (spec 2.1)."""

_GO_ON = LookAgain(runtime=False)
_GATHER = "gather"
_NEXT_PASS_TIMERS: frozenset[Hashable] = frozenset({"look", "retry", _GATHER})
"""Timers that any pass makes needless."""
_ENDED = (PodStage.TERMINATED, PodStage.FINISHED)
"""No container runs; only cleaning up is left."""


class AskAgain(Message, frozen=True):
    """To itself: messages were lost; ask their senders to repeat them."""


class PodWorker(PodActor):
    """See the module. `orphan` is set for a pod that only the runtime knows."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS
    rests_unasked: ClassVar[bool] = True  # an idle pod costs nothing: its worker is told of every change

    parts = part(PodParts)
    end = part(PodEnd)

    def __init__(self, uid: str, services: PodServices, orphan: RuntimePod | None) -> None:
        super().__init__()
        self._uid = uid
        self._services = services
        self._orphan = orphan
        self.parts = parts = PodParts(self, uid, services, orphan)
        self._view = parts.view
        self._sync = PodSync(parts)
        self.end = PodEnd(parts)
        self._last_trouble = ""
        self._has_turn = services.node.starts_at_once > 0
        self._given_back_ns: int | None = None
        self._rests_until_ns = 0
        """Until then a large pod gathers news for its next pass; 0: it does not."""
        self._explains_soon = False
        self._measures = PassMeters(services.meters)
        self._traces = None if services.tracer is None else PassTraces(services.tracer)

    def on_start(self) -> None:
        if RUNNER in self.children:
            self.parts.probes.runner_outlived(self.children[RUNNER])
        if self._orphan is not None:
            self.parts.history.named(self._orphan.namespace, self._orphan.name)
            self.meet(Orphaned())
            self._look_soon()
        self._say_started()

    def _say_started(self) -> None:
        services, started = self._services, PodWorkerStarted(self._uid, self.ref)
        services.pleg.tell(started)
        services.container_gc.tell(started)

    @handles(AnnounceYourself)
    def announce(self, _: AnnounceYourself) -> None:
        self._given_back_ns = None
        services = self._services
        self._say_started()
        self.ask_again(AskAgain())
        self._tell_if_spent()
        if self._view.life.stage is PodStage.FINISHED:
            services.sync_loop.tell(PodFinished(self._uid))
        self.parts.references.announce()

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Lost messages are unknown: look at everything, and ask for repeats when the mailbox has drained."""
        self.after(TOLD_AGAIN_NS, AskAgain(), key="ask again")
        self.parts.calls.forget_ended()
        self._look_soon()

    @handles(AskAgain)
    def ask_again(self, _: AskAgain) -> None:
        """Announce the worker: the others answer with all that they have told it."""
        started = PodWorkerStarted(self._uid, self.ref)
        self._services.sync_loop.tell(started)
        self._services.resources.tell(started)

    # --- what is desired --------------------------------------------------------------------------------------------

    def meet(self, event: Event) -> None:
        step = advance(self._view.life, event, self.wall_ns())
        self._view.life = step.life
        self.parts.history.moved(event, step)

    @handles(SyncPod)
    def desired(self, message: SyncPod) -> Pass | None:
        if message.runtime is not None:
            self.runtime_observed(message.runtime)
        if message.nothing_begun:
            self.parts.observer.nothing_begun()
        pod = self._view.pod = self.parts.resize.given(self._as_this_node_reads_it(message.pod))
        self.parts.history.named(pod.metadata.namespace, pod.metadata.name)
        if self._traces is not None:
            self._traces.updated()
        before = self._view.life.stage
        self.meet(desired(pod))
        self._tell_if_spent()
        if self._services.eviction is not None and has_disk_limits(pod.spec):
            self._services.eviction.tell(LimitedPodSeen())
        if self._view.life.stage is PodStage.SYNCING:
            self.parts.references.pod_desired(pod)
            if message.around is not None:
                self.parts.references.around_told(pod, message.around)
            self.parts.leases.pod_desired(pod)
        # Each status that we write comes back here. What others write into the status matters only to a pod with
        # readiness gates, and to one whose claims are made for it.
        is_news = message.operation is not Operation.RECONCILE or before is not self._view.life.stage
        return self.go_on() if is_news or bool(pod.spec.readiness_gates) or has_claims(pod) else None

    def _as_this_node_reads_it(self, pod: Pod) -> Pod:
        """The pod without fields whose feature gate is off on this node."""
        return pod if self._services.node.rules.restart_all else without_rules(pod)

    @handles(TerminatePod)
    def terminate(self, message: TerminatePod) -> Pass | None:
        """End the pod, or end it faster. The order has cancelled a waiting pass."""
        if message.pod is not None:
            self._view.pod = self.parts.resize.given(self._as_this_node_reads_it(message.pod))
            self.parts.resize.ask()
            self.parts.history.named(message.pod.metadata.namespace, message.pod.metadata.name)
        pod = self._view.pod
        if pod is not None and pod.metadata.deletion_timestamp is not None:
            self.meet(desired(pod))
        if message.removed or message.grace_seconds is not None or message.evicted or not self._view.life.deleted:
            self.meet(
                kill_requested(
                    pod,
                    grace_seconds=message.grace_seconds,
                    removed=message.removed,
                    evicted=message.evicted,
                    reason=message.reason,
                    message=message.message,
                )
            )
        if (message.evicted or message.reason) and not self._is_over():
            self._view.forced = Forced(FAILED, message.reason, message.message, message.disrupted)
        return self.go_on()

    @handles(PodCameBack)
    def came_back(self, _: PodCameBack) -> None:
        pod = self._view.pod
        if pod is not None and is_termination_requested(self._view.life):
            self.meet(desired(pod, created=True))

    def _is_over(self) -> bool:
        """Whether the phase is final: an order to end the pod then leaves the status unchanged."""
        pod, published = self._view.pod, self._view.published
        shown = published if published is not None or pod is None else pod.status
        return shown is not None and shown.phase in TERMINAL

    # --- looking ----------------------------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        """Look at everything: anything may have changed."""
        self.ref.tell(LookAgain())

    def go_on(self) -> Pass | None:
        """Begin a pass, or if more messages wait, send a message to itself that will.

        A large pod rests between two passes. The last look at the runtime stays valid, except for what is in doubt.
        """
        if self._rests_until_ns and (left_ns := self._rests_until_ns - self.now_ns()) > 0:
            self.after(left_ns, _GO_ON, key=_GATHER)
            return None
        if self.has_mail():
            self.ref.tell(_GO_ON)
            return None
        return self.look(_GO_ON)

    def go_on_soon(self) -> None:
        if pause_ns := rest_ns(self._view.containers()):
            self.after(pause_ns, _GO_ON, key=_GATHER)
        else:
            self.ref.tell(_GO_ON)

    @handles(RuntimeTold)
    def runtime_told(self, message: RuntimeTold) -> Pass | None:
        """The runtime reports a change.

        A pod whose containers have ended ignores it: the collector reports when the remains are gone.
        """
        is_news = self.parts.observer.told(message.shown)
        return self.go_on() if is_news and self._view.life.stage not in _ENDED else None

    @handles(LookAgain)
    async def look(self, message: LookAgain) -> None:
        """Make one pass: do the work of the stage, again while that leads to another stage."""
        self.cancel_timers(_NEXT_PASS_TIMERS)
        if message.runtime:
            self.parts.observer.doubt_all()
        began, began_ns = self._view.life.stage, self.now_ns()
        failed: PodWait | None = None
        outcome: Outcome = CONTINUE
        try:
            outcome = await self._do_what_the_stage_asks()
            retry_ns = self._retry_after(outcome)
        except (CriError, DeadlineExceededError) as failure:
            self._say_trouble(failure)
            retry_ns = int(RETRY_NS * (1 + RETRY_JITTER * self.chance.random()))
            text = f"a pass has failed: {with_way_out(failure)}"
            failed = PodWait("the pod", "FailedSync", text, "it is tried again", self.wall_ns() + retry_ns)
        if retry_ns is not None:
            # Use a timer of its own: the pass may have set one that is due sooner.
            self.after(retry_ns, LookAgain(), key="retry")
        if pause_ns := rest_ns(self._view.containers()):
            self._rests_until_ns = self.now_ns() + pause_ns
        self._measures.passed(_OPERATIONS.get(began), self._view.pod, self.now_ns() - began_ns, self.wall_ns)
        self._tell_waits(failed)
        if self._has_turn and (failed is not None or self._has_started_or_waits(outcome)):
            self._has_turn = False
            self._services.sync_loop.tell(StartOver(self._uid, failed is None and self._view.has_started()))

    def _has_started_or_waits(self, outcome: Outcome) -> bool:
        """Whether the pod has started, or waits for something of its own that may take long."""
        return self._view.has_started_or_waits() or may_take_long(outcome) or self.parts.containers.images.are_pulled

    def _retry_after(self, outcome: Outcome) -> int | None:
        """When the next pass begins at the latest; None: something must happen first."""
        if not isinstance(outcome, Continue) and outcome.retry_ns is not None:
            return outcome.retry_ns
        self._last_trouble = ""
        return None if self._view.life.stage in _ENDED else self.parts.observer.behind_for_ns()

    def explain(self) -> None:
        pause_ns = rest_ns(self._view.containers())
        if pause_ns == 0:
            self._tell_waits(None)
        elif not self._explains_soon:
            self._explains_soon = True
            self.after(pause_ns, ExplainWaits())

    @handles(ExplainWaits)
    def explain_waits(self, message: ExplainWaits) -> None:
        self._explains_soon = False
        self._tell_waits(None)

    def _tell_waits(self, failed: PodWait | None) -> None:
        """Tell the history what the pod waits for now. `failed`: the wait after a failed pass."""
        history = self.parts.history
        if failed is not None:
            history.waits((failed,))
        else:
            history.waits(self._sync.waits() if self._view.life.stage is PodStage.SYNCING else self.end.waits())
        history.tell()

    async def _do_what_the_stage_asks(self) -> Outcome:
        """Returns the outcome in the last stage that was reached. Raises CriError."""
        before: PodStage | None = None
        outcome: Outcome = CONTINUE
        while before is not (stage := self._view.life.stage):
            before = stage
            if stage is PodStage.SYNCING:
                outcome = await self._traced("syncPod", self._sync.sync())
                if self._sync.is_over:
                    self.meet(Synced(terminal=True))
            elif stage is PodStage.TERMINATING:
                outcome = await self._traced("syncTerminatingPod", self.end.terminate())
                if outcome is CONTINUE:
                    self.meet(ContainersStopped())
            elif stage is PodStage.TERMINATED:
                outcome = await self._traced("syncTerminatedPod", self._clean_up())
            elif stage is PodStage.FINISHED:
                outcome = await self.end.remove_remains()
                # An evicted pod may have nothing left either, but it is still desired: it must not begin anew.
                if outcome is CONTINUE and self._view.life.deleted:
                    if self._view.life.runtime_only:
                        self._give_back()  # an earlier agent may have allocated something to it
                    self.parts.history.over()
                    self.stop()
        return outcome

    def _traced(self, name: str, coroutine: Coroutine[Any, Any, Outcome]) -> Coroutine[Any, Any, Outcome]:
        return coroutine if self._traces is None else self._traces.follow(name, self._view.pod, coroutine)

    async def _clean_up(self) -> Outcome:
        self._give_back()
        self.parts.resize.ended()
        self.parts.look.publish_final()
        outcome = await self.end.clean_up()
        if outcome is CONTINUE:
            self.meet(CleanedUp())
            self.parts.references.release()
            self.parts.leases.release(self._uid)
            self.parts.sandbox.users.release(self._uid, self._view.pod)
            self._services.status_manager.tell(PodFinished(self._uid))
            if not self._view.life.deleted:  # otherwise FINISHED, which is next, ends the worker
                self._services.sync_loop.tell(PodFinished(self._uid))
            self._tell_if_spent()
        return outcome

    def _tell_if_spent(self) -> None:
        """Tell the collector that the API shows the end of the pod: until then only its containers show it."""
        pod = self._view.pod
        if self._view.life.stage is PodStage.FINISHED and pod is not None and has_ended(pod) and not is_static(pod):
            self._services.container_gc.tell(PodFinished(self._uid))

    def _give_back(self) -> None:
        """Free what the node had allocated to the pod. Told once, and again to actors that have restarted."""
        if self._given_back_ns is None or self.now_ns() - self._given_back_ns >= RETRY_NS:
            self._given_back_ns = self.now_ns()
            services, released = self._services, AllocationReleased(self._uid)
            services.resources.tell(released)
            services.sync_loop.tell(released)
            if services.cgroups is not None:
                services.cgroups.tell(released)

    def _say_trouble(self, failure: Exception) -> None:
        """Record an event for each new failure, not for each retry; none while the whole runtime is away."""
        text = str(failure)
        if text == self._last_trouble or self._view.runtime.error:
            return
        self._last_trouble = text
        self.log.warning("pod %s: %s", self._view.name, text)
        if self._view.pod is not None and (said := failed_sync_text(failure)):
            self._services.events.tell(pod_event(self._view.pod, "Warning", "FailedSync", said))

    @handles(RuntimeStateObserved)
    def runtime_observed(self, message: RuntimeStateObserved) -> None:
        before = self._view.runtime
        if message.is_outdated_by(before):  # a newer one has taken the place of one that waited before it
            return
        self._view.runtime_observed(message)
        is_back = before.error and not message.error
        if is_back or (before.network_error and not message.network_error):
            self._look_soon()

    # --- who was asked, or told, has restarted ----------------------------------------------------------------------

    @handles(RenewVolumes)
    def renew_volumes(self, _: RenewVolumes) -> Pass | None:
        """Renew the volumes. A pod that ends asks again for their release instead."""
        if self._view.life.stage is PodStage.SYNCING:
            self.parts.volumes.renew()
            return None
        return self.end.release_again()

    @handles(CollectorStarted)
    def collector_started(self, _: CollectorStarted) -> Pass | None:
        self._tell_if_spent()
        return self.end.collect_again()

    @handles(HistorianStarted)
    def tell_history_anew(self, _: HistorianStarted) -> Pass | None:
        self.parts.history.anew()
        return self.go_on()

    @handles(StatusManagerStarted)
    def publish_again(self, _: StatusManagerStarted) -> None:
        if self._view.published is not None:
            finished = self._view.life.stage is PodStage.FINISHED
            self._view.publish_again(finished or self._view.final)
            if finished:
                self._services.status_manager.tell(PodFinished(self._uid))
