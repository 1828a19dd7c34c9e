"""All volumes of a pod at once, one after the other.

Tests of plugins need this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from config.objects import Pod
from runtime.volumes.capability import NO_CONTENTS, Contents, VolumeFailedError, VolumePlugin
from runtime.volumes.node_volumes import LocalNodeVolumes
from runtime.volumes.pod_directories import PodDirectories
from runtime.volumes.pod_volumes import specs_of


class VolumeFault(msgspec.Struct, frozen=True):
    """What is wrong with one volume of a pod."""

    volume: str
    field_path: str
    reason: str


class PreparedVolumes(msgspec.Struct, frozen=True):
    """Volume name -> path on the host for those that can be used, and what is wrong."""

    host_paths: Mapping[str, str]
    faults: tuple[VolumeFault, ...] = ()


class WholePods:
    def __init__(self, directories: PodDirectories, plugins: Iterable[VolumePlugin]) -> None:
        self.volumes = LocalNodeVolumes(directories, plugins)
        self.said: list[tuple[str, str, str]] = []

    def prepare(self, pod: Pod, contents: Contents = NO_CONTENTS) -> PreparedVolumes:
        uid = pod.metadata.uid
        self.volumes.make_pod(uid)
        host_paths: dict[str, str] = {}
        faults: list[VolumeFault] = []
        for bare in specs_of(pod):
            refusal = contents.refusals.get(bare.name)
            spec = msgspec.structs.replace(bare, payload=contents.payloads.get(bare.name))
            try:
                if refusal is None:
                    host_paths[spec.name] = self.volumes.prepare(pod, spec, self._say)
                else:
                    faults.append(VolumeFault(spec.name, spec.field_path, refusal))
                    if path := self.volumes.usable(uid, spec):
                        host_paths[spec.name] = path
            except (VolumeFailedError, OSError, ValueError) as failure:
                faults.append(VolumeFault(spec.name, spec.field_path, str(failure)))
        return PreparedVolumes(host_paths, tuple(faults))

    def release(self, uid: str) -> None:
        for found in self.volumes.volumes_of(uid):
            self.volumes.release(found.place)
        self.volumes.remove_pod(uid)

    def list_uids(self) -> tuple[str, ...]:
        return self.volumes.list_uids()

    def _say(self, kind: str, reason: str, message: str) -> None:
        self.said.append((kind, reason, message))
