"""`LocalPodVolumes`: the volumes of a pod through the plugins of their kinds.

Only volumes that a container mounts are made (spec 8.3). One volume that cannot be had does not keep the others from
being made: all that is wrong is told at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from config.objects import Pod, Volume
from runtime.volumes.capability import (
    NO_CONTENTS,
    Contents,
    PreparedVolumes,
    VolumeError,
    VolumeFault,
    VolumePlugin,
)
from runtime.volumes.pod_directories import PodDirectories

_JSON_NAMES = dict(zip(Volume.__struct_fields__, Volume.__struct_encode_fields__, strict=True))


class LocalPodVolumes:
    """On this machine."""

    def __init__(self, directories: PodDirectories, plugins: Iterable[VolumePlugin]) -> None:
        self._directories = directories
        self._by_source = {plugin.source: plugin for plugin in plugins}
        self._by_name = {plugin.name: plugin for plugin in self._by_source.values()}

    def prepare(self, pod: Pod, contents: Contents = NO_CONTENTS) -> PreparedVolumes:
        self._directories.make(pod.metadata.uid)
        used = used_volumes(pod)
        host_paths: dict[str, str] = {}
        faults: list[VolumeFault] = []
        for index, volume in enumerate(pod.spec.volumes):
            if volume.name not in used:
                continue
            source = source_of(volume)
            try:
                plugin = self._plugin(source)
                directory = self._directories.volume(pod.metadata.uid, plugin.name, volume.name)
                refusal = contents.refusals.get(volume.name)
                if refusal is None:
                    payload = contents.payloads.get(volume.name)
                    host_paths[volume.name] = plugin.prepare(pod, volume, directory, payload)
                else:
                    faults.append(VolumeFault(volume.name, field_path_of(index, volume), refusal))
                    if plugin.is_usable(directory):
                        host_paths[volume.name] = directory
            except (VolumeError, OSError, ValueError) as failure:
                faults.append(VolumeFault(volume.name, field_path_of(index, volume), str(failure)))
        return PreparedVolumes(host_paths, tuple(faults))

    def release(self, uid: str) -> None:
        for volume in self._directories.volumes(uid):
            plugin = self._by_name.get(volume.plugin)
            if plugin is not None:
                plugin.release(uid, volume.path)
        self._directories.remove(uid)

    def list_uids(self) -> tuple[str, ...]:
        return self._directories.list_uids()

    def _plugin(self, source: str) -> VolumePlugin:
        # As the API has it: a volume without any source is an emptyDir.
        plugin = self._by_source.get(source or "empty_dir")
        if plugin is None:
            raise VolumeError(f"volumes of type {_JSON_NAMES[source]} are not supported yet")
        return plugin


def used_volumes(pod: Pod) -> frozenset[str]:
    """Names of the volumes that some container mounts or uses as a device."""
    spec = pod.spec
    containers = (*spec.init_containers, *spec.containers, *spec.ephemeral_containers)
    mounted = {mount.name for container in containers for mount in container.volume_mounts}
    return frozenset(mounted | {device.name for container in containers for device in container.volume_devices})


def source_of(volume: Volume) -> str:
    """The attribute of the volume's one source; empty when it has none."""
    return next((name for name in _JSON_NAMES if name != "name" and getattr(volume, name) is not None), "")


def field_path_of(index: int, volume: Volume) -> str:
    """Where the volume stands in its pod: `spec.volumes[2].nfs`."""
    source = source_of(volume)
    return f"spec.volumes[{index}]" + (f".{_JSON_NAMES[source]}" if source else "")
