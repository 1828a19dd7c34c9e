"""local: directories and disks of this machine, with real binds and real loop devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.objects import (
    LocalVolumeSource,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeSpec,
    Pod,
    PodSecurityContext,
    PodSpec,
    Volume,
)
from runtime.volumes.capability import VolumeFailedError, VolumePlace, VolumeSpec
from runtime.volumes.commands import CommandResult, HostCommand, HostCommands
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.devices.disks import file_system_of, mount_disk
from runtime.volumes.devices.loop_devices import KernelLoopDevices
from runtime.volumes.local import ALREADY_MOUNTED, LocalPlugin, path_of
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.pod_directories import PodDirectories
from tests.runtime.volumes.host_commands import PlayedCommands

MIB = 1024 * 1024


class World:
    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "root"
        self.mounts = KernelMounts()
        self.loops = KernelLoopDevices()
        self.directories = PodDirectories(str(self.root), self.mounts)
        maps = DeviceMaps(str(self.root), self.mounts, self.loops)
        self.plugin = LocalPlugin(str(self.root), self.mounts, HostCommands(), maps)
        self.said: list[tuple[str, str, str]] = []
        self.source = base / "source"
        self.source.mkdir()
        self._images: list[str] = []

    def place(self, uid: str = "u", *, block: bool = False) -> VolumePlace:
        self.directories.make(uid)
        return self.directories.place(uid, self.plugin.name, "pv", block=block)

    def prepare(self, spec: VolumeSpec, *, uid: str = "u", fs_group: int | None = None) -> Path:
        context = PodSecurityContext(fs_group=fs_group)
        pod = Pod(metadata=ObjectMeta(name="p", uid=uid), spec=PodSpec(security_context=context))
        self.plugin.stage(pod, spec, self._say)
        return Path(self.plugin.prepare(pod, spec, self.place(uid, block=spec.block), self._say))

    def _say(self, *words: str) -> None:
        kind, reason, text = words
        self.said.append((kind, reason, text))

    def disk(self, name: str = "disk") -> str:
        image = self.base / name
        image.write_bytes(b"")
        os.truncate(image, 32 * MIB)
        self._images.append(str(image))
        return self.loops.attach(str(image))

    def close(self) -> None:
        for point in self.mounts.below(str(self.base)):
            self.loops.detach(point)
            self.mounts.unmount(point, detach=True)
        for image in self._images:
            self.loops.detach(image)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def local(path: str | Path, *, fs_type: str | None = None, block: bool = False, read_only: bool = False) -> VolumeSpec:
    source = PersistentVolumeSpec(local=LocalVolumeSource(path=str(path), fs_type=fs_type))
    persistent = PersistentVolume(metadata=ObjectMeta(name="pv"), spec=source)
    volume = Volume(name="data")
    return VolumeSpec(name="pv", volume=volume, source="local", persistent=persistent, block=block, read_only=read_only)


def test_a_directory_of_the_node_is_bound_into_the_pod_once(world: World):
    (world.source / "file").write_text("x")
    path = world.prepare(local(world.source))
    assert path == world.root / "pods/u/volumes/kubernetes.io~local-volume/pv"
    assert world.prepare(local(world.source)) == path
    assert (path / "file").read_text() == "x"
    assert world.mounts.below(str(path)) == (str(path),)
    assert world.plugin.is_usable(world.place())
    world.plugin.release(world.place())
    world.plugin.release(world.place())
    assert os.listdir(path) == []
    assert (world.source / "file").exists()


def test_a_read_only_local_volume_takes_no_changes(world: World):
    path = world.prepare(local(world.source, read_only=True), fs_group=777)
    with pytest.raises(OSError, match="Read-only"):
        (path / "x").write_text("")
    assert world.source.stat().st_gid == 0


@pytest.mark.parametrize(
    ("path", "said"),
    [("missing", "there is no .*missing on this node"), ("file", "is not a directory of this node"), ("../x", "'..'")],
)
def test_a_path_that_is_not_there_is_never_made(world: World, path: str, said: str):
    (world.base / "file").write_text("")
    with pytest.raises(VolumeFailedError, match=said):
        world.prepare(local(f"{world.base}/{path}"))
    assert not (world.base / "missing").exists()


def test_a_volume_that_its_pod_has_is_given_to_the_group_no_second_time(world: World):
    (world.source / "key").write_text("x")
    world.prepare(local(world.source), fs_group=777)
    (world.source / "key").chmod(0o600)
    world.prepare(local(world.source), fs_group=777)
    assert stat.S_IMODE((world.source / "key").stat().st_mode) == 0o600, "its containers have closed it"


def test_the_first_pod_gives_its_files_to_its_group_and_another_group_is_warned(world: World):
    (world.source / "file").write_text("")
    world.prepare(local(world.source), fs_group=777)
    assert (world.source / "file").stat().st_gid == 777
    assert world.said == []
    world.prepare(local(world.source), uid="other", fs_group=888)
    assert (world.source / "file").stat().st_gid == 777
    [(kind, reason, text)] = world.said
    assert (kind, reason) == ("Warning", ALREADY_MOUNTED)
    assert "fsGroup is 888" in text
    assert "group 777" in text


# --- disks ------------------------------------------------------------------------------------------------------------


def test_a_blank_disk_is_formatted_once_and_shared_by_its_pods(world: World):
    disk = world.disk()
    one = world.prepare(local(disk))
    (one / "file").write_text("x")
    two = world.prepare(local(disk), uid="other")
    assert (two / "file").read_text() == "x"
    assert file_system_of(HostCommands(), disk) == "ext4"
    assert world.plugin.staged() == ("pv",)
    for uid in ("u", "other"):
        world.plugin.release(world.place(uid))
    world.plugin.unstage("pv")
    world.plugin.unstage("pv")
    assert world.plugin.staged() == ()
    assert (world.prepare(local(disk)) / "file").read_text() == "x"


def test_a_disk_that_holds_something_else_is_not_overwritten(world: World):
    disk = world.disk()
    assert HostCommands().run(HostCommand("mkfs.ext4", ("-q",), (disk,)), 60).code == 0
    with pytest.raises(VolumeFailedError, match="holds ext4, and xfs is asked for") as refused:
        world.prepare(local(disk, fs_type="xfs"))
    assert refused.value.reason == "FailedMountOnFilesystemMismatch"
    assert file_system_of(HostCommands(), disk) == "ext4"


@pytest.mark.parametrize(
    ("blkid", "read_only", "lines"),
    [
        (CommandResult(2, ""), False, ["mkfs.ext4 -F -m0 -- /dev/x", "mount -t ext4 -o noatime -- /dev/x /d"]),
        (CommandResult(0, "TYPE=ext4\n"), False, ["fsck.ext4 -a -- /dev/x", "mount -t ext4 -o noatime -- /dev/x /d"]),
        (CommandResult(0, "TYPE=ext4\n"), True, ["mount -t ext4 -o noatime,ro -- /dev/x /d"]),
    ],
)
def test_how_a_disk_is_mounted(blkid: CommandResult, read_only: bool, lines: list[str]):
    commands = PlayedCommands({"blkid": blkid})
    mount_disk(commands, "/dev/x", "/d", "ext4", ("noatime",), read_only=read_only)
    assert commands.lines[1:] == lines


def test_a_label_with_commas_is_one_mount_option():
    volume, options = Volume(name="v"), ("noatime",)
    spec = VolumeSpec(name="pv", volume=volume, source="iscsi", mount_options=options, context="u:r:t:s0:c1,c2")
    commands = PlayedCommands({"blkid": CommandResult(2, "")})
    mount_disk(commands, "/dev/x", "/d", "xfs", spec.all_options, read_only=False)
    assert commands.ran[-1].options == ("-t", "xfs", "-o", 'noatime,context="u:r:t:s0:c1,c2"')


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"blkid": CommandResult(4, "cannot open")}, r"blkid .* failed \(4\): cannot open"),
        ({"blkid": CommandResult(0, "PTTYPE=gpt")}, "holds a partition table"),
        (
            {"blkid": CommandResult(0, "TYPE=ext4"), "fsck.ext4": CommandResult(4, "left")},
            r"fsck.ext4 -a -- /dev/x failed \(4\): left",
        ),
        ({"blkid": CommandResult(2, ""), "mkfs.ext4": CommandResult(127, "")}, "install it"),
        ({"blkid": CommandResult(0, "TYPE=ext4"), "mount": CommandResult(32, "wrong")}, r"failed \(32\): wrong"),
    ],
)
def test_a_disk_that_cannot_be_mounted_says_why(answers: dict[str, CommandResult], said: str):
    commands = PlayedCommands(answers)
    with pytest.raises(VolumeFailedError, match=said):
        mount_disk(commands, "/dev/x", "/d", "ext4", (), read_only=False)


def test_errors_that_a_check_has_mended_are_no_trouble():
    commands = PlayedCommands({"blkid": CommandResult(0, "TYPE=ext4"), "fsck.ext4": CommandResult(1, "")})
    mount_disk(commands, "/dev/x", "/d", "ext4", (), read_only=False)
    assert commands.lines[-1] == "mount -t ext4 -- /dev/x /d"


def test_a_blank_disk_that_is_to_be_read_only_is_refused():
    commands = PlayedCommands({"blkid": CommandResult(2, "")})
    with pytest.raises(VolumeFailedError, match="is blank"):
        mount_disk(commands, "/dev/x", "/d", "ext4", (), read_only=True)


@pytest.mark.parametrize("kind", ["../sh", "../../x", "-a", "ext4 -o", "", "EXT4;", "x" * 33, "fuse.sh", "ext4\n"])
def test_a_kind_that_is_no_file_system_runs_no_program(kind: str):
    commands = PlayedCommands({"blkid": CommandResult(2, "")})
    with pytest.raises(VolumeFailedError, match="is not a type of file system"):
        mount_disk(commands, "/dev/x", "/d", kind, (), read_only=False)
    assert commands.ran == []


# --- devices ----------------------------------------------------------------------------------------------------------


# (spec 8.7.20)
def test_a_disk_as_a_device_is_a_link_and_the_disk_is_held(world: World):
    disk = world.disk()
    link = world.prepare(local(disk, block=True))
    assert link == world.root / "pods/u/volumeDevices/kubernetes.io~local-volume/pv"
    assert os.readlink(link) == disk
    hold = world.root / "plugins/kubernetes.io/local-volume/volumeDevices/pv/u"
    assert stat.S_ISBLK(hold.stat().st_mode)
    assert len(world.loops.holding(str(hold))) == 1
    world.prepare(local(disk, block=True))
    assert len(world.loops.holding(str(hold))) == 1
    assert world.plugin.is_usable(world.place(block=True))
    world.plugin.release(world.place(block=True))
    world.plugin.release(world.place(block=True))
    assert not os.path.lexists(link)
    assert world.loops.holding(str(hold)) == ()
    assert not hold.parent.exists()


def test_each_pod_holds_the_disk_for_itself(world: World):
    disk = world.disk()
    world.prepare(local(disk, block=True))
    other = world.prepare(local(disk, block=True), uid="other")
    world.plugin.release(world.place(block=True))
    assert os.path.exists(other)
    hold = world.root / "plugins/kubernetes.io/local-volume/volumeDevices/pv/other"
    assert len(world.loops.holding(str(hold))) == 1


def test_a_path_that_has_become_another_disk_is_mapped_anew(world: World):
    link = world.base / "by-path"
    one, two = world.disk("one"), world.disk("two")
    link.symlink_to(one)
    made = world.prepare(local(link, block=True))
    assert os.readlink(made) == one
    link.unlink()
    link.symlink_to(two)
    assert os.readlink(world.prepare(local(link, block=True))) == two


def test_a_disk_that_cannot_be_written_to_is_held_as_well(world: World):
    disk = world.disk()
    assert HostCommands().run(HostCommand("blockdev", ("--setro", disk)), 120).code == 0
    try:
        assert os.readlink(world.prepare(local(disk, block=True))) == disk
    finally:
        HostCommands().run(HostCommand("blockdev", ("--setrw", disk)), 120)
    hold = world.root / "plugins/kubernetes.io/local-volume/volumeDevices/pv/u"
    assert len(world.loops.holding(str(hold))) == 1


@pytest.mark.parametrize(("path", "said"), [("missing", "there is no"), ("source", "is not a block device")])
def test_a_local_path_that_is_no_disk_is_refused_as_a_device(world: World, path: str, said: str):
    with pytest.raises(VolumeFailedError, match=said) as refused:
        world.prepare(local(world.base / path, block=True))
    assert refused.value.reason == "FailedMapVolume"


def test_a_disk_has_a_part_that_its_pods_share_and_a_device_has_none(world: World):
    assert world.plugin.device_of(local("/x")) == world.plugin.device_at(world.place()) == "pv"
    assert world.plugin.device_of(local("/x", block=True)) == world.plugin.device_at(world.place(block=True)) == ""


@pytest.mark.parametrize("path", ["disk", "-a", "./disk", "../disk", "/mnt/../etc", ""])
def test_a_path_that_could_be_anything_is_refused(path: str):
    source = PersistentVolumeSpec(local=LocalVolumeSource(path=path))
    persistent = PersistentVolume(metadata=ObjectMeta(name="pv"), spec=source)
    spec = VolumeSpec(name="pv", volume=Volume(name="v"), source="local", persistent=persistent)
    with pytest.raises(VolumeFailedError):
        path_of(spec)
