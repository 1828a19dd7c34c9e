"""Images that one pod mounts as volumes, as its worker sees them (spec 3.6, 8.7, KEP-4639).

The rules are those of a container's own image: looked for or pulled before a container that mounts it is made, by the
volume's own policy, and asked of the `ImagePullActor`, which is not waited for. What was pulled is good for all tries
until the container is made.
"""

from __future__ import annotations

from collections.abc import Mapping

from actors.image_messages import ImagePulled, ImagePullFailed, PullImage
from actors.image_rules import (
    INVALID_IMAGE_NAME,
    ImageDeed,
    Said,
    inspect_failed,
    judge_image,
    must_look,
    policy_of,
    shown_while_backing_off,
)
from actors.kernel import Actor
from actors.pod.view import Question
from actors.pod_references import PodReferences
from actors.pod_services import PodServices
from config.objects import Container, Pod, Volume
from runtime.cri import CriError
from runtime.cri.messages import Image, ImageSpec, ImageStatusRequest
from runtime.cri.verbs import IMAGE_STATUS

_NONE: Mapping[str, ImageSpec] = {}
_KEY = "volumes/"
"""In questions a volume stands where a container would; no container can be called so."""


class VolumeImageRefusedError(Exception):
    """An image cannot be had now. `retry_at_ns` (monotonic), None where the caller may choose. `said`: an event."""

    def __init__(self, reason: str, message: str, retry_at_ns: int | None = None, said: Said | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_at_ns = retry_at_ns
        self.said = said


class PodVolumeImages:
    """See the module."""

    def __init__(self, worker: Actor, services: PodServices, references: PodReferences) -> None:
        self._worker = worker
        self._services = services
        self._references = references
        self._pulls: dict[str, Question] = {}
        self._pulled: dict[str, str] = {}
        self._failed: dict[str, ImagePullFailed] = {}

    async def of(self, pod: Pod, container: Container) -> Mapping[str, ImageSpec] | None:
        """Volume name -> image, for those that the container mounts; None: something has been asked for, and the answer
        is a reason to look. Raises VolumeImageRefusedError.
        """
        wanted = _mounted(pod, container)
        if not wanted:
            return _NONE
        found = {volume.name: await self._one(pod, volume) for volume in wanted}
        images = {name: image for name, image in found.items() if image is not None}
        return images if len(images) == len(found) else None

    def made(self, pod: Pod, container: Container) -> None:
        """The container was made: its next start asks anew."""
        for volume in _mounted(pod, container):
            self._pulled.pop(_KEY + volume.name, None)

    def pulled(self, message: ImagePulled) -> bool:
        """Whether the answer was for a volume."""
        if not self._answered(message.container):
            return False
        self._failed.pop(message.container, None)
        self._pulled[message.container] = message.image
        return True

    def pull_failed(self, message: ImagePullFailed) -> bool:
        """Whether the answer was for a volume."""
        if not self._answered(message.container):
            return False
        self._failed[message.container] = message
        return True

    def _answered(self, key: str) -> bool:
        pull = self._pulls.pop(key, None)
        if pull is not None:
            pull.answered()
        return key.startswith(_KEY)

    async def _one(self, pod: Pod, volume: Volume) -> ImageSpec | None:
        source = volume.image
        image = (source.reference if source is not None else None) or ""
        policy = policy_of(image, source.pull_policy if source is not None else None)
        key = _KEY + volume.name
        pulled = self._pulled.get(key) == image
        found: Image | None = None
        if (pulled or must_look(policy)) and judge_image(image, policy, False).reason != INVALID_IMAGE_NAME:
            found = await self._look(image)
        verdict = judge_image(image, policy, found is not None)
        if found is not None and (pulled or verdict.deed is ImageDeed.USE):
            return ImageSpec(image=found.id or image, user_specified_image=image)
        if verdict.deed is ImageDeed.REFUSE:
            raise VolumeImageRefusedError(verdict.reason, verdict.message, said=verdict.said)
        self._ask(pod, key, image)
        return None

    async def _look(self, image: str) -> Image | None:
        call = self._services.cri.call(IMAGE_STATUS, ImageStatusRequest(image=ImageSpec(image=image)))
        try:
            response = await self._worker.wait(call, what=f"a look at image {image}")
        except CriError as failure:
            verdict = inspect_failed(image, str(failure))
            raise VolumeImageRefusedError(verdict.reason, verdict.message, said=verdict.said) from failure
        return response.image

    def _ask(self, pod: Pod, key: str, image: str) -> None:
        failed = self._failed.get(key)
        if failed is not None and failed.image == image and self._worker.now_ns() < failed.retry_at_ns:
            raise VolumeImageRefusedError(*shown_while_backing_off(failed), failed.retry_at_ns)
        credentials = self._references.credentials_for(pod, Container(name=key, image=image))
        if credentials is None:
            return
        pull = self._pulls.setdefault(key, Question(self._worker, f"pull {key}"))
        if pull.may_ask():
            self._services.images.tell(PullImage(self._worker.ref, pod, key, image, "", credentials))


def _mounted(pod: Pod, container: Container) -> tuple[Volume, ...]:
    if not container.volume_mounts:
        return ()
    mounted = {mount.name for mount in container.volume_mounts}
    return tuple(volume for volume in pod.spec.volumes if volume.image is not None and volume.name in mounted)
