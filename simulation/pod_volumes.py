"""Directories and volumes of pods on a simulated host: `runtime.volumes.PodVolumes`, kept in a `FileTree`.

The kinds are those that the real node has; a mount is a directory like any other here.
"""

from __future__ import annotations

from config.objects import Pod, Volume
from runtime.volumes.atomic_writer import checked
from runtime.volumes.capability import NO_CONTENTS, Contents, Payload, PreparedVolumes, VolumeError, VolumeFault
from runtime.volumes.pod_volumes import field_path_of, source_of, used_volumes
from simulation.file_tree import FileTree

_KINDS = {
    "empty_dir": "empty-dir",
    "config_map": "configmap",
    "secret": "secret",
    "downward_api": "downward-api",
    "projected": "projected",
}


class SimulatedPodVolumes:
    """See the module. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        self._tree = tree
        self._pods = f"{root.rstrip('/')}/pods"

    def prepare(self, pod: Pod, contents: Contents = NO_CONTENTS) -> PreparedVolumes:
        directory = f"{self._pods}/{pod.metadata.uid}"

        def make() -> PreparedVolumes:
            self._tree.make_directories(directory)
            used = used_volumes(pod)
            host_paths: dict[str, str] = {}
            faults: list[VolumeFault] = []
            for index, volume in enumerate(pod.spec.volumes):
                if volume.name not in used:
                    continue
                try:
                    host_paths[volume.name] = self._make(volume, directory, contents)
                except VolumeError as failure:
                    faults.append(VolumeFault(volume.name, field_path_of(index, volume), str(failure)))
                    path = self._path(volume, directory)
                    if volume.name in contents.refusals and path and self._tree.exists(path):
                        host_paths[volume.name] = path
            return PreparedVolumes(host_paths, tuple(faults))

        return self._tree.gate(directory, make)

    def _make(self, volume: Volume, directory: str, contents: Contents) -> str:
        if volume.host_path is not None:
            return volume.host_path.path
        path = self._path(volume, directory)
        if not path:
            raise VolumeError(f"volumes of kind {source_of(volume) or 'none'} are not supported yet")
        refusal = contents.refusals.get(volume.name)
        if refusal is not None:
            raise VolumeError(refusal)
        if volume.empty_dir is not None:
            self._tree.make_directories(path)
            return path
        payload = contents.payloads.get(volume.name)
        if payload is None:
            raise VolumeError("what is to be in it is not known yet")
        self._write(path, payload)
        return path

    def _path(self, volume: Volume, directory: str) -> str:
        """Where the volume is; empty for a kind that there is not."""
        kind = _KINDS.get(source_of(volume))
        return f"{directory}/volumes/kubernetes.io~{kind}/{volume.name}" if kind else ""

    def _write(self, path: str, payload: Payload) -> None:
        """The files as a container sees them. No link is turned here: nobody can look in between."""
        files = checked(payload)
        if self._tree.exists(path):
            for name in self._tree.names_in(path):
                if name not in files:
                    self._tree.remove_all(f"{path}/{name}")
        self._tree.make_directories(path)
        for name, file in files.items():
            if "/" in name:
                self._tree.make_directories(f"{path}/{name.rpartition('/')[0]}")
            self._tree.write(f"{path}/{name}", file.data, file.mode)

    def release(self, uid: str) -> None:
        directory = f"{self._pods}/{uid}"

        def remove() -> None:
            if self._tree.exists(directory):
                self._tree.remove_all(directory)

        return self._tree.gate(directory, remove)

    def list_uids(self) -> tuple[str, ...]:
        def names() -> tuple[str, ...]:
            return tuple(sorted(self._tree.names_in(self._pods))) if self._tree.exists(self._pods) else ()

        return self._tree.gate(self._pods, names)
