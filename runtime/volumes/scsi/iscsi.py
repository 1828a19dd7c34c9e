"""iscsi: a disk behind a network, by the host's `iscsiadm` (spec 8.2).

    <root>/plugins/kubernetes.io/iscsi/iface-<interface>/<portal>-<iqn>-lun-<lun>

A note in it, `iscsi.json`, says how to log out. It has the keys of a kubelet. It is written before the login, so that
an agent that dies in the middle leaves no session behind. A mounted disk covers it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator

import msgspec

from config.objects import ISCSIVolumeSource
from runtime.files.state_file import UnreadableStateError, read_state, write_state
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.commands import Commands
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.mounts import Mounts
from runtime.volumes.scsi.iscsi_sessions import IscsiSessions
from runtime.volumes.scsi.iscsi_target import (
    IscsiMaterial,
    IscsiTarget,
    device_name,
    source_of,
    target_in,
    target_of,
)
from runtime.volumes.scsi.scsi_disks import ScsiDisks
from runtime.volumes.scsi.shared_disk import SharedDiskPlugin

NOTE = "iscsi.json"
NOTE_BYTES = 64 * 1024


class IscsiNote(msgspec.Struct, frozen=True):
    """The content of `iscsi.json`."""

    volume: str = msgspec.field(default="", name="VolName")
    portals: tuple[str, ...] = msgspec.field(default=(), name="Portals")
    iqn: str = msgspec.field(default="", name="Iqn")
    lun: str = msgspec.field(default="", name="Lun")
    initial_interface: str = msgspec.field(default="", name="InitIface")
    interface: str = msgspec.field(default="", name="Iface")
    initiator: str = msgspec.field(default="", name="InitiatorName")


class IscsiPlugin(SharedDiskPlugin):
    source = "iscsi"

    def __init__(
        self,
        root: str,
        mounts: Mounts,
        commands: Commands,
        maps: DeviceMaps,
        disks: ScsiDisks,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(root, mounts, commands, maps)
        self._sessions = IscsiSessions(commands, disks, *(() if pause is None else (pause,)))

    def directory_of(self, spec: VolumeSpec) -> str:
        return target_of(spec).directory

    def device_named(self, directory: str) -> str:
        target = target_in(directory)
        return device_name(target) if target is not None else ""

    def source_in(self, spec: VolumeSpec) -> ISCSIVolumeSource:
        return source_of(spec)

    def attach(self, spec: VolumeSpec, directory: str) -> str:
        target, material = target_of(spec), spec.material
        secrets = material.secrets if isinstance(material, IscsiMaterial) else {}
        if (target.chap_discovery or target.chap_session) and not secrets:
            raise VolumeFailedError("CHAP is enabled, and there is no secret with its passwords")
        write_state(os.path.join(directory, NOTE), note_of(target))
        return self._sessions.attach(target, secrets)

    def attached(self, spec: VolumeSpec) -> str:
        target = target_of(spec)
        device = self._sessions.device_of(target)
        if not device:
            raise VolumeFailedError(f"lun {target.lun} of {target.iqn} is not a disk of this node", "FailedMapVolume")
        return device

    def detach(self, directory: str, name: str) -> None:
        target = self._noted(directory, name)
        self._sessions.detach(target, is_last=lambda: self._count(target) <= 1)

    def directories(self, top: str) -> Iterator[str]:
        for interface in _names_in(top):
            for name in _names_in(os.path.join(top, interface)) if interface.startswith("iface-") else ():
                if target_in(f"{interface}/{name}") is not None:
                    yield f"{interface}/{name}"

    def _count(self, target: IscsiTarget) -> int:
        """How many disks of the target are in use here, this one included."""
        begin = f"{target.portals[0]}-{target.iqn}-lun-"
        every = [name for top in (self._top, self._devices) for name in self.directories(top)]
        return sum(name.partition("/")[2].startswith(begin) for name in every)

    @staticmethod
    def _noted(directory: str, name: str) -> IscsiTarget:
        """The content of the note, or else of the directory name."""
        named = target_in(name)
        assert named is not None, "only directories of such names are listed"
        try:
            note = read_state(os.path.join(directory, NOTE), decoded, NOTE_BYTES)
        except UnreadableStateError:
            note = None
        if note is None or not note.portals:
            return named
        # Lun and name are those of the directory: by them the disk is taken off.
        return msgspec.structs.replace(
            named,
            volume=note.volume,
            portals=note.portals,
            interface=note.interface if not note.initiator else note.initial_interface,
            initiator=note.initiator,
        )


def note_of(target: IscsiTarget) -> bytes:
    """The content of the note."""
    note = IscsiNote(
        volume=target.volume,
        portals=target.portals,
        iqn=target.iqn,
        lun=str(target.lun),
        initial_interface=target.interface,
        interface=target.own_interface,
        initiator=target.initiator,
    )
    return json.dumps(msgspec.to_builtins(note)).encode()


_decode_note = msgspec.json.Decoder(IscsiNote).decode


def decoded(content: bytes) -> IscsiNote:
    """Parse a note. Raises msgspec.MsgspecError."""
    return _decode_note(content)


def _names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
