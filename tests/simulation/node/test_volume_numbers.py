"""What the summary and the metrics say of volumes of storage drivers: what their drivers measure."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from actors.node import pod_disks
from actors.node.numbers import NodeNumbers
from config.frozen_map import FrozenMap
from runtime.csi.capability import NodeInfo
from runtime.stats.readings import FsReading
from simulation.host.volumes import DRIVERS
from tests.simulation.node.storage_cluster import DRIVER, STORAGE, StorageCluster, api_object
from tests.simulation.node.worlds import SECOND, container

OTHER = "files.example.com"
MEASURED = FsReading(0, capacity=5000, available=4000, used=1000, inodes=50, inodes_free=20, inodes_used=30)
METRICS = ("capacity_bytes", "available_bytes", "used_bytes", "inodes", "inodes_free", "inodes_used")
SUMMARY = ("capacityBytes", "availableBytes", "usedBytes", "inodes", "inodesFree", "inodesUsed")
NUMBERS = [5000, 4000, 1000, 50, 20, 30]


class Measured(StorageCluster):
    """`pod` makes a running pod with a claim. `shown` is what the summary says of claims."""

    def __init__(self) -> None:
        super().__init__(attach=False)
        self.numbers = NodeNumbers(self.node.node, "1")
        self.made = 0

    def add_driver(self, name: str) -> None:
        spec = {"attachRequired": False, "volumeLifecycleModes": ["Persistent"]}
        self.ask("POST", f"{STORAGE}/csidrivers", api_object("CSIDriver", name, spec, "storage.k8s.io/v1"))
        self.node.plugins.add(name, NodeInfo("node-1", 3, FrozenMap({})))
        self.until(lambda: name in self.csi_drivers())

    def pod(self, claim: str, driver: str = DRIVER, **spec: Any) -> None:
        self.claim(claim)
        self.bind(claim, csi={"driver": driver, "volumeHandle": f"disk-{claim}"}, **spec)
        device = container(volumeDevices=[{"name": "data", "devicePath": "/dev/own"}])
        files = container(volumeMounts=[{"name": "data", "mountPath": "/data"}])
        used = device if spec.get("volumeMode") == "Block" else files
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        self.create(claim, containers=[used], volumes=volumes)
        self.made += 1
        self.until(lambda: self.all_are("Running", self.made), 20 * SECOND)

    def shown(self) -> dict[str, list[int]]:
        volumes = [each for pod in self.summary()["pods"] for each in pod.get("volume", ()) if "pvcRef" in each]
        return {each["pvcRef"]["name"]: [each[field] for field in SUMMARY] for each in volumes}

    def summary(self) -> Any:
        return json.loads(self.numbers.summary() or b"{}")

    def metrics(self, claim: str) -> list[int]:
        labels = f'{{namespace="default",persistentvolumeclaim="{claim}"}}'
        page = dict(line.rsplit(" ", 1) for line in self.numbers.metrics().decode().splitlines())
        return [int(float(page[f"kubelet_volume_stats_{each}{labels}"])) for each in METRICS]


def test_a_driver_that_measures_its_volume_is_believed_and_else_the_file_system_is_measured():
    cluster = Measured()
    cluster.pod("asked")
    cluster.pod("looked-at")
    cluster.node.volumes.measures = {"pv-asked": MEASURED}
    shown = cluster.shown()
    assert shown["asked"] == NUMBERS
    assert shown["looked-at"][0] == cluster.node.usage.disk_bytes
    assert cluster.metrics("asked") == NUMBERS
    cluster.node.volumes.measures = {}
    for _ in range(5):
        cluster.run(70 * SECOND)
        cluster.shown()
    assert cluster.shown()["asked"][0] == shown["looked-at"][0]


def test_a_device_is_shown_as_its_driver_measures_it():
    cluster = Measured()
    for claim in ("told", "untold"):
        cluster.pod(claim, volumeMode="Block")
    cluster.node.volumes.measures = {"pv-told": MEASURED}
    assert cluster.shown() == {"told": NUMBERS}
    assert cluster.metrics("told") == NUMBERS


# (spec 11.6.3)
def test_drivers_are_asked_about_some_volumes_of_a_pod_after_each_count(monkeypatch: pytest.MonkeyPatch):
    """Otherwise a pod with very many volumes would delay the numbers of others."""
    monkeypatch.setattr(pod_disks, "ASKED_AT_ONCE", 1)
    cluster = Measured()
    claims = ("one", "two", "three")
    for claim in claims:
        cluster.claim(claim)
        cluster.bind(claim, csi={"driver": DRIVER, "volumeHandle": f"disk-{claim}"})
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    mounts = [{"name": claim, "mountPath": f"/{claim}"} for claim in claims]
    cluster.node.volumes.measures = {f"pv-{claim}": MEASURED for claim in claims}
    cluster.create("many", containers=[container(volumeMounts=mounts)], volumes=volumes)
    cluster.until(lambda: cluster.all_are("Running", 1), 20 * SECOND)
    known = [0]
    for _ in range(8):
        known.append(len(cluster.shown()))
        cluster.run(70 * SECOND)
    assert max(after - before for before, after in pairwise(known)) == 1
    assert cluster.shown() == dict.fromkeys(claims, NUMBERS)


def test_a_driver_that_hangs_costs_the_numbers_of_its_own_volumes_alone():
    cluster = Measured()
    cluster.add_driver(OTHER)
    cluster.node.host.tree.hang(f"{DRIVERS}/{DRIVER}")
    for number in range(8):
        cluster.pod(f"hung-{number}")
    cluster.pod("well", OTHER)
    cluster.node.volumes.measures = {"pv-well": MEASURED, "pv-hung-0": MEASURED}
    for _ in range(4):
        before_ns = cluster.dispatcher.now_ns()
        assert cluster.shown() == {"well": NUMBERS}
        assert cluster.dispatcher.now_ns() - before_ns < 5 * SECOND
        assert len(cluster.summary()["pods"]) == 9
        cluster.run(70 * SECOND)
    sample = cluster.node.node.stats()
    assert sample is not None
    assert any(f"driver {DRIVER} does not measure" in problem for problem in sample.problems)
    cluster.pod("new", OTHER)
    cluster.run(20 * SECOND)
    before_ns = cluster.dispatcher.now_ns()
    assert "new" in cluster.shown()
    assert cluster.dispatcher.now_ns() - before_ns < SECOND // 2, "what hung before is not waited for"
    cluster.node.host.tree.heal(f"{DRIVERS}/{DRIVER}")
    cluster.run(70 * SECOND)
    assert cluster.shown()["hung-0"] == NUMBERS
