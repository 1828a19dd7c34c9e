"""`LocalPodVolumes`: all volumes of a pod at once, for those that still ask so."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from config.objects import Pod
from runtime.volumes.capability import (
    NO_CONTENTS,
    Contents,
    PreparedVolumes,
    VolumeError,
    VolumeFault,
    VolumePlugin,
)
from runtime.volumes.node_volumes import LocalNodeVolumes
from runtime.volumes.pod_directories import PodDirectories
from runtime.volumes.pod_volumes import specs_of


class LocalPodVolumes:
    """On this machine."""

    def __init__(self, directories: PodDirectories, plugins: Iterable[VolumePlugin]) -> None:
        self._volumes = LocalNodeVolumes(directories, plugins)

    def prepare(self, pod: Pod, contents: Contents = NO_CONTENTS) -> PreparedVolumes:
        volumes = self._volumes
        volumes.make_pod(pod.metadata.uid)
        host_paths: dict[str, str] = {}
        faults: list[VolumeFault] = []
        for bare in specs_of(pod):
            refusal = contents.refusals.get(bare.name)
            spec = msgspec.structs.replace(bare, payload=contents.payloads.get(bare.name))
            try:
                if refusal is None:
                    host_paths[spec.name] = volumes.prepare(pod, spec, _say_nothing)
                else:
                    faults.append(VolumeFault(spec.name, spec.field_path, refusal))
                    if path := volumes.usable(pod.metadata.uid, spec):
                        host_paths[spec.name] = path
            except (VolumeError, OSError, ValueError) as failure:
                faults.append(VolumeFault(spec.name, spec.field_path, str(failure)))
        return PreparedVolumes(host_paths, tuple(faults))

    def release(self, uid: str) -> None:
        for found in self._volumes.volumes_of(uid):
            self._volumes.release(found)
        self._volumes.remove_pod(uid)

    def list_uids(self) -> tuple[str, ...]:
        return self._volumes.list_uids()


def _say_nothing(kind: str, reason: str, message: str) -> None:
    """Who asks so gets no events."""
