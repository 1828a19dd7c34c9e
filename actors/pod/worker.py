"""`PodWorker`: one pod, from its first sync to its last trace.

The worker walks the state machine of `pod_lifecycle` and decides nothing itself: what to do next is computed by
`pod_actions`, what to show by `pod_status`, how a container is configured by `start`. A pass looks at what may have
changed in the runtime, computes, does one short verb after another, and publishes what came of it (`pod_sync`,
`pod_end`). What takes long (pulls, volumes, collecting the remains) is asked of other actors. Their answer is a reason
for one more pass, which follows in the same turn unless more waits already; then one pass serves for all of it. Only
after the word of the node that it takes the pod there is none: its volumes are next, whatever a pass would find.

A pass that waits for the runtime is cancelled by the order to end the pod; what it had begun is remembered
(`pod_deeds`).

Everything a worker knows can be found again by looking: it may be restarted at any time, and so may the agent.
"""

from __future__ import annotations

from collections.abc import Coroutine, Hashable
from typing import Any, ClassVar, TypeAlias

from actors.kernel import Actor, DeadlineExceededError, MailboxOverflowed, Message, handles
from actors.messages.admission import AdmissionWaits, AllocationReleased, PodAdmitted, PodRejected, PodTurnedAway
from actors.messages.events import pod_event
from actors.messages.history import HistorianStarted, PodWait
from actors.messages.ids import IdsAssigned
from actors.messages.images import ImagePulled, ImagePullFailed, ImagesLeased, PullWaits
from actors.messages.pods import (
    AnnounceYourself,
    CollectorStarted,
    LookAgain,
    Operation,
    PodCollected,
    PodWorkerStarted,
    RuntimePod,
    RuntimeStateObserved,
    RuntimeTold,
    SyncPod,
    TerminatePod,
)
from actors.messages.probes import ProbeRunnerStarted, ProbesJudged
from actors.messages.references import ObjectsChanged, ObjectsRead, RuntimeClassRead, SurroundingsRead
from actors.messages.status import PodFinished, StatusManagerStarted
from actors.messages.volumes import RenewVolumes, SubPathsPrepared, VolumesPrepared, VolumesReleased
from actors.pod.container_stops import EndNoted, StopEnded
from actors.pod.deeds import DeedEnded
from actors.pod.end import PodEnd
from actors.pod.hook_rules import HookKind
from actors.pod.hook_runner import HookEnded, HookTimeIsUp
from actors.pod.measures import WorkerMeasures
from actors.pod.probes import PodProbes
from actors.pod.references import PodReferences
from actors.pod.services import PodServices
from actors.pod.show import PodShow
from actors.pod.sync import PodSync
from actors.pod.view import PodView, Question, RetryLaterError
from actors.pod_rules.lifecycle import (
    BEGINNING,
    CleanedUp,
    ContainersStopped,
    Event,
    Orphaned,
    PodStage,
    Synced,
    advance,
    desired,
    kill_requested,
)
from actors.pod_rules.restart_all import without_rules
from actors.pod_status.api_status import Forced
from actors.pod_status.phase import FAILED, TERMINAL
from config.objects import Pod
from config.pods.identity import has_ended, is_static
from runtime.cri import CriError
from runtime.metrics import kubelet as names

Pass: TypeAlias = Coroutine[Any, Any, None]
SECOND_NS = 1_000_000_000
TOLD_AGAIN_NS = SECOND_NS
RETRY_NS = 10 * SECOND_NS
RETRY_JITTER = 0.5
"""A pass that failed is tried again after this, plus up to half of it (spec 2.1)."""


_GO_ON = LookAgain(runtime=False)
_TRIED_AGAIN: frozenset[Hashable] = frozenset({"look", "retry"})
"""Timers for the next pass that any pass makes needless."""
_ENDED = (PodStage.TERMINATED, PodStage.FINISHED)
"""All containers have, and what is left is to be cleaned away."""


class AskAgain(Message, frozen=True):
    """To itself: messages were lost; ask those who told them."""


class PodWorker(Actor):
    """See the module. `orphan` is set for a pod that only the runtime knows."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS
    rests_unasked: ClassVar[bool] = True  # an idle pod costs nothing, and whatever happens to it is told its worker

    def __init__(self, uid: str, services: PodServices, orphan: RuntimePod | None) -> None:
        super().__init__()
        self._uid = uid
        self._services = services
        self._orphan = orphan
        self._life = BEGINNING
        self._view = PodView(self, uid, services, orphan)
        self._probes = PodProbes(self, services)
        self._show = PodShow(self, services, self._view, self._probes)
        self._references = PodReferences(self, services, self._view)
        self._sync = PodSync(self, services, self._view, self._show, self._references, self._probes)
        self._end = PodEnd(self, services, self._view, self._show, Question(self, "release"), Question(self, "collect"))
        self._runtime = RuntimeStateObserved("", "")
        self._last_trouble = ""
        self._given_back_ns: int | None = None
        self._measures = WorkerMeasures(services.meters)

    def on_start(self) -> None:
        self._probes.start()
        if self._orphan is not None:
            self._view.history.named(self._orphan.namespace, self._orphan.name)
            self._meet(Orphaned())
            self._look_soon()
        self._say_started()

    def on_stop(self) -> None:
        """Its parts know it and each other; they let go, so that the memory of all of it is free at once, for the next
        pod, and not when somebody looks for rings. Who still holds one of them has no more to tell anybody.
        """
        self._view.let_go()
        self._sync.let_go()
        self._references.let_go()
        del self._view, self._probes, self._show, self._references, self._sync, self._end

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
        if self._life.stage is PodStage.FINISHED:
            services.sync_loop.tell(PodFinished(self._uid))
        self._references.announce()

    @handles(MailboxOverflowed)
    def overflowed(self, _: MailboxOverflowed) -> None:
        """Nobody knows what was lost: all is told again, when the crowd has gone, and looked at."""
        self.after(TOLD_AGAIN_NS, AskAgain(), key="ask again")
        self._view.deeds.forget_ended()
        self._look_soon()

    @handles(AskAgain)
    def ask_again(self, _: AskAgain) -> None:
        """Whoever has told something answers this with it."""
        started = PodWorkerStarted(self._uid, self.ref)
        self._services.sync_loop.tell(started)
        self._services.resources.tell(started)

    # --- what is desired --------------------------------------------------------------------------------------------

    def _meet(self, event: Event) -> None:
        step = advance(self._life, event, self.wall_ns())
        self._life = step.life
        self._view.history.moved(event, step)

    @handles(SyncPod)
    def desired(self, message: SyncPod) -> Pass | None:
        if message.runtime is not None:
            self.runtime_state(message.runtime)
        pod = self._view.pod = self._as_this_node_reads_it(message.pod)
        self._view.history.named(pod.metadata.namespace, pod.metadata.name)
        before = self._life.stage
        self._meet(desired(pod))
        self._tell_if_spent()
        if self._life.stage is PodStage.SYNCING:
            self._references.pod_desired(pod)
            if message.around is not None:
                self._references.around_told(pod, message.around)
            self._sync.leases.pod_desired(pod)
        # What others write into the status is a reason to look only where our part depends on it: the echo of
        # every status that we have written comes by here.
        is_news = message.operation is not Operation.RECONCILE or before is not self._life.stage
        return self._go_on() if is_news or bool(pod.spec.readiness_gates) else None

    def _as_this_node_reads_it(self, pod: Pod) -> Pod:
        """Without what a feature gate of this node has switched off."""
        return pod if self._services.node.rules.restart_all else without_rules(pod)

    @handles(TerminatePod)
    def terminate(self, message: TerminatePod) -> Pass | None:
        """The order to end the pod, or to end it faster. It has cancelled the pass that was waiting."""
        if message.pod is not None:
            self._view.pod = self._as_this_node_reads_it(message.pod)
            self._view.history.named(message.pod.metadata.namespace, message.pod.metadata.name)
        pod = self._view.pod
        if pod is not None and pod.metadata.deletion_timestamp is not None:
            self._meet(desired(pod))
        if message.removed or message.grace_seconds is not None or message.evicted or not self._life.deleted:
            self._meet(
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
        return self._go_on()  # what is known to run is asked to stop at once; the look comes with its end

    def _is_over(self) -> bool:
        """Its phase is final, whatever of it is still to be taken down: an order to end it says nothing of that."""
        pod, published = self._view.pod, self._view.published
        shown = published if published is not None or pod is None else pod.status
        return shown is not None and shown.phase in TERMINAL

    # --- looking ----------------------------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        """At everything: nobody knows what may be different."""
        self.ref.tell(LookAgain())

    def _go_on(self) -> Pass | None:
        """A pass, because something has come or was told: as the rest of the handler that returns it, or, where more
        waits already, one for all of that. What has been seen of the runtime holds, but for what is in doubt.
        """
        if self.has_mail():
            self.ref.tell(_GO_ON)
            return None
        return self.look(_GO_ON)

    def _look_in(self, ns: int) -> None:
        """Beside the alarm of a back-off that the same pass may have set, which may be due sooner."""
        self.after(ns, LookAgain(), key="retry")

    @handles(RuntimeTold)
    def runtime_told(self, message: RuntimeTold) -> Pass | None:
        """Of a pod whose containers have ended only the remains are there, and whoever collects them says when."""
        is_news = self._view.observer.told(message.shown)  # it counts there, whether somebody looks or not
        return self._go_on() if is_news and self._life.stage not in _ENDED else None

    @handles(LookAgain)
    async def look(self, message: LookAgain) -> None:
        """One pass: do what the state of the pod asks for, and go on as long as that changes the state."""
        self.cancel_timers(_TRIED_AGAIN)
        if message.runtime:
            self._view.observer.doubt_all()
        failed: PodWait | None = None
        began, began_ns = self._life.stage, self.now_ns()
        try:
            await self._do_what_the_stage_asks()
        except RetryLaterError as later:
            self._look_in(later.after_ns)
        except (CriError, DeadlineExceededError) as failure:
            self._say_trouble(str(failure))
            retry_ns = int(RETRY_NS * (1 + RETRY_JITTER * self.chance.random()))
            self._look_in(retry_ns)
            text = f"a pass has failed: {failure}"
            failed = PodWait("the pod", "FailedSync", text, "it is tried again", self.wall_ns() + retry_ns)
        else:
            self._last_trouble = ""
            behind_ns = None if self._life.stage in _ENDED else self._view.observer.behind_for_ns()
            if behind_ns is not None:
                self._look_in(behind_ns)
        self._measures.passed(began, self._view.pod, self.now_ns() - began_ns, self.wall_ns)
        self._tell_history(failed)

    def _tell_history(self, failed: PodWait | None) -> None:
        """What this pass has found, and what is waited for now."""
        history, stage = self._view.history, self._life.stage
        if failed is not None:
            history.waits((failed,))
        elif stage is PodStage.SYNCING:
            history.waits(self._sync.waits())
        else:
            history.waits(self._end.waits(self._life))
        history.tell()

    async def _do_what_the_stage_asks(self) -> None:
        """As long as that leads to another stage."""
        before: PodStage | None = None
        while before is not (stage := self._life.stage):
            before = stage
            if stage is PodStage.SYNCING:
                if await self._sync.sync(self._life, self._runtime):
                    self._meet(Synced(terminal=True))  # else it is as desired, for now, which moves nothing
            elif stage is PodStage.TERMINATING:
                await self._end.terminate(self._life)
                self._meet(ContainersStopped())
            elif stage is PodStage.TERMINATED:
                self._give_back()
                self._show.publish_final()
                if self._end.failed:
                    await self._end.end_latecomers(self._life)
                if self._end.clean_up(self._life):
                    self._meet(CleanedUp())
                    self._references.release()
                    self._sync.leases.release(self._uid)
                    self._sync.users.release(self._uid, self._view.pod)
                    self._services.status_manager.tell(PodFinished(self._uid))
                    if not self._life.deleted:  # else its own end, which is next, says so
                        self._services.sync_loop.tell(PodFinished(self._uid))
                    self._tell_if_spent()
            elif stage is PodStage.FINISHED:
                if self._end.failed:
                    await self._end.end_latecomers(self._life)
                if self._end.nothing_is_left(self._life) and self._life.deleted:
                    # Of an evicted pod nothing is left either, but somebody desires it still: it must not begin anew.
                    if self._life.runtime_only:
                        self._give_back()  # an agent before may have promised it something
                    self._view.history.over()
                    self.stop()

    def _tell_if_spent(self) -> None:
        """Its containers may go before it does, once the API shows its end: till then they are all that tells of it."""
        pod = self._view.pod
        if self._life.stage is PodStage.FINISHED and pod is not None and has_ended(pod) and not is_static(pod):
            self._services.container_gc.tell(PodFinished(self._uid))

    def _give_back(self) -> None:
        """What the node had promised the pod is free. Told with the first pass, and again to whoever was restarted."""
        if self._given_back_ns is None or self.now_ns() - self._given_back_ns >= RETRY_NS:
            self._given_back_ns = self.now_ns()
            services, released = self._services, AllocationReleased(self._uid)
            services.resources.tell(released)
            services.sync_loop.tell(released)
            if services.cgroups is not None:
                services.cgroups.tell(released)

    def _say_trouble(self, text: str) -> None:
        """An event for each new trouble, not for each retry; none where the whole runtime is away."""
        if text == self._last_trouble or self._runtime.error:
            return
        self._last_trouble = text
        self.log.warning("pod %s: %s", self._view.name, text)
        if self._view.pod is not None:
            self._services.events.tell(
                pod_event(self._view.pod, "Warning", "FailedSync", f"error syncing pod, trying again: {text}")
            )

    # --- answers ----------------------------------------------------------------------------------------------------

    @handles(PodAdmitted)
    def admitted(self, message: PodAdmitted) -> Pass | None:
        waited = self._sync.admission.admitted(message)
        if waited and self._life.stage is PodStage.SYNCING and self._sync.goes_on_to_volumes():
            self._tell_history(None)
            return None
        return self._go_on() if waited else None

    @handles(PodRejected)
    def rejected(self, message: PodRejected) -> Pass | None:
        self._view.forced = self._sync.admission.rejected(message)
        self._services.meters.count(names.ADMISSION_REJECTIONS, message.reason)
        self._services.sync_loop.tell(PodTurnedAway(self._uid))
        self._view.say("Warning", message.reason, message.message)
        return self._go_on()

    @handles(AdmissionWaits)
    def admission_waits(self, message: AdmissionWaits) -> None:
        self._sync.admission_waits(message)
        self._tell_history(None)

    @handles(ObjectsRead)
    def objects_read(self, message: ObjectsRead) -> Pass | None:
        return self._go_on() if self._references.objects_read(message) else None

    @handles(SurroundingsRead)
    def surroundings_read(self, message: SurroundingsRead) -> Pass | None:
        return self._go_on() if self._references.surroundings_read(message) else None

    @handles(RuntimeClassRead)
    def runtime_class_read(self, message: RuntimeClassRead) -> Pass | None:
        return self._go_on() if self._references.runtime_class_read(message) else None

    @handles(ObjectsChanged)
    def objects_changed(self, _: ObjectsChanged) -> Pass | None:
        """What a container has waited for may be there now."""
        return self._go_on()

    @handles(ProbesJudged)
    def probes_judged(self, message: ProbesJudged) -> Pass | None:
        return self._go_on() if self._probes.judged(message) and self._life.stage not in _ENDED else None

    @handles(ProbeRunnerStarted)
    def probe_runner_started(self, _: ProbeRunnerStarted) -> None:
        self._probes.runner_started()

    @handles(IdsAssigned)
    def ids_assigned(self, message: IdsAssigned) -> Pass | None:
        self._sync.users.assigned(message)
        return self._go_on()

    @handles(ImagesLeased)
    def images_leased(self, message: ImagesLeased) -> Pass | None:
        return self._go_on() if self._sync.leases.leased(message) else None

    @handles(PullWaits)
    def pull_waits(self, message: PullWaits) -> None:
        self._sync.starts.pull_waits(message)
        self._tell_history(None)

    @handles(ImagePulled)
    def image_pulled(self, message: ImagePulled) -> Pass | None:
        self._sync.starts.image_pulled(message)
        return self._go_on()

    @handles(ImagePullFailed)
    def image_pull_failed(self, message: ImagePullFailed) -> Pass | None:
        self._sync.starts.image_pull_failed(message)
        return self._go_on()

    @handles(VolumesPrepared)
    def volumes_prepared(self, message: VolumesPrepared) -> Pass | None:
        return self._go_on() if self._sync.volumes.prepared(message) else None

    @handles(SubPathsPrepared)
    def sub_paths_prepared(self, message: SubPathsPrepared) -> Pass | None:
        self._sync.starts.mounts.sub_paths.prepared(message)
        return self._go_on()

    @handles(RenewVolumes)
    def renew_volumes(self, _: RenewVolumes) -> Pass | None:
        # Of a pod that ends nothing is renewed: it could come after the order to remove all, which is given again.
        if self._life.stage is PodStage.SYNCING:
            self._sync.volumes.renew()
            return None
        return self._go_on() if self._end.release_again() else None

    @handles(VolumesReleased)
    def volumes_released(self, message: VolumesReleased) -> Pass | None:
        self._end.volumes_released(message)
        return self._go_on()

    @handles(CollectorStarted)
    def collector_started(self, _: CollectorStarted) -> Pass | None:
        self._tell_if_spent()
        return self._go_on() if self._end.collect_again() else None

    @handles(PodCollected)
    def pod_collected(self, message: PodCollected) -> Pass | None:
        self._end.pod_collected(message)
        return self._go_on()

    @handles(DeedEnded)
    def deed_ended(self, message: DeedEnded) -> None:
        self._view.deeds.ended(message.name)
        self._look_soon()

    @handles(HookEnded, HookTimeIsUp)
    def hook_ended(self, message: HookEnded | HookTimeIsUp) -> Pass | None:
        if message.kind is HookKind.PRE_STOP:
            self._view.stops.hook_ended(message)
        else:
            self._view.post_starts.ended(message)
        return self._go_on()

    @handles(EndNoted)
    def end_noted(self, message: EndNoted) -> None:
        self._view.stops.end_noted(message)
        self._tell_history(None)

    @handles(StopEnded)
    def stop_ended(self, message: StopEnded) -> Pass | None:
        self._view.stops.stop_ended(message)
        # The runtime tells of this end too; who has seen it by then need not be told.
        return self._go_on() if self._view.stops.busy() else self.look(_GO_ON)

    @handles(HistorianStarted)
    def tell_history_anew(self, _: HistorianStarted) -> Pass | None:
        self._view.history.anew()
        return self._go_on()

    @handles(StatusManagerStarted)
    def publish_again(self, _: StatusManagerStarted) -> None:
        if self._view.published is not None:
            finished = self._life.stage is PodStage.FINISHED
            self._view.publish_again(finished or self._view.final)
            if finished:
                self._services.status_manager.tell(PodFinished(self._uid))

    @handles(RuntimeStateObserved)
    def runtime_state(self, message: RuntimeStateObserved) -> None:
        better = (self._runtime.error and not message.error) or (
            self._runtime.network_error and not message.network_error
        )
        self._runtime = message
        self._show.runtime_described(message)
        if better:
            self._look_soon()
