"""`SharedDiskPlugin`: a disk that all pods of a node share (spec 8.7).

A kind only attaches and detaches it.

    <root>/plugins/<plugin>/<disk>                        its file system, mounted once for all pods
    <root>/plugins/<plugin>/volumeDevices/<disk>/<pod>    as a device: what holds it for a pod (`device_maps`)

A pod gets the file system as a bind mount. Directories have the names of a kubelet, so that a node can change agents.
Which disk a pod's volume is on is read from the mounts themselves.
"""

from __future__ import annotations

import abc
import contextlib
import os
import stat
from collections.abc import Iterator

from config.objects import FCVolumeSource, ISCSIVolumeSource, Pod
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.files.directories import make_directories
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.commands import Commands
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.devices.disks import FILE_SYSTEM, mount_disk
from runtime.volumes.empty_dir import make_directory
from runtime.volumes.mounts import Mounts
from runtime.volumes.ownership import OwnershipProgress, give_to_group, ownership_of

DEVICES = "volumeDevices"
_MODE = 0o750


class SharedDiskPlugin(VolumePlugin):
    """See the module. `root` is the agent's directory."""

    def __init__(self, root: str, mounts: Mounts, commands: Commands, maps: DeviceMaps) -> None:
        self._top = os.path.join(root, "plugins", VOLUME_SOURCES[self.source].plugin)
        self._mounts = mounts
        self._commands = commands
        self._maps = maps

    # --- what a kind does -------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def directory_of(self, spec: VolumeSpec) -> str:
        """The directory of the disk, below that of the plugin. Pure. Raises VolumeFailedError."""

    @abc.abstractmethod
    def device_named(self, directory: str) -> str:
        """The name of the disk in that directory; empty if it is not ours. Pure."""

    @abc.abstractmethod
    def source_in(self, spec: VolumeSpec) -> ISCSIVolumeSource | FCVolumeSource:
        """The iscsi or fc source of the volume. Pure. Raises VolumeFailedError."""

    @abc.abstractmethod
    def attach(self, spec: VolumeSpec, directory: str) -> str:
        """Bring the disk to the node; its device.

        `directory` (absolute) exists. Raises VolumeFailedError, OSError.
        """

    @abc.abstractmethod
    def attached(self, spec: VolumeSpec) -> str:
        """The device of a disk that was attached. Raises VolumeFailedError."""

    @abc.abstractmethod
    def detach(self, directory: str, name: str) -> None:
        """Take the disk off the node.

        `directory` is absolute, `name` is below the plugin's; nothing is mounted there.

        Raises VolumeFailedError, OSError.
        """

    @abc.abstractmethod
    def directories(self, top: str) -> Iterator[str]:
        """The names of the directories of disks below `top`. Raises OSError."""

    # --- of all pods ------------------------------------------------------------------------------------------------

    def device_of(self, spec: VolumeSpec) -> str:
        return self.device_named(self.directory_of(spec))

    def device_at(self, place: VolumePlace) -> str:
        if place.block:
            hold = self._hold_of(place)
            return self.device_named(os.path.relpath(os.path.dirname(hold), self._devices)) if hold else ""
        if place.directory not in self._mounts.below(place.directory):
            return ""
        device = os.stat(place.directory).st_dev
        for name in self.directories(self._top):
            directory = os.path.join(self._top, name)
            if directory in self._mounts.below(directory) and os.stat(directory).st_dev == device:
                return self.device_named(name)
        return ""

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        directory = self._directory(spec)
        if not spec.block and directory in self._mounts.below(directory):
            return
        make_directories(directory, _MODE)
        device = self.attach(spec, directory)
        if not spec.block:
            kind, read_only = self.source_in(spec).fs_type or FILE_SYSTEM, self._is_read_only(spec)
            mount_disk(self._commands, device, directory, kind, spec.all_options, read_only=read_only)

    def unstage(self, device: str) -> None:
        for top in (self._top, self._devices):
            for name in tuple(self.directories(top)):
                if self.device_named(name) == device:
                    self._unstage(top, name)

    def _unstage(self, top: str, name: str) -> None:
        directory = os.path.join(top, name)
        if top == self._top:
            self._mounts.unmount(directory)
        if directory in self._mounts.below(directory):
            raise VolumeFailedError(f"{directory} is mounted more than once")
        self.detach(directory, name)
        for left in os.listdir(directory):
            path = os.path.join(directory, left)
            self._maps.let_go(path)  # of a pod that has died before anything told of it
            os.unlink(path)
        os.rmdir(directory)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(directory))  # other disks may have theirs in it

    def staged(self) -> tuple[str, ...]:
        names = {name for top in (self._top, self._devices) for name in self.directories(top)}
        return tuple(sorted(self.device_named(name) for name in names))

    @property
    def _devices(self) -> str:
        return os.path.join(self._top, DEVICES)

    def _directory(self, spec: VolumeSpec) -> str:
        return os.path.join(self._devices if spec.block else self._top, self.directory_of(spec))

    # --- of one pod -------------------------------------------------------------------------------------------------

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        directory = self._directory(spec)
        if spec.block:
            return self._maps.map(self.attached(spec), place, os.path.join(directory, place.uid))
        if self.is_usable(place):
            return place.directory
        make_directory(place.directory)
        read_only = self._is_read_only(spec)
        wanted = None if read_only else ownership_of(pod)
        if wanted is not None:
            give_to_group(directory, wanted, OwnershipProgress(say, spec.volume.name))
        self._mounts.bind(directory, place.directory, read_only=read_only)
        return place.directory

    def _is_read_only(self, spec: VolumeSpec) -> bool:
        return spec.read_only or bool(self.source_in(spec).read_only)

    def is_usable(self, place: VolumePlace) -> bool:
        return self._maps.is_mapped(place) if place.block else place.directory in self._mounts.below(place.directory)

    def release(self, place: VolumePlace) -> None:
        if place.block:
            self._maps.unmap(place, self._hold_of(place))
        else:
            self._mounts.unmount(place.directory)

    def _hold_of(self, place: VolumePlace) -> str:
        """The hold on the device of a pod's volume, or empty. A pod may have several such volumes."""
        holds = [os.path.join(self._devices, name, place.uid) for name in self.directories(self._devices)]
        holds = [hold for hold in holds if os.path.lexists(hold)]
        try:
            number = os.stat(place.directory).st_rdev
        except FileNotFoundError:
            return holds[0] if len(holds) == 1 else ""  # the disk has gone
        return next((hold for hold in holds if _device_number(hold) == number), "")


def _device_number(path: str) -> int:
    """The number of a block device; 0 for anything else."""
    info = os.stat(path)
    return info.st_rdev if stat.S_ISBLK(info.st_mode) else 0
