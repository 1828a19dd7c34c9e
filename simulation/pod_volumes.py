"""Directories and volumes of pods on a simulated host: `runtime.volumes.PodVolumes`, kept in a `FileTree`.

The kinds are those that the real node has; a mount is a directory like any other here.
"""

from __future__ import annotations

from config.objects import Pod
from runtime.volumes.capability import PreparedVolumes, VolumeFault
from runtime.volumes.pod_volumes import source_of, used_volumes
from simulation.file_tree import FileTree


class SimulatedPodVolumes:
    """See the module. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        self._tree = tree
        self._pods = f"{root.rstrip('/')}/pods"

    def prepare(self, pod: Pod) -> PreparedVolumes:
        directory = f"{self._pods}/{pod.metadata.uid}"

        def make() -> PreparedVolumes:
            self._tree.make_directories(directory)
            used = used_volumes(pod)
            host_paths: dict[str, str] = {}
            faults: list[VolumeFault] = []
            for index, volume in enumerate(pod.spec.volumes):
                if volume.name not in used:
                    continue
                if volume.host_path is not None:
                    host_paths[volume.name] = volume.host_path.path
                elif volume.empty_dir is not None:
                    path = f"{directory}/volumes/kubernetes.io~empty-dir/{volume.name}"
                    self._tree.make_directories(path)
                    host_paths[volume.name] = path
                else:
                    reason = f"volumes of kind {source_of(volume) or 'none'} are not supported yet"
                    faults.append(VolumeFault(volume.name, f"spec.volumes[{index}]", reason))
            return PreparedVolumes(host_paths, tuple(faults))

        return self._tree.gate(directory, make)

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
