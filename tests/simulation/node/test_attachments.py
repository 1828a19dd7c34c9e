"""Volumes that must be attached to the node before its pods can use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from actors.node.numbers import NodeNumbers
from config.kubelet import KubeletConfiguration
from tests.simulation.node.storage_cluster import DRIVER, NO_MORE_RULES, STORAGE, StorageCluster
from tests.simulation.node.worlds import SECOND, container

NOBODY_ATTACHES = KubeletConfiguration(enable_controller_attach_detach=False)
LIMIT_CHANGES = {"nodeAllocatableUpdatePeriodSeconds": 60}
EXHAUSTED = {"message": "ResourceExhausted: the node has too many volumes", "errorCode": 8}


# (spec 8.1.3)
def test_an_attachment_that_takes_long_is_said():
    cluster = StorageCluster()
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.run(60 * SECOND)
    assert "FailedAttachVolume" in cluster.events("web")
    assert any("is not attached yet" in text for text in cluster.said("web"))


# (spec 2.7.6)
def test_a_pod_whose_volume_is_one_too_many_for_the_node_is_refused_after_a_while():
    cluster = StorageCluster(rules=LIMIT_CHANGES)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.fail_to_attach(EXHAUSTED)
    cluster.run(110 * SECOND)
    assert cluster.phases() == {"web": "Pending"}, "another volume may be on its way off the node"
    cluster.until(lambda: cluster.phases() == {"web": "Failed"}, 40 * SECOND)
    status = cluster.pods()["web"]["status"]
    text = (
        "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], "
        "unattached volumes=[data], failed to process volumes=[]: context deadline exceeded"
    )
    assert status["reason"] == "VolumeAttachmentLimitExceeded"
    assert status["message"] == f"Pod was rejected: {text}"
    assert not status.get("containerStatuses")
    assert "VolumeAttachmentLimitExceeded" in cluster.events("web")
    assert text in cluster.said("web")
    rejected = 'kubelet_admission_rejections_total{reason="VolumeAttachmentLimitExceeded"} 1'
    assert rejected in NodeNumbers(cluster.node.node, "1").metrics().decode()
    cluster.until(lambda: cluster.in_use() == [], 40 * SECOND)
    assert cluster.node.containers() == ()


@pytest.mark.parametrize(
    ("rules", "error"),
    [(NO_MORE_RULES, EXHAUSTED), (LIMIT_CHANGES, {"message": "the disk is broken", "errorCode": 13})],
    ids=["the limit never changes", "another error"],
)
def test_a_volume_that_cannot_be_attached_for_another_reason_is_waited_for(
    rules: Mapping[str, Any], error: Mapping[str, Any]
):
    cluster = StorageCluster(rules=rules)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.fail_to_attach(error)
    cluster.run(200 * SECOND)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedAttachVolume" in cluster.events("web")
    assert any(error["message"] in text for text in cluster.said("web"))


def test_a_driver_that_attaches_nothing_is_not_waited_for():
    cluster = StorageCluster(attach=False)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)
    assert cluster.in_use() == []


# (spec 8.4.3)
def test_without_a_controller_that_attaches_a_volume_that_needs_it_is_refused():
    cluster = StorageCluster(configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.attach()
    text = 'AttachVolume.Attach failed for volume "data" : attaching volumes from the kubelet is not supported'
    cluster.until(lambda: any(text in each for each in cluster.said("web")), 15 * SECOND)
    assert "FailedAttachVolume" in cluster.events("web")
    cluster.run(60 * SECOND)
    assert cluster.node.containers() == ()
    assert not cluster.node.volumes.mounted
    cluster.delete("web")
    cluster.until(lambda: cluster.phases() == {}, 30 * SECOND)
    assert len(cluster.ask("GET", f"{STORAGE}/volumeattachments")["items"]) == 1, "it is not the agent's to remove"


def test_without_a_controller_that_attaches_other_drivers_are_used_as_ever():
    cluster = StorageCluster(attach=False, configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)


# (spec 8.4.2)
def test_volumes_in_use_are_listed_until_released_and_across_a_restart():
    cluster = StorageCluster()
    cluster.claim()
    cluster.bind()
    cluster.make()
    name = f"kubernetes.io/csi/{DRIVER}^disk-claim"
    cluster.until(lambda: cluster.in_use() == [name], 15 * SECOND)
    cluster.attach()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    before = {record.id for record in cluster.node.containers()}
    cluster.node.restart_agent()
    for _ in range(30):
        cluster.run(SECOND)
        assert cluster.in_use() == [name]
    assert {record.id for record in cluster.node.containers()} == before
    cluster.delete("web")
    cluster.until(lambda: cluster.phases() == {} and cluster.in_use() == [], 40 * SECOND)


TARGET = {"targetPortal": "192.0.2.7", "iqn": "iqn.2001-04.com.example:x", "lun": 0}
CHAP = {**TARGET, "chapAuthSession": True, "secretRef": {"name": "chap"}}
FIBRE = {"wwids": ["3600508b400105e21"]}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ({"iscsi": TARGET}, "kubernetes.io/iscsi/192.0.2.7:iqn.2001-04.com.example:x:0"),
        ({"iscsi": CHAP}, "kubernetes.io/iscsi/192.0.2.7:iqn.2001-04.com.example:x:0"),
        ({"fc": FIBRE}, "kubernetes.io/fc/[3600508b400105e21]"),
    ],
    ids=["iscsi", "iscsi with passwords", "fc"],
)
@pytest.mark.parametrize("own", [False, True], ids=["claimed", "of the pod"])
def test_a_disk_of_the_nodes_own_tools_is_had_by_one_node_at_a_time(source: dict[str, Any], name: str, own: bool):
    """The attach/detach controller does nothing to it but keep it from other nodes."""
    cluster = StorageCluster()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "chap"}, "type": "kubernetes.io/iscsi-chap"}
    secret["data"] = {"node.session.auth.password": "c2VjcmV0"}
    cluster.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    if own:
        mounts = [{"name": "data", "mountPath": "/data"}]
        cluster.create("web", containers=[container(volumeMounts=mounts)], volumes=[{"name": "data", **source}])
    else:
        cluster.claim()
        cluster.bind(csi=None, **source)
        cluster.make()
    cluster.until(lambda: cluster.in_use() == [name], 15 * SECOND)
    cluster.run(3 * SECOND)
    assert cluster.node.containers() == (), "another node may still have it"
    node = cluster.ask("GET", "/api/v1/nodes/node")
    node["status"]["volumesAttached"] = [{"name": name, "devicePath": ""}]
    cluster.ask("PUT", "/api/v1/nodes/node/status", node)
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    assert cluster.in_use() == [name]
    cluster.delete("web")
    cluster.until(lambda: cluster.phases() == {} and cluster.in_use() == [], 40 * SECOND)


# (spec 8.4.3)
def test_without_a_controller_that_attaches_a_disk_of_the_nodes_own_tools_is_had_at_once():
    cluster = StorageCluster(configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind(csi=None, iscsi=TARGET)
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)


def test_a_disk_whose_passwords_are_missing_is_waited_for():
    cluster = StorageCluster(configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind(csi=None, iscsi=CHAP)
    cluster.make()
    cluster.run(10 * SECOND)
    assert any('secret "default/chap" not found' in text for text in cluster.said("web"))
