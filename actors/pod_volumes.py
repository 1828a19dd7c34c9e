"""The volumes of one pod as its worker knows them: asked for once, and what came of that (spec 8).

The containers wait for them, nobody else does. Whoever makes them tries again by himself what fails, so an answer that
is an error is kept until one that is none, and the question is put again only when none has come for long. A new form
of the pod may need more of them, or the same with another content, which is asked for while the containers run.
"""

from __future__ import annotations

from collections.abc import Callable

from actors.history_messages import HistoryKind, PodWait
from actors.kernel import Actor
from actors.pod_services import PodServices
from actors.pod_view import PodView, Question, RetryLaterError
from actors.volume_messages import PrepareVolumes, VolumesPrepared
from actors.volume_payloads import has_config_volumes
from actors.worker_part import WorkerPart
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.volumes.pod_volumes import used_volumes

SECOND_NS = 1_000_000_000
VOLUME_ASK_AGAIN_NS = 180 * SECOND_NS
"""Longer than whoever makes the volumes waits before the next try: then it has been restarted, or has not heard."""
NONE_YET = VolumesPrepared(FrozenMap())


class PodVolumes(WorkerPart):
    """See the module. One per worker.

    `ahead`: asks for what the pod will need once they are there, so that both are waited for at a time.
    """

    _worker: Actor
    _services: PodServices
    _view: PodView
    _ahead: Callable[[Pod], None]
    _question: Question
    _answer: VolumesPrepared | None = None
    made: VolumesPrepared = NONE_YET
    """What the containers are started with; nothing where nothing is known."""
    _answered_at_ns: int = 0

    @property
    def unknown(self) -> bool:
        """Nobody has said anything about them, or so long ago that it is asked again."""
        return self._answer is None

    @property
    def ready(self) -> bool:
        return self._answer is not None and not self._answer.error

    def prepared(self, message: VolumesPrepared) -> bool:
        """Take the answer; whether it is news."""
        self._question.answered()
        before, self._answer, self.made = self._answer, message, message
        if message.error and message != before:
            self._view.history.note(HistoryKind.FAILURE, f"volumes cannot be made: {message.error}", "FailedMount")
        self._answered_at_ns = self._worker.now_ns()
        return message != before

    def wait(self, pod: Pod) -> PodWait:
        """For people: what is waited for while they are not ready."""
        error = self.made.error
        names = ", ".join(sorted(used_volumes(pod)))
        text = error or (f"its volumes are being made: {names}" if names else "its directory is being made")
        then = "they are tried again without an end; its containers are started after that"
        return PodWait("the pod", "FailedMount" if error else "", text, then)

    def ask(self, pod: Pod) -> None:
        """Once. Raises RetryLaterError while those that could not be made are tried again by whoever makes them."""
        if self._answer is not None:
            over_ns = self._answered_at_ns + VOLUME_ASK_AGAIN_NS - self._worker.now_ns()
            if over_ns > 0:
                raise RetryLaterError(over_ns)
            self._answer, self.made = None, NONE_YET
        self._ask(pod)

    def _ask(self, pod: Pod) -> None:
        if self._question.may_ask():
            self._services.volumes.tell(PrepareVolumes(self._worker.ref, pod))
            self._ahead(pod)

    def renew(self) -> None:
        """Ask again, because what is in the volumes may have to change. Nothing waits for it."""
        if self._view.pod is not None:
            self._services.volumes.tell(PrepareVolumes(self._worker.ref, self._view.pod, renewal=True))

    def pod_changed(self, pod: Pod, before: Pod) -> None:
        """The pod has another form: what is in its volumes may have to change, or it may use more of them."""
        if self.ready and not used_volumes(pod) <= self.made.host_paths.keys():
            self._ask(pod)
        elif has_config_volumes(pod) and _differs(pod, before):
            self.renew()


def _differs(pod: Pod, before: Pod) -> bool:
    """Whether anything is different that a volume may show."""
    old, new = before.metadata, pod.metadata
    return old.labels != new.labels or old.annotations != new.annotations or before.spec != pod.spec
