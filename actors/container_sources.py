"""What the variables of a container that is to start are taken from: objects, files of volumes, the pod's addresses.

Objects have been asked for before (`actors.pod_references`); files are read on the lane of the disk, anew each time.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.kernel import Actor
from actors.pod.view import PodView
from actors.pod_references import PodReferences
from actors.pod_services import PodServices
from actors.pod_status.ips import pod_ips
from actors.start.environment import FileText, Sources
from actors.start.outline import Outline
from config.objects import Container, Pod

ENV_FILE_BYTES = 64 * 1024
"""A file of variables is small; what is larger is another file."""


class ContainerSources:
    """See the module."""

    def __init__(self, worker: Actor, services: PodServices, view: PodView, references: PodReferences) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._references = references

    async def of(
        self, pod: Pod, container: Container, outline: Outline, host_paths: Mapping[str, str]
    ) -> Sources | None:
        """None: the container has to wait for it. Raises StartRefusedError, and what lanes raise."""
        given = self._references.sources_for(pod, container, outline, self.ips(pod))
        if given is None:
            return None
        if not self._services.node.rules.env_files:
            return msgspec.structs.replace(given, files=None)
        if not outline.files:
            return given
        files = {each: await self._file_text(pod, *each, host_paths) for each in outline.files}
        return msgspec.structs.replace(given, files=files)

    def ips(self, pod: Pod) -> tuple[str, ...]:
        """The addresses of the pod, primary family first."""
        sandboxes = self._view.seen().sandboxes
        host_ips = self._services.node.host_ips
        return pod_ips(bool(pod.spec.host_network), sandboxes[0].ips if sandboxes else (), (), host_ips, True)

    async def _file_text(self, pod: Pod, volume: str, path: str, host_paths: Mapping[str, str]) -> FileText:
        """A file that another container may have written into an emptyDir (spec 13.3)."""
        if not any(each.name == volume and each.empty_dir is not None for each in pod.spec.volumes):
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
