"""flexVolume: what a driver program is asked, and what becomes of its answers.

The drivers are real programs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from config.objects import (
    FlexVolumeSource,
    ObjectMeta,
    Pod,
    PodSecurityContext,
    PodSpec,
    Volume,
)
from config.objects.selectors import LocalObjectReference
from runtime.volumes.capability import VolumeFailedError, VolumeSpec
from runtime.volumes.commands import HostCommands
from runtime.volumes.flex import FlexPlugin, options_of
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.node_volumes import LocalNodeVolumes
from runtime.volumes.pod_directories import PodDirectories

CAN = '{"status": "Success", "capabilities": {"attach": false}}'
SCRIPT = """#!/bin/sh
echo "$@" >> {log}
case "$1" in
init) echo '{init}';;
mount) {mount};;
unmount) {unmount};;
*) echo '{{"status": "Not supported"}}'; exit 1;;
esac
"""
DONE = """echo '{"status": "Success"}'"""
POD = Pod(
    metadata=ObjectMeta(name="web", namespace="default", uid="u1"),
    spec=PodSpec(service_account_name="robot", security_context=PodSecurityContext(fs_group=777)),
)


class Place:
    """A directory of drivers with one, and the volumes of pods."""

    def __init__(self, directory: Path, name: str = "example.com/disk", **answers: str) -> None:
        self.log = directory / "log"
        self.drivers = directory / "drivers"
        program = self.drivers / name.replace("/", "~") / name.rpartition("/")[2]
        program.parent.mkdir(parents=True)
        text = {"init": CAN, "mount": DONE, "unmount": DONE, **answers}
        program.write_text(SCRIPT.format(log=self.log, **text))
        program.chmod(0o755)
        mounts = KernelMounts()
        self.plugin = FlexPlugin(str(self.drivers), mounts, HostCommands())
        self.volumes = LocalNodeVolumes(PodDirectories(str(directory / "root"), mounts), [self.plugin])
        self.volumes.make_pod("u1")

    def prepare(self, spec: VolumeSpec) -> str:
        return self.volumes.prepare(POD, spec, lambda *_: None)

    def asked(self) -> list[str]:
        return [line.split()[0] for line in self.log.read_text().splitlines()] if self.log.exists() else []


def volume(driver: str = "example.com/disk", **fields: Any) -> VolumeSpec:
    source = FlexVolumeSource(driver=driver, **fields)
    return VolumeSpec(name="data", volume=Volume(name="data", flex_volume=source), source="flex_volume")


def test_a_driver_is_asked_to_mount_and_unmount_in_the_directory_of_a_kubelet(tmp_path: Path) -> None:
    place = Place(tmp_path)
    path = place.prepare(volume(options={"size": "1"}, fs_type="ext4", read_only=True))
    assert path == f"{tmp_path}/root/pods/u1/volumes/example.com~disk/data"
    init, mount = place.log.read_text().splitlines()
    verb, directory, words = mount.split(" ", 2)
    assert (init, verb, directory) == ("init", "mount", path)
    assert json.loads(words) == {
        "kubernetes.io/fsType": "ext4",
        "kubernetes.io/readwrite": "ro",
        "kubernetes.io/pvOrVolumeName": "data",
        "kubernetes.io/pod.name": "web",
        "kubernetes.io/pod.namespace": "default",
        "kubernetes.io/pod.uid": "u1",
        "kubernetes.io/serviceAccount.name": "robot",
        "kubernetes.io/mounterArgs.FsGroup": "777",
        "size": "1",
    }
    (found,) = place.volumes.volumes_of("u1")
    assert found.place.plugin == "example.com/disk"
    place.volumes.release(found.place)
    assert place.asked() == ["init", "mount", "unmount"]
    assert place.volumes.volumes_of("u1") == ()


def test_a_driver_that_is_replaced_is_asked_anew_what_it_can_do(tmp_path: Path) -> None:
    place = Place(tmp_path, name="disk")
    for _ in range(2):
        place.prepare(volume("disk"))
    assert place.asked() == ["init", "mount", "mount"], "nothing is mounted there, so it is asked again"
    (program,) = place.drivers.glob("disk/disk")
    program.write_text(program.read_text().replace("false", "true"))
    with pytest.raises(VolumeFailedError, match="attaches its volumes"):
        place.prepare(volume("disk"))


@pytest.mark.parametrize(
    "driver", ["other/disk", "disk", "../disk", "example.com/../x", "/bin/sh", "", "a/b/c", "kubernetes.io/nfs", "-x/y"]
)
def test_a_pod_can_name_no_other_program_than_a_driver(tmp_path: Path, driver: str) -> None:
    place = Place(tmp_path)
    with pytest.raises(VolumeFailedError, match=r"needs a driver|there is no FlexVolume driver|cannot be the name"):
        place.prepare(volume(driver))
    assert place.asked() == []


@pytest.mark.parametrize("driver", [".", "..", "../x", "kubernetes.io/empty-dir"])
def test_no_name_of_a_driver_leads_out_of_the_volumes_of_its_kind(tmp_path: Path, driver: str) -> None:
    with pytest.raises(VolumeFailedError, match="cannot be the name of a FlexVolume driver"):
        Place(tmp_path).volumes.locate("u1", volume(driver))


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"mount": """echo '{"status": "Failure", "message": "no disk"}'; exit 1"""}, "mount failed: no disk"),
        ({"mount": """echo '{"status": "Not supported"}'; exit 1"""}, "mount failed: Not supported"),
        ({"mount": "echo oops; exit 3"}, r"failed \(3\), its answer is not JSON: oops"),
        ({"mount": "true"}, "not JSON: nothing"),
        ({"init": '{"status": "Failure", "message": "no modules"}'}, "init failed: no modules"),
        ({"init": '{"status": "Success"}'}, "attaches its volumes"),
    ],
)
def test_a_driver_that_fails_says_why_and_leaves_no_directory(
    tmp_path: Path, answers: dict[str, str], said: str
) -> None:
    place = Place(tmp_path, **answers)
    with pytest.raises(VolumeFailedError, match=said):
        place.prepare(volume())
    assert place.volumes.volumes_of("u1") == ()


def test_a_volume_that_a_driver_does_not_let_go_stays(tmp_path: Path) -> None:
    place = Place(tmp_path, unmount="""echo '{"status": "Failure", "message": "busy"}'; exit 1""")
    place.prepare(volume())
    (found,) = place.volumes.volumes_of("u1")
    with pytest.raises(VolumeFailedError, match="unmount failed: busy"):
        place.volumes.release(found.place)
    assert place.volumes.volumes_of("u1") == (found,)


def test_a_driver_that_cannot_unmount_or_is_gone_leaves_it_to_the_agent(tmp_path: Path) -> None:
    place = Place(tmp_path, unmount="""echo '{"status": "Not supported"}'; exit 1""")
    for gone in (False, True):
        place.prepare(volume())
        if gone:
            next(place.drivers.glob("*/*")).unlink()
        (found,) = place.volumes.volumes_of("u1")
        place.volumes.release(found.place)
        assert place.volumes.volumes_of("u1") == ()


def test_a_secret_for_a_driver_is_refused_and_not_left_out(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with pytest.raises(VolumeFailedError, match="secretRef is not supported"):
        place.prepare(volume(secret_ref=LocalObjectReference(name="s")))
    assert place.asked() == []


def test_a_pod_without_a_group_says_none() -> None:
    pod = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="u1"))
    assert "kubernetes.io/mounterArgs.FsGroup" not in options_of(pod, volume())
    assert options_of(pod, volume())["kubernetes.io/readwrite"] == "rw"
