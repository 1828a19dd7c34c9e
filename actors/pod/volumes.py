"""What containers need before they can mount anything: volumes, parts of volumes, images (spec 8, 3.6).

`PodVolumes` asks once for all volumes of the pod, and the containers wait for the answer. `VolumeReconcilerActor` makes
them and retries failures. So an error is kept until a better answer comes, and the worker asks again only after a long
silence. A new form of the pod may need more volumes or other content: it is requested while the containers run.
Together with the volumes the worker asks for everything else that its containers will need.

`PodSubPaths` asks for parts of volumes before each start of a container, because the content of a path may change
between starts (spec 8.7). `PodVolumeImages` has images pulled that are mounted as volumes, by the rules for container
images (KEP-4639). `PodMounts` needs both for one start.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.images.pull_rules import (
    INVALID_IMAGE_NAME,
    ImageAction,
    ImageEvent,
    inspect_failed,
    judge_image,
    must_look,
    policy_of,
    shown_while_backing_off,
)
from actors.kernel import Actor, ActorRef, handles
from actors.messages.history import HistoryKind
from actors.messages.images import ImagePulled, ImagePullFailed, PullImage
from actors.messages.volumes import PrepareSubPaths, PrepareVolumes, SubPathsPrepared, VolumesPrepared, WantedSubPath
from actors.model.refusal import ContainerRefusedError
from actors.pod.history import PodHistory
from actors.pod.outcome import CONTINUE, Outcome, PassWait
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.references import PodReferences
from actors.pod.services import PodServices
from actors.pod.sources import PodNames
from actors.pod.view import PodView, Question
from actors.start.environment import Sources, environment
from actors.start.mounts import has_expressions, wanted_sub_paths
from actors.volumes.payloads import has_config_volumes
from config.frozen_map import FrozenMap
from config.objects import Container, Pod, Volume
from runtime.cri import CriError
from runtime.cri.messages import Image, ImageSpec, ImageStatusRequest
from runtime.cri.verbs import IMAGE_STATUS
from runtime.volumes.pod_volumes import used_volumes

_NO_IMAGES: Mapping[str, ImageSpec] = {}
_VOLUME_KEY = "volumes/"
"""Marks a volume in the place of a container name; no container can have such a name."""


class VolumeImageRefusedError(Exception):
    """An image is not available now. `retry_at_ns` (monotonic); None: the caller chooses. `said`: an event."""

    def __init__(
        self, reason: str, message: str, retry_at_ns: int | None = None, said: ImageEvent | None = None
    ) -> None:
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
        """Volume name -> image, for those that the container mounts; None: wait for an answer, which triggers a look.
        Raises VolumeImageRefusedError.
        """
        wanted = _mounted(pod, container)
        if not wanted:
            return _NO_IMAGES
        found = {volume.name: await self._one(pod, volume) for volume in wanted}
        images = {name: image for name, image in found.items() if image is not None}
        return images if len(images) == len(found) else None

    def made(self, pod: Pod, container: Container) -> None:
        """The container has been created: its next start asks anew."""
        for volume in _mounted(pod, container):
            self._pulled.pop(_VOLUME_KEY + volume.name, None)

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
        return key.startswith(_VOLUME_KEY)

    async def _one(self, pod: Pod, volume: Volume) -> ImageSpec | None:
        source = volume.image
        image = (source.reference if source is not None else None) or ""
        policy = policy_of(image, source.pull_policy if source is not None else None)
        key = _VOLUME_KEY + volume.name
        pulled = self._pulled.get(key) == image
        found: Image | None = None
        if (pulled or must_look(policy)) and judge_image(image, policy, False).reason != INVALID_IMAGE_NAME:
            found = await self._look(image)
        verdict = judge_image(image, policy, found is not None)
        if found is not None and (pulled or verdict.action is ImageAction.USE):
            return ImageSpec(image=found.id or image, user_specified_image=image)
        if verdict.action is ImageAction.REFUSE:
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


SECOND_NS = 1_000_000_000
VOLUME_ASK_AGAIN_NS = 180 * SECOND_NS
"""Longer than the reconciler's longest pause between two tries. After it, the reconciler has restarted or the question
was lost.
"""
NONE_YET = VolumesPrepared(FrozenMap())


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
        """The volumes that the containers are started with."""

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
        """Continue when the volumes are ready; ask for them if that was not done."""
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

    def _wait(self, pod: Pod) -> PassWait:
        error = self.made.error
        names = ", ".join(sorted(used_volumes(pod)))
        text = error or (f"its volumes are being made: {names}" if names else "its directory is being made")
        then = "they are tried again without an end; its containers are started after that"
        return PassWait(text, then, "FailedMount" if error else "")

    def _ask(self, pod: Pod) -> None:
        if self._question.may_ask():
            self._owner.tell(PrepareVolumes(self._worker.ref, pod))
            self._references.ask_ahead(pod)
            self._names.read_ahead(pod)

    def renew(self) -> None:
        """Ask again, because the content of the volumes may have to change. Nothing waits for the answer."""
        if self._view.pod is not None:
            self._owner.tell(PrepareVolumes(self._worker.ref, self._view.pod, renewal=True))

    def pod_changed(self, pod: Pod, before: Pod) -> None:
        """The pod has a new form: it may use more volumes, or need other content in the same ones."""
        if self.ready and not used_volumes(pod) <= self.made.host_paths.keys():
            self._ask(pod)
        elif has_config_volumes(pod) and _differs(pod, before):
            self.renew()


def _differs(pod: Pod, before: Pod) -> bool:
    """Whether anything differs that a volume may show."""
    old, new = before.metadata, pod.metadata
    return old.labels != new.labels or old.annotations != new.annotations or before.spec != pod.spec


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
        """Index of the mount -> path on the host; None: wait for an answer, which triggers a look.

        `path`: document path of the container. Raises StartRefusedError if a part is not available.
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
            raise ContainerRefusedError(f"{path}.volumeMounts", answer.error)
        return answer.paths

    @handles(SubPathsPrepared)
    def prepared(self, message: SubPathsPrepared) -> Pass | None:
        question = self._questions.pop(message.container, None)
        if question is not None:
            question.answered()
            self._answers[message.container] = message
        return self._worker.go_on()


_NO_VARIABLES: Mapping[str, str] = {}


class MountParts(msgspec.Struct, frozen=True):
    """`images`: volume name -> image; `sub_paths`: index of the mount -> path on the host."""

    images: Mapping[str, ImageSpec]
    sub_paths: Mapping[int, str]


_NO_PARTS = MountParts({}, {})


class PodMounts:
    """See the module."""

    def __init__(self, images: PodVolumeImages, sub_paths: PodSubPaths) -> None:
        self._images = images
        self._sub_paths = sub_paths
        self.waits: dict[str, str] = {}
        """Container -> what its mounts wait for."""

    def waiting(self) -> frozenset[str]:
        """Names of containers that wait for parts of their mounts."""
        return self._sub_paths.waiting()

    async def of(self, pod: Pod, container: Container, path: str, sources: Sources) -> MountParts | None:
        """The parts for one start; None: wait. `path`: document path of the container; `sources`: of its variables.

        Raises StartRefusedError, VolumeImageRefusedError.
        """
        self.waits.pop(container.name, None)
        if not container.volume_mounts:
            return _NO_PARTS
        images = await self._images.of(pod, container)
        if images is None:
            self.waits[container.name] = "the images that it mounts are being pulled"
            return None
        variables = environment(pod, container, path, sources) if has_expressions(container) else _NO_VARIABLES
        wanted = wanted_sub_paths(pod, container, path, variables)
        sub_paths = self._sub_paths.take(pod.metadata.uid, container.name, path, wanted)
        if sub_paths is None:
            self.waits[container.name] = "parts of its volumes are being mounted"
            return None
        return MountParts(images, sub_paths)
