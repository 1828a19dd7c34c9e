"""What is done for volumes is timed by plugin and operation."""

from __future__ import annotations

import pytest

from actors.kernel import SimulatedDispatcher
from config.objects import EmptyDirVolumeSource, ObjectMeta, Pod, PodSpec, Volume
from runtime.metrics import kubelet as names
from runtime.metrics.measured_volumes import MeasuredVolumes
from runtime.metrics.meters import Meters
from runtime.volumes.capability import VolumeSpec
from simulation.host.file_tree import FileTree
from simulation.host.volumes import SimulatedNodeVolumes

PLUGIN = "kubernetes.io/empty-dir"
SPEC = VolumeSpec(name="scratch", volume=Volume(name="scratch", empty_dir=EmptyDirVolumeSource()), source="empty_dir")
POD = Pod(metadata=ObjectMeta(name="web", namespace="default", uid="u"), spec=PodSpec(volumes=(SPEC.volume,)))


# (spec 11.7.3)
def test_mounts_failures_and_disks_that_hang() -> None:
    dispatcher, meters, tree = SimulatedDispatcher(seed=1), Meters(), FileTree()
    volumes = MeasuredVolumes(SimulatedNodeVolumes(tree, "/root"), meters, dispatcher.now_ns)

    def timed(operation: str, status: str) -> float:
        return meters.value(names.STORAGE_DURATION, PLUGIN, operation, status, "false")

    volumes.make_pod("u")
    assert volumes.prepare(POD, SPEC, print).endswith("/scratch")
    assert timed("volume_mount", "success") == 1
    assert meters.value(names.VOLUME_TOTAL, PLUGIN, "volume_mount") == 1
    place = volumes.locate("u", SPEC).place
    tree.hang("/root/pods/u")
    volumes.release(place)
    assert timed("volume_unmount", "success") == 0
    tree.heal("/root/pods/u")
    assert timed("volume_unmount", "success") == 1, "when it ends it is timed"
    tree.fail("/root/pods")
    with pytest.raises(OSError):
        volumes.prepare(POD, SPEC, print)
    assert timed("volume_mount", "fail-unknown") == 1
