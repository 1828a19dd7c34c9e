"""Block devices for pods: a link where the pod's device is looked for, and a loop device on it.

The loop device keeps the device from going away under its name (spec 8.7).

    <pod>/volumeDevices/<plugin>/<volume> -> /dev/sdb
    <root>/plugins/<plugin>/volumeDevices/<volume>/<pod>     the device itself, held by a loop device

As long as it is held, the name `/dev/sdb` cannot come to stand for another disk. One hold per pod, found again by its
path after a restart. Raises VolumeFailedError and OSError.
"""

from __future__ import annotations

import contextlib
import os
import stat

from runtime.files.directories import make_directories
from runtime.volumes.capability import VolumeFailedError, VolumePlace
from runtime.volumes.devices.loop_devices import LoopDevices
from runtime.volumes.mounts import Mounts

_MODE = 0o750


class DeviceMaps:
    """See the module. `root` is the agent's directory."""

    def __init__(self, root: str, mounts: Mounts, loops: LoopDevices) -> None:
        self._root = root
        self._mounts = mounts
        self._loops = loops

    def map(self, device: str, place: VolumePlace, hold: str = "") -> str:
        """Make all of it for the block device at that path; where a container finds it.

        `hold`: where it is held, if not as above.
        """
        try:
            info = os.stat(device)
        except FileNotFoundError:
            raise VolumeFailedError(f"there is no {device}", "FailedMapVolume") from None
        if not stat.S_ISBLK(info.st_mode):
            raise VolumeFailedError(f"{device} is not a block device", "FailedMapVolume")
        hold = hold or self._hold(place)
        if not _is_device(hold, info.st_rdev):
            self.let_go(hold)
            make_directories(os.path.dirname(hold), _MODE)
            os.close(os.open(hold, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            self._mounts.bind(os.path.realpath(device), hold)
        self._loops.attach(hold)
        make_directories(os.path.dirname(place.directory), _MODE)
        _turn(place.directory, os.path.realpath(device))
        return place.directory

    def is_mapped(self, place: VolumePlace) -> bool:
        """Whether it was made whole."""
        return os.path.islink(place.directory)

    def unmap(self, place: VolumePlace, hold: str = "") -> None:
        """Remove all of it; missing parts are no error. The link is removed last, because it leads to the
        rest.
        """
        hold = hold or self._hold(place)
        self.let_go(hold)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hold)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(hold))  # other pods may have theirs in it
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.directory)

    def _hold(self, place: VolumePlace) -> str:
        return os.path.join(self._root, "plugins", place.plugin, "volumeDevices", place.name, place.uid)

    def let_go(self, hold: str) -> None:
        """Hold the device no longer; the empty file stays."""
        if os.path.lexists(hold):
            self._loops.detach(hold)
            self._mounts.unmount(hold, detach=True)


def _is_device(path: str, number: int) -> bool:
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISBLK(info.st_mode) and info.st_rdev == number


def _turn(link: str, target: str) -> None:
    """Make or turn a link."""
    try:
        if os.readlink(link) == target:
            return
        os.unlink(link)
    except FileNotFoundError:
        pass
    os.symlink(target, link)
