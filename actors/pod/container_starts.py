"""Starts containers: does what each stage of `actors.pod_rules.container_start` asks for (spec 3.6, 3.7).

Image, configuration, creation, start, hook. A failure ends the start and leaves its reason in `PodView.waiting`, which
the status shows; the next pass begins again with the image. No pass waits for a pull: until the `ImagePullActor`
answers, the container counts as busy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from actors.events.history_words import StartsUnderWay
from actors.images.pull_rules import (
    INVALID_IMAGE_NAME,
    PULL,
    REFUSE,
    ImageEvent,
    ImageVerdict,
    backing_off,
    inspect_failed,
    judge_image,
    must_look,
    policy_of,
    shown_while_backing_off,
)
from actors.kernel import DeadlineExceededError, LaneExhaustedError, handles
from actors.messages.history import HistoryKind
from actors.messages.images import ImagePulled, ImagePullFailed, PullImage, PullWaits
from actors.messages.volumes import VolumesPrepared
from actors.model.identity import field_path, link_path, log_path
from actors.model.refusal import ContainerRefusedError
from actors.pod.grants import PodUsers
from actors.pod.history import PodHistory
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.post_starts import PostStarts
from actors.pod.references import PodReferences
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.sources import ContainerSources, PodNames
from actors.pod.view import PodView, Question
from actors.pod.volumes import PodMounts, PodVolumeImages, VolumeImageRefusedError
from actors.pod_rules.action_types import Start
from actors.pod_rules.container_start import (
    BEGUN,
    HELD_UP,
    RUNNING,
    ConfigGathered,
    Created,
    Event,
    ImageFound,
    Missing,
    Pulled,
    PullFailed,
    PullNeeded,
    StartedContainer,
    StartLife,
    StartStage,
    StepRefused,
    Wanted,
)
from actors.start.container_config import Making, container_config, message_file, target_id
from actors.start.environment import outline_of
from actors.start.mounts import MountAbilities
from actors.start.security import with_groups
from config.objects import Container, Pod
from runtime.cri import CriError
from runtime.cri.messages import ContainerConfig, Image, ImageSpec, ImageStatusRequest, PodSandboxConfig
from runtime.cri.verbs import IMAGE_STATUS
from runtime.logs.pod_files import StartFiles
from runtime.metrics import kubelet as names

_NOBODY: frozenset[str] = frozenset()
_SAID = ("false", "true")
"""How labels of metrics say a fact."""
REFUSED_RETRY_NS = 10_000_000_000
"""A refused start is tried again after this: the cause may go away, as when an image or a file appears."""
CREATE_CONFIG_ERROR = "CreateContainerConfigError"
CREATE_ERROR = "CreateContainerError"
RUN_ERROR = "RunContainerError"


class StartPlace(msgspec.Struct, frozen=True):
    """Where containers are started: the sandbox of the pod, its volumes, and what the runtime can do with mounts."""

    attempt: int
    id: str
    config: PodSandboxConfig
    volumes: VolumesPrepared
    mount_abilities: MountAbilities = MountAbilities()


class _Try(msgspec.Struct):
    """One try to start a container within one pass, and what its steps leave for later steps."""

    pod: Pod
    start: Start
    container: Container
    name: str
    place: StartPlace
    attempt: int
    image: Image | None = None
    config: ContainerConfig | None = None
    failure: CriError | None = None


class ContainerStarts:
    """See the module."""

    def __init__(
        self,
        worker: PodActor,
        services: PodServices,
        view: PodView,
        history: PodHistory,
        observer: PodObserver,
        calls: PodCalls,
        references: PodReferences,
        names: PodNames,
        users: PodUsers,
        volume_images: PodVolumeImages,
        mounts: PodMounts,
        post_starts: PostStarts,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._history = history
        self._observer = observer
        self._calls = calls
        self._references = references
        self._names = names
        self._users = users
        self._volume_images = volume_images
        self._mounts = mounts
        self._post_starts = post_starts
        self._sources = ContainerSources(worker, services, view, references)
        self._lives = view.start_lives
        self._pulls: dict[str, Question] = {}
        self._queued: dict[str, str] = {}
        """Container -> why its pull has not begun."""
        self._present: set[str] = set()
        """Containers whose image was reported as present since they were last created."""

    def busy(self) -> frozenset[str]:
        """Names of containers that wait for their image, for referenced objects, or for parts of their mounts."""
        return self._pulling() | self._references.waiting() | self._mounts.waiting()

    def _pulling(self) -> frozenset[str]:
        if not self._pulls:
            return _NOBODY
        return frozenset(name for name, pull in self._pulls.items() if not pull.is_due())

    def under_way(self, backing_off: Mapping[str, int]) -> StartsUnderWay:
        """The state of containers that have not started. `backing_off`: container -> wall ns of its next start."""
        retry_at = self._retries()
        if retry_at:
            ahead_ns = self._worker.wall_ns() - self._worker.now_ns()
            retry_at = {name: at_ns + ahead_ns for name, at_ns in retry_at.items()}
        references = self._references.waiting()
        retry_at |= backing_off
        pulling, mounting = self._pulling(), self._mounts.waits
        return StartsUnderWay(self._view.waiting, retry_at, pulling, references, self._queued, mounting)

    def wake_in_ns(self) -> int | None:
        """How many ns until the next retry; None when no retry is pending."""
        retry_at = self._retries()
        if not retry_at:
            return None
        now_ns = self._worker.now_ns()
        # Skip retries that are due but that this pass did not ask for, such as an init container that runs again.
        return min((at_ns - now_ns for at_ns in retry_at.values() if at_ns > now_ns), default=None)

    def _retries(self) -> dict[str, int]:
        """Container -> when its start is retried, monotonic ns."""
        return {name: life.retry_at_ns for name, life in self._lives.all().items() if life.retry_at_ns is not None}

    @handles(PullWaits)
    def pull_waits(self, message: PullWaits) -> None:
        """The pull of an image waits, or has begun."""
        self._queued.pop(message.container, None)
        if message.why:
            self._queued[message.container] = message.why
        self._worker.explain()

    @handles(ImagePulled)
    def image_pulled(self, message: ImagePulled) -> Pass | None:
        if not self._volume_images.pulled(message):
            self._pulled(message)
        return self._worker.go_on()

    def _pulled(self, message: ImagePulled) -> None:
        self._answered(message.container)
        self._lives.meet(message.container, Pulled(message.image))
        self._history.note(HistoryKind.EVENT, f"container {message.container}: image {message.image} was pulled")

    @handles(ImagePullFailed)
    def image_pull_failed(self, message: ImagePullFailed) -> Pass | None:
        if not self._volume_images.pull_failed(message):
            self._pull_failed(message)
        return self._worker.go_on()

    def _pull_failed(self, message: ImagePullFailed) -> None:
        self._answered(message.container)
        shown = shown_while_backing_off(message)
        failed = PullFailed(message.image, message.reason, message.message, message.retry_at_ns, shown)
        self._show(message.container, self._lives.meet(message.container, failed))
        text = f"container {message.container}: image {message.image} cannot be pulled: {message.message}"
        self._history.note(HistoryKind.FAILURE, text, message.reason)

    def _answered(self, name: str) -> None:
        self._queued.pop(name, None)
        pull = self._pulls.pop(name, None)
        if pull is not None:
            pull.answered()

    # --- the walk ---------------------------------------------------------------------------------------------------

    async def start(self, pod: Pod, start: Start, place: StartPlace) -> None:
        """Advance the start of one container as far as possible now. Raises CriError."""
        container = start.container
        this = _Try(pod, start, container, container.name, place, start.attempt or 0)
        life = self._lives.meet(this.name, Wanted(container.image, start.created_id))
        while (step := _STEPS.get(life.stage)) is not None:
            event = await step(self, this)
            if event is None:
                break
            life = self._lives.meet(this.name, event)
            if life.stage is StartStage.UNPULLED and self._view.waiting.get(this.name) != (life.reason, life.message):
                for said in backing_off(life.image):
                    self._say(this.name, said)
            self._show(this.name, life)
        if this.failure is not None:
            raise this.failure
        if life.stage in RUNNING:
            await self._observer.look_at_container(life.id)

    def _show(self, name: str, life: StartLife) -> None:
        """Update the waiting reason that the status shows for a container."""
        if life.stage in HELD_UP:
            self._view.waiting[name] = (life.reason, life.message)
        elif life.stage in BEGUN:
            self._view.waiting.pop(name, None)

    def _refused(self, name: str, reason: str, message: str, said: ImageEvent | None = None) -> StepRefused:
        """Refuse the step, and record events if the reason is new. The event shows the reason for an image, and the
        message for anything else.
        """
        if self._view.waiting.get(name) != (reason, message):
            self._say(name, said)
            self._view.say("Warning", "Failed", f"Error: {message if said is None else reason}", name)
        return StepRefused(reason, message, self._worker.now_ns() + REFUSED_RETRY_NS)

    def _say(self, name: str, said: ImageEvent | None) -> None:
        if said is not None:
            self._view.say(said.type, said.reason, said.message, name)

    # --- the image --------------------------------------------------------------------------------------------------

    async def _look_for_image(self, this: _Try) -> Event:
        image, name = this.container.image, this.name
        policy = policy_of(image, this.container.image_pull_policy)
        is_pulled = self._lives.of(name).is_pulled
        sound = judge_image(image, policy, False).reason != INVALID_IMAGE_NAME
        if sound and (is_pulled or must_look(policy)):
            call = self._services.cri.call(IMAGE_STATUS, ImageStatusRequest(image=ImageSpec(image=image)))
            try:
                response = await self._worker.wait(call, what=f"a look at image {image}")
            except CriError as failure:
                return self._refused_image(name, inspect_failed(image, str(failure)))
            this.image = response.image
        if is_pulled and this.image is not None:
            return ImageFound()
        verdict = judge_image(image, policy, this.image is not None)
        present, pulls = this.image is not None, verdict.action is PULL
        self._services.meters.count(names.ENSURE_IMAGE, policy, _SAID[present], _SAID[pulls])
        if verdict.action is REFUSE:
            return self._refused_image(name, verdict)
        if pulls:
            return PullNeeded(self._worker.now_ns())
        if name not in self._present:
            self._present.add(name)
            self._say(name, verdict.said)
        return ImageFound()

    def _refused_image(self, name: str, verdict: ImageVerdict) -> StepRefused:
        return self._refused(name, verdict.reason, verdict.message, verdict.said)

    async def _ask_for_pull(self, this: _Try) -> Event | None:
        """The answer comes as a message; None until then."""
        name, image = this.name, this.container.image
        credentials = self._references.credentials_for(this.pod, this.container)
        if credentials is None:
            return Missing()
        pull = self._pulls.setdefault(name, Question(self._worker, f"pull {name}"))
        if pull.may_ask():
            place = field_path(this.pod, name)
            self._services.images.tell(PullImage(self._worker.ref, this.pod, name, image, place, credentials))
        return None

    # --- the container ----------------------------------------------------------------------------------------------

    async def _gather(self, this: _Try) -> Event:
        assert this.image is not None, "its image was found in this very pass"
        pod, container, start, place = this.pod, this.container, this.start, this.place
        volumes = place.volumes
        try:
            outline = outline_of(pod, container)
            path = outline.path
            sources = await self._sources.of(pod, container, outline, volumes.host_paths)
            parts = None if sources is None else await self._mounts.of(pod, container, path, sources)
            if sources is None or parts is None:
                return Missing()
            hosts = await self._names.hosts(pod, sources.pod_ips)
            this.attempt = await self._prepare(pod, start, hosts)
            this.config = container_config(
                with_groups(pod, volumes.groups),
                container,
                Making(
                    attempt=this.attempt,
                    sandbox_attempt=place.attempt,
                    image=this.image,
                    host_paths=volumes.host_paths,
                    foreign=volumes.foreign,
                    sub_paths=parts.sub_paths,
                    volume_images=parts.images,
                    mount_abilities=place.mount_abilities,
                    back_off_ns=start.back_off_ns,
                    sources=sources,
                    hosts_file=hosts[0] if hosts is not None else "",
                    ids=self._users.known,
                    target_id=target_id(container, path, self._view.seen()),
                ),
                self._services.node.rules,
            )
        except (ContainerRefusedError, OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            return self._refused(this.name, CREATE_CONFIG_ERROR, str(failure))
        except VolumeImageRefusedError as failure:
            refused = self._refused(this.name, failure.reason, failure.message, failure.said)
            at_ns = failure.retry_at_ns
            return refused if at_ns is None else msgspec.structs.replace(refused, retry_at_ns=at_ns)
        return ConfigGathered()

    async def _create(self, this: _Try) -> Event:
        assert this.config is not None, "it was gathered in this very pass"
        try:
            made = await self._calls.create_container(this.place.id, this.config, this.place.config)
        except CriError as failure:
            return self._failed_to(CREATE_ERROR, this, failure)
        self._present.discard(this.name)
        self._volume_images.made(this.pod, this.container)
        self._view.say("Normal", "Created", f"Created container: {this.name}", this.name)
        return Created(made)

    async def _start(self, this: _Try) -> Event:
        name, container_id = this.name, self._lives.of(this.name).id
        try:
            await self._calls.start_container(name, this.attempt, container_id)
        except CriError as failure:
            return self._failed_to(RUN_ERROR, this, failure)
        self._view.say("Normal", "Started", f"Started container {name}", name)
        self._link_log(name, this.attempt, container_id)
        lifecycle = this.container.lifecycle
        return StartedContainer(hooked=lifecycle is not None and lifecycle.post_start is not None)

    async def _begin_hook(self, this: _Try) -> Event | None:
        """The end of the hook comes as a message; None until then."""
        return self._post_starts.begin(this.container, self._lives.of(this.name).id, self._view.ip())

    def _failed_to(self, reason: str, this: _Try, failure: CriError) -> StepRefused:
        """Note why the container does not run. The call may have succeeded after all; the next look shows that."""
        this.failure = failure
        return self._refused(this.name, reason, failure.message or str(failure))

    async def _prepare(self, pod: Pod, start: Start, hosts: tuple[str, str] | None) -> int:
        """Make all host files of the container in one call; return its attempt. Raises OSError and what lanes raise."""
        container, rules = start.container, self._services.node.rules
        wanted = StartFiles(
            log_directory=f"{self._view.log_directory()}/{container.name}",
            message=lambda attempt: message_file(pod, container, attempt, rules),
            attempt=start.attempt,
            hosts=hosts,
        )
        made = self._view.on_disk(self._services.files.prepare_container, wanted)
        return await self._worker.wait(made, what="the pod's files")

    def _link_log(self, name: str, attempt: int, container_id: str) -> None:
        """Link the log for log collectors. Nothing waits for the link or depends on it."""
        pod = self._view.pod
        if pod is None:
            return
        link = link_path(self._services.node.container_logs_directory, pod, name, container_id)
        target = f"{self._view.log_directory()}/{log_path(name, attempt)}"
        self._view.on_disk(self._services.files.link_log, link, target)


_STEPS: Mapping[StartStage, Callable[[ContainerStarts, _Try], Awaitable[Event | None]]] = {
    StartStage.LOOKING: ContainerStarts._look_for_image,
    StartStage.PULLING: ContainerStarts._ask_for_pull,
    StartStage.GATHERING: ContainerStarts._gather,
    StartStage.CREATING: ContainerStarts._create,
    StartStage.STARTING: ContainerStarts._start,
    StartStage.HOOKED: ContainerStarts._begin_hook,
}
"""The action of each stage."""
