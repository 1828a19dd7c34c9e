"""`<root>/pods/<uid>/`: all that a pod has on disk, and the only code that removes it (spec 16, 8.6).

Removal is dangerous: a volume that is still mounted holds data of others. So everything is unmounted first, and the
mount table is read again. The removal itself (`runtime.files.tree`) goes down by open directories, however deep, and
follows no link. It refuses to enter another mount, which may well be of the same file system. Whatever cannot be
unmounted stays with all that is above it, and is an error.

Finding what there is looks at no volume itself: the mount of one may be dead, and whoever looks at it hangs.
"""

from __future__ import annotations

import os

from runtime.files.directories import make_directories
from runtime.files.tree import OtherMountError, remove_tree
from runtime.volumes.capability import VolumeFailedError, VolumePlace
from runtime.volumes.mounts import Mounts

POD_MODE = 0o750
_OTHERS = 0o007
FILES = "volumes"
DEVICES = "volumeDevices"
SUB_PATHS = "volume-subpaths"


class PodDirectories:
    """See the module. `root` is the agent's directory, such as /var/lib/kubelet."""

    def __init__(self, root: str, mounts: Mounts) -> None:
        self._pods = os.path.join(root, "pods")
        self._mounts = mounts

    def pod(self, uid: str) -> str:
        """The directory of a pod. Raises VolumeFailedError for a UID that is no name of a directory."""
        if not uid or "/" in uid or uid in (".", ".."):
            raise VolumeFailedError(f"{uid!r} cannot be the UID of a pod")
        return os.path.join(self._pods, uid)

    def place(self, uid: str, plugin: str, name: str, *, block: bool = False) -> VolumePlace:
        """The place of one volume. Raises VolumeFailedError for names that lead elsewhere."""
        if not name or "/" in name or name in (".", ".."):
            raise VolumeFailedError(f"{name!r} cannot be the name of a volume")
        top = os.path.join(self.pod(uid), DEVICES if block else FILES)
        return VolumePlace(uid, plugin, name, block, os.path.join(top, plugin.replace("/", "~"), name))

    def sub_paths(self, uid: str, name: str) -> str:
        """The directory of the sub path mounts of a volume. `name`: of the volume on disk."""
        return os.path.join(self.pod(uid), SUB_PATHS, name)

    def make(self, uid: str) -> None:
        """The directories that every pod has."""
        pod = self.pod(uid)
        for path in (pod, os.path.join(pod, "volumes"), os.path.join(pod, "plugins")):
            make_directories(path, POD_MODE)
        if os.stat(self._pods).st_mode & _OTHERS:  # an older agent made it
            os.chmod(self._pods, POD_MODE)

    def list_uids(self) -> tuple[str, ...]:
        """Every pod that has a directory, sorted."""
        try:
            with os.scandir(self._pods) as entries:
                return tuple(sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)))
        except FileNotFoundError:
            return ()

    def volumes(self, uid: str) -> tuple[VolumePlace, ...]:
        """Every volume of a pod, sorted."""
        found: list[VolumePlace] = []
        for block, below in ((False, FILES), (True, DEVICES)):
            top = os.path.join(self.pod(uid), below)
            for plugin in _names_in(top):
                for name in _names_in(os.path.join(top, plugin)):
                    found.append(self.place(uid, plugin.replace("~", "/"), name, block=block))
        return tuple(found)

    def remove_volume(self, place: VolumePlace) -> None:
        """Unmount everything at and below the place of a volume, then remove it.

        Raises VolumeFailedError or OSError.
        """
        self._unmount(place.directory)
        _remove(place.directory)

    def remove_sub_paths(self, uid: str, name: str) -> None:
        """Unmount and remove what containers had of single paths of a volume.

        Raises VolumeFailedError, OSError.
        """
        path = self.sub_paths(uid, name)
        if os.path.lexists(path):
            self._unmount(path)
            _remove(path)

    def remove(self, uid: str) -> None:
        """Unmount everything at and below the pod's directory, then remove it.

        Raises VolumeFailedError, OSError.
        """
        path = self.pod(uid)
        if os.path.lexists(path):
            self._unmount(path)
            _remove(path)

    def _unmount(self, path: str) -> None:
        mounted = self._mounts.below(path)
        for point in mounted:
            self._mounts.unmount(point)
        if mounted and (left := self._mounts.below(path)):
            raise VolumeFailedError(f"{left[0]} is still mounted; nothing of {path} was removed", "FailedUnmount")


def _remove(path: str) -> None:
    """A directory on whose mount nothing lies but what may go, or a file or link in the place of one."""
    try:
        remove_tree(path)
    except OtherMountError as refusal:
        raise VolumeFailedError(
            f"{refusal.filename} is another file system; it is not touched", "FailedUnmount"
        ) from None


def _names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
