"""Which mount options a volume may have."""

from __future__ import annotations

import pytest

from config.objects import NFSVolumeSource, Volume
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.devices.disks import mount_disk
from runtime.volumes.mount_options import LENGTH_AT_MOST, joined_options
from runtime.volumes.nfs import mount_command
from tests.runtime.volumes.host_commands import PlayedCommands


@pytest.mark.parametrize(
    ("options", "read_only", "text"),
    [
        ((), False, ""),
        ((), True, "ro"),
        (("nfsvers=4.1", "soft"), True, "nfsvers=4.1,soft,ro"),
        (("hard,noatime",), False, "hard,noatime"),
        (('context="system_u:object_r:container_file_t:s0:c1,c2"',), False, None),
        (("_netdev", "x-systemd.automount"), False, "_netdev,x-systemd.automount"),
    ],
)
def test_options_of_file_systems_are_joined(options: tuple[str, ...], read_only: bool, text: str | None):
    assert joined_options(options, read_only=read_only) == (",".join(options) if text is None else text)


@pytest.mark.parametrize(
    "option",
    [
        "bind",
        "ro,bind",
        "soft,rbind,hard",
        "move",
        "remount",
        "loop=/dev/loop0",
        "helper=/tmp/evil",
        "uhelper=../../tmp/evil",
        "rshared",
        "X-mount.owner=1000",
        "X-mount.subdir=../..",
        "X-mount.mkdir",
        "verity.hashdevice=/dev/sda",
        "ro -o bind",
        "ro\nbind",
        "ro\0",
        "",
        "é",
        "a" * (LENGTH_AT_MOST + 1),
    ],
)
def test_an_option_that_makes_mount_do_something_else_runs_no_program(option: str):
    volume = Volume(name="v", nfs=NFSVolumeSource(server="srv", path="/data"))
    with pytest.raises(VolumeFailedError, match="the mount option"):
        mount_command(VolumeSpec(name="v", volume=volume, source="nfs", mount_options=("soft", option)), "/d")
    commands = PlayedCommands()
    with pytest.raises(VolumeFailedError, match="the mount option"):
        mount_disk(commands, "/dev/x", "/d", "ext4", (option,), read_only=False)
    assert commands.ran == []
