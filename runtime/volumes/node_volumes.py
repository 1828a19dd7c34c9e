"""`LocalNodeVolumes`: makes and releases volumes on this machine, through the plugins of their kinds.

It knows no kind. It does the common work: find the plugin and the place of a volume, and unmount and remove the rest
after a release. Mounts and directories of a kind that is no longer served (a removed driver) are taken down too.
"""

from __future__ import annotations

from collections.abc import Iterable

from config.frozen_map import FrozenMap
from config.objects import Pod
from config.pods.volume_sources import json_name_of
from runtime.stats.readings import FsReading
from runtime.volumes.capability import (
    DiskScan,
    LocatedVolume,
    Say,
    VolumeCondition,
    VolumeFailedError,
    VolumePlace,
    VolumePlugin,
    VolumeSpec,
)
from runtime.volumes.pod_directories import PodDirectories


class LocalNodeVolumes:
    def __init__(self, directories: PodDirectories, plugins: Iterable[VolumePlugin]) -> None:
        self._directories = directories
        self._by_source = {plugin.source: plugin for plugin in plugins}
        self._by_name = {plugin.name: plugin for plugin in self._by_source.values()}

    def locate(self, uid: str, spec: VolumeSpec) -> LocatedVolume:
        plugin = self._plugin(spec)
        device = plugin.device_of(spec)
        return LocatedVolume(self._place(plugin, uid, spec), f"{plugin.name}/{device}" if device else "")

    def make_pod(self, uid: str) -> None:
        self._directories.make(uid)

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        self._plugin(spec).stage(pod, spec, say)

    def prepare(self, pod: Pod, spec: VolumeSpec, say: Say) -> str:
        plugin = self._plugin(spec)
        return plugin.prepare(pod, spec, self._place(plugin, pod.metadata.uid, spec), say)

    def usable(self, uid: str, spec: VolumeSpec) -> str:
        plugin = self._plugin(spec)
        place = self._place(plugin, uid, spec)
        return plugin.path_at(place) if plugin.is_usable(place) else ""

    def release(self, place: VolumePlace) -> None:
        self._directories.remove_sub_paths(place.uid, place.name)
        plugin = self._owner(place)
        if plugin is not None:
            plugin.release(place)
        self._directories.remove_volume(place)

    def condition(self, place: VolumePlace) -> VolumeCondition | None:
        plugin = self._owner(place)
        return plugin.condition(place) if plugin is not None else None

    def of_drivers(self, uid: str) -> tuple[tuple[VolumePlace, str], ...]:
        found = [(place, self._driver_of(place)) for place in self._directories.volumes(uid)]
        return tuple((place, driver) for place, driver in found if driver)

    def measure(self, place: VolumePlace) -> FsReading | None:
        plugin = self._owner(place)
        return plugin.measure(place) if plugin is not None else None

    def unstage(self, device: str) -> None:
        for plugin in self._by_name.values():
            if device.startswith(f"{plugin.name}/"):
                plugin.unstage(device.removeprefix(f"{plugin.name}/"))
                return
        raise VolumeFailedError(f"nothing serves {device}")

    def remove_pod(self, uid: str) -> tuple[LocatedVolume, ...]:
        volumes = self.volumes_of(uid)
        if not volumes:
            self._directories.remove(uid)
        return volumes

    def volumes_of(self, uid: str) -> tuple[LocatedVolume, ...]:
        return tuple(LocatedVolume(place, self._device_at(place)) for place in self._directories.volumes(uid))

    def list_uids(self) -> tuple[str, ...]:
        return self._directories.list_uids()

    def scan(self) -> DiskScan:
        devices = [f"{plugin.name}/{device}" for plugin in self._by_name.values() for device in plugin.staged()]
        return DiskScan(FrozenMap((uid, self.volumes_of(uid)) for uid in self.list_uids()), tuple(sorted(devices)))

    def _device_at(self, place: VolumePlace) -> str:
        plugin = self._owner(place)
        device = plugin.device_at(place) if plugin is not None else ""
        return f"{place.plugin}/{device}" if device else ""

    def _driver_of(self, place: VolumePlace) -> str:
        plugin = self._owner(place)
        return plugin.driver_of(place) if plugin is not None else ""

    def _owner(self, place: VolumePlace) -> VolumePlugin | None:
        """The plugin of a volume; None for a kind that is no longer served."""
        by_name = self._by_name.get(place.plugin)
        return by_name or next((plugin for plugin in self._by_name.values() if plugin.owns(place)), None)

    def _place(self, plugin: VolumePlugin, uid: str, spec: VolumeSpec) -> VolumePlace:
        return self._directories.place(uid, plugin.name_of(spec), spec.name, block=spec.block)

    def _plugin(self, spec: VolumeSpec) -> VolumePlugin:
        plugin = self._by_source.get(spec.source)
        if plugin is None:
            raise VolumeFailedError(f"volumes of type {json_name_of(spec.source)} are not supported yet")
        return plugin
