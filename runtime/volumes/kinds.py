"""The kinds of volumes that a node on this machine serves. Whoever adds a kind adds its plugin here."""

from __future__ import annotations

from runtime.csi.capability import CsiDrivers
from runtime.volumes.capability import VolumePlugin
from runtime.volumes.commands import HostCommands
from runtime.volumes.config_volume import config_volume_plugins
from runtime.volumes.csi import CsiPlugin
from runtime.volumes.device_maps import DeviceMaps
from runtime.volumes.empty_dir import EmptyDirPlugin
from runtime.volumes.host_path import HostPathPlugin
from runtime.volumes.image_volume import ImagePlugin
from runtime.volumes.local import LocalPlugin
from runtime.volumes.loop_devices import KernelLoopDevices
from runtime.volumes.mounts import Mounts
from runtime.volumes.nfs import NfsPlugin
from runtime.volumes.refused_kinds import refused_plugins


def volume_plugins(root: str, mounts: Mounts, memory_bytes: int, drivers: CsiDrivers) -> tuple[VolumePlugin, ...]:
    """`root` is the agent's directory; `memory_bytes`: what pods may use at most; `drivers`: of storage."""
    commands = HostCommands()
    maps = DeviceMaps(root, mounts, KernelLoopDevices())
    return (
        EmptyDirPlugin(mounts, memory_bytes),
        HostPathPlugin(),
        *config_volume_plugins(mounts),
        ImagePlugin(),
        LocalPlugin(root, mounts, commands, maps),
        NfsPlugin(mounts, commands),
        CsiPlugin(root, drivers, mounts),
        *refused_plugins(),
    )
