"""Asks once whether the node takes the pod, before anything of it is made (spec 10.14).

A pod with a sandbox was taken before, by this agent or the one before it. It asks too, so that it is counted, and only
a new sandbox or container waits for the answer, which names the cgroup. A pod that is resized asks again, so that its
cgroup has room for its next containers.
"""

from __future__ import annotations

from actors.admission.verdict import PREFIX
from actors.admission_messages import AdmissionWaits, AdmitPod, PodAdmitted, PodRejected, PodTurnedAway
from actors.kernel import handles
from actors.pod.outcome import Wait
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.view import PodView, Question
from actors.pod_services import PodServices
from actors.pod_status.api_status import Forced
from actors.pod_status.phase import FAILED
from config.objects import Pod
from runtime.metrics import kubelet as names


class PodAdmission:
    """See the module."""

    def __init__(self, worker: PodActor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._question = Question(worker, "admission")
        self._answer: PodAdmitted | None = None
        self._held_up = False
        self._used = False
        self._waits_for = ""

    def is_taken(self, pod: Pod, *, runs: bool) -> bool:
        """Whether the pod may be made; asks until the answer is known."""
        if self._answer is None:
            self._ask(pod, runs=runs)
        self._held_up = self._answer is None and not runs
        return self._answer is not None or runs

    def _ask(self, pod: Pod, *, runs: bool) -> None:
        if self._question.may_ask():
            self._used = runs
            self._services.resources.tell(AdmitPod(self._worker.ref, pod, runs, self._view.runtime.groups_policy))

    def cgroup_parent(self, pod: Pod, *, anew: bool) -> str | None:
        """The cgroup above that of the sandbox, for the runtime; None while it is unknown.

        `anew`: for a new sandbox, which is put into a cgroup of ours even if the one before was not.
        """
        if self._answer is not None and anew:
            if self._answer.outside and self._used:
                self._answer = None
                self._ask(pod, runs=False)
            else:
                self._used = True
        self._held_up = self._held_up or self._answer is None
        return None if self._answer is None else self._answer.cgroup_parent

    @handles(PodAdmitted)
    def admitted(self, message: PodAdmitted) -> Pass | None:
        self._question.answered()
        self._answer = message
        waited, self._held_up = self._held_up, False
        return self._worker.go_on() if waited else None

    def resized(self) -> None:
        """The pod requests other resources: ask again, and begin nothing before its cgroup has followed."""
        self._question.answered()
        self._answer = None

    @handles(PodRejected)
    def rejected(self, message: PodRejected) -> Pass | None:
        self._question.answered()
        self._view.forced = Forced(FAILED, message.reason, f"{PREFIX}{message.message}", rejected=True)
        self._services.meters.count(names.ADMISSION_REJECTIONS, message.reason)
        self._services.sync_loop.tell(PodTurnedAway(self._view.uid))
        self._view.say("Warning", message.reason, message.message)
        return self._worker.go_on()

    @handles(AdmissionWaits)
    def waits(self, message: AdmissionWaits) -> Pass | None:
        """There is no answer yet, for this reason: the next pass tells it."""
        self._waits_for = message.text
        return self._worker.go_on()

    def wait(self) -> Wait:
        """What the pod waits for until the answer."""
        return Wait(self._waits_for or "the node is asked whether it takes the pod", "it starts then")
