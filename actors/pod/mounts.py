"""The parts of volumes that a container gets at one start (spec 8.7, 13.3).

The content of a volume may change between two starts of a container. So each start asks again. The
`VolumeReconcilerActor` gives parts of volumes, and the runtime gives images that are mounted (KEP-4639). Files of
variables are read from the disk: another container may have written them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from actors.kernel import handles
from actors.messages.volumes import PrepareSubPaths, SubPathsPrepared, WantedSubPath
from actors.model.refusal import ContainerRefusedError
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.steps.images import PodImages
from actors.pod.view import PodView, Question
from actors.start.environment import FileText, Sources, environment
from actors.start.mounts import empty_dirs, has_expressions, wanted_sub_paths
from config.objects import Container, Pod
from runtime.cri.messages import ImageSpec

ENV_FILE_BYTES = 64 * 1024
"""A file of variables is small; a larger one is something else."""
_NO_VARIABLES: Mapping[str, str] = {}
NO_PATHS: Mapping[int, str] = {}


class PodMounts:
    def __init__(self, worker: PodActor, services: PodServices, view: PodView, images: PodImages) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._images = images
        self._questions: dict[str, Question] = {}
        """Container -> the question for its parts of volumes."""
        self._answers: dict[str, SubPathsPrepared] = {}
        self.waits: dict[str, str] = {}
        """Container -> what its mounts wait for."""

    def waiting(self) -> frozenset[str]:
        """Names of containers that wait for parts of volumes."""
        return frozenset(name for name, question in self._questions.items() if not question.is_due())

    async def images_of(self, pod: Pod, container: Container) -> Mapping[str, ImageSpec] | None:
        """Volume name -> image, for those that the container mounts; None: wait. Raises ImageRefusedError."""
        self.waits.pop(container.name, None)
        images = await self._images.of_volumes(pod, container)
        if images is None:
            self.waits[container.name] = "the images that it mounts are being pulled"
        return images

    def of(self, pod: Pod, container: Container, path: str, sources: Sources) -> Mapping[int, str] | None:
        """Index of a mount -> the part of its volume, as a path on the host, for one start; None: wait.

        `path`: document path of the container; `sources`: of its variables. Raises ContainerRefusedError.
        """
        variables = environment(pod, container, path, sources) if has_expressions(container) else _NO_VARIABLES
        wanted = wanted_sub_paths(pod, container, path, variables)
        sub_paths = self._sub_paths(container.name, path, wanted) if wanted else NO_PATHS
        if sub_paths is None:
            self.waits[container.name] = "parts of its volumes are being mounted"
        return sub_paths

    def _sub_paths(self, container: str, path: str, wanted: tuple[WantedSubPath, ...]) -> Mapping[int, str] | None:
        answer = self._answers.pop(container, None)
        if answer is None or answer.wanted != wanted:
            question = self._questions.setdefault(container, Question(self._worker, f"parts of volumes {container}"))
            if question.may_ask():
                self._services.volumes.tell(PrepareSubPaths(self._worker.ref, self._view.uid, container, wanted))
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

    async def env_files(
        self, pod: Pod, files: Iterable[tuple[str, str]], host_paths: Mapping[str, str]
    ) -> Mapping[tuple[str, str], FileText]:
        """The texts of files of variables, by (volume, path)."""
        return {each: await self._file_text(pod, *each, host_paths) for each in files}

    async def _file_text(self, pod: Pod, volume: str, path: str, host_paths: Mapping[str, str]) -> FileText:
        if volume not in empty_dirs(pod):
            return FileText(error="the volume must be an emptyDir of the pod")
        directory = host_paths.get(volume)
        if directory is None:
            return FileText(error="no container of the pod mounts the volume")
        read = self._services.files.read_volume_file
        try:
            text = self._view.on_disk(read, directory, path, ENV_FILE_BYTES)
            return FileText(await self._worker.wait(text, what="the pod's files"))
        except OSError as failure:
            return FileText(error=failure.strerror or str(failure))
