"""The volumes of one pod: its worker asks once for them, and its containers wait for the answer (spec 8).

`VolumeReconcilerActor` makes them, and retries what fails. So an error is kept until a better answer comes, and the
worker asks again only after a long silence. A new form of the pod may need more volumes, or other content in the same
ones: that is asked for while the containers run. Together with the volumes the worker asks for all else that its
containers will need, so that it waits for both at once.
"""

from __future__ import annotations

import msgspec

from actors.history_messages import HistoryKind
from actors.kernel import ActorRef, handles
from actors.pod.outcome import CONTINUE, Outcome, Wait
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.view import PodView, Question
from actors.pod_history import PodHistory
from actors.pod_names import PodNames
from actors.pod_references import PodReferences
from actors.volume_messages import PrepareVolumes, VolumesPrepared
from actors.volume_payloads import has_config_volumes
from config.objects import Pod
from runtime.volumes.pod_volumes import used_volumes

SECOND_NS = 1_000_000_000
VOLUME_ASK_AGAIN_NS = 180 * SECOND_NS
"""Longer than the longest pause between two tries of the reconciler: it has restarted, or the question was lost."""
NONE_YET = VolumesPrepared({})


class PodVolumes:
    """See the module. `owner` makes the volumes."""

    def __init__(
        self,
        worker: PodActor,
        owner: ActorRef,
        view: PodView,
        history: PodHistory,
        references: PodReferences,
        pod_names: PodNames,
    ) -> None:
        self._worker = worker
        self._owner = owner
        self._view = view
        self._history = history
        self._references = references
        self._names = pod_names
        self._question = Question(worker, "volumes")
        self._answer: VolumesPrepared | None = None
        self._answered_at_ns = 0
        self.made = NONE_YET
        """What the containers are started with."""

    @property
    def ready(self) -> bool:
        return self._answer is not None and not self._answer.error

    @handles(VolumesPrepared)
    def prepared(self, message: VolumesPrepared) -> Pass | None:
        self._question.answered()
        before, self._answer, self.made = self._answer, message, message
        if message.error and message != before:
            self._history.note(HistoryKind.FAILURE, f"volumes cannot be made: {message.error}", "FailedMount")
        self._answered_at_ns = self._worker.now_ns()
        return self._worker.go_on() if message != before else None

    def take(self, pod: Pod) -> Outcome:
        """Continue when they are ready; ask for them where nobody has."""
        if self.ready:
            return CONTINUE
        wait = self._wait(pod)
        if self._answer is not None:
            left_ns = self._answered_at_ns + VOLUME_ASK_AGAIN_NS - self._worker.now_ns()
            if left_ns > 0:
                return msgspec.structs.replace(wait, retry_ns=left_ns)
            self._answer, self.made = None, NONE_YET
        self._ask(pod)
        return wait

    def _wait(self, pod: Pod) -> Wait:
        error = self.made.error
        names = ", ".join(sorted(used_volumes(pod)))
        text = error or (f"its volumes are being made: {names}" if names else "its directory is being made")
        then = "they are tried again without an end; its containers are started after that"
        return Wait(text, then, "FailedMount" if error else "")

    def _ask(self, pod: Pod) -> None:
        if self._question.may_ask():
            self._owner.tell(PrepareVolumes(self._worker.ref, pod))
            self._references.ask_ahead(pod)
            self._names.read_ahead(pod)

    def renew(self) -> None:
        """Ask again, because the content of the volumes may have to change. Nothing waits for it."""
        if self._view.pod is not None:
            self._owner.tell(PrepareVolumes(self._worker.ref, self._view.pod, renewal=True))

    def pod_changed(self, pod: Pod, before: Pod) -> None:
        """The pod has a new form: it may use more volumes, or the content of the same ones may have to change."""
        if self.ready and not used_volumes(pod) <= self.made.host_paths.keys():
            self._ask(pod)
        elif has_config_volumes(pod) and _differs(pod, before):
            self.renew()


def _differs(pod: Pod, before: Pod) -> bool:
    """Whether anything differs that a volume may show."""
    old, new = before.metadata, pod.metadata
    return old.labels != new.labels or old.annotations != new.annotations or before.spec != pod.spec
