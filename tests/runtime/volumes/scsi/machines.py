"""A machine of files with SCSI disks.

Tools of the host change it: `iscsiadm` and `multipath`.

The disks are loop devices of this machine, so that file systems and mounts are real. The tools are programs on a
private PATH. They note how they were called.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from config.objects import ObjectMeta, PersistentVolume, PersistentVolumeSpec, Pod, PodSecurityContext, PodSpec, Volume
from runtime.volumes.capability import VolumePlace, VolumeSpec
from runtime.volumes.commands import HostCommands
from runtime.volumes.devices.device_maps import DeviceMaps
from runtime.volumes.devices.loop_devices import KernelLoopDevices
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.node_volumes import LocalNodeVolumes
from runtime.volumes.pod_directories import PodDirectories
from runtime.volumes.scsi.fc import FcPlugin
from runtime.volumes.scsi.iscsi import IscsiPlugin
from runtime.volumes.scsi.scsi_disks import ScsiDisks

MIB = 1024 * 1024
IQN = "iqn.2001-04.com.example:storage.disk1"
PORTAL = "192.0.2.7:3260"

_TOOL = """#!{python} -IS
import json, os, shutil, sys
machine, words = {machine!r}, sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([os.path.basename(sys.argv[0]), *words]) + "\\n")
with open({orders!r}) as file:
    orders = json.load(file)
def after(option):
    return words[words.index(option) + 1] if option in words else ""
portal, target = after("-p"), after("-T")
for part, (code, text) in orders["fails"].items():
    if part in " ".join(words):
        print(text)
        sys.exit(code)
if "show" in words:
    print("# BEGIN RECORD 2.1\\niface.iscsi_ifacename = default\\niface.hwaddress = <empty>")
    print("iface.transport_name = " + orders["transport"] + "\\niface.mtu = 0\\n" + "# filler\\n" * 300)
number = portal.split(":")[0].split(".")[-1]
session = machine + "/sys/class/iscsi_host/host" + number + "/device/session" + number
if "--login" in words:
    name = "session" + number
    os.makedirs(session + "/iscsi_session/" + name)
    open(session + "/iscsi_session/" + name + "/targetname", "w").write(target + "\\n")
    connection = session + "/connection" + number + ":0/iscsi_connection/connection" + number + ":0"
    os.makedirs(connection)
    address, port = portal.split(":")
    for kind in ("", "persistent_"):
        open(connection + "/" + kind + "address", "w").write(address + "\\n")
        open(connection + "/" + kind + "port", "w").write(port + "\\n")
    os.makedirs(machine + "/sys/class/scsi_host/host" + number, exist_ok=True)
    open(machine + "/sys/class/scsi_host/host" + number + "/scan", "w").close()
    for lun, disk in orders["disks"].items():
        unit = "/target" + number + ":0:0/" + number + ":0:0:" + lun
        os.makedirs(session + unit + "/block/" + os.path.basename(disk))
        link = orders["bus"] + "ip-" + portal + "-iscsi-" + target + "-lun-" + lun
        os.symlink(disk, machine + "/dev/disk/by-path/" + link)
if "--logout" in words:
    if not os.path.isdir(session):
        sys.exit(21)
    shutil.rmtree(session)
    for name in os.listdir(machine + "/dev/disk/by-path"):
        if "ip-" + portal + "-" in name:
            os.unlink(machine + "/dev/disk/by-path/" + name)
"""


class ScsiMachine:
    """See the module."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base = base
        self.root = base / "root"
        self.machine = base / "machine"
        self.log = base / "log"
        self.tools = base / "tools"
        self.tools.mkdir()
        (self.machine / "dev/disk/by-path").mkdir(parents=True)
        (self.machine / "dev/disk/by-id").mkdir(parents=True)
        self.orders: dict[str, Any] = {"fails": {}, "transport": "tcp", "bus": "", "disks": {}}
        self.mounts = KernelMounts()
        self.loops = KernelLoopDevices()
        self.waited = 0
        self.said: list[tuple[str, ...]] = []
        self._images: list[str] = []
        self.directories = PodDirectories(str(self.root), self.mounts)
        self.volumes = self.agent()
        monkeypatch.setenv("PATH", f"{self.tools}:/usr/sbin:/usr/bin:/sbin:/bin")
        self.install("iscsiadm")
        self.install("multipath")

    def agent(self) -> LocalNodeVolumes:
        """Of another life."""
        maps = DeviceMaps(str(self.root), self.mounts, self.loops)
        disks, commands = ScsiDisks(str(self.machine)), HostCommands()
        iscsi = IscsiPlugin(str(self.root), self.mounts, commands, maps, disks, self._pause)
        return LocalNodeVolumes(self.directories, (iscsi, FcPlugin(str(self.root), self.mounts, commands, maps, disks)))

    def _pause(self, seconds: float) -> None:
        self.waited += 1

    def install(self, tool: str) -> None:
        path = self.tools / tool
        orders = self.base / "orders"
        words = {"python": sys.executable, "machine": str(self.machine), "log": str(self.log), "orders": str(orders)}
        path.write_text(_TOOL.format(**words))
        path.chmod(0o755)

    def order(self, **orders: Any) -> None:
        """What the tools do from now on."""
        self.orders.update(orders)
        (self.base / "orders").write_text(json.dumps(self.orders))

    def ran(self) -> list[str]:
        """How the tools were called, since the last look."""
        if not self.log.exists():
            return []
        lines = [" ".join(json.loads(line)) for line in self.log.read_text().splitlines()]
        self.log.unlink()
        return lines

    def disk(self, name: str) -> str:
        """A blank disk."""
        image = self.base / name
        image.write_bytes(b"")
        os.truncate(image, 32 * MIB)
        self._images.append(str(image))
        device = self.loops.attach(str(image))
        delete = self.machine / "sys/block" / os.path.basename(device) / "device"
        delete.mkdir(parents=True)
        (delete / "delete").write_text("")
        return device

    def deleted(self, device: str) -> bool:
        """Whether the kernel was told to take it off."""
        return (self.machine / "sys/block" / os.path.basename(device) / "device/delete").read_text() == "1"

    # --- what an agent does -----------------------------------------------------------------------------------------

    def make(self, spec: VolumeSpec, uid: str = "u", fs_group: int | None = None) -> Path:
        """Stage the volume and prepare it for a pod."""
        context = PodSecurityContext(fs_group=fs_group)
        pod = Pod(metadata=ObjectMeta(name="p", uid=uid), spec=PodSpec(security_context=context))
        self.volumes.make_pod(uid)
        self.volumes.stage(pod, spec, self._say)
        return Path(self.volumes.prepare(pod, spec, self._say))

    def _say(self, *words: str) -> None:
        self.said.append(words)

    def place(self, spec: VolumeSpec, uid: str = "u") -> VolumePlace:
        return self.volumes.locate(uid, spec).place

    def close(self) -> None:
        for point in self.mounts.below(str(self.base)):
            self.loops.detach(point)
            self.mounts.unmount(point, detach=True)
        for image in self._images:
            self.loops.detach(image)


def claimed(source: str, spec: PersistentVolumeSpec, **fields: Any) -> VolumeSpec:
    """A persistent volume."""
    persistent = PersistentVolume(metadata=ObjectMeta(name="pv"), spec=spec)
    return VolumeSpec(name="pv", volume=Volume(name="data"), source=source, persistent=persistent, **fields)
