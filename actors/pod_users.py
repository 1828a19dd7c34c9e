"""The ids of the user namespace of one pod: asked for once, and known from then on (spec 17.6).

`UserNamespaceActor` owns the ids. A pod that shares the users of the host asks nobody. A handler that cannot make a
user namespace is refused: the pod would have less isolation than it asked for.
"""

from __future__ import annotations

from actors.id_messages import AssignIds, IdsAssigned, ReleaseIds
from actors.id_ranges import IdRange
from actors.kernel import ActorRef, handles
from actors.messages import RuntimeStateObserved
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.view import Question
from actors.start.refusal import StartRefusedError
from config.objects import Pod

_FIELD = "$.spec.hostUsers"


class PodUsers:
    """See the module. `owner` assigns the ids."""

    def __init__(self, worker: PodActor, owner: ActorRef) -> None:
        self._worker = worker
        self._owner = owner
        self._question = Question(worker, "ids")
        self._answer: IdsAssigned | None = None

    @staticmethod
    def wanted(pod: Pod) -> bool:
        """Whether the pod has users of its own."""
        return pod.spec.host_users is False

    def ids(self, uid: str) -> IdRange | None:
        """Of the pod; None: it has to wait, and the answer is a reason to look again. Raises StartRefusedError."""
        answer = self._answer
        if answer is None:
            if self._question.may_ask():
                self._owner.tell(AssignIds(self._worker.ref, uid))
            return None
        if answer.ids is None:
            self._answer = None  # the next try asks again
            raise StartRefusedError(_FIELD, f"no ids for the pod's user namespace: {answer.error}")
        return answer.ids

    @property
    def known(self) -> IdRange | None:
        """What was answered, for the containers of a sandbox that has it."""
        return None if self._answer is None else self._answer.ids

    @handles(IdsAssigned)
    def assigned(self, message: IdsAssigned) -> Pass | None:
        self._question.answered()
        self._answer = message
        return self._worker.go_on()

    def release(self, uid: str, pod: Pod | None) -> None:
        """Nothing of the pod runs. Of an orphan nobody knows whether it had any."""
        if pod is None or self.wanted(pod):
            self._owner.tell(ReleaseIds(uid))
        self._answer = None


def check_handler(handler: str, runtime: RuntimeStateObserved) -> None:
    """Raises StartRefusedError unless the handler can make user namespaces."""
    if handler not in runtime.user_namespace_handlers:
        named = f"handler {handler!r}" if handler else "the default handler"
        text = f"{named} of the runtime does not support user namespaces; set hostUsers: true, or upgrade the runtime"
        raise StartRefusedError(_FIELD, text)
