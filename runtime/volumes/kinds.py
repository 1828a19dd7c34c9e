"""The kinds of volumes that a node on this machine serves. Whoever adds a kind adds its plugin here.

Kinds that this agent does not serve and will not have a `RefusedPlugin`, which only says what to use instead.
"""

from __future__ import annotations

from config.objects import Pod
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.csi.capability import CsiDrivers
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.commands import HostCommands
from runtime.volumes.config_volume import config_volume_plugins
from runtime.volumes.csi import CsiPlugin
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.devices.loop_devices import KernelLoopDevices
from runtime.volumes.empty_dir import EmptyDirPlugin
from runtime.volumes.flex import FlexPlugin
from runtime.volumes.host_path import HostPathPlugin
from runtime.volumes.image_volume import ImagePlugin
from runtime.volumes.local import LocalPlugin
from runtime.volumes.mounts import Mounts
from runtime.volumes.nfs import NfsPlugin
from runtime.volumes.scsi.fc import FcPlugin
from runtime.volumes.scsi.iscsi import IscsiPlugin
from runtime.volumes.scsi.scsi_disks import ScsiDisks


class RefusedPlugin(VolumePlugin):
    """One refused kind, by its attribute in `VOLUME_SOURCES`."""

    def __init__(self, source: str) -> None:
        self.source = source

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        raise VolumeFailedError(VOLUME_SOURCES[self.source].refusal)


def volume_plugins(
    root: str, mounts: Mounts, memory_bytes: int, drivers: CsiDrivers, flex_drivers: str
) -> tuple[VolumePlugin, ...]:
    """`root` is the agent's directory; `memory_bytes`: what pods may use at most; `drivers`: of storage;
    `flex_drivers`: the directory of FlexVolume drivers.
    """
    commands = HostCommands()
    maps = DeviceMaps(root, mounts, KernelLoopDevices())
    disks = ScsiDisks()
    return (
        EmptyDirPlugin(mounts, memory_bytes),
        HostPathPlugin(),
        *config_volume_plugins(mounts),
        ImagePlugin(),
        LocalPlugin(root, mounts, commands, maps),
        NfsPlugin(mounts, commands),
        FlexPlugin(flex_drivers, mounts, commands),
        CsiPlugin(root, drivers, mounts),
        IscsiPlugin(root, mounts, commands, maps, disks),
        FcPlugin(root, mounts, commands, maps, disks),
        *(RefusedPlugin(source) for source, kind in VOLUME_SOURCES.items() if kind.refusal),
    )
