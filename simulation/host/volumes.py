"""Directories, volumes and devices on a simulated host, kept in a `FileTree`.

The capability is `runtime.volumes.capability.NodeVolumes`.

The kinds and their places are those of a real node. A mount is a directory that is listed in `mounted`. Removing a
mounted one is refused, as it would wipe the data of others. Volumes of CSI drivers use devices that pods share. The
world outlives the agent, so an agent that died leaves all of this to the next.

`before` is called with words before each single operation (making a directory, mounting, removing). So tests can let
the agent die between any two of them. The tree's `hang` and `fail` put faults on every operation below a path.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from config.frozen_map import FrozenMap
from config.objects import Pod
from config.pods.volume_sources import VOLUME_SOURCES, json_name_of
from runtime.stats.readings import FsReading
from runtime.volumes.atomic_writer import checked
from runtime.volumes.capability import (
    DiskScan,
    LocatedVolume,
    Payload,
    Say,
    VolumeCondition,
    VolumeFailedError,
    VolumePlace,
    VolumeSpec,
)
from simulation.host.file_tree import FileTree

_MOUNTED = frozenset({"secret", "downward_api", "projected", "nfs", "local", "csi"})
_DEVICE_FILE = "vol_data.json"
DRIVERS = "/drivers"
"""To make a driver hang when it measures a volume, let `<this>/<driver>` hang."""


class SimulatedNodeVolumes:
    """See the module. `root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str, before: Callable[[str], None] = lambda operation: None) -> None:
        self.tree = tree
        self._root = root.rstrip("/")
        self._pods = f"{self._root}/pods"
        self._csi = f"{self._root}/plugins/kubernetes.io/csi"
        self.before = before
        self.trouble: Callable[[str, str], None] = lambda kind, directory: None
        """Called with the kind of a volume that is to be made and its directory.

        May raise `VolumeFailedError`.
        """
        self.mounted: set[str] = set()
        self.conditions: dict[str, VolumeCondition] = {}
        """What drivers say of volumes, by the name of the volume."""
        self.measures: dict[str, FsReading] = {}
        """What drivers measure of volumes, by the name of the volume."""

    # --- where things are -------------------------------------------------------------------------------------------

    def locate(self, uid: str, spec: VolumeSpec) -> LocatedVolume:
        kind = VOLUME_SOURCES[spec.source]
        if not kind.served:
            raise VolumeFailedError(f"volumes of type {json_name_of(spec.source)} are not supported yet")
        device = f"kubernetes.io/csi/{_device_of(spec)}" if _device_of(spec) else ""
        return LocatedVolume(self._place(uid, kind.plugin, spec.name, spec.block), device)

    def _place(self, uid: str, plugin: str, name: str, block: bool) -> VolumePlace:
        below = "volumeDevices" if block else "volumes"
        return VolumePlace(uid, plugin, name, block, f"{self._pods}/{uid}/{below}/{plugin.replace('/', '~')}/{name}")

    def _stage_of(self, device: str) -> str:
        return f"{self._csi}/{device.removeprefix('kubernetes.io/csi/').replace('/', '~')}"

    # --- making -----------------------------------------------------------------------------------------------------

    def make_pod(self, uid: str) -> None:
        path = f"{self._pods}/{uid}"
        return self.tree.gate(path, partial(self._make, path))

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        path = self._stage_of(_device_of(spec))

        def make() -> None:
            self._make(f"{path}/globalmount")
            self._mount(f"{path}/globalmount")

        return self.tree.gate(path, make)

    def prepare(self, pod: Pod, spec: VolumeSpec, say: Say) -> str:
        place = self.locate(pod.metadata.uid, spec).place
        self.trouble(json_name_of(spec.source), place.directory)

        def make() -> str:
            if spec.source == "image":
                return ""
            if spec.source == "host_path":
                source = (spec.volume if spec.persistent is None else spec.persistent.spec).host_path
                return source.path if source is not None else ""
            if VOLUME_SOURCES[spec.source].from_objects and spec.payload is None:
                raise VolumeFailedError("its content is not known yet")
            self._make(place.directory)
            path = self._path_of(spec, place)
            if device := _device_of(spec):
                stage = f"{self._stage_of(device)}/globalmount"
                if stage not in self.mounted:
                    raise VolumeFailedError(f"{device} is not staged")
                self.before(f"write {place.directory}/{_DEVICE_FILE}")
                self.tree.write(f"{place.directory}/{_DEVICE_FILE}", device.encode())
                self._make(path)
            if spec.source in _MOUNTED:
                self._mount(path)
            if spec.payload is not None:
                self._write(path, spec.payload)
            return path

        return self.tree.gate(place.directory, make)

    def _path_of(self, spec: VolumeSpec, place: VolumePlace) -> str:
        return f"{place.directory}/mount" if _device_of(spec) else place.directory

    def usable(self, uid: str, spec: VolumeSpec) -> str:
        place = self.locate(uid, spec).place
        path = self._path_of(spec, place)
        return self.tree.gate(place.directory, lambda: path if self._is_whole(spec, path) else "")

    def _is_whole(self, spec: VolumeSpec, path: str) -> bool:
        there = self.tree.exists(path) and (spec.source not in _MOUNTED or path in self.mounted)
        return there and (not VOLUME_SOURCES[spec.source].from_objects or bool(self.tree.names_in(path)))

    def _make(self, path: str) -> None:
        if not self.tree.exists(path):
            self.before(f"make {path}")
            self.tree.make_directories(path)

    def _mount(self, path: str) -> None:
        if path not in self.mounted:
            self.before(f"mount {path}")
            self.mounted.add(path)
            self.tree.mounts += 1

    def _write(self, path: str, payload: Payload) -> None:
        """Write the files directly, without the `..data` link: no reader can look in between."""
        files = checked(payload)
        self.before(f"write {path}")
        for name in self.tree.names_in(path):
            if name not in files:
                self.tree.remove_all(f"{path}/{name}")
        for name, file in files.items():
            if "/" in name:
                self.tree.make_directories(f"{path}/{name.rpartition('/')[0]}")
            self.tree.write(f"{path}/{name}", file.data, file.mode)

    # --- taking down ------------------------------------------------------------------------------------------------

    def release(self, place: VolumePlace) -> None:
        return self.tree.gate(place.directory, lambda: self._take_down(place.directory))

    def unstage(self, device: str) -> None:
        path = self._stage_of(device)
        return self.tree.gate(path, lambda: self._take_down(path))

    def condition(self, place: VolumePlace) -> VolumeCondition | None:
        return self.conditions.get(place.name)

    def of_drivers(self, uid: str) -> tuple[tuple[VolumePlace, str], ...]:
        def look() -> tuple[tuple[VolumePlace, str], ...]:
            return tuple((at.place, _driver_of(at.device)) for at in self._volumes_of(uid) if at.device)

        return self.tree.gate(f"{self._pods}/{uid}", look)

    def measure(self, place: VolumePlace) -> FsReading | None:
        driver = f"{DRIVERS}/{_driver_of(self._device_at(place))}"
        return self.tree.gate(driver, lambda: self.measures.get(place.name))

    def remove_pod(self, uid: str) -> tuple[LocatedVolume, ...]:
        path = f"{self._pods}/{uid}"

        def remove() -> tuple[LocatedVolume, ...]:
            volumes = tuple(self._volumes_of(uid))
            if not volumes:
                self._remove(path)
            return volumes

        return self.tree.gate(path, remove)

    def _take_down(self, path: str) -> None:
        for mount in sorted(self._mounted_below(path), reverse=True):
            self.before(f"unmount {mount}")
            self.mounted.discard(mount)
            self.tree.mounts += 1
        self._remove(path)

    def _remove(self, path: str) -> None:
        if self.mounted and (left := self._mounted_below(path)):
            raise VolumeFailedError(f"{left[0]} is still mounted; nothing of {path} was removed", "FailedUnmount")
        if self.tree.exists(path):
            self.before(f"remove {path}")
            self.tree.remove_all(path)

    def _mounted_below(self, path: str) -> list[str]:
        return sorted(each for each in self.mounted if each == path or each.startswith(f"{path}/"))

    # --- looking ----------------------------------------------------------------------------------------------------

    def volumes_of(self, uid: str) -> tuple[LocatedVolume, ...]:
        return self.tree.gate(f"{self._pods}/{uid}", lambda: tuple(self._volumes_of(uid)))

    def list_uids(self) -> tuple[str, ...]:
        return self.tree.gate(self._pods, lambda: tuple(self.tree.names_if_any(self._pods)))

    def scan(self) -> DiskScan:
        def look() -> DiskScan:
            devices = tuple(f"kubernetes.io/csi/{name.replace('~', '/')}" for name in self.tree.names_if_any(self._csi))
            pods = FrozenMap((uid, tuple(self._volumes_of(uid))) for uid in self.tree.names_if_any(self._pods))
            return DiskScan(pods, devices)

        return self.tree.gate(self._pods, look)

    def _volumes_of(self, uid: str) -> list[LocatedVolume]:
        found: list[LocatedVolume] = []
        for block, below in ((False, "volumes"), (True, "volumeDevices")):
            top = f"{self._pods}/{uid}/{below}"
            for plugin in self.tree.names_if_any(top):
                for name in self.tree.names_if_any(f"{top}/{plugin}"):
                    place = self._place(uid, plugin.replace("~", "/"), name, block)
                    found.append(LocatedVolume(place, self._device_at(place)))
        return found

    def _device_at(self, place: VolumePlace) -> str:
        file = f"{place.directory}/{_DEVICE_FILE}"
        is_on_device = place.plugin == "kubernetes.io/csi" and self.tree.exists(file)
        return f"kubernetes.io/csi/{self.tree.read(file).decode()}" if is_on_device else ""


def _device_of(spec: VolumeSpec) -> str:
    """Driver and handle of a persistent volume of a CSI driver; empty for all else."""
    source = spec.persistent.spec.csi if spec.persistent is not None else None
    return f"{source.driver}^{source.volume_handle}" if source is not None else ""


def _driver_of(device: str) -> str:
    """The driver in the unique name of a device."""
    return device.removeprefix("kubernetes.io/csi/").partition("^")[0]
