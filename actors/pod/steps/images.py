"""Step: the images of the pod are leased.

And how containers and volumes get their images (spec 6.1, 6.2, KEP-4639).

`PodLeases` keeps every image that the pod names, for containers and volumes, from being removed (pains 11). No
container starts before the leases are granted. They end with the pod, because a container that restarts needs its image
again.

`PodImages` asks the runtime for an image, at best while the sandbox is made. It has images pulled by the
`ImagePullActor`. No pass waits for a pull: the answer begins the next one. What was pulled for a container, and what
has failed, is in its start (`actors.pod_rules.container_start`); of images that are mounted as volumes it is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from actors.images.pull_rules import (
    INVALID_IMAGE_NAME,
    ImageAction,
    ImageEvent,
    ImageVerdict,
    backing_off,
    inspect_failed,
    judge_image,
    look_labels,
    must_look,
    open_to_all,
    policy_of,
    shown_while_backing_off,
)
from actors.kernel import ActorRef, Pending, handles, outcome_of
from actors.messages.history import HistoryKind
from actors.messages.images import (
    ImagePulled,
    ImagePullFailed,
    ImagesLeased,
    LeaseImages,
    PullImage,
    PullWaits,
    ReleaseImages,
)
from actors.pod.history import PodHistory
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.references import PodReferences
from actors.pod.services import PodServices
from actors.pod.view import PodView, Question
from actors.pod_rules.action_types import Start
from actors.pod_rules.container_start import Pulled, PullFailed
from config.objects import Container, EphemeralContainer, Pod, PodSpec, Volume
from config.pods.once_per_spec import once_per_spec
from runtime.cri import CriError
from runtime.cri.messages import Image, ImageSpec, ImageStatusRequest, ImageStatusResponse
from runtime.cri.verbs import IMAGE_STATUS
from runtime.metrics import kubelet as names
from runtime.traces.spans import current

FAILURE_SHOWN_NS = 1_000_000_000
"""How long a container shows why a pull failed before it shows that it backs off.

A kubelet looks again about then. It asks the credential programs first, so it comes later if they hang.
"""
AHEAD_AT_MOST = 16
"""So many images a pod looks for while its sandbox is made."""
AHEAD_GOOD_FOR_NS = 10_000_000_000
"""How long a look ahead may be used, from its question.

A pod whose sandbox takes longer looks again.
"""
_NOBODY: frozenset[str] = frozenset()
_NO_IMAGES: frozenset[str] = frozenset()
_VOLUME_KEY = "volumes/"
"""Marks a volume in the place of a container name; no container can have such a name."""


class PodLeases:
    """See the module. `image_gc` None: no image is ever removed."""

    def __init__(self, worker: PodActor, image_gc: ActorRef | None) -> None:
        self._worker = worker
        self._image_gc = image_gc
        self._question = Question(worker, "image leases")
        self._wanted = self._leased = _NO_IMAGES
        self._held_up = False

    def pod_desired(self, pod: Pod) -> None:
        """Lease the images that the pod names, if they have changed."""
        wanted = images_of(pod)
        if wanted != self._wanted:
            self._wanted = wanted
            self._leased &= wanted
            self._question.answered()
            self._ask(pod)

    @property
    def are_held(self) -> bool:
        """Whether no image that the pod names can be removed now."""
        return self._image_gc is None or self._wanted <= self._leased

    async def step(self, this: PodPass) -> Outcome:
        """Ask again if the answer is overdue."""
        if this.place is None or self.are_held:
            return CONTINUE
        self._ask(this.pod)
        self._held_up = True
        text = "an image that it names is just being removed, or nobody has said yet that none is"
        return PassWait(text, "its containers are started then")

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
        self._wanted = self._leased = _NO_IMAGES

    def _ask(self, pod: Pod) -> None:
        if self._image_gc is not None and self._question.may_ask():
            self._image_gc.tell(LeaseImages(self._worker.ref, pod.metadata.uid, self._wanted))


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


def _looked_at(starts: Iterable[Start]) -> Iterable[str]:
    """The images of these containers that the runtime is asked for, in the order of the containers."""
    named = ((each.container.image, each.container.image_pull_policy) for each in starts)
    policies = ((image, policy_of(image, policy)) for image, policy in named)
    return dict.fromkeys(image for image, policy in policies if must_look(policy) and _is_sound(image, policy))


def _is_sound(image: str, policy: str) -> bool:
    return judge_image(image, policy, False).reason != INVALID_IMAGE_NAME


class ImageRefusedError(Exception):
    """An image is not available now.

    `retry_at_ns` (monotonic); None: the caller chooses. `said`: an event.
    """

    def __init__(
        self, reason: str, message: str, retry_at_ns: int | None = None, said: ImageEvent | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_at_ns = retry_at_ns
        self.said = said
        """An event of the container; None: the pod has one, or there is none."""


def refused_image(verdict: ImageVerdict) -> ImageRefusedError:
    """The refusal that a verdict is."""
    return ImageRefusedError(verdict.reason, verdict.message, said=verdict.said)


class WantedImage:
    """A wanted image: its name, the pull policy, and the reference of the present one ("": absent)."""

    __slots__ = ("name", "policy", "present")

    def __init__(self, name: str, policy: str, found: Image | None) -> None:
        self.name = name
        self.policy = policy
        self.present = "" if found is None else found.id


class PodImages:
    """See the module.

    An image is wanted by a container, or by a volume; `wanted_by` is the name or key of either.
    """

    def __init__(
        self,
        worker: PodActor,
        services: PodServices,
        view: PodView,
        history: PodHistory,
        references: PodReferences,
        leases: PodLeases,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._history = history
        self._references = references
        self._leases = leases
        self._ahead: dict[str, tuple[Pending[ImageStatusResponse], int]] = {}
        """Image -> a look that began while the sandbox was made, and when."""
        self._pulls: dict[str, Question] = {}
        self.queued: dict[str, str] = {}
        """Container -> why its pull has not begun."""
        self._pulled: dict[str, str] = {}
        """Key of a volume -> the image that was pulled for it, until its container is created."""
        self._failed: dict[str, ImagePullFailed] = {}
        """Key of a volume -> its last pull, if that failed."""
        self._back_off_from_ns: dict[str, int] = {}
        """Key of a volume -> when its back-off is shown, and no longer the failure."""
        self._said: dict[str, ImageEvent] = {}
        """Key of a volume -> the last event of the pod about it that began in a pass."""

    def pulling(self) -> frozenset[str]:
        """Names of containers that wait for their own image."""
        if not self._pulls:
            return _NOBODY
        return frozenset(
            name for name, pull in self._pulls.items() if not name.startswith(_VOLUME_KEY) and not pull.is_due()
        )

    @property
    def are_pulled(self) -> bool:
        """Whether a pull is under way, of an image that is mounted too."""
        return bool(self._pulls)

    # --- one image --------------------------------------------------------------------------------------------------

    def look_ahead(self, starts: Iterable[Start]) -> None:
        """Ask for the first images of the first containers while their sandbox is made.

        Only leased ones: another may be removed until its container is created.
        """
        if self._leases.are_held:
            now_ns = self._worker.now_ns()
            first = islice(_looked_at(starts), AHEAD_AT_MOST)
            self._ahead = {image: (self._look(image), now_ns) for image in first}

    def _look(self, image: str) -> Pending[ImageStatusResponse]:
        return self._services.cri.call(IMAGE_STATUS, ImageStatusRequest(image=ImageSpec(image=image)))

    def _look_of(self, image: str) -> Pending[ImageStatusResponse]:
        """The look that began ahead; a new one if there is none, or if it is old or has failed."""
        ahead, since_ns = self._ahead.pop(image, (None, 0))
        is_old = self._worker.now_ns() - since_ns >= AHEAD_GOOD_FOR_NS
        if ahead is None or is_old or (ahead.done() and outcome_of(ahead).error is not None):
            return self._look(image)
        return ahead

    async def find(self, image: str, policy: str, *, is_pulled: bool) -> tuple[Image | None, ImageVerdict]:
        """The image in the runtime, and the decision about it.

        Raises ImageRefusedError if the decision fails.

        `is_pulled`: the pod has pulled it, so no policy asks for it again while it is present.
        """
        found: Image | None = None
        if _is_sound(image, policy) and (is_pulled or must_look(policy)):
            try:
                found = (await self._worker.wait(self._look_of(image), what=f"a look at image {image}")).image
            except CriError as failure:
                self._services.meters.count(names.ENSURE_IMAGE, *look_labels(policy, None, present=False))
                raise refused_image(inspect_failed(image, str(failure))) from failure
        if is_pulled and found is not None:
            return found, ImageVerdict(ImageAction.USE, image)
        verdict = judge_image(image, policy, found is not None)
        pulls = self._services.pulls
        if verdict.action is ImageAction.USE and found is not None and pulls is not None:
            access = open_to_all(pulls, verdict.image, found.id)
            if access is None:
                return found, ImageVerdict(ImageAction.CHECK, verdict.image)
            self._services.meters.count(names.MUST_PULL_CHECKS, access.value)
        return found, verdict

    def ask(self, pod: Pod, wanted_by: str, want: WantedImage, field_path: str = "") -> bool:
        """Have the image pulled, or checked if it is here; the answer begins a pass.

        False: the pull secrets of the pod are asked for first.
        """
        image = want.name
        credentials = self._references.credentials_for(pod, wanted_by, image)
        if credentials is None:
            return False
        pull = self._pulls.setdefault(wanted_by, Question(self._worker, f"pull {wanted_by}"))
        if pull.may_ask():
            self._services.images.tell(
                PullImage(
                    worker=self._worker.ref,
                    pod=pod,
                    container=wanted_by,
                    image=image,
                    field_path=field_path,
                    credentials=credentials.credentials,
                    secrets=credentials.secrets,
                    present=want.present,
                    policy=want.policy,
                    trace=None if self._services.tracer is None else current(),
                )
            )
        return True

    # --- images that are mounted as volumes -------------------------------------------------------------------------

    async def of_volumes(self, pod: Pod, container: Container) -> Mapping[str, ImageSpec] | None:
        """Volume name -> image, for those that the container mounts.

        None: wait for an answer, which triggers a look. Raises ImageRefusedError.
        """
        found = {volume.name: await self._of_volume(pod, volume) for volume in _mounted(pod, container)}
        images = {name: image for name, image in found.items() if image is not None}
        return images if len(images) == len(found) else None

    async def _of_volume(self, pod: Pod, volume: Volume) -> ImageSpec | None:
        source, key = volume.image, _VOLUME_KEY + volume.name
        image = (source.reference if source is not None else None) or ""
        policy = policy_of(image, source.pull_policy if source is not None else None)
        found, verdict = await self.find(image, policy, is_pulled=self._pulled.get(key) == image)
        if found is not None and verdict.action is ImageAction.USE:
            self._say_of_volume(key, verdict.said)
            return ImageSpec(image=found.id or image, user_specified_image=image)
        if verdict.action is ImageAction.REFUSE:
            self._say_of_volume(key, verdict.said)
            raise ImageRefusedError(verdict.reason, verdict.message)
        failed, now_ns = self._failed.get(key), self._worker.now_ns()
        if failed is not None and failed.image == image and now_ns < failed.retry_at_ns:
            from_ns = self._back_off_from_ns[key]
            if now_ns < from_ns:
                raise ImageRefusedError(failed.reason, failed.message, from_ns)
            self._say_of_volume(key, backing_off(image)[0])
            raise ImageRefusedError(*shown_while_backing_off(failed), failed.retry_at_ns)
        self._said.pop(key, None)
        self.ask(pod, key, WantedImage(image, policy, found))
        return None

    def _say_of_volume(self, key: str, said: ImageEvent | None) -> None:
        """Record an event of the pod: an image that is mounted is not one container's. Once, until it changes."""
        if said is not None and self._said.get(key) != said:
            self._said[key] = said
            self._view.say(said.type, said.reason, said.message)

    def created(self, pod: Pod, container: Container) -> None:
        """The container has been created: its next start asks anew for what it mounts."""
        for volume in _mounted(pod, container):
            self._pulled.pop(_VOLUME_KEY + volume.name, None)

    # --- answers ----------------------------------------------------------------------------------------------------

    @handles(PullWaits)
    def pull_waits(self, message: PullWaits) -> None:
        """The pull of an image waits, or has begun."""
        self.queued.pop(message.container, None)
        if message.why:
            self.queued[message.container] = message.why
        self._worker.explain()

    @handles(ImagePulled)
    def pulled(self, message: ImagePulled) -> Pass | None:
        name = message.container
        self._answered(name)
        if name.startswith(_VOLUME_KEY):
            self._failed.pop(name, None)
            self._pulled[name] = message.image
        else:
            self._view.start_lives.meet(name, Pulled(message.image))
            if not message.present:
                self._history.note(HistoryKind.EVENT, f"container {name}: image {message.image} was pulled")
        return self._worker.go_on()

    @handles(ImagePullFailed)
    def pull_failed(self, message: ImagePullFailed) -> Pass | None:
        name = message.container
        self._answered(name)
        if name.startswith(_VOLUME_KEY):
            self._failed[name] = message
            self._back_off_from_ns[name] = self._back_off_is_shown_from_ns(message)
        else:
            shown, from_ns = shown_while_backing_off(message), self._back_off_is_shown_from_ns(message)
            failed = PullFailed(message.image, message.reason, message.message, message.retry_at_ns, shown, from_ns)
            self._view.show_start(name, self._view.start_lives.meet(name, failed))
            text = f"container {name}: image {message.image} cannot be pulled: {message.message}"
            self._history.note(HistoryKind.FAILURE, text, message.reason)
        return self._worker.go_on()

    def _back_off_is_shown_from_ns(self, failed: ImagePullFailed) -> int:
        shown_ns = max(FAILURE_SHOWN_NS, failed.asking_ns)
        return min(self._worker.now_ns() + shown_ns, failed.retry_at_ns)

    def _answered(self, wanted_by: str) -> None:
        self.queued.pop(wanted_by, None)
        pull = self._pulls.pop(wanted_by, None)
        if pull is not None:
            pull.answered()


def _mounted(pod: Pod, container: Container) -> tuple[Volume, ...]:
    """The volumes with images that the container mounts."""
    if not container.volume_mounts:
        return ()
    mounted = {mount.name for mount in container.volume_mounts}
    return tuple(volume for volume in pod.spec.volumes if volume.image is not None and volume.name in mounted)
