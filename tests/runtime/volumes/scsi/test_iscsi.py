"""iscsi: what iscsiadm is asked, and what becomes of the disk.

Tools are small programs, disks and mounts are real.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.objects import ISCSIVolumeSource, PersistentVolumeSpec, Volume
from config.objects.storage import ISCSIPersistentVolumeSource
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.scsi.iscsi_target import IscsiMaterial
from tests.runtime.volumes.scsi.machines import IQN, PORTAL, ScsiMachine, claimed

DIRECTORY = f"plugins/kubernetes.io/iscsi/iface-default/{PORTAL}-{IQN}-lun-1"
DEVICE = f"kubernetes.io/iscsi/{PORTAL}:{IQN}:1"
OTHER = "192.0.2.8:3260"
SECRETS = {
    "discovery.sendtargets.auth.username": "d-user",
    "discovery.sendtargets.auth.password": "d-word",
    "node.session.auth.username": "s-user",
    "node.session.auth.password": "s-word",
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScsiMachine]:
    machine = ScsiMachine(tmp_path, monkeypatch)
    yield machine
    machine.close()


def volume(portal: str = PORTAL, *, secrets: dict[str, str] | None = None, **fields: Any) -> VolumeSpec:
    chosen = {name: fields.pop(name) for name in ("block", "read_only", "mount_options") if name in fields}
    source = ISCSIPersistentVolumeSource(target_portal=portal, iqn=IQN, lun=fields.pop("lun", 1), **fields)
    material = IscsiMaterial(secrets=secrets) if secrets else None
    return claimed("iscsi", PersistentVolumeSpec(iscsi=source), material=material, **chosen)


def test_a_pod_gets_the_disk_of_a_target_and_the_node_logs_out_after_the_last_pod(machine: ScsiMachine) -> None:
    disk = machine.disk("disk")
    machine.order(disks={"1": disk})
    spec = volume()
    path = machine.make(spec, fs_group=777)
    assert path == machine.root / "pods/u/volumes/kubernetes.io~iscsi/pv"
    (path / "file").write_text("x")
    assert path.stat().st_gid == 777
    admin, node = "iscsiadm -m", f"iscsiadm -m node -p {PORTAL} -T {IQN}"
    discovery = f"{admin} discoverydb -t sendtargets -p {PORTAL} -I default"
    assert machine.ran() == [
        f"{admin} iface -I default -o show",
        f"{discovery} -o new",
        f"{discovery} --discover",
        f"{node} -I default -o update -n node.session.scan -v manual",
        f"{node} -I default --login",
        f"{node} -o update -n node.startup -v manual",
    ]
    assert (machine.machine / "sys/class/scsi_host/host7/scan").read_text() == "0 0 1", "no other disk of the target"
    again = machine.make(spec, "other")
    assert (again / "file").read_text() == "x"
    assert machine.ran() == []
    assert machine.volumes.scan().devices == (DEVICE,)
    for uid in ("u", "other"):
        machine.volumes.release(machine.place(spec, uid))
    for _ in range(2):
        machine.volumes.unstage(DEVICE)
    assert machine.ran() == [f"{node} --logout -I default", f"{node} -o delete -I default"]
    assert machine.deleted(disk)
    assert machine.volumes.scan().devices == ()
    assert not (machine.root / DIRECTORY).exists()


def test_another_agent_finds_the_disk_of_a_pod_and_gives_it_back(machine: ScsiMachine) -> None:
    machine.order(disks={"1": machine.disk("disk"), "2": machine.disk("second")})
    specs = (volume(), volume(lun=2))
    for uid, spec in zip(("u", "other"), specs, strict=True):
        machine.make(spec, uid)
    machine.ran()
    machine.volumes = machine.agent()
    (found,) = machine.volumes.volumes_of("u")
    assert (found.place, found.device) == (machine.place(specs[0]), DEVICE)
    machine.volumes.release(found.place)
    assert machine.volumes.volumes_of("u") == ()
    machine.volumes.unstage(DEVICE)
    assert not any("--logout" in line for line in machine.ran()), "another disk of the target is in use"
    machine.volumes.release(machine.place(specs[1], "other"))
    machine.volumes.unstage(machine.volumes.scan().devices[0])
    assert any("--logout" in line for line in machine.ran())


def test_a_device_is_held_for_its_pod_and_found_by_another_agent(machine: ScsiMachine) -> None:
    disk = machine.disk("disk")
    machine.order(disks={"1": disk})
    spec = volume(block=True)
    path = machine.make(spec)
    assert os.readlink(path) == disk
    hold = machine.root / "plugins/kubernetes.io/iscsi/volumeDevices" / DIRECTORY.partition("iscsi/")[2] / "u"
    assert machine.loops.holding(str(hold))
    machine.volumes = machine.agent()
    (found,) = machine.volumes.volumes_of("u")
    assert (found.place, found.device) == (machine.place(spec), DEVICE)
    machine.volumes.release(found.place)
    assert not os.path.lexists(path)
    assert not machine.loops.holding(str(hold))
    machine.volumes.unstage(DEVICE)
    assert machine.deleted(disk)
    assert machine.volumes.scan().devices == ()


def test_a_volume_that_is_read_only_is_mounted_so(machine: ScsiMachine) -> None:
    disk = machine.disk("disk")
    machine.order(disks={"1": disk})
    spec = volume()
    machine.make(spec)
    machine.volumes.release(machine.place(spec))
    machine.volumes.unstage(DEVICE)
    path = machine.make(volume(read_only=True), "reader", fs_group=5)
    with pytest.raises(OSError, match="Read-only"):
        (path / "x").write_text("")


def test_the_passwords_for_chap_are_set_and_no_error_shows_them(machine: ScsiMachine) -> None:
    machine.order(disks={"1": machine.disk("disk")})
    machine.make(volume(chap_auth_discovery=True, chap_auth_session=True, secrets=SECRETS))
    ran = machine.ran()
    for key, value in {**SECRETS, "node.session.auth.authmethod": "CHAP"}.items():
        assert sum(line.endswith(f"-o update -n {key} -v {value}") for line in ran) == 1
    login = next(index for index, line in enumerate(ran) if "--login" in line)
    assert all("s-word" not in line for line in ran[login:])
    machine.order(fails={"node.session.auth.password": (7, "bad s-word")})
    with pytest.raises(VolumeFailedError, match=r"cannot set node.session.auth.password \(7\)$") as refused:
        machine.make(volume(portal=OTHER, chap_auth_session=True, secrets=SECRETS), "other")
    assert "s-word" not in str(refused.value)


def test_chap_without_a_secret_is_refused(machine: ScsiMachine) -> None:
    machine.order()
    with pytest.raises(VolumeFailedError, match="there is no secret with its passwords"):
        machine.make(volume(chap_auth_session=True))
    assert machine.ran() == []


def test_an_initiator_of_its_own_comes_by_an_interface_of_its_own(machine: ScsiMachine) -> None:
    machine.order(disks={"1": machine.disk("disk")})
    spec = volume(initiator_name="iqn.2001-04.com.example:node", iscsi_interface="eth1")
    machine.make(spec)
    own, ran = f"{PORTAL}:pv", machine.ran()
    assert ran[:2] == ["iscsiadm -m iface -I eth1 -o show", f"iscsiadm -m iface -I {own} -o new"]
    assert f"iscsiadm -m iface -I {own} -o update -n iface.initiatorname -v iqn.2001-04.com.example:node" in ran
    assert f"iscsiadm -m iface -I {own} -o update -n iface.transport_name -v tcp" in ran
    assert not any("<empty>" in line or "iface.iscsi_ifacename" in line for line in ran)
    directory = machine.root / f"plugins/kubernetes.io/iscsi/iface-{own}/{PORTAL}-{IQN}-lun-1"
    machine.volumes.release(machine.place(spec))
    machine.mounts.unmount(str(directory))
    assert json.loads((directory / "iscsi.json").read_text()) == {
        "VolName": "pv",
        "Portals": [PORTAL],
        "Iqn": IQN,
        "Lun": "1",
        "InitIface": "eth1",
        "Iface": own,
        "InitiatorName": "iqn.2001-04.com.example:node",
    }
    machine.volumes.unstage(DEVICE)
    assert machine.ran()[-1] == f"iscsiadm -m iface -I {own} -o delete"


def test_a_portal_that_does_not_answer_is_tried_again_and_the_others_do(machine: ScsiMachine) -> None:
    machine.order(disks={"1": machine.disk("disk")}, fails={f"-p {OTHER} -I default --discover": (4, "no route")})
    spec = volume(portals=(OTHER, "192.0.2.9"))
    machine.make(spec)
    ran = machine.ran()
    assert sum("--discover" in line and OTHER in line for line in ran) == 2
    assert [line.split()[4] for line in ran if "--login" in line] == [PORTAL, "192.0.2.9:3260"]
    machine.volumes.release(machine.place(spec))
    machine.order(fails={})
    machine.volumes.unstage(DEVICE)
    assert [line.split()[4] for line in machine.ran() if "--logout" in line] == [PORTAL, OTHER, "192.0.2.9:3260"]


def test_a_target_that_does_not_answer_is_said_and_leaves_nothing(machine: ScsiMachine) -> None:
    machine.order(fails={"--discover": (4, "cannot make connection")})
    text = rf"last err seen:\nfailed to sendtargets to portal {PORTAL} \(4\): cannot make connection"
    with pytest.raises(VolumeFailedError, match=f"failed to get any path for iscsi disk, {text}"):
        machine.make(volume())
    assert machine.ran()[-1].endswith("-o delete")
    assert machine.volumes.scan().devices == (DEVICE,), "what was begun is known, also to the next agent"
    machine.volumes.unstage(DEVICE)
    assert machine.volumes.scan().devices == ()


def test_a_disk_that_does_not_appear_is_waited_for_and_said(machine: ScsiMachine) -> None:
    machine.order(disks={"5": machine.disk("disk")})
    with pytest.raises(
        VolumeFailedError, match=f"Timed out waiting for device at path .*{PORTAL}-iscsi-{IQN}-lun-1 after"
    ):
        machine.make(volume())
    assert machine.waited == 29


def test_another_transport_looks_for_the_disk_on_every_bus(machine: ScsiMachine) -> None:
    machine.order(disks={"1": machine.disk("disk")}, transport="be2iscsi", bus="pci-0000:05:00.4-")
    assert machine.make(volume()).is_mount()


def test_a_node_without_the_tool_refuses_the_volume_and_can_forget_it(machine: ScsiMachine) -> None:
    machine.order()
    (machine.tools / "iscsiadm").unlink()
    with pytest.raises(VolumeFailedError, match=r"iscsiadm: No such file or directory; install open-iscsi"):
        machine.make(volume())
    machine.volumes.unstage(DEVICE)
    assert machine.volumes.scan().devices == ()


def test_a_login_that_was_cut_off_is_undone(machine: ScsiMachine) -> None:
    """The agent died between the login and the mount."""
    machine.order(disks={"1": machine.disk("disk")}, fails={})
    spec = volume(fs_type="nofs")
    with pytest.raises(VolumeFailedError, match=r"mkfs\.nofs"):
        machine.make(spec)
    machine.volumes = machine.agent()
    assert machine.volumes.scan().devices == (DEVICE,)
    machine.ran()
    machine.volumes.unstage(DEVICE)
    assert any("--logout" in line for line in machine.ran())


def test_several_paths_are_one_device_which_is_taken_apart_first(machine: ScsiMachine) -> None:
    disk = machine.disk("disk")
    (machine.machine / "sys/block/dm-3/slaves" / os.path.basename(disk)).mkdir(parents=True)
    machine.order(disks={"1": disk})
    with pytest.raises(VolumeFailedError, match="/dev/dm-3"):
        machine.make(volume(block=True))
    machine.ran()
    machine.order(fails={"-f": (1, "map in use")})
    with pytest.raises(VolumeFailedError, match=r"multipath -f -- /dev/dm-3 failed .*map in use"):
        machine.volumes.unstage(DEVICE)
    assert not machine.deleted(disk), "what the device of several paths holds is not lost"
    machine.order(fails={})
    machine.volumes.unstage(DEVICE)
    assert "multipath -f -- /dev/dm-3" in machine.ran()
    assert machine.deleted(disk)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"iqn": "iqn.2001-04.com.example:../../../etc"}, "is not the name of a target"),
        ({"iqn": "--help"}, "is not the name of a target"),
        ({"target_portal": "-o"}, "is not a host with a port"),
        ({"target_portal": "192.0.2.7:99999"}, "is not a host with a port"),
        ({"portals": ("a/b",)}, "is not a host with a port"),
        ({"iscsi_interface": "../x"}, "is not the name of an interface"),
        ({"initiator_name": "me"}, "is not the name of an initiator"),
        ({"lun": -1}, "must be 0 or more"),
    ],
)
def test_words_that_lead_elsewhere_are_refused(machine: ScsiMachine, fields: dict[str, Any], said: str) -> None:
    words = {"target_portal": PORTAL, "iqn": IQN, "lun": 0, **fields}
    spec = VolumeSpec(name="v", volume=Volume(name="v", iscsi=ISCSIVolumeSource(**words)), source="iscsi")
    with pytest.raises(VolumeFailedError, match=said):
        machine.volumes.locate("u", spec)


@pytest.mark.parametrize(
    ("portal", "named"),
    [
        ("192.0.2.7", "192.0.2.7:3260"),
        ("disks.example.com:860", "disks.example.com:860"),
        ("2001:db8::7", "[2001:db8::7]:3260"),
        ("[2001:db8::7]:860", "[2001:db8::7]:860"),
    ],
)
def test_a_portal_without_a_port_has_that_of_iscsi(machine: ScsiMachine, portal: str, named: str) -> None:
    assert machine.volumes.locate("u", volume(portal)).device == f"kubernetes.io/iscsi/{named}:{IQN}:1"
