"""configMap, secret, downwardAPI and projected volumes: the agent writes, pods read (spec 8.7).

All four are an emptyDir with a payload in it that changes all at once (`atomic_writer`); a configMap lies on disk, the
others, which may hold secrets, in memory. Where the payload comes from is not known here. Places of other volumes that
a container mounts inside this one are made beforehand, because containers see it read only.
"""

from __future__ import annotations

import os
import posixpath

from config.objects import Container, Pod
from runtime.volumes.atomic_writer import has_content, write_payload
from runtime.volumes.capability import Payload, Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.empty_dir import fs_group, make_empty_dir
from runtime.volumes.mounts import Mounts

NESTED_MODE = 0o755
SOURCE_BYTES = 16 * 1024 * 1024
"""Room in memory for each object of a volume.

The API takes objects of one MiB at most. Every file takes whole pages, and during a change old and new content lie side
by side. Unused room costs nothing.
"""


class ConfigVolumePlugin(VolumePlugin):
    """See the module. In memory where `mounts` is given."""

    def __init__(self, source: str, mounts: Mounts | None) -> None:
        self.source = source
        self._mounts = mounts

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        volume, payload, directory = spec.volume, spec.payload, place.directory
        if payload is None:
            raise VolumeFailedError("its content is not known yet")
        sources = len(volume.projected.sources) if volume.projected is not None else 1
        make_empty_dir(pod, directory, self._mounts, SOURCE_BYTES * max(1, sources))
        write_payload(directory, payload, fs_group(pod))
        for below in nested_mount_points(pod, volume.name):
            if not _is_in(payload, below):
                _make_nested(directory, below)
        return directory

    def is_usable(self, place: VolumePlace) -> bool:
        return has_content(place.directory)


def config_volume_plugins(mounts: Mounts) -> tuple[ConfigVolumePlugin, ...]:
    """All four kinds."""
    return (
        ConfigVolumePlugin("config_map", None),
        ConfigVolumePlugin("secret", mounts),
        ConfigVolumePlugin("downward_api", mounts),
        ConfigVolumePlugin("projected", mounts),
    )


def nested_mount_points(pod: Pod, name: str) -> tuple[str, ...]:
    """Paths below volume `name` at which some container mounts another volume; only the outermost, sorted."""
    spec = pod.spec
    found: set[str] = set()
    for container in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers):
        found.update(_nested_in(container, name))
    outermost: list[str] = []
    for path in sorted(found):
        if not outermost or not path.startswith(f"{outermost[-1]}/"):
            outermost.append(path)
    return tuple(outermost)


def _nested_in(container: Container, name: str) -> set[str]:
    places = {posixpath.normpath(f"/{mount.mount_path.lstrip('/')}") for mount in container.volume_mounts}
    own = {
        posixpath.normpath(f"/{mount.mount_path.lstrip('/')}")
        for mount in container.volume_mounts
        if mount.name == name and not mount.sub_path and not mount.sub_path_expr
    }
    return {
        place[len(top) :].lstrip("/")
        for top in own
        for place in places
        if place != top and place.startswith(top if top == "/" else f"{top}/")
    }


def _is_in(payload: Payload, path: str) -> bool:
    """The payload itself has a file or directory there, over which can be mounted."""
    return path in payload or any(each.startswith(f"{path}/") for each in payload)


def _make_nested(directory: str, below: str) -> None:
    """Make the directories below the volume.

    Raises OSError, and VolumeFailedError where a file of the payload is in the way.
    """
    path = directory
    for part in below.split("/"):
        path = os.path.join(path, part)
        try:
            os.mkdir(path)
        except FileExistsError:
            if os.path.islink(path) or not os.path.isdir(path):
                raise VolumeFailedError(
                    f"{below!r} cannot be a mount point: {part!r} is a file of the volume"
                ) from None
            continue
        os.chmod(path, NESTED_MODE)
