"""`<root>/pods/<uid>/`: all that a pod has on disk, and the only code that removes it (spec 16, 8.6).

Removal is dangerous: a volume that is still mounted holds data of others. So everything is unmounted first, the mount
table is read again, and the removal itself goes down by open directories, follows no link, and refuses to enter another
file system. Whatever cannot be unmounted stays with all that is above it, and is an error.
"""

from __future__ import annotations

import os
import stat

import msgspec

from runtime.volumes.capability import VolumeError
from runtime.volumes.mounts import Mounts

POD_MODE = 0o750


class VolumeDirectory(msgspec.Struct, frozen=True):
    """A volume found on disk: the plugin's name and where it is."""

    plugin: str
    path: str


class PodDirectories:
    """See the module. `root` is the agent's directory, such as /var/lib/kubelet."""

    def __init__(self, root: str, mounts: Mounts) -> None:
        self._pods = os.path.join(root, "pods")
        self._mounts = mounts

    def pod(self, uid: str) -> str:
        """The directory of a pod. Raises VolumeError for a UID that is no name of a directory."""
        if not uid or "/" in uid or uid in (".", ".."):
            raise VolumeError(f"{uid!r} cannot be the UID of a pod")
        return os.path.join(self._pods, uid)

    def volume(self, uid: str, plugin: str, name: str) -> str:
        """The place of one volume."""
        return os.path.join(self.pod(uid), "volumes", plugin.replace("/", "~"), name)

    def make(self, uid: str) -> None:
        """The directories that every pod has."""
        pod = self.pod(uid)
        for path in (pod, os.path.join(pod, "volumes"), os.path.join(pod, "plugins")):
            os.makedirs(path, mode=POD_MODE, exist_ok=True)

    def list_uids(self) -> tuple[str, ...]:
        """Every pod that has a directory, sorted."""
        try:
            with os.scandir(self._pods) as entries:
                return tuple(sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)))
        except FileNotFoundError:
            return ()

    def volumes(self, uid: str) -> tuple[VolumeDirectory, ...]:
        """Every volume directory of a pod, sorted."""
        top = os.path.join(self.pod(uid), "volumes")
        return tuple(
            VolumeDirectory(plugin.replace("~", "/"), os.path.join(top, plugin, name))
            for plugin in _names_in(top)
            for name in _names_in(os.path.join(top, plugin))
        )

    def remove(self, uid: str) -> None:
        """Unmount everything at and below the pod's directory, then remove it. Raises VolumeError or OSError."""
        path = self.pod(uid)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            mounted = self._mounts.below(path)
            for point in mounted:
                self._mounts.unmount(point)
            if mounted and (left := self._mounts.below(path)):
                raise VolumeError(f"{left[0]} is still mounted; nothing of the pod's directory was removed")
            _empty(descriptor, os.fstat(descriptor).st_dev, path)
        finally:
            os.close(descriptor)
        os.rmdir(path)


def _names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _empty(descriptor: int, device: int, path: str) -> None:
    """Remove all entries of an open directory, on this device only."""
    for name in os.listdir(descriptor):
        try:
            info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            if not stat.S_ISDIR(info.st_mode):
                os.unlink(name, dir_fd=descriptor)
                continue
            child = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
        except FileNotFoundError:
            continue
        below = f"{path}/{name}"
        try:
            if os.fstat(child).st_dev != device:
                raise VolumeError(f"{below} is another file system; it is not touched")
            _empty(child, device, below)
        finally:
            os.close(child)
        os.rmdir(name, dir_fd=descriptor)
