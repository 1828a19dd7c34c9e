"""What a worker requests before it makes anything of its pod: admission, user ids, image leases.

`PodAdmission` asks whether the node takes the pod (spec 10.14). A pod that has a sandbox was admitted earlier, by this
agent or the one before. It still asks, to be counted. Only a new sandbox or container waits for the answer, which names
the cgroup. A resized pod asks again, so that its cgroup has room for its next containers.

`PodUsers` asks for the ids of a user namespace (spec 17.6). A pod that shares the users of the host asks for none.

`PodLeases` keeps every image that the pod names, for containers and volumes, from being removed (pains 11). No
container starts before the leases are granted. They end with the pod, because a container that restarts needs its image
again.
"""

from __future__ import annotations

from actors.kernel import ActorRef, handles
from actors.messages.admission import AdmissionWaits, AdmitPod, PodAdmitted, PodRejected, PodTurnedAway
from actors.messages.ids import AssignIds, IdsAssigned, ReleaseIds
from actors.messages.images import ImagesLeased, LeaseImages, ReleaseImages
from actors.messages.pods import RuntimeStateObserved
from actors.model.id_ranges import IdRange
from actors.model.refusal import ContainerRefusedError
from actors.pod.outcome import PassWait
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.view import PodView, Question
from actors.pod_status.api_status import Forced
from actors.pod_status.conditions import FAILED
from actors.resources.verdict import PREFIX
from config.objects import Container, EphemeralContainer, Pod, PodSpec
from config.pods.once_per_spec import once_per_spec
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
        """Whether the node has admitted the pod; asks until the answer is known."""
        if self._answer is None:
            self._ask(pod, runs=runs)
        self._held_up = self._answer is None and not runs
        return self._answer is not None or runs

    def _ask(self, pod: Pod, *, runs: bool) -> None:
        if self._question.may_ask():
            self._used = runs
            self._services.resources.tell(AdmitPod(self._worker.ref, pod, runs, self._view.runtime.groups_policy))

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

    @handles(PodAdmitted)
    def admitted(self, message: PodAdmitted) -> Pass | None:
        self._question.answered()
        self._answer = message
        waited, self._held_up = self._held_up, False
        return self._worker.go_on() if waited else None

    def resized(self) -> None:
        """The pod requests other resources: ask again, and start nothing before its cgroup has been adapted."""
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
        """Admission is delayed for this reason; the next pass shows it."""
        self._waits_for = message.text
        return self._worker.go_on()

    def wait(self) -> PassWait:
        """The outcome of a pass while there is no answer."""
        return PassWait(self._waits_for or "the node is asked whether it takes the pod", "it starts then")


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
        """Whether the pod has a user namespace of its own."""
        return pod.spec.host_users is False

    def ids(self, uid: str) -> IdRange | None:
        """The ids of the pod; None: wait for the answer, which triggers a look. Raises StartRefusedError."""
        answer = self._answer
        if answer is None:
            if self._question.may_ask():
                self._owner.tell(AssignIds(self._worker.ref, uid))
            return None
        if answer.ids is None:
            self._answer = None  # the next try asks again
            raise ContainerRefusedError(_FIELD, f"no ids for the pod's user namespace: {answer.error}")
        return answer.ids

    @property
    def known(self) -> IdRange | None:
        """The ids that were assigned, for containers of an existing sandbox."""
        return None if self._answer is None else self._answer.ids

    @handles(IdsAssigned)
    def assigned(self, message: IdsAssigned) -> Pass | None:
        self._question.answered()
        self._answer = message
        return self._worker.go_on()

    def release(self, uid: str, pod: Pod | None) -> None:
        """Release the ids when nothing of the pod runs. For an orphan always, because nobody knows whether it had
        any.
        """
        if pod is None or self.wanted(pod):
            self._owner.tell(ReleaseIds(uid))
        self._answer = None


def check_handler(handler: str, runtime: RuntimeStateObserved) -> None:
    """Raise StartRefusedError unless the handler supports user namespaces."""
    if handler not in runtime.user_namespace_handlers:
        named = f"handler {handler!r}" if handler else "the default handler"
        text = f"{named} of the runtime does not support user namespaces; set hostUsers: true, or upgrade the runtime"
        raise ContainerRefusedError(_FIELD, text)


_NONE: frozenset[str] = frozenset()


class PodLeases:
    """See the module. `image_gc` None: no image is ever removed."""

    def __init__(self, worker: PodActor, image_gc: ActorRef | None) -> None:
        self._worker = worker
        self._image_gc = image_gc
        self._question = Question(worker, "image leases")
        self._wanted = self._leased = _NONE
        self._held_up = False

    def pod_desired(self, pod: Pod) -> None:
        """Lease the images that the pod names, if they have changed."""
        wanted = images_of(pod)
        if wanted != self._wanted:
            self._wanted = wanted
            self._leased &= wanted
            self._question.answered()
            self._ask(pod)

    def _ask(self, pod: Pod) -> None:
        if self._image_gc is not None and self._question.may_ask():
            self._image_gc.tell(LeaseImages(self._worker.ref, pod.metadata.uid, self._wanted))

    def hold(self, pod: Pod) -> bool:
        """Whether all images of the pod are leased; asks again if the answer is overdue."""
        if self._image_gc is None or self._wanted <= self._leased:
            return True
        self._ask(pod)
        self._held_up = True
        return False

    @handles(ImagesLeased)
    def leased(self, message: ImagesLeased) -> Pass | None:
        if message.images != self._wanted:
            return None  # the pod names other images by now
        self._question.answered()
        self._leased = message.images
        held_up, self._held_up = self._held_up, False
        return self._worker.go_on() if held_up else None

    def release(self, uid: str) -> None:
        """The pod has ended."""
        if self._image_gc is not None and self._wanted:
            self._image_gc.tell(ReleaseImages(uid))
        self._wanted = self._leased = _NONE


def images_of(pod: Pod) -> frozenset[str]:
    """Every image that the pod names, as it names them."""
    return _images(pod.spec)


@once_per_spec
def _images(spec: PodSpec) -> frozenset[str]:
    everyone: tuple[Container | EphemeralContainer, ...] = (
        *spec.containers,
        *spec.init_containers,
        *spec.ephemeral_containers,
    )
    mounted = (volume.image.reference for volume in spec.volumes if volume.image is not None)
    return frozenset(image for image in (*(each.image for each in everyone), *mounted) if image)
