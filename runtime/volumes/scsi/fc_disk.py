"""The checked fields of an fc volume, and its name (spec 8.2). Pure. Raises VolumeFailedError.

A disk is identified by the names of its targets and its number there, or by its own identifiers.
"""

from __future__ import annotations

import re

import msgspec

from config.objects import FCVolumeSource
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.scsi.scsi_disks import BY_ID, BY_PATH

PLUGIN = VOLUME_SOURCES["fc"].plugin
_TARGET = re.compile(r"[0-9A-Fa-f]{1,32}", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}", re.ASCII)
_LUN = "-lun-"


class FcDisk(msgspec.Struct, frozen=True):
    """`targets` and `lun`, or `identifiers`."""

    targets: tuple[str, ...] = ()
    lun: int = 0
    identifiers: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        """The directory of the disk below that of the plugin, as a kubelet names it."""
        return f"{'-'.join(self.targets)}-lun-{self.lun}" if self.targets else "-".join(self.identifiers)

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """(directory, name) of the links that lead to the disk, one for each of its names.

        A bus may stand before.
        """
        if self.targets:
            return tuple((BY_PATH, f"fc-0x{each.lower()}-lun-{self.lun}") for each in self.targets)
        return tuple((BY_ID, f"scsi-{each}") for each in self.identifiers)


def source_of(spec: VolumeSpec) -> FCVolumeSource:
    """The source of the persistent volume, if any, or of the pod's volume."""
    source = spec.volume.fc if spec.persistent is None else spec.persistent.spec.fc
    if source is None:
        raise VolumeFailedError("an fc volume needs targetWWNs and a lun, or wwids")
    return source


def disk_of(spec: VolumeSpec) -> FcDisk:
    """The disk that the volume names."""
    source = source_of(spec)
    if source.target_wwns and source.lun is not None:
        for name in source.target_wwns:
            if not _TARGET.fullmatch(name):
                raise VolumeFailedError(f"the targetWWN {name[:250]!r} must be hexadecimal, such as 50060e801049cfd1")
        if source.lun < 0:
            raise VolumeFailedError(f"the lun {source.lun} must be 0 or more")
        return FcDisk(source.target_wwns, source.lun)
    identifiers = tuple(each.replace(" ", "_") for each in source.wwids)
    for name in identifiers:
        if not _IDENTIFIER.fullmatch(name):
            raise VolumeFailedError(f"the wwid {name[:250]!r} must be letters, digits and ._:-, as below {BY_ID}")
    if not identifiers:
        raise VolumeFailedError("an fc volume needs targetWWNs and a lun, or wwids")
    return FcDisk(identifiers=identifiers)


def attached_name(spec: VolumeSpec) -> str:
    """The volume's name in the node's status, as the attach/detach controller writes it."""
    source = source_of(spec)
    if source.target_wwns and source.lun is not None:
        return f"{PLUGIN}/[{' '.join(source.target_wwns)}]:{source.lun}"
    return f"{PLUGIN}/[{' '.join(source.wwids)}]"


def disk_in(directory: str) -> FcDisk:
    """The disk that the name of a directory tells.

    One identifier may have dashes, and several are joined by dashes: both fit.
    """
    targets, lun = _parts(directory)
    if lun:
        return FcDisk(tuple(targets.split("-")), int(lun))
    return FcDisk(identifiers=tuple(dict.fromkeys((directory, *directory.split("-")))))


def device_name(directory: str) -> str:
    """The name of the disk on its node."""
    names, lun = _parts(directory)
    return f"[{' '.join(names.split('-'))}]" + (f":{lun}" if lun else "")


def _parts(directory: str) -> tuple[str, str]:
    """Targets and lun in the name of a directory, or all of it and nothing."""
    targets, _, lun = directory.rpartition(_LUN)
    return (targets, lun) if targets and lun.isascii() and lun.isdecimal() else (directory, "")
