"""Step: start containers: ephemeral ones, then init containers, then regular ones (spec 3.6, 3.7).

A container that waits or fails does not hold up the others, with one exception. While its postStart hook has not
succeeded, later containers of the spec wait.

One start does what each stage of `actors.pod_rules.container_start` asks for: image, configuration, creation, start,
hook. A failure ends the start and leaves its reason in `PodView.waiting`, which the status shows; the next pass begins
again with the image. Until the answer for an image, an object or a mount comes, the container counts as busy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from actors.events.history_words import StartsUnderWay
from actors.images.pull_rules import PULL, REFUSE, ImageAction, ImageEvent, backing_off, look_labels, policy_of
from actors.kernel import DeadlineExceededError, LaneExhaustedError, Pending, outcome_of, part
from actors.messages.volumes import VolumesPrepared
from actors.model.refusal import ContainerRefusedError
from actors.pod.container_stops import ContainerStops
from actors.pod.mounts import NO_PATHS, PodMounts
from actors.pod.one_pass import CONTINUE, Outcome, PodPass, StartPlace
from actors.pod.pod_actor import PodActor
from actors.pod.post_starts import PostStarts
from actors.pod.references import PodReferences
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.steps.claims import PodResourceClaims
from actors.pod.steps.cpus import PodCpus
from actors.pod.steps.devices import PodDevices
from actors.pod.steps.images import ImageRefusedError, PodImages, WantedImage, refused_image
from actors.pod.troubles import ToldError
from actors.pod.view import PodView
from actors.pod_rules.action_types import Start
from actors.pod_rules.container_start import (
    RUNNING,
    ConfigGathered,
    Created,
    Event,
    ImageFound,
    Missing,
    PullNeeded,
    StartedContainer,
    StartStage,
    StepRefused,
    Wanted,
)
from actors.pod_status.api_status import pod_ips
from actors.start.cri_configs import Making, container_config, message_file, target_id
from actors.start.devices import NO_SETUP
from actors.start.environment import Data, Outline, Sources, outline_of
from actors.start.names import (
    HOSTS_LIMIT_BYTES,
    HOSTS_PLACE,
    has_hosts_file,
    host_hosts,
    hosts_path,
    pod_hosts,
)
from actors.start.security import with_groups
from actors.start.shares import NO_SHARE
from config.credentials.masked import masked
from config.objects import Container, Pod
from config.pods.identity import display_name, field_path
from config.pods.requests import has_domain_requests
from config.pods.resource_claims import has_claims
from runtime.cri import CriError
from runtime.cri.messages import ContainerConfig, Image, ImageSpec
from runtime.logs.pod_files import StartFiles
from runtime.logs.pod_logs import link_path, log_path
from runtime.metrics import kubelet as names

"""How labels of metrics say a fact."""
REFUSED_RETRY_NS = 10_000_000_000
"""When a refused start is tried again.

The cause may go away, as when an image or a file appears.
"""
CREATE_CONFIG_ERROR = "CreateContainerConfigError"
CREATE_ERROR = "CreateContainerError"
RUN_ERROR = "RunContainerError"


class _Try(msgspec.Struct):
    """One try to start a container within one pass, and the results of its stages."""

    pod: Pod
    start: Start
    container: Container
    name: str
    place: StartPlace
    volumes: VolumesPrepared
    attempt: int
    image: Image | None = None
    mounted: Mapping[str, ImageSpec] = {}
    """Volume name -> the image that it mounts."""
    config: ContainerConfig | None = None
    failure: CriError | None = None
    secrets: Mapping[str, Data] = {}
    """Those that its variables may come from."""


class ContainerStarts:
    images = part(PodImages)
    mounts = part(PodMounts)

    def __init__(
        self,
        worker: PodActor,
        services: PodServices,
        view: PodView,
        observer: PodObserver,
        calls: PodCalls,
        references: PodReferences,
        images: PodImages,
        mounts: PodMounts,
        stops: ContainerStops,
        post_starts: PostStarts,
        devices: PodDevices,
        claims: PodResourceClaims,
        cpus: PodCpus | None,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._observer = observer
        self._calls = calls
        self._references = references
        self.images = images
        self.mounts = mounts
        self._stops = stops
        self._post_starts = post_starts
        self._devices = devices
        self._claims = claims
        self._cpus = cpus
        self._lives = view.start_lives
        self._present: dict[str, None] = {}
        """Containers whose image was reported as present since they were last created."""

    async def step(self, this: PodPass) -> Outcome:
        """Start the containers. Raises the first CriError when all have been tried."""
        if this.place is None:
            return CONTINUE
        if this.actions.starts and has_domain_requests(this.pod.spec) and (wait := self._devices.wait()) is not None:
            return wait
        failure: CriError | None = None
        ending = self._stops.not_gone() if self._stops.ends else ()
        for start in this.actions.starts:
            if start.container.name in ending:
                continue  # it starts after its predecessor has ended
            if self._lives.unstarted and start not in this.actions.start_ephemeral:
                break
            try:
                await self.start(this, this.place, start)
            except CriError as raised:
                failure = failure or raised
        if failure is not None:
            raise failure
        return CONTINUE

    # --- what is under way ------------------------------------------------------------------------------------------

    def busy(self) -> frozenset[str]:
        """Names of containers that wait for their image, for referenced objects, or for parts of their mounts."""
        waiting = self.images.pulling() | self._references.waiting()
        if self._view.devices is not None:
            waiting |= self._devices.announcing()
        return waiting | self.mounts.waiting() if self.mounts.waits else waiting

    def under_way(self, backing_off: Mapping[str, int]) -> StartsUnderWay:
        """The state of containers that have not started.

        `backing_off`: container -> wall ns of its next start.
        """
        retry_at = self._retries()
        if retry_at:
            ahead_ns = self._worker.wall_ns() - self._worker.now_ns()
            retry_at = {name: at_ns + ahead_ns for name, at_ns in retry_at.items()}
        references = self._references.waiting()
        retry_at |= backing_off
        images = self.images
        return StartsUnderWay(
            self._view.waiting, retry_at, images.pulling(), references, images.queued, self.mounts.waits
        )

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

    # --- the walk ---------------------------------------------------------------------------------------------------

    async def start(self, this: PodPass, place: StartPlace, start: Start) -> None:
        """Advance the start of one container as far as possible now. Raises CriError."""
        container = start.container
        one = _Try(this.pod, start, container, container.name, place, this.volumes, start.attempt or 0)
        life = self._lives.meet(one.name, Wanted(container.image, start.created_id))
        while (step := _STEPS.get(life.stage)) is not None:
            event = await step(self, one)
            if event is None:
                break
            life = self._lives.meet(one.name, event)
            if life.stage is StartStage.UNPULLED and self._view.waiting.get(one.name) != (life.reason, life.message):
                for said in backing_off(life.image):
                    self._say(one.name, said)
            self._view.show_start(one.name, life)
        if one.failure is not None:
            raise one.failure
        if life.stage in RUNNING:
            await self._observer.look_at_container(life.id)

    def _refused(self, name: str, reason: str, message: str, image: ImageRefusedError | None = None) -> StepRefused:
        """Refuse the step, and record events if the reason is new.

        The event shows the reason for an image, and the message for anything else.
        """
        if self._view.waiting.get(name) != (reason, message):
            self._say(name, None if image is None else image.said)
            self._view.say("Warning", "Failed", f"Error: {message if image is None else reason}", name)
        at_ns = None if image is None else image.retry_at_ns
        return StepRefused(reason, message, at_ns or self._worker.now_ns() + REFUSED_RETRY_NS)

    def _say(self, name: str, said: ImageEvent | None) -> None:
        if said is not None:
            self._view.say(said.type, said.reason, said.message, name)

    # --- the image --------------------------------------------------------------------------------------------------

    async def _look_for_images(self, one: _Try) -> Event:
        """Find the images that it mounts, then its own."""
        container, name = one.container, one.name
        policy = policy_of(container.image, container.image_pull_policy)
        is_pulled = self._lives.of(name).is_pulled
        try:
            if container.volume_mounts:
                mounted = await self.mounts.images_of(one.pod, container)
                if mounted is None:
                    return Missing()
                one.mounted = mounted
            one.image, verdict = await self.images.find(container.image, policy, is_pulled=is_pulled)
        except ImageRefusedError as refused:
            return self._refused(name, refused.reason, refused.message, refused)
        present = one.image is not None
        if is_pulled and present:
            return ImageFound()
        if verdict.action is ImageAction.CHECK:
            return PullNeeded(self._worker.now_ns())
        self._services.meters.count(names.ENSURE_IMAGE, *look_labels(policy, verdict, present=present))
        if verdict.action is REFUSE:
            return self._refused(name, verdict.reason, verdict.message, refused_image(verdict))
        if verdict.action is PULL:
            return PullNeeded(self._worker.now_ns())
        if name not in self._present:
            self._present[name] = None
            self._say(name, verdict.said)
        return ImageFound()

    async def _ask_for_pull(self, one: _Try) -> Event | None:
        """The answer comes as a message; None until then."""
        image = one.container.image
        want = WantedImage(image, policy_of(image, one.container.image_pull_policy), one.image)
        is_asked = self.images.ask(one.pod, one.name, want, field_path(one.pod, one.name))
        return None if is_asked else Missing()

    # --- the container ----------------------------------------------------------------------------------------------

    async def _gather(self, one: _Try) -> Event:
        assert one.image is not None, "its image was found in this very pass"
        pod, container, start, place, volumes = one.pod, one.container, one.start, one.place, one.volumes
        try:
            outline = outline_of(pod, container)
            sources = await self._sources(one, outline)
            if sources is None:
                return Missing()
            one.secrets = sources.secrets
            parts = self.mounts.of(pod, container, outline.path, sources) if container.volume_mounts else NO_PATHS
            if parts is None:
                return Missing()
            setup = NO_SETUP if self._view.devices is None else self._devices.setup(one.name, outline.path)
            if setup is None:
                return Missing()
            hosts = await self._hosts(pod, sources.pod_ips)
            one.attempt = await self._prepare(pod, start, hosts)
            one.config = container_config(
                with_groups(pod, volumes.groups),
                container,
                Making(
                    attempt=one.attempt,
                    sandbox_attempt=place.attempt,
                    image=one.image,
                    host_paths=volumes.host_paths,
                    foreign=volumes.foreign,
                    sub_paths=parts,
                    volume_images=one.mounted,
                    mount_abilities=place.mount_abilities,
                    back_off_ns=start.back_off_ns,
                    sources=sources,
                    hosts_file=hosts[0] if hosts is not None else "",
                    ids=place.ids,
                    target_id=target_id(container, outline.path, self._view.seen()),
                    share=NO_SHARE if self._cpus is None else self._cpus.of(pod, one.name),
                    setup=setup,
                    claimed=self._claims.devices_of(pod, container) if has_claims(pod) else (),
                ),
                self._services.node.rules,
            )
        except (ContainerRefusedError, OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            return self._refused(one.name, CREATE_CONFIG_ERROR, str(failure))
        return ConfigGathered()

    async def _sources(self, one: _Try, outline: Outline) -> Sources | None:
        """The sources of its variables; None: wait. Raises ContainerRefusedError and what lanes raise."""
        sandboxes = self._view.seen().sandboxes
        own_ips, host_ips = sandboxes[0].ips if sandboxes else (), self._services.node.host_ips
        ips = pod_ips(bool(one.pod.spec.host_network), own_ips, (), host_ips, True)
        given = self._references.sources_for(one.pod, one.container, outline, ips)
        if given is None:
            return None
        if not self._services.node.rules.env_files:
            return msgspec.structs.replace(given, files=None)
        if not outline.files:
            return given
        files = await self.mounts.env_files(one.pod, outline.files, one.volumes.host_paths)
        return msgspec.structs.replace(given, files=files)

    async def _hosts(self, pod: Pod, ips: tuple[str, ...]) -> tuple[str, str] | None:
        """Path and content of the hosts file (spec 14.3), with the current addresses.

        None if the pod has none. Raises OSError and what lanes raise.
        """
        if not has_hosts_file(pod, ips):
            return None
        if pod.spec.host_network:
            reading = self._view.on_disk(self._services.files.read_node_file, HOSTS_PLACE, HOSTS_LIMIT_BYTES)
            text = host_hosts(pod, await self._worker.wait(reading, what="the files of names"))
        else:
            text = pod_hosts(pod, ips, self._services.configuration.cluster_domain)
        return hosts_path(self._services.node.root_directory, self._view.uid), text

    async def _create(self, one: _Try) -> Event:
        assert one.config is not None, "it was gathered in this very pass"
        try:
            made = await self._calls.create_container(one.place.id, one.config, one.place.config)
        except CriError as failure:
            return self._failed_to(CREATE_ERROR, one, failure)
        self._present.pop(one.name, None)
        self.images.created(one.pod, one.container)
        if self._cpus is not None:
            self._cpus.begins(one.pod, one.name)
        self._view.say("Normal", "Created", "Container created", one.name)
        return Created(made)

    async def _start(self, one: _Try) -> Event:
        name, container_id = one.name, self._lives.of(one.name).id
        try:
            await self._calls.start_container(name, one.attempt, container_id)
        except CriError as failure:
            return self._failed_to(RUN_ERROR, one, failure)
        self._view.say("Normal", "Started", "Container started", name)
        self._link_log(name, one.attempt, container_id)
        lifecycle = one.container.lifecycle
        return StartedContainer(hooked=lifecycle is not None and lifecycle.post_start is not None)

    async def _begin_hook(self, one: _Try) -> Event | None:
        """The end of the hook comes as a message; None until then."""
        return self._post_starts.begin(one.container, self._lives.of(one.name).id, self._view.ip())

    def _failed_to(self, reason: str, one: _Try, failure: CriError) -> StepRefused:
        """Note why the container does not run.

        The call may have succeeded after all; the next look shows that.
        """
        secret = [value for data in one.secrets.values() for value in data.values()]
        one.failure = failure = ToldError(failure.code, masked(failure.message, secret), failure.verb)
        return self._refused(one.name, reason, failure.message or str(failure))

    async def _prepare(self, pod: Pod, start: Start, hosts: tuple[str, str] | None) -> int:
        """Make all host files of the container in one call; return its attempt.

        Raises OSError and what lanes raise.
        """
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
        log = self._worker.log

        def linked(done: Pending[None]) -> None:
            if (error := outcome_of(done).error) is not None:
                log.warning("the log of container %s of pod %s has no link: %s", name, display_name(pod), error)

        self._view.on_disk(self._services.files.link_log, link, target).add_done_callback(linked)


_STEPS: Mapping[StartStage, Callable[[ContainerStarts, _Try], Awaitable[Event | None]]] = {
    StartStage.LOOKING: ContainerStarts._look_for_images,
    StartStage.PULLING: ContainerStarts._ask_for_pull,
    StartStage.GATHERING: ContainerStarts._gather,
    StartStage.CREATING: ContainerStarts._create,
    StartStage.STARTING: ContainerStarts._start,
    StartStage.HOOKED: ContainerStarts._begin_hook,
}
"""The action of each stage."""
