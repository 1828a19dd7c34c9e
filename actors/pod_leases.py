"""The images that one pod keeps from being removed, as its worker sees them (pains 11).

A pod leases every image that it names, of containers and volumes, as soon as it is desired, and when it names others.
No container starts, and no image is looked for, before its images are leased. The lease ends with the pod: a container
that restarts needs its image again, and no list of containers shows the images that are mounted as volumes.
"""

from __future__ import annotations

from actors.image_messages import ImagesLeased, LeaseImages, ReleaseImages
from actors.kernel import ActorRef, handles
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.view import Question
from config.objects import Container, EphemeralContainer, Pod, PodSpec
from config.once_per_spec import once_per_spec

_NONE: frozenset[str] = frozenset()


class PodLeases:
    """See the module. Without `image_gc` no image is ever removed."""

    def __init__(self, worker: PodActor, image_gc: ActorRef | None) -> None:
        self._worker = worker
        self._image_gc = image_gc
        self._question = Question(worker, "image leases")
        self._wanted = self._leased = _NONE
        self._held_up = False

    def pod_desired(self, pod: Pod) -> None:
        """Lease what the pod names, where that is new."""
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
        """Whether all that the pod names is leased; asks for it where the answer is overdue."""
        if self._image_gc is None or self._wanted <= self._leased:
            return True
        self._ask(pod)
        self._held_up = True
        return False

    @handles(ImagesLeased)
    def leased(self, message: ImagesLeased) -> Pass | None:
        if message.images != self._wanted:
            return None  # the pod names others by now
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
