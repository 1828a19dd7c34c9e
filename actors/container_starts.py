"""Starting one container: image, configuration, creation, start (spec 3.6, 3.7).

Each step that cannot be done now leaves a reason in `PodView.waiting`, which is what the status shows, and ends the
start; the next pass begins again with the first step. A pull is asked of the `ImagePullActor` and not waited for:
until its answer the container counts as busy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from actors.history_messages import HistoryKind
from actors.image_messages import ImagePulled, ImagePullFailed, PullImage
from actors.image_rules import (
    INVALID_IMAGE_NAME,
    ImageDeed,
    Said,
    backing_off,
    inspect_failed,
    judge_image,
    must_look,
    policy_of,
    shown_while_backing_off,
)
from actors.kernel import Actor, DeadlineExceededError, LaneExhaustedError
from actors.kernel.suspension import Suspension
from actors.pod_action_types import Start
from actors.pod_names import PodNames
from actors.pod_references import PodReferences
from actors.pod_services import PodServices
from actors.pod_status.ips import pod_ips
from actors.pod_users import PodUsers
from actors.pod_view import PodView, Question
from actors.pod_waits import StartsUnderWay
from actors.start.container_config import Making, container_config, document_path, message_file
from actors.start.environment import FileText, Sources, file_references
from actors.start.identity import field_path
from actors.start.logs import link_path, log_path
from actors.start.refusal import StartRefusedError
from actors.start.target import target_id
from config.objects import Container, Pod
from runtime.cri import CriError
from runtime.cri.messages import Image, ImageSpec, ImageStatusRequest, PodSandboxConfig
from runtime.cri.verbs import IMAGE_STATUS

T = TypeVar("T")
HostPaths = Mapping[str, str]

REFUSED_RETRY_NS = 10_000_000_000
"""What is wrong with a container may be mended from outside: an image arrives, a file appears."""
ENV_FILE_BYTES = 64 * 1024
"""A file of variables is small; what is larger is another file."""
CREATE_CONFIG_ERROR = "CreateContainerConfigError"
CREATE_ERROR = "CreateContainerError"
RUN_ERROR = "RunContainerError"


class ContainerStarts:
    """See the module. One per worker."""

    def __init__(
        self,
        worker: Actor,
        services: PodServices,
        view: PodView,
        references: PodReferences,
        names: PodNames,
        users: PodUsers,
    ) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._references = references
        self._names = names
        self._users = users
        self._pulls: dict[str, Question] = {}
        self._pulled: dict[str, str] = {}
        self._failed: dict[str, ImagePullFailed] = {}
        self._refused: set[str] = set()
        self._present: set[str] = set()
        """Containers of which it was said that their image is there, since they were last created."""

    def busy(self) -> frozenset[str]:
        """Names of containers whose image is being pulled, or that wait for what they refer to."""
        pulls = frozenset(name for name, pull in self._pulls.items() if not pull.is_due())
        return pulls | self._references.waiting()

    def under_way(self, backing_off: Mapping[str, int]) -> StartsUnderWay:
        """What is known of those that do not run yet. `backing_off`: container -> wall ns of its next start."""
        ahead_ns = self._worker.wall_ns() - self._worker.now_ns()
        retry_at = dict.fromkeys(self._refused, self._worker.wall_ns() + REFUSED_RETRY_NS)
        retry_at |= {name: failed.retry_at_ns + ahead_ns for name, failed in self._failed.items()}
        pulling = frozenset(name for name, pull in self._pulls.items() if not pull.is_due())
        return StartsUnderWay(self._view.waiting, {**retry_at, **backing_off}, pulling, self._references.waiting())

    def wake_in_ns(self) -> int | None:
        """When what could not be done may be tried again, from now; None when nothing waits for that."""
        now_ns = self._worker.now_ns()
        # What is due and was not asked for in this pass is not wanted now: an init container runs again, for one.
        waits = [failed.retry_at_ns - now_ns for failed in self._failed.values() if failed.retry_at_ns > now_ns]
        if self._refused:
            waits.append(REFUSED_RETRY_NS)
        return min(waits, default=None)

    def image_pulled(self, message: ImagePulled) -> None:
        self._answered(message.container)
        self._failed.pop(message.container, None)
        self._pulled[message.container] = message.image
        self._view.history.note(HistoryKind.EVENT, f"container {message.container}: image {message.image} was pulled")

    def image_pull_failed(self, message: ImagePullFailed) -> None:
        self._answered(message.container)
        self._failed[message.container] = message
        text = f"container {message.container}: image {message.image} cannot be pulled: {message.message}"
        self._view.history.note(HistoryKind.FAILURE, text, message.reason)
        self._view.waiting[message.container] = (message.reason, message.message)

    def _answered(self, name: str) -> None:
        pull = self._pulls.pop(name, None)
        if pull is not None:
            pull.answered()

    # --- the image --------------------------------------------------------------------------------------------------

    async def image_of(self, pod: Pod, start: Start) -> Image | None:
        """The image to start with, or None: then it is being pulled, or cannot be had, and the reason is noted."""
        container = start.container
        policy = policy_of(container.image, container.image_pull_policy)
        pulled = self._pulled.get(container.name) == container.image
        found: Image | None = None
        sound = judge_image(container.image, policy, False).reason != INVALID_IMAGE_NAME
        if sound and (pulled or must_look(policy)):
            request = ImageStatusRequest(image=ImageSpec(image=container.image))
            try:
                response = await self._worker.wait(
                    self._services.cri.call(IMAGE_STATUS, request), what=f"a look at image {container.image}"
                )
            except CriError as failure:
                verdict = inspect_failed(container.image, str(failure))
                self._refuse(container.name, verdict.reason, verdict.message, verdict.said)
                return None
            found = response.image
        if pulled and found is not None:
            return found
        verdict = judge_image(container.image, policy, found is not None)
        if verdict.deed is ImageDeed.REFUSE:
            self._refuse(container.name, verdict.reason, verdict.message, verdict.said)
            return None
        if verdict.deed is ImageDeed.PULL:
            self._ask_for_pull(pod, start)
            return None
        if container.name not in self._present:
            self._present.add(container.name)
            self._say(container.name, verdict.said)
        return found

    def _ask_for_pull(self, pod: Pod, start: Start) -> None:
        name, image = start.container.name, start.container.image
        failed = self._failed.get(name)
        if failed is not None and failed.image == image and self._worker.now_ns() < failed.retry_at_ns:
            shown = shown_while_backing_off(failed)
            if self._view.waiting.get(name) != shown:
                for said in backing_off(image):
                    self._say(name, said)
            self._view.waiting[name] = shown
            return
        self._failed.pop(name, None)
        credentials = self._references.credentials_for(pod, start.container)
        if credentials is None:
            return
        pull = self._pulls.setdefault(name, Question(self._worker, f"pull {name}"))
        if not pull.may_ask():
            return
        place = field_path(pod, start.container)
        self._services.images.tell(PullImage(self._worker.ref, pod, name, image, place, credentials))

    def _refuse(self, name: str, reason: str, message: str, said: Said | None) -> None:
        if self._view.waiting.get(name) != (reason, message):
            self._say(name, said)
            # Of an image people know the reason word; of anything else they need the words.
            self._view.say("Warning", "Failed", f"Error: {message if said is None else reason}", name)
        self._view.waiting[name] = (reason, message)
        self._refused.add(name)

    def _say(self, name: str, said: Said | None) -> None:
        if said is not None:
            self._view.say(said.type, said.reason, said.message, name)

    # --- the container ----------------------------------------------------------------------------------------------

    async def start(
        self, pod: Pod, start: Start, sandbox_attempt: int, sandbox_id: str, sandbox: PodSandboxConfig, paths: HostPaths
    ) -> bool:
        """Bring one container to life as far as that goes now; True when it runs. Raises CriError."""
        name = start.container.name
        if start.created_id:
            return await self._start_created(start.container, start.attempt or 0, start.created_id)
        image = await self.image_of(pod, start)
        if image is None:
            return False
        try:
            sources = await self._sources(pod, start.container, paths)
            if sources is None:
                return False
            attempt = await self._prepare(pod, start)
            hosts = await self._names.hosts(pod, self._ips(pod))
            path = document_path(pod, start.container)
            config = container_config(
                pod,
                start.container,
                Making(
                    attempt=attempt,
                    sandbox_attempt=sandbox_attempt,
                    image=image,
                    host_paths=paths,
                    back_off_ns=start.back_off_ns,
                    sources=sources,
                    hosts_file=hosts,
                    ids=self._users.known,
                    target_id=target_id(start.container, path, self._view.seen()),
                ),
                self._services.node.rules,
            )
        except (StartRefusedError, OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._refuse(name, CREATE_CONFIG_ERROR, str(failure), None)
            return False
        try:
            container_id = await self._view.deeds.create_container(sandbox_id, config, sandbox)
        except CriError as failure:
            self._failed_to(CREATE_ERROR, name, failure)
            return False
        self._pulled.pop(name, None)
        self._present.discard(name)
        self._view.say("Normal", "Created", f"Created container: {name}", name)
        return await self._start_created(start.container, attempt, container_id)

    async def _start_created(self, container: Container, attempt: int, container_id: str) -> bool:
        name = container.name
        try:
            await self._view.deeds.start_container(name, attempt, container_id)
        except CriError as failure:
            self._failed_to(RUN_ERROR, name, failure)
            await self._view.look_at_container(container_id)
            return False
        self._view.waiting.pop(name, None)
        self._refused.discard(name)
        self._view.say("Normal", "Started", f"Started container {name}", name)
        self._view.post_starts.begin(container, container_id, self._view.ip())
        await self._view.look_at_container(container_id)
        self._link_log(name, attempt, container_id)
        return True

    def _failed_to(self, reason: str, name: str, failure: CriError) -> None:
        """Note why it does not run. What may have been done all the same is for the next look to find."""
        self._refuse(name, reason, failure.message or str(failure), None)
        raise failure

    async def _prepare(self, pod: Pod, start: Start) -> int:
        """Make the container's files on the host; which attempt this is. Raises OSError and what lanes raise."""
        directory = f"{self._view.log_directory()}/{start.container.name}"
        files = self._services.files
        attempt = start.attempt
        if attempt is None:
            newest = await self._on_disk(files.newest_log_attempt, directory)
            attempt = 0 if newest is None else newest + 1
        message = message_file(pod, start.container, attempt, self._services.node.rules)
        await self._on_disk(files.prepare_container, message, directory)
        return attempt

    def _on_disk(self, deed: Callable[..., T], *args: str | int) -> Suspension[T]:
        return self._worker.wait(self._view.on_disk(deed, *args), what="the pod's files")

    def _link_log(self, name: str, attempt: int, container_id: str) -> None:
        """For log collectors; nothing waits for it, and nothing depends on it."""
        pod = self._view.pod
        if pod is None:
            return
        link = link_path(self._services.node.container_logs_directory, pod, name, container_id)
        target = f"{self._view.log_directory()}/{log_path(name, attempt)}"
        self._view.on_disk(self._services.files.link_log, link, target)

    # --- what its variables are taken from --------------------------------------------------------------------------

    async def _sources(self, pod: Pod, container: Container, paths: HostPaths) -> Sources | None:
        """None: the container has to wait for it. Raises StartRefusedError, and what lanes raise."""
        given = self._references.sources_for(pod, container)
        if given is None:
            return None
        files: dict[tuple[str, str], FileText] | None = None
        if self._services.node.rules.env_files:
            files = {each: await self._file_text(pod, *each, paths) for each in file_references(container)}
        host_ips = self._services.node.host_ips
        return msgspec.structs.replace(given, files=files, pod_ips=self._ips(pod), host_ips=host_ips)

    def _ips(self, pod: Pod) -> tuple[str, ...]:
        """The addresses of the pod, primary family first."""
        sandboxes = self._view.seen().sandboxes
        host_ips = self._services.node.host_ips
        return pod_ips(bool(pod.spec.host_network), sandboxes[0].ips if sandboxes else (), (), host_ips, True)

    async def _file_text(self, pod: Pod, volume: str, path: str, paths: HostPaths) -> FileText:
        """A file that another container may have written into an emptyDir (spec 13.3)."""
        if not any(each.name == volume and each.empty_dir is not None for each in pod.spec.volumes):
            return FileText(error="the volume must be an emptyDir of the pod")
        directory = paths.get(volume)
        if directory is None:
            return FileText(error="no container of the pod mounts the volume")
        try:
            read = self._services.files.read_volume_file
            return FileText(await self._on_disk(read, directory, path, ENV_FILE_BYTES))
        except OSError as failure:
            return FileText(error=failure.strerror or str(failure))
