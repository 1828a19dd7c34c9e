"""Gate: the volumes of the pod are ready (spec 8).

The worker asks once for all of them. `VolumeReconcilerActor` makes them and retries failures. So an error is kept until
a better answer comes, and the worker asks again only after a long silence. Together with the volumes it asks for
everything else that a new pod will need.

A volume that a driver or a server makes may take long. After a moment, its pod no longer holds up other new pods.

A node that holds no more volumes refuses the pod, as one that it does not admit.

A new form of the pod may need more volumes or other content: it is requested while the containers run.
"""

from __future__ import annotations

import msgspec

from actors.kernel import ActorRef, handles
from actors.messages.history import HistoryKind
from actors.messages.pods import LookAgain
from actors.messages.volumes import PrepareVolumes, VolumesPrepared
from actors.pod.history import PodHistory
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.references import PodReferences
from actors.pod.steps.admitted import PodAdmission
from actors.pod.steps.sandbox import PodSandbox
from actors.pod.view import PodView, Question
from actors.volumes.wishes.wants import has_config_volumes
from config.objects import Pod
from runtime.volumes.pod_volumes import specs_of, used_volumes

SECOND_NS = 1_000_000_000
ATTACHMENT_LIMIT = "VolumeAttachmentLimitExceeded"
VOLUME_ASK_AGAIN_NS = 180 * SECOND_NS
"""Longer than the reconciler's longest pause between two tries.

After it, the reconciler has restarted or the question was lost.
"""
MOMENT_NS = SECOND_NS // 20
"""Most volumes are made sooner."""
MADE_HERE = frozenset({"empty_dir", "host_path", "config_map", "secret", "downward_api", "projected", "image"})
"""The agent makes these volumes itself, of files and of what the API says."""
_A_MOMENT = "a moment for volumes"


class PodVolumes:
    """See the module. `owner` makes the volumes."""

    def __init__(
        self,
        worker: PodActor,
        owner: ActorRef,
        view: PodView,
        history: PodHistory,
        references: PodReferences,
        sandbox: PodSandbox,
        admission: PodAdmission,
    ) -> None:
        self._worker = worker
        self._owner = owner
        self._view = view
        self._history = history
        self._references = references
        self._sandbox = sandbox
        self._admission = admission
        self._question = Question(worker, "volumes")
        self._answer: VolumesPrepared | None = None
        self._answered_at_ns = 0
        self._asked_at_ns = 0

    async def step(self, this: PodPass) -> Outcome:
        """Set `PodPass.volumes`; ask for them if that was not done."""
        answer = self._answer
        if answer is not None and not answer.error:
            this.volumes = answer
            return CONTINUE
        if answer is not None:
            left_ns = self._answered_at_ns + VOLUME_ASK_AGAIN_NS - self._worker.now_ns()
            if left_ns > 0:
                return msgspec.structs.replace(_wait(this.pod, answer.error), retry_ns=left_ns)
            self._answer = None
        self._ask(this.pod)
        return wait_for_answer(this.pod, self._worker.now_ns() - self._asked_at_ns)

    def pod_changed(self, pod: Pod, before: Pod) -> None:
        """The pod has a new form: it may use more volumes, or need other content in the same ones."""
        answer = self._answer
        if answer is not None and not answer.error and not used_volumes(pod) <= answer.host_paths.keys():
            self._ask(pod)
        elif has_config_volumes(pod) and _differs(pod, before):
            self.renew()

    def renew(self) -> None:
        """Ask again, because the content of the volumes may have to change. Nothing waits for the answer."""
        if self._view.pod is not None:
            self._owner.tell(PrepareVolumes(self._worker.ref, self._view.pod, renewal=True))

    @handles(VolumesPrepared)
    def prepared(self, message: VolumesPrepared) -> Pass | None:
        self._question.answered()
        self._worker.cancel_timer(_A_MOMENT)
        before, self._answer = self._answer, message
        if message.refusal and (before is None or not before.refusal):
            self._admission.turn_away(ATTACHMENT_LIMIT, message.refusal)
        if message.error and message != before:
            self._history.note(HistoryKind.FAILURE, f"volumes cannot be made: {message.error}", "FailedMount")
        self._answered_at_ns = self._worker.now_ns()
        return self._worker.go_on() if message != before else None

    def _ask(self, pod: Pod) -> None:
        if self._question.may_ask():
            self._asked_at_ns = self._worker.now_ns()
            if others_make(pod):
                self._worker.after(MOMENT_NS, LookAgain(runtime=False), key=_A_MOMENT)
            self._owner.tell(PrepareVolumes(self._worker.ref, pod))
            self._references.ask_ahead(pod)
            self._sandbox.read_ahead(pod)


def wait_for_answer(pod: Pod, waited_ns: int) -> PassWait:
    """The outcome of a pass while there is no answer."""
    wait = _wait(pod, "")
    return msgspec.structs.replace(wait, long=True) if waited_ns >= MOMENT_NS and others_make(pod) else wait


def others_make(pod: Pod) -> bool:
    """Whether a driver or a server makes a volume that a container uses."""
    return any(spec.source not in MADE_HERE for spec in specs_of(pod))


def _wait(pod: Pod, error: str) -> PassWait:
    names = ", ".join(sorted(used_volumes(pod)))
    text = error or (f"its volumes are being made: {names}" if names else "its directory is being made")
    then = "they are tried again without an end; its containers are started after that"
    return PassWait(text, then, "FailedMount" if error else "", long=bool(error))


def _differs(pod: Pod, before: Pod) -> bool:
    """Whether anything differs that a volume may show."""
    old, new = before.metadata, pod.metadata
    return old.labels != new.labels or old.annotations != new.annotations or before.spec != pod.spec
