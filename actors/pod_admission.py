"""Whether the node takes this pod: asked once, before anything of it is made (spec 10.14).

A pod of which something is there has been taken before, by this agent or by one before it: it is told to be counted,
and nobody waits for the answer.
"""

from __future__ import annotations

from actors.admission.verdict import PREFIX
from actors.admission_messages import AdmissionWaits, AdmitPod, PodRejected
from actors.history_messages import PodWait
from actors.kernel import Actor
from actors.pod_services import PodServices
from actors.pod_status.api_status import Forced
from actors.pod_status.phase import FAILED
from actors.pod_view import Question
from config.objects import Pod


class PodAdmission:
    """See the module. One per worker."""

    def __init__(self, worker: Actor, services: PodServices) -> None:
        self._worker = worker
        self._services = services
        self._question = Question(worker, "admission")
        self._taken = False
        self._waits_for = ""

    def is_taken(self, pod: Pod, *, runs: bool, groups_policy: bool) -> bool:
        """Whether the pod may be made; asks where that is not known. What was taken once is not asked about again."""
        if not self._taken and self._question.may_ask():
            self._services.resources.tell(AdmitPod(self._worker.ref, pod, runs, groups_policy))
        self._taken = self._taken or runs
        return self._taken

    def admitted(self) -> None:
        """The node takes it."""
        self._question.answered()
        self._taken = True

    def rejected(self, message: PodRejected) -> Forced:
        """The node does not; what the status of the pod is to say."""
        self._question.answered()
        return Forced(FAILED, message.reason, f"{PREFIX}{message.message}", rejected=True)

    def waits(self, message: AdmissionWaits) -> None:
        """There is no answer yet."""
        self._waits_for = message.text

    def wait(self) -> PodWait:
        """For people."""
        return PodWait("the pod", "", self._waits_for or "the node is asked whether it takes the pod", "it starts then")
