"""fc: how the kernel's disk is found, and taken off.

Disks and mounts are real, `multipath` is a small program.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.objects import FCVolumeSource, PersistentVolumeSpec
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from tests.runtime.volumes.scsi.machines import ScsiMachine, claimed

WWN = "50060e801049cfd1"
BY_PATH, BY_ID = "dev/disk/by-path", "dev/disk/by-id"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScsiMachine]:
    machine = ScsiMachine(tmp_path, monkeypatch)
    machine.order()
    yield machine
    machine.close()


def volume(*, block: bool = False, **fields: Any) -> VolumeSpec:
    return claimed("fc", PersistentVolumeSpec(fc=FCVolumeSource(**fields)), block=block)


@pytest.mark.parametrize(
    ("source", "link", "directory", "device"),
    [
        (
            {"target_wwns": (WWN,), "lun": 2},
            f"{BY_PATH}/pci-0000:41:00.0-fc-0x{WWN}-lun-2",
            f"{WWN}-lun-2",
            f"[{WWN}]:2",
        ),
        ({"target_wwns": ("ab", WWN), "lun": 0}, f"{BY_PATH}/fc-0x{WWN}-lun-0", f"ab-{WWN}-lun-0", f"[ab {WWN}]:0"),
        ({"wwids": ("VENDOR disk 1",)}, f"{BY_ID}/scsi-VENDOR_disk_1", "VENDOR_disk_1", "[VENDOR_disk_1]"),
        ({"wwids": ("a1", "b2")}, f"{BY_ID}/scsi-b2", "a1-b2", "[a1 b2]"),
    ],
)
def test_a_pod_gets_the_disk_that_the_kernel_knows_by_this_name(
    machine: ScsiMachine, source: dict[str, Any], link: str, directory: str, device: str
) -> None:
    disk = machine.disk("disk")
    (machine.machine / link).symlink_to(disk)
    spec = volume(**source)
    path = machine.make(spec)
    (path / "file").write_text("x")
    assert (machine.root / "plugins/kubernetes.io/fc" / directory).is_mount()
    machine.volumes = machine.agent()
    (found,) = machine.volumes.volumes_of("u")
    assert found.device == f"kubernetes.io/fc/{device}"
    machine.volumes.release(found.place)
    machine.volumes.unstage(found.device)
    assert machine.deleted(disk)
    assert machine.volumes.scan().devices == ()
    assert (machine.make(spec) / "file").read_text() == "x"


def test_a_device_is_given_as_it_is(machine: ScsiMachine) -> None:
    disk = machine.disk("disk")
    (machine.machine / BY_PATH / f"fc-0x{WWN}-lun-0").symlink_to(disk)
    spec = volume(block=True, target_wwns=(WWN,), lun=0)
    assert os.readlink(machine.make(spec)) == disk
    assert machine.volumes.volumes_of("u")[0].device == f"kubernetes.io/fc/[{WWN}]:0"
    machine.volumes.release(machine.place(spec))
    machine.volumes.unstage(f"kubernetes.io/fc/[{WWN}]:0")
    assert machine.volumes.scan().devices == ()


def test_a_disk_that_is_not_there_is_looked_for_and_said(machine: ScsiMachine) -> None:
    scan = machine.machine / "sys/class/scsi_host/host3/scan"
    scan.parent.mkdir(parents=True)
    scan.write_text("")
    with pytest.raises(VolumeFailedError, match="no fc disk found; this node has no Fibre Channel adapter"):
        machine.make(volume(wwids=("none",)))
    assert scan.read_text() == "- - -"
    (machine.machine / "sys/class/fc_host/host3").mkdir(parents=True)
    with pytest.raises(VolumeFailedError, match=r"no fc disk found$"):
        machine.make(volume(wwids=("none",)))


def test_every_path_of_a_disk_is_taken_off_after_its_device_of_several_paths(machine: ScsiMachine) -> None:
    disks = [machine.disk(name) for name in ("one", "two")]
    for disk in disks:
        (machine.machine / "sys/block/dm-0/slaves" / os.path.basename(disk)).mkdir(parents=True)
    (machine.machine / BY_ID / "scsi-a").symlink_to(disks[1])
    with pytest.raises(VolumeFailedError, match="/dev/dm-0"):
        machine.make(volume(wwids=("a",)))
    machine.volumes.unstage("kubernetes.io/fc/[a]")
    assert machine.ran() == ["multipath -f -- /dev/dm-0"]
    assert [machine.deleted(disk) for disk in disks] == [True, True]


def test_a_node_without_multipath_says_so_and_takes_no_path_off(machine: ScsiMachine) -> None:
    disk = machine.disk("disk")
    (machine.machine / "sys/block/dm-0/slaves" / os.path.basename(disk)).mkdir(parents=True)
    (machine.machine / BY_ID / "scsi-a").symlink_to(disk)
    (machine.root / "plugins/kubernetes.io/fc/a").mkdir(parents=True)
    (machine.tools / "multipath").unlink()
    with pytest.raises(VolumeFailedError, match="multipath: No such file or directory; install multipath-tools"):
        machine.volumes.unstage("kubernetes.io/fc/[a]")
    assert not machine.deleted(disk)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({}, "needs targetWWNs and a lun, or wwids"),
        ({"target_wwns": (WWN,)}, "needs targetWWNs and a lun, or wwids"),
        ({"target_wwns": ("../x",), "lun": 0}, "must be hexadecimal"),
        ({"target_wwns": (WWN,), "lun": -1}, "must be 0 or more"),
        ({"wwids": ("../../x",)}, "must be letters, digits"),
    ],
)
def test_words_that_lead_elsewhere_are_refused(machine: ScsiMachine, source: dict[str, Any], said: str) -> None:
    with pytest.raises(VolumeFailedError, match=said):
        machine.volumes.locate("u", volume(**source))
