"""nfs: how it is mounted and given back, also when its server is dead.

The programs of the host are played.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from config.objects import NFSVolumeSource, ObjectMeta, PersistentVolume, PersistentVolumeSpec, Pod, Volume
from runtime.volumes.capability import VolumeFailedError, VolumePlace, VolumeSpec
from runtime.volumes.commands import NOT_FOUND, TIMED_OUT, CommandResult, HostCommand, HostCommands
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.nfs import NfsPlugin, mount_command
from tests.runtime.volumes.host_commands import PlayedCommands


class KnownMounts(KernelMounts):
    """Mounts by name only: nothing may look at them, as their server is dead."""

    def __init__(self) -> None:
        super().__init__()
        self.points: set[str] = set()
        self.unmounted: list[tuple[str, bool]] = []

    def below(self, path: str) -> tuple[str, ...]:
        return tuple(point for point in self.points if point == path)

    def unmount(self, path: str, *, detach: bool = False, force: bool = False) -> None:
        self.unmounted.append((path, force))
        self.points.discard(path)


def spec(server: str = "srv", path: str = "/data", **fields: object) -> VolumeSpec:
    source = NFSVolumeSource(server=server, path=path, read_only=bool(fields.pop("source_read_only", False)))
    return VolumeSpec(name="v", volume=Volume(name="v", nfs=source), source="nfs", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        (spec(), "mount -t nfs -- srv:/data /d"),
        (spec(source_read_only=True), "mount -t nfs -o ro -- srv:/data /d"),
        (spec(read_only=True), "mount -t nfs -o ro -- srv:/data /d"),
        (
            spec(mount_options=("nfsvers=4.1", "soft"), read_only=True),
            "mount -t nfs -o nfsvers=4.1,soft,ro -- srv:/data /d",
        ),
        (spec(server="2001:db8::1"), "mount -t nfs -- [2001:db8::1]:/data /d"),
        (spec(server="192.0.2.7", path="/"), "mount -t nfs -- 192.0.2.7:/ /d"),
    ],
)
def test_an_nfs_volume_is_mounted_by_the_host_program(volume: VolumeSpec, line: str):
    assert str(mount_command(volume, "/d")) == line


def test_a_persistent_volume_says_where_it_is():
    source = PersistentVolumeSpec(nfs=NFSVolumeSource(server="other", path="/pv"))
    persistent = PersistentVolume(metadata=ObjectMeta(name="pv"), spec=source)
    claimed = VolumeSpec(name="pv", volume=Volume(name="v"), source="nfs", persistent=persistent)
    assert mount_command(claimed, "/d").operands == ("other:/pv", "/d")


def test_an_nfs_volume_is_refused_as_a_device(tmp_path: Path):
    world = World(tmp_path)
    with pytest.raises(VolumeFailedError, match="cannot be a device") as refused:
        world.plugin.prepare(Pod(), spec(block=True), world.place, lambda *words: None)
    assert refused.value.reason == "FailedMapVolume"


def test_an_nfs_volume_without_a_server_is_refused():
    with pytest.raises(VolumeFailedError, match="needs a server and a path"):
        mount_command(spec(server=""), "/d")


@pytest.mark.parametrize(
    "server",
    [
        "--fstab=/host/etc/evil",
        "-o",
        "-",
        "srv:/etc -o",
        "a b",
        "srv\n",
        "srv/..",
        ".srv",
        "a..b",
        "[::1]",
        "x" * 254,
        "é",
        "fe80::1%eth0:/etc -o bind",
        "::1%",
        "fe80::1%a/b",
        "192.0.2.7%eth0",
    ],
)
def test_a_server_that_is_no_host_is_never_given_to_mount(world: World, server: str):
    place, plugin = world.place, world.plugin
    with pytest.raises(VolumeFailedError, match="is not a host name or an address"):
        plugin.prepare(Pod(), spec(server=server), place, lambda *words: None)
    assert world.commands.ran == []


def test_a_server_name_does_not_make_mount_read_another_fstab(tmp_path: Path):
    """The real `mount`.

    The server's name and the path together once were an option and the path of an fstab.
    """
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").touch()
    (tmp_path / "fstab:").mkdir()
    mounts = KernelMounts()
    plugin = NfsPlugin(mounts, HostCommands())
    place = VolumePlace("u", plugin.name, "v", False, str(tmp_path / "pods/u/volumes/kubernetes.io~nfs/v"))
    (tmp_path / "fstab:" / "data").write_text(f"{tmp_path}/secret {place.directory} none bind 0 0\n")
    try:
        with pytest.raises(VolumeFailedError):
            plugin.prepare(Pod(), spec(server=f"--fstab={tmp_path}/fstab"), place, lambda *words: None)
        assert mounts.below(place.directory) == ()
    finally:
        mounts.unmount(place.directory)


@pytest.mark.parametrize("program", ["mount", "umount", "mkfs.ext4", "fsck.ext4", "blkid"])
def test_the_programs_of_the_host_take_no_operand_for_an_option(program: str):
    """The real programs: each treats `--version` as a missing file, and does not print its version."""
    operands = ("--version", "--version") if program == "mount" else ("--version",)
    ended = HostCommands().run(HostCommand(program, operands=operands), 120)
    assert ended.code not in (0, NOT_FOUND)
    assert "util-linux" not in ended.output


def test_a_path_that_is_not_absolute_is_never_given_to_mount():
    with pytest.raises(VolumeFailedError, match="must begin with /"):
        mount_command(spec(path="-o"), "/d")


@pytest.mark.parametrize("server", ["srv", "SRV.example.org.", "my_nas", "3com", "::1", "fe80::1%eth0", "192.0.2.7"])
def test_hosts_and_addresses_are_servers(server: str):
    assert mount_command(spec(server=server), "/d").operands[0].endswith(":/data")


class World:
    def __init__(self, base: Path) -> None:
        self.mounts = KnownMounts()
        self.commands = PlayedCommands()
        self.plugin = NfsPlugin(self.mounts, self.commands)
        directory = base / "pods/u/volumes/kubernetes.io~nfs/v"
        self.place = VolumePlace("u", self.plugin.name, "v", False, str(directory))

    def prepare(self) -> str:
        return self.plugin.prepare(Pod(), spec(), self.place, lambda *words: None)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_an_nfs_volume_is_mounted_once(world: World):
    directory = world.place.directory
    assert world.prepare() == directory
    assert world.commands.lines == [f"mount -t nfs -- srv:/data {directory}"]
    world.mounts.points.add(directory)
    assert world.prepare() == directory
    assert len(world.commands.ran) == 1
    assert world.plugin.is_usable(world.place)


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (CommandResult(32, "access denied by server"), r"failed \(32\): access denied by server$"),
        (CommandResult(TIMED_OUT, "no answer within 110 s"), "no answer within 110 s$"),
        (CommandResult(NOT_FOUND, "mount: No such file"), "install nfs-common"),
        (CommandResult(32, "you might need a /sbin/mount.<type> helper program."), "install nfs-common"),
    ],
)
def test_a_mount_that_fails_leaves_nothing_and_says_why(world: World, ended: CommandResult, said: str):
    world.commands.answers["mount"] = ended
    with pytest.raises(VolumeFailedError, match=said):
        world.prepare()
    assert not os.path.exists(world.place.directory)


def test_an_nfs_volume_is_unmounted_by_the_host_program(world: World):
    world.mounts.points.add(world.place.directory)
    world.plugin.release(world.place)
    assert world.commands.lines == [f"umount --no-canonicalize -- {world.place.directory}"]
    assert world.mounts.unmounted == []


@pytest.mark.parametrize(
    "ended", [CommandResult(TIMED_OUT, ""), CommandResult(32, "device is busy"), CommandResult(NOT_FOUND, "")]
)
def test_the_mount_of_a_dead_server_is_given_back_by_force(world: World, ended: CommandResult):
    world.mounts.points.add(world.place.directory)
    world.commands.answers["umount"] = ended
    world.plugin.release(world.place)
    assert world.mounts.unmounted == [(world.place.directory, True)]


def test_releasing_an_unmounted_nfs_volume_runs_no_program(world: World):
    world.plugin.release(world.place)
    assert world.commands.ran == []


# --- the programs themselves


def test_a_program_of_the_host_tells_how_it_ended():
    assert HostCommands().run(HostCommand("sh", ("-c", "echo word; echo trouble >&2; exit 3")), 120) == CommandResult(
        3, "word\ntrouble"
    )
    assert HostCommands().run(HostCommand("/no/such/program"), 120).code == NOT_FOUND


def test_a_program_that_hangs_is_killed_with_the_helpers_that_it_has_started(tmp_path: Path):
    """`mount` waits for `mount.nfs`, which waits for a dead server."""
    os.mkfifo(tmp_path / "pipe")
    helper = f"exec sleep 1000 > {tmp_path}/pipe"
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    ended = HostCommands().run(HostCommand("sh", ("-c", f"({helper}) & wait")), 1)
    assert ended.code == TIMED_OUT
    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b"", "the helper is gone, and with it the other end of the pipe"
    os.close(reader)


def test_a_program_that_hangs_is_killed_at_its_time():
    assert HostCommands().run(HostCommand("sleep", operands=("1000",)), 0.05).code == TIMED_OUT
