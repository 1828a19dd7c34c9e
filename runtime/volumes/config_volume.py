"""configMap, secret, downwardAPI and projected volumes: the agent writes, pods read (spec 8.7).

All four are an emptyDir with a payload in it that changes all at once (`atomic_writer`); a configMap lies on disk, the
others, which may hold secrets, in memory. Where the payload comes from is not known here. Places of other volumes that
a container mounts inside this one are made beforehand, because containers see it read only.
"""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from config.objects import Container, Pod, PodSpec
from config.pods.once_per_spec import once_per_spec
from runtime.volumes.atomic_writer import has_content, write_payload
from runtime.volumes.capability import Payload, Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.empty_dir import fs_group, make_empty_dir
from runtime.volumes.mounts import Mounts

NESTED_MODE = 0o755
_NOTHING_NESTED: Mapping[str, tuple[str, ...]] = {}
SOURCE_BYTES = 16 * 1024 * 1024
"""Room in memory for each object of a volume.

The API takes objects of one MiB at most. Every file takes whole pages, and during a change old and new content lie side
by side. Unused room costs nothing. A volume that shows one value in many files may need more; it gets that when it is
first made.
"""
VERSIONS = 2
PAGE_BYTES = 4096


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
        room = max(SOURCE_BYTES * max(1, sources), VERSIONS * pages_of(payload) * PAGE_BYTES)
        make_empty_dir(pod, directory, self._mounts, room)
        write_payload(directory, payload, fs_group(pod))
        if nested := nested_mount_points(pod, volume.name):
            paths = sorted(payload)
            for below in nested:
                if not _is_in(paths, below):
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
    return _nested(pod.spec).get(name, ())


@once_per_spec
def _nested(spec: PodSpec) -> Mapping[str, tuple[str, ...]]:
    """For all volumes at once: a pod may have thousands of them, and as many mounts."""
    found: dict[str, set[str]] = {}
    for container in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers):
        for name, path in _nested_in(container):
            found.setdefault(name, set()).add(path)
    return {name: _outermost(paths) for name, paths in found.items()} if found else _NOTHING_NESTED


def _nested_in(container: Container) -> Iterator[tuple[str, str]]:
    """Each mount that lies in another one: the volume of the nearest one around it, and the path in there.

    A volume further out need not have the path: it has a mount point on the way there.
    """
    whole: dict[str, set[str]] = {}
    for mount in container.volume_mounts:
        names = whole.setdefault(posixpath.normpath(f"/{mount.mount_path.lstrip('/')}"), set())
        if not mount.sub_path and not mount.sub_path_expr:
            names.add(mount.name)
    around: list[str] = []
    for place in sorted(whole, key=_components_first):
        while around and not place.startswith(around[-1] if around[-1] == "/" else f"{around[-1]}/"):
            around.pop()
        for name in whole[around[-1]] if around else ():
            yield name, place[len(around[-1]) :].lstrip("/")
        around.append(place)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for path in sorted(paths, key=_components_first):
        if not found or not path.startswith(f"{found[-1]}/"):
            found.append(path)
    return tuple(found)


def _components_first(path: str) -> str:
    """A key to sort paths: what lies in a directory follows it at once."""
    return path.replace("/", "\0")


def pages_of(payload: Payload) -> int:
    """How many pages the files of one version take."""
    return sum(len(file.data) // PAGE_BYTES + 1 for file in payload.values())


def _is_in(paths: Sequence[str], path: str) -> bool:
    """Whether the payload has a file or directory there, over which can be mounted. `paths`: sorted."""
    at = bisect_left(paths, path)
    below = bisect_left(paths, f"{path}/", at)
    return paths[at : at + 1] == [path] or any(each.startswith(f"{path}/") for each in paths[below : below + 1])


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
