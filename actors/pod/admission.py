"""Whether the node takes this pod: asked once, before anything of it is made (spec 10.14).

A pod of which something is there has been taken before, by this agent or by one before it: it is told to be counted,
and nobody waits for the answer but who makes another sandbox or container of it. The answer says in which cgroup.
A pod that is resized is told once more, so that its cgroup has room for what its next containers may use.
"""

from __future__ import annotations

from actors.kernel import Actor
from actors.messages.admission import AdmissionWaits, AdmitPod, PodAdmitted, PodRejected
from actors.messages.history import PodWait
from actors.pod.part import WorkerPart
from actors.pod.services import PodServices
from actors.pod.view import Question
from actors.pod_status.api_status import Forced
from actors.pod_status.phase import FAILED
from actors.resources.verdict import PREFIX
from config.objects import Pod


class PodAdmission(WorkerPart):
    """See the module. One per worker."""

    _worker: Actor
    _services: PodServices
    _question: Question
    _answer: PodAdmitted | None = None
    _held_up: bool = False
    _used: bool = False
    _groups_policy: bool = True
    _waits_for: str = ""

    def is_taken(self, pod: Pod, *, runs: bool, groups_policy: bool) -> bool:
        """Whether the pod may be made; asks where that is not known. What was taken once is not asked about again."""
        self._groups_policy = groups_policy
        if self._answer is None:
            self._ask(pod, runs=runs)
        self._held_up = self._answer is None and not runs
        return self._answer is not None or runs

    def _ask(self, pod: Pod, *, runs: bool) -> None:
        if self._question.may_ask():
            self._used = runs
            self._services.resources.tell(AdmitPod(self._worker.ref, pod, runs, self._groups_policy))

    def cgroup_parent(self, pod: Pod, *, anew: bool) -> str | None:
        """What the runtime is told as the parent of the pod's sandbox; None: that is not known yet.

        `anew`: for another sandbox. That the one before it is in no cgroup of ours is no reason for this one.
        """
        if self._answer is not None and anew:
            if self._answer.outside and self._used:
                self._answer = None
                self._ask(pod, runs=False)
            else:
                self._used = True
        self._held_up = self._held_up or self._answer is None
        return None if self._answer is None else self._answer.cgroup_parent

    def admitted(self, message: PodAdmitted) -> bool:
        """The node takes it; whether that is waited for."""
        self._question.answered()
        self._answer = message
        waited, self._held_up = self._held_up, False
        return waited

    def resized(self) -> None:
        """What the pod asks for has changed: nothing more of it is begun before its cgroup has followed."""
        self._question.answered()
        self._answer = None

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
