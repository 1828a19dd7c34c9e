"""`LocalNodeVolumes` on a real disk: what all kinds have in common.

A kind of the test has devices.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.objects import (
    Container,
    EmptyDirVolumeSource,
    ISCSIVolumeSource,
    ObjectMeta,
    Pod,
    PodSpec,
    Volume,
    VolumeDevice,
    VolumeMount,
)
from runtime.volumes.capability import LocatedVolume, Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec
from runtime.volumes.empty_dir import EmptyDirPlugin
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.node_volumes import LocalNodeVolumes
from runtime.volumes.pod_directories import PodDirectories
from runtime.volumes.pod_volumes import specs_of

MIB = 1024 * 1024
POD = Pod(metadata=ObjectMeta(name="p", uid="u"))
DISK = VolumeSpec(name="pv", volume=Volume(name="v"), source="iscsi")
PLUGIN = "test/shared"


def say(kind: str, reason: str, message: str) -> None:
    """Nobody listens."""


class Shared(VolumePlugin):
    """A kind whose volumes lie on devices: a tmpfs for each, seen by pods through a tmpfs of their own."""

    source = "iscsi"

    @property
    def name(self) -> str:
        return PLUGIN

    def __init__(self, root: Path, mounts: KernelMounts) -> None:
        self._top = root / "plugins" / "shared"
        self._mounts = mounts

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        os.makedirs(place.directory, exist_ok=True)
        if not self._mounts.is_mount_point(place.directory):
            self._mounts.mount_tmpfs(place.directory, MIB)
        return place.directory

    def is_usable(self, place: VolumePlace) -> bool:
        return os.path.ismount(place.directory)

    def device_of(self, spec: VolumeSpec) -> str:
        return f"of/{spec.name}"

    def device_at(self, place: VolumePlace) -> str:
        return f"of/{place.name}"

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        (self._top / spec.name).mkdir(parents=True, exist_ok=True)

    def unstage(self, device: str) -> None:
        (self._top / device.removeprefix("of/")).rmdir()

    def staged(self) -> tuple[str, ...]:
        return tuple(f"of/{each.name}" for each in self._top.iterdir()) if self._top.exists() else ()


class Node:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.mounts = KernelMounts()
        self.directories = PodDirectories(str(root), self.mounts)
        self.volumes = self.agent(True)

    def agent(self, served: bool) -> LocalNodeVolumes:
        """Of another life; `served`: whether it still has the kind with devices."""
        more = (Shared(self.root, self.mounts),) if served else ()
        return LocalNodeVolumes(self.directories, (EmptyDirPlugin(self.mounts, 0), *more))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    for uid in node.directories.list_uids():
        node.directories.remove(uid)


# (spec 8.2.3)
def test_a_new_agent_finds_and_takes_down_a_volume_and_its_device(node: Node):
    volumes = node.volumes
    located = volumes.locate("u", DISK)
    assert located.device == "test/shared/of/pv"
    volumes.make_pod("u")
    volumes.stage(POD, DISK, say)
    path = volumes.prepare(POD, DISK, say)
    assert path == located.place.directory == f"{node.root}/pods/u/volumes/test~shared/pv"
    again = node.agent(True)
    assert again.volumes_of("u") == (located,)
    scan = again.scan()
    assert (dict(scan.pods), scan.devices) == ({"u": (located,)}, ("test/shared/of/pv",))
    assert again.remove_pod("u") == (located,), "as long as there are volumes nothing is removed"
    assert again.volumes_of("u") == (located,)
    for _ in range(2):
        again.release(located.place)
    assert again.volumes_of("u") == ()
    assert node.mounts.below(str(node.root)) == ()
    again.unstage("test/shared/of/pv")
    assert again.remove_pod("u") == ()
    scan = again.scan()
    assert (dict(scan.pods), scan.devices) == ({}, ())


def test_a_volume_of_a_kind_that_has_gone_is_taken_down_all_the_same(node: Node):
    place = node.volumes.locate("u", DISK).place
    node.volumes.prepare(POD, DISK, say)
    left = node.agent(False)
    assert left.volumes_of("u") == (LocatedVolume(place),)
    left.release(place)
    assert left.volumes_of("u") == ()
    with pytest.raises(VolumeFailedError, match="iscsi are not supported"):
        left.locate("u", DISK)
    with pytest.raises(VolumeFailedError, match="nothing serves"):
        left.unstage("test/shared/of/pv")


# (spec 8.4.5)
def test_parts_of_a_volume_are_unmounted_before_the_volume(node: Node):
    spec = VolumeSpec(name="data", volume=Volume(name="data", empty_dir=EmptyDirVolumeSource()), source="empty_dir")
    path = Path(node.volumes.prepare(POD, spec, say))
    part = Path(node.directories.sub_paths("u", "data"), "main", "0")
    part.mkdir(parents=True)
    node.mounts.mount_tmpfs(str(part), MIB)
    other = Path(node.directories.sub_paths("u", "other"), "main", "0")
    other.mkdir(parents=True)
    node.volumes.release(node.volumes.locate("u", spec).place)
    assert not part.exists()
    assert not path.exists()
    assert other.exists(), "of another volume"


def test_a_link_in_the_place_of_a_volume_is_removed(node: Node, tmp_path: Path):
    place = node.directories.place("u", PLUGIN, "block", block=True)
    Path(place.directory).parent.mkdir(parents=True)
    Path(place.directory).symlink_to("/dev/null")
    assert [each.place for each in node.volumes.volumes_of("u")] == [place]
    node.volumes.release(place)
    assert not os.path.lexists(place.directory)
    assert os.path.exists("/dev/null")


# (spec 8.3.4)
def test_each_volume_of_a_pod_is_either_a_file_system_or_a_device():
    volumes = tuple(Volume(name=name, iscsi=ISCSIVolumeSource()) for name in ("files", "block", "unused"))
    main = Container(
        name="c",
        volume_mounts=(VolumeMount(name="files", mount_path="/f"),),
        volume_devices=(VolumeDevice(name="block", device_path="/dev/b"),),
    )
    found = specs_of(Pod(spec=PodSpec(volumes=volumes, containers=(main,))))
    assert [(each.name, each.block, each.field_path) for each in found] == [
        ("files", False, "spec.volumes[0].iscsi"),
        ("block", True, "spec.volumes[1].iscsi"),
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b"])
def test_a_name_that_leads_elsewhere_is_refused(node: Node, name: str):
    with pytest.raises(VolumeFailedError):
        node.directories.place("u", PLUGIN, name)
