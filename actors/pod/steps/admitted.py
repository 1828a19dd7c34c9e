"""Gate: the node takes the pod (spec 10.14).

A pod that has a sandbox was admitted earlier, by this agent or the one before. It still asks, to be counted. Only a new
sandbox or container waits for the answer, which names the cgroup.
"""

from __future__ import annotations

from contextlib import suppress

from actors.kernel import handles
from actors.messages.admission import (
    AdmissionWaits,
    AdmitPod,
    PodAdmitted,
    PodRejected,
    PodTurnedAway,
    ResourceManagerStarted,
)
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.view import PodView, Question
from actors.pod_status.api_status import Forced
from actors.pod_status.conditions import FAILED
from actors.resources.read_ahead import read_ahead
from actors.resources.shares.wanted import wanted_of
from actors.resources.verdict import PREFIX, counted_reason
from config.objects import Pod
from config.values.quantity import QuantityError
from runtime.metrics import kubelet as names


class PodAdmission:
    def __init__(self, worker: PodActor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._question = Question(worker, "admission")
        self._answer: PodAdmitted | None = None
        self._held_up = False
        self._used = False
        self._waits_for = ""

    async def step(self, this: PodPass) -> Outcome:
        """Ask until the answer is known."""
        runs = bool(this.observed.sandboxes)
        if self._answer is None:
            self._ask(this.pod, runs=runs)
        self._held_up = self._answer is None and not runs
        return self.wait() if self._held_up else CONTINUE

    @property
    def is_answered(self) -> bool:
        return self._answer is not None

    @property
    def parent(self) -> str:
        """The parent cgroup of the pod's sandboxes; empty if it is unknown or the runtime's choice."""
        return "" if self._answer is None else self._answer.cgroup_parent

    def wait(self) -> PassWait:
        """The outcome of a pass while there is no answer."""
        return PassWait(self._waits_for or "the node is asked whether it takes the pod", "it starts then")

    def cgroup_parent(self, pod: Pod, *, anew: bool) -> str | None:
        """The parent cgroup of the sandbox, for the runtime; None while it is unknown.

        `anew`: for a new sandbox, which gets a cgroup of ours even if the last one had none.
        """
        if self._answer is not None and anew:
            if self._answer.outside and self._used:
                self._answer = None
                self._ask(pod, runs=False)
            else:
                self._used = True
        self._held_up = self._held_up or self._answer is None
        return None if self._answer is None else self._answer.cgroup_parent

    def _ask(self, pod: Pod, *, runs: bool) -> None:
        if self._question.may_ask():
            self._used = runs
            read_ahead(pod, self._services.node.abilities)
            if self._services.gives_shares:
                with suppress(QuantityError):
                    wanted_of(pod)
            self._services.resources.tell(AdmitPod(self._worker.ref, pod, runs, self._view.runtime.groups_policy))

    # --- answers ----------------------------------------------------------------------------------------------------

    @handles(PodAdmitted)
    def admitted(self, message: PodAdmitted) -> Pass | None:
        self._question.answered()
        self._answer = message
        self._view.is_admission_decided = True
        waited, self._held_up = self._held_up, False
        return self._worker.go_on() if waited else None

    @handles(ResourceManagerStarted)
    def ask_anew(self, _: ResourceManagerStarted) -> Pass | None:
        """Whoever was asked has failed, and knows of no question."""
        if self._question.is_due():
            return None
        self._question.answered()
        return self._worker.go_on()

    @handles(PodRejected)
    def rejected(self, message: PodRejected) -> Pass | None:
        self._question.answered()
        self.turn_away(message.reason, message.message)
        return self._worker.go_on()

    def turn_away(self, reason: str, message: str) -> None:
        """The node does not take the pod: it fails without having begun."""
        self._view.is_admission_decided = True
        self._view.forced = Forced(FAILED, reason, f"{PREFIX}{message}", rejected=True)
        self._services.meters.count(names.ADMISSION_REJECTIONS, counted_reason(reason))
        self._services.sync_loop.tell(PodTurnedAway(self._view.uid))
        self._view.say("Warning", reason, message)

    @handles(AdmissionWaits)
    def waits(self, message: AdmissionWaits) -> Pass | None:
        """Admission is delayed for this reason; the next pass shows it."""
        self._waits_for = message.text
        self._view.is_admission_decided = self._view.is_admission_decided or message.taken
        return self._worker.go_on()
