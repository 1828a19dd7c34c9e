"""The parts of volumes that one pod's containers mount, as its worker sees them (spec 8.7).

They are asked of the `VolumeReconcilerActor` for every start of a container, and what was answered is good for one try:
what lies at a path may be another thing at the next.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.kernel import ActorRef, handles
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.view import Question
from actors.start.refusal import StartRefusedError
from actors.start.sub_paths import WantedSubPath
from actors.volume_messages import PrepareSubPaths, SubPathsPrepared

_NONE: Mapping[int, str] = {}
_NOBODY: frozenset[str] = frozenset()


class PodSubPaths:
    """See the module. `owner` has the volumes."""

    def __init__(self, worker: PodActor, owner: ActorRef) -> None:
        self._worker = worker
        self._owner = owner
        self._questions: dict[str, Question] = {}
        self._answers: dict[str, SubPathsPrepared] = {}

    def waiting(self) -> frozenset[str]:
        """Names of containers that wait for an answer."""
        if not self._questions:
            return _NOBODY
        return frozenset(name for name, question in self._questions.items() if not question.is_due())

    def take(self, uid: str, container: str, path: str, wanted: tuple[WantedSubPath, ...]) -> Mapping[int, str] | None:
        """Index of the mount -> path on the host; None: they have been asked for, and the answer is a reason to look.

        `path`: of the container in the pod. Raises StartRefusedError where one of them cannot be had.
        """
        if not wanted:
            return _NONE
        answer = self._answers.pop(container, None)
        if answer is None or answer.wanted != wanted:
            question = self._questions.setdefault(container, Question(self._worker, f"parts of volumes {container}"))
            if question.may_ask():
                self._owner.tell(PrepareSubPaths(self._worker.ref, uid, container, wanted))
            return None
        if answer.error:
            raise StartRefusedError(f"{path}.volumeMounts", answer.error)
        return answer.paths

    @handles(SubPathsPrepared)
    def prepared(self, message: SubPathsPrepared) -> Pass | None:
        question = self._questions.pop(message.container, None)
        if question is not None:
            question.answered()
            self._answers[message.container] = message
        return self._worker.go_on()
