"""Volumes that are mounted with the SELinux label of their pod."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node.numbers import NodeNumbers
from config.kubelet.feature_gates import FeatureGates
from runtime.host.selinux import FileLabel
from tests.simulation.node.storage_cluster import CLAIMED, StorageCluster
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND, container

FILE_LABEL = FileLabel("system_u", "object_r", "container_file_t", "s0")
MOUNTS_LABELS = {"seLinuxMount": True}
ONE_POD: dict[str, Any] = {"accessModes": ["ReadWriteOncePod"]}
LEVEL = {"seLinuxOptions": {"level": "s0:c1,c2"}}


def label_metrics(cluster: Cluster) -> list[str]:
    page = NodeNumbers(cluster.node.node, "1").metrics().decode()
    return [line for line in page.splitlines() if line.startswith("volume_manager_selinux") and not line.endswith(" 0")]


@pytest.mark.parametrize(
    ("modes", "gate", "label", "mounted"),
    [
        (["ReadWriteOncePod"], False, FILE_LABEL, True),
        (["ReadWriteOnce"], False, FILE_LABEL, False),
        (["ReadWriteOnce"], True, FILE_LABEL, True),
        (["ReadWriteOncePod"], False, None, False),
    ],
    ids=["ReadWriteOncePod", "another mode", "another mode and the gate SELinuxMount", "no SELinux"],
)
# (spec 8.8.11)
def test_a_volume_is_mounted_with_the_label_of_its_pod(
    modes: list[str], gate: bool, label: FileLabel | None, mounted: bool
):
    """Its files are not labelled again by the runtime then."""
    gates = FeatureGates({"SELinuxMount": gate})
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=label, gates=gates)
    cluster.claim()
    cluster.bind(accessModes=modes)
    cluster.make(securityContext=LEVEL)
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    (record,) = cluster.node.containers()
    (mount,) = [mount for mount in record.config.mounts if mount.container_path == "/data"]
    assert mount.selinux_relabel is not mounted
    word = "RWOP" if modes == ["ReadWriteOncePod"] else "RWO"
    admitted = "volume_manager_selinux_volumes_admitted_total"
    line = f'{admitted}{{volume_plugin="kubernetes.io/csi",access_mode="{word}"}} 1'
    assert label_metrics(cluster) == ([line] if label is not None else [])


def test_a_pod_whose_containers_give_a_volume_two_labels_is_refused_it():
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=FILE_LABEL)
    cluster.claim()
    cluster.bind(**ONE_POD)
    mounts = [{"name": "data", "mountPath": "/data"}]
    other = container("other", volumeMounts=mounts, securityContext={"seLinuxOptions": {"level": "s0:c3,c4"}})
    both = [container(volumeMounts=mounts), other]
    cluster.create("web", containers=both, volumes=CLAIMED, securityContext=LEVEL)
    cluster.until(lambda: any("multiple SELinux labels found" in text for text in cluster.said("web")), 20 * SECOND)
    assert cluster.node.containers() == ()
    errors = "volume_manager_selinux_pod_context_mismatch_errors_total"
    assert label_metrics(cluster) == [f'{errors}{{access_mode="RWOP"}} 1']


def test_a_volume_is_mounted_anew_for_a_pod_with_another_label():
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=FILE_LABEL)
    cluster.claim()
    cluster.bind(**ONE_POD)
    operations: list[str] = []
    cluster.node.volumes.before = operations.append
    cluster.make("one", securityContext=LEVEL)
    cluster.until(lambda: cluster.phases() == {"one": "Running"}, 20 * SECOND)
    cluster.make("two", securityContext={"seLinuxOptions": {"level": "s0:c3,c4"}})
    cluster.run(5 * SECOND)
    cluster.delete("one")
    cluster.until(lambda: cluster.phases() == {"two": "Running"}, 60 * SECOND)
    words = [each.partition(" ") for each in operations]
    staged = [verb for verb, _, path in words if path.endswith("globalmount") and verb in ("mount", "unmount")]
    assert staged == ["mount", "unmount", "mount"]


def test_a_volume_that_another_pod_has_with_another_label_is_waited_for():
    gates = FeatureGates({"SELinuxMount": True})
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=FILE_LABEL, gates=gates)
    cluster.claim()
    cluster.bind()
    cluster.make("one", securityContext=LEVEL)
    cluster.until(lambda: cluster.phases() == {"one": "Running"}, 20 * SECOND)
    cluster.make("two", securityContext={"seLinuxOptions": {"level": "s0:c3,c4"}})
    cluster.until(lambda: any("conflicting SELinux labels" in text for text in cluster.said("two")), 20 * SECOND)
    assert cluster.phases() == {"one": "Running", "two": "Pending"}
    errors = "volume_manager_selinux_volume_context_mismatch_errors_total"
    assert f'{errors}{{volume_plugin="kubernetes.io/csi",access_mode="RWO"}} 1' in label_metrics(cluster)
    cluster.delete("one")
    cluster.until(lambda: cluster.phases() == {"two": "Running"}, 200 * SECOND)
