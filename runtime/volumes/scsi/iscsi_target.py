"""The checked fields of an iscsi volume, and its name (spec 8.2). Pure. Raises VolumeFailedError.

Its words become parts of paths, and values of options of iscsiadm. An API server lets a target's name hold slashes and
dots, which would lead out of the directory of the plugin. So every word is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from config.objects import ISCSIVolumeSource
from config.objects.base import Hidden
from config.pods.volume_sources import VOLUME_SOURCES
from config.values.name_rules import is_host
from runtime.volumes.capability import VolumeFailedError, VolumeMaterial, VolumeSpec

PLUGIN = VOLUME_SOURCES["iscsi"].plugin
PORT = 3260
DEFAULT_INTERFACE = "default"
_TARGET = re.compile(
    r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+(:[A-Za-z0-9._:-]+)?|eui\.[0-9A-Fa-f]{16}|naa\.[0-9A-Fa-f]{16,32}", re.ASCII
)
_KINDS = ("-iqn.", "-eui.", "-naa.")
_LUN = "-lun-"
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,127}", re.ASCII)
_LENGTH_AT_MOST = 223
_NO_SECRETS: Mapping[str, str] = {}


class IscsiTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A disk of a target. `portals` with their ports; the first names the disk.

    `interface`: of iscsiadm, on the node. `initiator`: the name by which the node is to come; then the volume gets an
    interface of its own. `volume`: its name on disk.
    """

    volume: str
    portals: tuple[str, ...]
    iqn: str
    lun: int
    interface: str = DEFAULT_INTERFACE
    initiator: str = ""
    chap_discovery: bool = False
    chap_session: bool = False

    @property
    def own_interface(self) -> str:
        """The interface of the sessions."""
        return f"{self.portals[0]}:{self.volume}" if self.initiator else self.interface

    @property
    def directory(self) -> str:
        """The directory of the disk below that of the plugin, as a kubelet names it."""
        return f"iface-{self.own_interface}/{self.portals[0]}-{self.iqn}-lun-{self.lun}"

    @property
    def link(self) -> str:
        """The part after the bus in the name of a path's device; format it with each `portal`."""
        return f"ip-{{portal}}-iscsi-{self.iqn}-lun-{self.lun}"


class IscsiMaterial(Hidden, VolumeMaterial, frozen=True):
    """The passwords for CHAP, by the key of iscsiadm that each sets."""

    secrets: Mapping[str, str] = _NO_SECRETS


def source_of(spec: VolumeSpec) -> ISCSIVolumeSource:
    """The source of the persistent volume, if any, or of the pod's volume."""
    source = spec.volume.iscsi if spec.persistent is None else spec.persistent.spec.iscsi
    if source is None:
        raise VolumeFailedError("an iscsi volume needs a targetPortal, an iqn and a lun")
    return source


def target_of(spec: VolumeSpec) -> IscsiTarget:
    """The target that the volume names."""
    source = source_of(spec)
    if len(source.iqn) > _LENGTH_AT_MOST or not _TARGET.fullmatch(source.iqn):
        raise VolumeFailedError(
            f"the iqn {source.iqn[:250]!r} is not the name of a target; write iqn.2001-04.com.example:disk"
        )
    initiator = source.initiator_name or ""
    if initiator and (len(initiator) > _LENGTH_AT_MOST or not _TARGET.fullmatch(initiator)):
        raise VolumeFailedError(
            f"the initiatorName {initiator[:250]!r} is not the name of an initiator; write iqn.2001-04.com.example:node"
        )
    interface = source.iscsi_interface or DEFAULT_INTERFACE
    if not _INTERFACE.fullmatch(interface):
        raise VolumeFailedError(f"the iscsiInterface {interface[:250]!r} is not the name of an interface")
    if source.lun < 0:
        raise VolumeFailedError(f"the lun {source.lun} must be 0 or more")
    return IscsiTarget(
        volume=spec.name,
        portals=tuple(dict.fromkeys(_portal(each) for each in (source.target_portal, *source.portals))),
        iqn=source.iqn,
        lun=source.lun,
        interface=interface,
        initiator=initiator,
        chap_discovery=bool(source.chap_auth_discovery),
        chap_session=bool(source.chap_auth_session),
    )


def attached_name(spec: VolumeSpec) -> str:
    """The volume's name in the node's status, as the attach/detach controller writes it.

    The portal stays as the volume has it.
    """
    source = source_of(spec)
    return f"{PLUGIN}/{source.target_portal}:{source.iqn}:{source.lun}"


def target_in(directory: str) -> IscsiTarget | None:
    """The target that the name of a directory tells; None if the name is not ours."""
    parent, _, name = directory.partition("/")
    rest, _, lun = name.rpartition(_LUN)
    begin = min((at for at in map(rest.find, _KINDS) if at > 0), default=0)
    portal, iqn = rest[:begin], rest[begin + 1 :]
    if not begin or not (lun.isascii() and lun.isdecimal()) or not _TARGET.fullmatch(iqn):
        return None
    interface = parent.removeprefix("iface-")
    return IscsiTarget(volume="", portals=(portal,), iqn=iqn, lun=int(lun), interface=interface)


def device_name(target: IscsiTarget) -> str:
    """The name of the disk on its node."""
    return f"{target.portals[0]}:{target.iqn}:{target.lun}"


def _portal(text: str) -> str:
    """The portal with its port. IPv6 addresses are in brackets, unless there is no port."""
    host, colon, port = text.rpartition(":")
    if not colon or (text.count(":") > 1 and not host.endswith("]")):
        host, port = text, str(PORT)
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not is_host(bare) or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        raise VolumeFailedError(f"the portal {text[:250]!r} is not a host with a port; write 192.0.2.7:{PORT}")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"
