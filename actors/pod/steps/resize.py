"""Step: a pod that asks for other resources than it has gets them while it runs (spec 10.16).

The node decides (`ResourceManagerActor`). Until then the pod keeps the resources that the node has given it, and its
status shows a pending resize. What was given is carried out in four stages:

1. The cgroup of the pod gets room for its containers as they are and as they will be.
2. Running containers are updated one after the other, or restart.
3. The cgroup gets its own bounds.
4. The runtime shows the new numbers.

A failure is shown in the status and tried again. The next life of the worker or of the agent goes on where this one
was.
"""

from __future__ import annotations

import enum

import msgspec

from actors.kernel import handles
from actors.messages.admission import (
    CgroupResized,
    PodAllocated,
    ResizeCgroup,
    ResizeDecided,
    ResizePod,
    ResourcesActuated,
)
from actors.messages.history import PodWait
from actors.messages.pods import LookAgain
from actors.model.kubelet_records import record_from
from actors.model.observed import ObservedPod
from actors.model.pod_resources import PodResources, resources_of, same_resources, with_resources
from actors.pod.one_pass import CONTINUE, Outcome, PodPass
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.resize_calls import ResizeCalls, ResizeError
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.steps.admitted import PodAdmission
from actors.pod.steps.cpus import PodCpus
from actors.pod.view import PodView, Question
from actors.pod_rules.resize import (
    NOT_PINNED,
    ResizePlan,
    Told,
    Update,
    actuated,
    may_have,
    not_in_force,
    resize_plan,
    restored,
)
from actors.pod_rules.resize_words import (
    COMPLETED,
    DEFERRED,
    ERROR,
    INFEASIBLE,
    STARTED,
    generation_shown,
    resize_message,
    since_shown,
)
from actors.pod_status.conditions import RESIZE_IN_PROGRESS, RESIZE_PENDING, ResizeCondition
from actors.resources.read_ahead import read_ahead
from config.objects import Pod, PodSpec
from runtime.cri import CriError
from runtime.cri.messages import LinuxContainerResources
from runtime.metrics import kubelet as names

SECOND_NS = 1_000_000_000
RETRY_NS = 10 * SECOND_NS
SHOWN_NS = SECOND_NS
"""The runtime is asked again after this whether it shows the new numbers."""
LOOKS_AT_MOST = 10
"""After so many looks the runtime is told the resources again."""
QUIET_TRIES = 4
"""So often narrower bounds may be refused unseen: cgroup v1 counts a container just ended."""
NOBODY_KNOWS = LinuxContainerResources()
"""Stands for the numbers of the whole pod that an earlier life told the runtime.

They are unknown, so the runtime is told again.
"""
NOT_SHOWN = "the runtime was told the new resources and shows others"
NEVER = "Infeasible"


class Stage(enum.Enum):
    """How far the present resize has come; the value is for people."""

    BEGUN = "the cgroup of the pod is to be widened"
    WIDENING = "the cgroup of the pod is being widened"
    UPDATING = "its containers are being resized"
    NARROWING = "the cgroup of the pod gets its bounds"
    SHOWING = "the runtime does not show the new resources yet"


class _Progress(msgspec.Struct):
    """A resize that was granted. `generation`: of the pod that asked for it."""

    generation: int | None
    since_ns: int
    stage: Stage = Stage.BEGUN
    error: str = ""
    retry_at_ns: int = 0
    checked: bool = False
    """Whether no memory in use is more than a new limit."""
    whole: LinuxContainerResources | None = None
    """The resources of the whole pod that the runtime was told since the resize began."""
    looks: int = 0
    """How often the runtime did not show the new numbers."""
    refusals: int = 0
    """How often the narrower bounds were refused."""


class PodResize:
    def __init__(
        self,
        worker: PodActor,
        services: PodServices,
        view: PodView,
        observer: PodObserver,
        calls: PodCalls,
        admission: PodAdmission,
        cpus: PodCpus | None = None,
    ) -> None:
        self._cpus = cpus
        self._worker = worker
        self._services = services
        self._view = view
        self._observer = observer
        self._calls = calls
        self._runtime = ResizeCalls(worker, services.cri)
        self._admission = admission
        self._question = Question(worker, "resize")
        self._desired: Pod | None = None
        """The pod as it asks."""
        self._first: PodSpec | None = None
        """Its spec when the worker was told of it."""
        self._given: PodResources | None = None
        """What the node has given it; None: what it asked for at first."""
        self._earlier: PodResources | None = None
        """What an earlier life has told the runtime, until the first look."""
        self._pending: ResizeDecided | None = None
        self._progress: _Progress | None = None
        self._decided_for: Pod | None = None
        """The form of the pod that was decided on last."""

    # --- the form of the pod ----------------------------------------------------------------------------------------

    def given(self, pod: Pod) -> Pod:
        """The pod with the resources that the node has given it. `pod`: as it asks."""
        self._desired = pod
        if self._first is None:
            self._first = pod.spec
            self._view.told = Told(whole=pod.spec.resources)
        if self._given is None and pod.spec is self._first:
            return pod
        current = self._view.pod
        changed = with_resources(pod, self._has())
        if changed is not pod and current is not None and changed.spec == current.spec:
            return msgspec.structs.replace(changed, spec=current.spec)  # facts about a spec are found by its identity
        return changed

    def _has(self) -> PodResources:
        """The resources that the node has given the pod: at first those in its spec."""
        if self._given is None:
            assert self._first is not None, "the worker was told its pod"
            self._given = resources_of(self._first)
        return self._given

    @handles(PodAllocated)
    def allocated(self, message: PodAllocated) -> Pass | None:
        """An earlier life has resized the pod, or has not come to the end of it."""
        if self._desired is None:
            return None
        resources, actuated = message.resources, message.actuated
        self._given, self._earlier, self._decided_for = resources, actuated, None
        self._view.pod = self.given(self._desired)
        if self._progress is None and not same_resources(resources, actuated):
            self._begin(generation_shown(self._view.pod, RESIZE_IN_PROGRESS), NOBODY_KNOWS)
        self._show()
        return self._worker.go_on()

    # --- the decision -----------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask the node for what the pod asks for, once for each form of the pod."""
        desired = self._desired
        if desired is None:
            return
        if not self._is_undecided(desired):
            self._decided_for = desired
        elif self._question.may_ask():
            since_s = since_shown(desired, RESIZE_PENDING)
            read_ahead(desired, self._services.node.abilities)
            self._services.resources.tell(ResizePod(self._worker.ref, desired, since_s))

    def _is_undecided(self, desired: Pod) -> bool:
        """Whether the node has not decided on what the pod asks for."""
        if desired is self._decided_for or (self._given is None and desired.spec is self._first):
            return False
        return self._pending is not None or not same_resources(resources_of(desired.spec), self._has())

    @handles(ResizeDecided)
    def decided(self, message: ResizeDecided) -> Pass | None:
        self._question.answered()
        desired = self._desired
        if desired is None or desired.metadata.generation != message.generation:
            return self._worker.go_on()  # it asks for something else by now
        self._decided_for = desired
        if message.reason:
            if self._pending is None or _news_of(message) != _news_of(self._pending):
                event = INFEASIBLE if message.reason == NEVER else DEFERRED
                text = resize_message(message.reason, desired, message.generation, message.message)
                self._view.say("Warning", event, text)
            self._pending = message
        else:
            self._pending = None
            if not same_resources(self._has(), message.resources):
                self._given = message.resources
                self._view.pod = self.given(desired)
                self._begin(message.generation)
                self._view.say("Normal", STARTED, resize_message("started", desired, message.generation))
        self._show()
        return self._worker.go_on()

    def _begin(self, generation: int | None, whole: LinuxContainerResources | None = None) -> None:
        """Begin to carry out the granted resources. A resize under way starts again from its current state."""
        if self._progress is None:
            self._services.meters.add(names.RESIZES_IN_PROGRESS, 1)
        else:
            whole = self._progress.whole
        self._progress = _Progress(generation, self._worker.now_ns(), whole=whole)

    # --- carrying it out --------------------------------------------------------------------------------------------

    async def step(self, this: PodPass) -> Outcome:
        """Go on as far as possible now. A failure holds up nothing else of the pass."""
        self.ask()
        if self._view.resizes is None and self._admission.is_answered:
            self._show()
        if self._earlier is not None:
            self._view.told = restored(this.pod, this.observed, self._earlier)
            self._earlier = None
            if self._view.told.unsure:
                self._tell_actuated(this.pod, this.observed, self._view.told)
        progress = self._progress
        if progress is None or self._worker.now_ns() < progress.retry_at_ns:
            return CONTINUE
        try:
            await self._go_on(this.pod, this.observed, progress)
        except (CriError, ResizeError) as failure:
            self._failed(progress, str(failure))
        self._show()
        return CONTINUE

    def restarts(self, pod: Pod, observed: ObservedPod) -> frozenset[str]:
        """Names of running containers that restart to be resized, once the cgroup has room for them."""
        if self._progress is None or self._progress.stage is not Stage.UPDATING:
            return frozenset()
        return self._plan(pod, observed).restarts

    def _plan(self, pod: Pod, observed: ObservedPod) -> ResizePlan:
        return resize_plan(
            pod, observed, self._view.told, self._services.node.rules.resources, self._without_quota(pod)
        )

    def _without_quota(self, pod: Pod) -> frozenset[str]:
        return NOT_PINNED if self._cpus is None else self._cpus.without_quota(pod)

    @property
    def _is_pinned(self) -> bool:
        return self._cpus is not None and self._cpus.is_pinned

    def _before(self, pod: Pod, observed: ObservedPod) -> Pod:
        """The pod with the resources that the runtime was told."""
        return with_resources(pod, actuated(pod, observed, self._view.told))

    async def _go_on(self, pod: Pod, observed: ObservedPod, progress: _Progress) -> None:
        """Raises CriError, ResizeError."""
        if progress.stage is Stage.BEGUN:
            await self._check_memory(pod, observed, progress, self._plan(pod, observed))
            await self._tell_sandbox(pod, observed, progress, both=True)
            before = with_resources(pod, may_have(pod, observed, self._view.told))
            self._resize_cgroup(progress, Stage.WIDENING, pod, before)
        if progress.stage is Stage.UPDATING:
            if self._calls.under_way() or not self._question.is_due():
                return  # its end, or the answer, begins the next pass
            plan = self._plan(pod, observed)
            await self._check_memory(pod, observed, progress, plan)
            for update in plan.updates:
                await self._update(pod, observed, update)
            if plan.done:
                await self._tell_sandbox(pod, observed, progress, both=False)
                self._view.told = self._view.told.after_all(pod.spec.resources)
                self._tell_actuated(pod, observed, self._view.told)
                self._resize_cgroup(progress, Stage.NARROWING, pod, None)
        if progress.stage is Stage.SHOWING:
            progress.error = NOT_SHOWN if progress.looks >= LOOKS_AT_MOST else ""
            self._finish_when_shown(pod, observed, progress)

    def _resize_cgroup(self, progress: _Progress, stage: Stage, pod: Pod, before: Pod | None) -> None:
        """Have the bounds of the cgroup written; the answer comes as a message."""
        progress.stage = stage
        if self._services.cgroups is not None:
            for form in (pod, before):
                if form is not None:
                    read_ahead(form, self._services.node.abilities)
            self._services.cgroups.tell(ResizeCgroup(self._worker.ref, pod, before, self._is_pinned))
        else:
            self.cgroup_resized(CgroupResized(before is not None))

    @handles(CgroupResized)
    def cgroup_resized(self, message: CgroupResized) -> Pass | None:
        progress = self._progress
        expected = Stage.WIDENING if message.wide else Stage.NARROWING
        if progress is None or progress.stage is not expected:
            return None
        if message.error:
            progress.stage = Stage.BEGUN if message.wide else Stage.UPDATING
            progress.refusals += not message.wide
            if message.wide or progress.refusals > QUIET_TRIES:
                self._failed(progress, message.error)
            else:
                self._try_again(progress, SECOND_NS)
        else:
            progress.stage = Stage.UPDATING if message.wide else Stage.SHOWING
        return self._worker.go_on()

    async def _check_memory(self, pod: Pod, observed: ObservedPod, progress: _Progress, plan: ResizePlan) -> None:
        """Raises CriError and ResizeError."""
        if not progress.checked:
            rules = self._services.node.rules.resources
            await self._runtime.check_memory(self._before(pod, observed), pod, observed, plan, rules)
            progress.checked = not plan.restarts

    async def _tell_sandbox(self, pod: Pod, observed: ObservedPod, progress: _Progress, *, both: bool) -> None:
        """Raises ResizeError."""
        before, rules = self._before(pod, observed), self._services.node.rules.resources
        if self._is_pinned:
            rules = msgspec.structs.replace(rules, cpu_quota=False)
        progress.whole = await self._runtime.tell_sandbox(before, pod, observed, progress.whole, rules, both=both)

    async def _update(self, pod: Pod, observed: ObservedPod, update: Update) -> None:
        """Raises CriError.

        The record leaves the container out until all is done. So the next life updates it in any case.
        """
        doubted = self._view.told.doubting([update.id])
        self._tell_actuated(pod, observed, doubted)
        try:
            await self._calls.update_container(update.container.name, update.attempt, update.id, update.resources)
        except CriError as failure:
            if failure.outcome_unknown:
                self._view.told = doubted
            raise
        self._view.told = self._view.told.after(update)
        self._worker.ref.tell(LookAgain(runtime=False))

    def _tell_actuated(self, pod: Pod, observed: ObservedPod, told: Told) -> None:
        self._services.resources.tell(ResourcesActuated(self._view.uid, record_from(actuated(pod, observed, told))))

    def _finish_when_shown(self, pod: Pod, observed: ObservedPod, progress: _Progress) -> None:
        if lacking := not_in_force(pod, observed, self._services.node.rules.resources, self._without_quota(pod)):
            for each in lacking:
                self._observer.doubt(each)
            self._worker.after(SHOWN_NS, LookAgain(runtime=False), key="resize shown")
            progress.looks += 1
            if progress.looks % LOOKS_AT_MOST == 0:
                progress.stage, progress.error, progress.checked = Stage.UPDATING, NOT_SHOWN, False
                self._view.told = self._view.told.doubting(lacking)
            return
        self._progress = None
        took_ms = (self._worker.now_ns() - progress.since_ns) / 1_000_000
        self._services.meters.observe(names.RESIZE_DURATION, took_ms, "true")
        self._services.meters.add(names.RESIZES_IN_PROGRESS, -1)
        self._view.say("Normal", COMPLETED, resize_message("completed", pod, progress.generation))

    def _failed(self, progress: _Progress, error: str) -> None:
        """Show the failure, and try again later. An event for each new one, not for each try."""
        self._try_again(progress, RETRY_NS)
        if error != progress.error and self._view.pod is not None:
            progress.error = error
            self._view.say("Warning", ERROR, resize_message("error", self._view.pod, progress.generation, error))
        self._show()

    def _try_again(self, progress: _Progress, after_ns: int) -> None:
        progress.checked = False
        progress.retry_at_ns = self._worker.now_ns() + after_ns
        self._worker.after(after_ns, LookAgain(runtime=False), key="resize retry")

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Update the conditions of the status.

        Until the first decision of this life, those of an earlier life stay: the pod may still wait for a resize.
        """
        if self._view.resizes is None and self._desired is not None and self._is_undecided(self._desired):
            return
        said: list[ResizeCondition] = []
        if (pending := self._pending) is not None:
            reason = NEVER if pending.reason == NEVER else "Deferred"
            said.append(ResizeCondition(RESIZE_PENDING, pending.generation, reason, pending.message))
        if (progress := self._progress) is not None:
            why = ("Error", progress.error) if progress.error else (None, None)
            said.append(ResizeCondition(RESIZE_IN_PROGRESS, progress.generation, *why))
        self._view.resizes = tuple(said)

    def waits(self) -> tuple[PodWait, ...]:
        """The waits of the resize, for `explain`."""
        found = []
        if (pending := self._pending) is not None:
            then = "it keeps what it has" if pending.reason == NEVER else "it is tried again when others give room"
            found.append(PodWait("its resize", pending.reason, pending.message, then))
        if (progress := self._progress) is not None:
            text = progress.error or progress.stage.value
            then = "it is tried again" if progress.error else "it goes on then"
            found.append(PodWait("its resize", "Error" if progress.error else "", text, then))
        return tuple(found)

    def ended(self) -> None:
        """Drop the progress: nothing of the pod runs any more."""
        if self._progress is not None:
            self._progress = None
            self._services.meters.add(names.RESIZES_IN_PROGRESS, -1)


def _news_of(pending: ResizeDecided) -> tuple[bool, int | None]:
    """What must change for another event about a waiting resize: a new message alone is no news."""
    return pending.reason == NEVER, pending.generation
