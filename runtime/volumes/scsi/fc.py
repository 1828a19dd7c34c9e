"""fc: a disk behind a Fibre Channel adapter, which the kernel itself finds (spec 8.2).

    <root>/plugins/kubernetes.io/fc/<target>-<target>-lun-<lun>, or <identifier>-<identifier>

Several paths to it become one device by the host's multipathd, and `multipath` takes that apart again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from config.objects import FCVolumeSource
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.commands import Commands
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.mounts import Mounts
from runtime.volumes.scsi.fc_disk import FcDisk, device_name, disk_in, disk_of, source_of
from runtime.volumes.scsi.iscsi_sessions import flush_multipath
from runtime.volumes.scsi.scsi_disks import ScsiDisks
from runtime.volumes.scsi.shared_disk import DEVICES, SharedDiskPlugin


class FcPlugin(SharedDiskPlugin):
    source = "fc"

    def __init__(self, root: str, mounts: Mounts, commands: Commands, maps: DeviceMaps, disks: ScsiDisks) -> None:
        super().__init__(root, mounts, commands, maps)
        self._disks = disks

    def directory_of(self, spec: VolumeSpec) -> str:
        return disk_of(spec).directory

    def device_named(self, directory: str) -> str:
        return device_name(directory)

    def source_in(self, spec: VolumeSpec) -> FCVolumeSource:
        return source_of(spec)

    def attach(self, spec: VolumeSpec, directory: str) -> str:
        disk = disk_of(spec)
        found = self._find(disk)
        if not found or not self._disks.is_multipath(found):
            # Another path may have come, which makes it one device with the first.
            self._disks.scan_all()
            found = self._find(disk)
        if not found:
            why = "" if self._disks.has_fibre_channel() else "; this node has no Fibre Channel adapter"
            raise VolumeFailedError(f"no fc disk found{why}")
        return found

    def attached(self, spec: VolumeSpec) -> str:
        found = self._find(disk_of(spec))
        if not found:
            raise VolumeFailedError("no fc disk found", "FailedMapVolume")
        return found

    def detach(self, directory: str, name: str) -> None:
        found = self._find(disk_in(name))
        paths: tuple[str, ...] = (found,) if found else ()
        if self._disks.is_multipath(found):
            paths = self._disks.paths_of(found)
            flush_multipath(self._commands, found)
        for device in paths:
            self._disks.flush(device)
            self._disks.delete(device)

    def directories(self, top: str) -> Iterator[str]:
        try:
            names = sorted(os.listdir(top))
        except FileNotFoundError:
            return
        yield from (name for name in names if name != DEVICES)

    def _find(self, disk: FcDisk) -> str:
        """The device of all paths, or else of the last path that there is; empty without one."""
        found = ""
        for directory, link in disk.links:
            device = self._disks.named(directory, link, any_bus=True)
            if device and (multipath := self._disks.multipath_of(device)):
                return multipath
            found = device or found
        return found
