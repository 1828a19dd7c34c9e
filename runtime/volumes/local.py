"""local: a directory or a disk of this node that stands in the API as a persistent volume (spec 8.7).

A directory is bound into the pod's, so that the pod has a mount of its own; it is read-only only where that is asked. A
disk is given as a device (`device_maps`), or as a file system. A file system is mounted once for all pods at
`<root>/plugins/kubernetes.io/local-volume/mounts/<volume>`, after formatting it if it is blank, and bound from there.
The path itself is never made: a disk that has not been mounted must not be taken for an empty one.

The first pod with the volume gives its files to its fsGroup; a later pod with another group gets a warning. This comes
before the bind, so a mount means that the group is set. An agent that starts again leaves the modes that containers
have given to their files.
"""

from __future__ import annotations

import os
import stat

from config.objects import Pod
from runtime.files.directories import make_directories
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.commands import Commands
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.devices.disks import FILE_SYSTEM, mount_disk
from runtime.volumes.empty_dir import make_directory
from runtime.volumes.mounts import Mounts
from runtime.volumes.ownership import OwnershipProgress, give_to_group, ownership_of

ALREADY_MOUNTED = "AlreadyMountedVolume"
_MODE = 0o750


class LocalPlugin(VolumePlugin):
    """See the module. `root` is the agent's directory."""

    source = "local"

    def __init__(self, root: str, mounts: Mounts, commands: Commands, maps: DeviceMaps) -> None:
        self._pods = os.path.join(root, "pods")
        self._disks = os.path.join(root, "plugins", self.name, "mounts")
        self._mounts = mounts
        self._commands = commands
        self._maps = maps

    # --- of one pod -------------------------------------------------------------------------------------------------

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        path = path_of(spec)
        if spec.block:
            return self._maps.map(path, place)
        device = self.device_of(spec)
        source = path if not device or not _is_disk(path) else os.path.join(self._disks, device)
        if not os.path.isdir(source):
            raise VolumeFailedError(f"{path} is not a directory of this node; make it, because the agent does not")
        make_directory(place.directory)
        if not os.path.samefile(source, place.directory):
            if not spec.read_only:
                self._own(pod, spec, source, place, say)
            self._mounts.bind(source, place.directory, read_only=spec.read_only)
        return place.directory

    def is_usable(self, place: VolumePlace) -> bool:
        return self._maps.is_mapped(place) if place.block else place.directory in self._mounts.below(place.directory)

    def release(self, place: VolumePlace) -> None:
        if place.block:
            self._maps.unmap(place)
        else:
            self._mounts.unmount(place.directory)

    def _own(self, pod: Pod, spec: VolumeSpec, source: str, place: VolumePlace, say: Say) -> None:
        wanted = ownership_of(pod)
        if wanted is None:
            return
        if not self._others(place):
            give_to_group(source, wanted, OwnershipProgress(say, spec.volume.name))
            return
        found = os.stat(source).st_gid
        if found != wanted.group:
            text = f"the requested fsGroup is {wanted.group}, but volume {spec.name}, which other pods have, belongs to"
            say("Warning", ALREADY_MOUNTED, f"{text} group {found}; it may not be shareable")

    def _others(self, place: VolumePlace) -> bool:
        """Whether another pod has the volume: a persistent volume has the same name everywhere."""
        below = os.path.relpath(place.directory, os.path.join(self._pods, place.uid))
        return any(
            os.path.lexists(os.path.join(self._pods, uid, below)) for uid in os.listdir(self._pods) if uid != place.uid
        )

    # --- of all pods ------------------------------------------------------------------------------------------------

    def device_of(self, spec: VolumeSpec) -> str:
        return "" if spec.block else spec.name

    def device_at(self, place: VolumePlace) -> str:
        return "" if place.block else place.name

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        path = path_of(spec)
        if spec.block or not _is_disk(path):
            return
        directory = os.path.join(self._disks, spec.name)
        if directory in self._mounts.below(directory):
            return
        make_directories(directory, _MODE)
        local = spec.persistent.spec.local if spec.persistent is not None else None
        kind = (local.fs_type if local is not None else None) or FILE_SYSTEM
        mount_disk(self._commands, path, directory, kind, spec.mount_options, read_only=spec.read_only)

    def unstage(self, device: str) -> None:
        directory = os.path.join(self._disks, device)
        self._mounts.unmount(directory)
        if os.path.isdir(directory):
            os.rmdir(directory)

    def staged(self) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(self._disks)))
        except FileNotFoundError:
            return ()


def path_of(spec: VolumeSpec) -> str:
    """The path of the volume on the node. Pure. Raises VolumeFailedError."""
    local = spec.persistent.spec.local if spec.persistent is not None else None
    if local is None or not local.path:
        raise VolumeFailedError("the local volume has no path")
    if not local.path.startswith("/"):
        raise VolumeFailedError(f"the path {local.path!r} of a local volume must be absolute")
    if ".." in local.path.split("/"):
        raise VolumeFailedError(f"the path {local.path} of a local volume must not contain '..'")
    return local.path


def _is_disk(path: str) -> bool:
    try:
        return stat.S_ISBLK(os.stat(path).st_mode)
    except FileNotFoundError:
        raise VolumeFailedError(f"there is no {path} on this node") from None
