"""What an event, the metrics, and the summary say of a volume whose driver reports a fault."""

from __future__ import annotations

import json

import pytest

from actors.node.numbers import NodeNumbers
from config.kubelet.feature_gates import FeatureGates
from runtime.volumes.capability import VolumeCondition
from tests.simulation.node.storage_cluster import StorageCluster
from tests.simulation.node.worlds import SECOND, container


@pytest.mark.parametrize("gate", [True, False])
# (spec 11.6.5)
def test_a_volume_that_is_not_well_is_said_by_event_metric_and_summary(gate: bool):
    cluster = StorageCluster(attach=False, gates=FeatureGates({"CSIVolumeHealth": gate}))
    for name in ("claim", "other"):
        cluster.claim(name)
        cluster.bind(name)
    cluster.make()
    mounts = [{"name": "data", "mountPath": "/data"}]
    other = [{"name": "data", "persistentVolumeClaim": {"claimName": "other"}}]
    cluster.create("well", containers=[container(volumeMounts=mounts)], volumes=other)
    cluster.node.volumes.conditions = {
        "pv-claim": VolumeCondition(True, "the disk reports errors"),
        "pv-other": VolumeCondition(False),
    }
    cluster.until(lambda: cluster.all_are("Running", 2), 20 * SECOND)
    cluster.run(130 * SECOND)
    said = "Volume data: the disk reports errors"
    assert (said in cluster.said("web")) is gate
    assert ("VolumeConditionAbnormal" in cluster.events("web")) is gate
    assert "VolumeConditionAbnormal" not in cluster.events("well")
    numbers = NodeNumbers(cluster.node.node, "1")
    name = "kubelet_volume_stats_health_status_abnormal"
    lines = [line for line in numbers.metrics().decode().splitlines() if line.startswith(name)]
    told = [f'{name}{{namespace="default",persistentvolumeclaim="{each}"}}' for each in ("claim", "other")]
    assert lines == ([f"{told[0]} 1", f"{told[1]} 0"] if gate else [])
    summary = json.loads(numbers.summary() or b"{}")
    volumes = [volume for pod in summary["pods"] for volume in pod["volume"]]
    healths = {each["pvcRef"]["name"]: each.get("volumeHealthStats") for each in volumes}
    assert healths == ({"claim": {"abnormal": True}, "other": {"abnormal": False}} if gate else dict.fromkeys(healths))
    cluster.node.volumes.conditions = {}
    cluster.run(130 * SECOND)
    assert name not in [line.partition("{")[0] for line in numbers.metrics().decode().splitlines()]
