"""Directories and disks of the node as persistent volumes, on containerd.

Whose the files are, which pods share them, and disks that containers get as devices. The test binds the claims, as the
cluster's controllers would.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.volumes.devices.loop_devices import KernelLoopDevices
from runtime.volumes.mounts import KernelMounts
from tests.real.agent import Agent
from tests.real.claims import claim
from tests.real.cluster import Cluster
from tests.real.pods import Truth, container, pod

DISK_BYTES = 32 * 2**20


@pytest.fixture
def disk(agent: Agent) -> Iterator[str]:
    """A disk of the node, blank."""
    image = agent.directory / "disk"
    image.write_bytes(b"")
    os.truncate(image, DISK_BYTES)
    loops = KernelLoopDevices()
    yield loops.attach(str(image))
    loops.detach(str(image))


def mounting(volume: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return container("main", volumeMounts=[{"name": volume["name"], "mountPath": "/x", **fields}])


def test_a_directory_of_the_node_is_given_to_the_group_and_shared(agent: Agent, cluster: Cluster, truth: Truth) -> None:
    place = agent.directory / "given"
    (place / "deep").mkdir(parents=True)
    (place / "deep/file").write_text("x\n")
    (place / "deep/file").chmod(0o600)
    (place / "link").symlink_to("/etc/hostname")
    before = os.stat("/etc/hostname").st_gid
    volume = claim(cluster, "data", place)
    cluster.join()
    cluster.run(pod("one", mounting(volume), volumes=[volume], securityContext={"fsGroup": 777}))
    cluster.await_phase("Running", "one")
    one = truth.running("one")
    assert truth.run(one, "stat", "-c", "%a %g", "/x", "/x/deep", "/x/deep/file") == "2775 777\n2775 777\n660 777\n"
    assert os.stat("/etc/hostname").st_gid == before

    part = mounting(volume, subPath="deep", readOnly=True)
    # Who has the volume already keeps it: another group is told so, and nothing is changed.
    cluster.run(pod("two", part, volumes=[volume], securityContext={"fsGroup": 888}))
    cluster.await_phase("Running", "two")
    two = truth.running("two")
    assert truth.run(two, "sh", "-c", "cat /x/file; touch /x/y 2>&1 | grep -o Read-only") == "x\nRead-only\n"
    assert truth.run(one, "stat", "-c", "%g", "/x/deep/file") == "777\n"
    said = [each.event.message for each in agent.events() if each.event.reason == "AlreadyMountedVolume"]
    assert any("requested fsGroup is 888" in (text or "") for text in said)

    uids = [each.metadata.uid for each in (cluster.pod("one"), cluster.pod("two")) if each is not None]
    for name in ("one", "two"):
        cluster.delete(name)
    cluster.await_gone("one", "two")
    agent.await_that(lambda: not any(agent.pod_directory(uid).exists() for uid in uids), "directories stay")
    assert (place / "deep/file").read_text() == "x\n"


def test_with_on_root_mismatch_files_below_a_root_that_fits_are_left_alone(
    agent: Agent, cluster: Cluster, truth: Truth
) -> None:
    place = agent.directory / "given"
    place.mkdir()
    (place / "file").write_text("x\n")
    os.chown(place, -1, 777)
    place.chmod(0o2770)
    volume = claim(cluster, "data", place)
    context = {"fsGroup": 777, "fsGroupChangePolicy": "OnRootMismatch"}
    cluster.join()
    cluster.run(pod("one", mounting(volume), volumes=[volume], securityContext=context))
    cluster.await_phase("Running", "one")
    assert truth.run(truth.running("one"), "stat", "-c", "%g", "/x", "/x/file") == "777\n0\n"


def test_a_path_that_is_not_there_is_waited_for(agent: Agent, cluster: Cluster) -> None:
    volume = claim(cluster, "data", agent.directory / "late")
    cluster.join()
    cluster.run(pod("one", mounting(volume), volumes=[volume]))
    agent.await_that(
        lambda: any(f"there is no {agent.directory}/late" in (each.event.message or "") for each in agent.events()),
        "nothing says that the path is missing",
    )
    (agent.directory / "late").mkdir()
    cluster.await_phase("Running", "one")


def test_a_blank_disk_is_formatted_and_keeps_its_files(agent: Agent, cluster: Cluster, truth: Truth, disk: str) -> None:
    volume = claim(cluster, "data", disk)
    cluster.join()
    cluster.run(pod("one", mounting(volume), volumes=[volume]))
    cluster.await_phase("Running", "one")
    said = truth.run(truth.running("one"), "sh", "-c", "grep ' /x ' /proc/mounts; echo kept >/x/file")
    assert f"{disk} /x ext4" in said
    cluster.delete("one")
    cluster.await_gone("one")
    staged = agent.root / "plugins/kubernetes.io/local-volume/mounts/pv-data"
    agent.await_that(lambda: KernelMounts().below(str(staged)) == (), "the disk stays mounted")
    cluster.run(pod("two", mounting(volume), volumes=[volume]))
    cluster.await_phase("Running", "two")
    assert truth.run(truth.running("two"), "cat", "/x/file") == "kept\n"


def test_a_disk_as_a_device_is_written_by_a_container_and_held_meanwhile(
    agent: Agent, cluster: Cluster, truth: Truth, disk: str
) -> None:
    volume = claim(cluster, "data", disk, mode="Block")
    main = container("main", volumeDevices=[{"name": "data", "devicePath": "/dev/data"}])
    cluster.join()
    cluster.run(pod("one", main, volumes=[volume]))
    cluster.await_phase("Running", "one")
    inside = truth.running("one")
    truth.run(
        inside, "sh", "-c", "test -b /dev/data && echo written | dd of=/dev/data conv=sync,fsync bs=512 2>/dev/null"
    )
    with open(disk, "rb") as file:
        assert file.read(7) == b"written"
    found = cluster.pod("one")
    assert found is not None
    uid = found.metadata.uid
    link = agent.pod_directory(uid) / "volumeDevices/kubernetes.io~local-volume/pv-data"
    assert os.readlink(link) == disk
    hold = agent.root / "plugins/kubernetes.io/local-volume/volumeDevices/pv-data" / uid
    assert len(KernelLoopDevices().holding(str(hold))) == 1
    agent.kill()
    cluster.join()
    agent.await_that(lambda: agent.status("one").phase == "Running", "it is not shown again")
    assert truth.running("one") == inside
    cluster.delete("one")
    cluster.await_gone("one")
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays")
    assert KernelLoopDevices().holding(str(hold)) == ()
    assert not hold.exists()
