"""The actor that writes the Node fails.

Its followers still hear of the node, and its earlier messages are sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors.node.status.actor import NodeStatusActor
from config.kubelet import KubeletConfiguration
from runtime.api.calls import ApiCall
from tests.simulation.node.storage_cluster import STORAGE, StorageCluster
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, Fail, let_fail


@pytest.fixture(autouse=True)
def _can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    let_fail(monkeypatch, NodeStatusActor)


def begin_anew(cluster: Cluster) -> None:
    node_status = cluster.node.node.system.find("/node/node-status")
    assert node_status is not None
    node_status.tell(Fail())
    cluster.run(2 * SECOND)


def ready(cluster: Cluster) -> str:
    conditions = cluster.ask("GET", "/api/v1/nodes/node")["status"]["conditions"]
    return str(next(each["status"] for each in conditions if each["type"] == "Ready"))


def stays_unready(cluster: Cluster) -> None:
    assert ready(cluster) == "False"
    begin_anew(cluster)
    for _ in range(100):
        cluster.run(SECOND // 10)
        assert ready(cluster) == "False"


def with_a_claimed_pod() -> StorageCluster:
    """Its volume is named as in use, and not attached yet."""
    cluster = StorageCluster()
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.until(lambda: bool(cluster.in_use()), 15 * SECOND)
    return cluster


def runs(cluster: StorageCluster) -> Callable[[], bool]:
    return lambda: cluster.phases() == {"web": "Running"}


def test_an_attachment_is_noticed_after_a_failure_of_the_node_actor():
    cluster = with_a_claimed_pod()
    begin_anew(cluster)
    cluster.attach()
    cluster.until(runs(cluster), 30 * SECOND)


def test_a_released_volume_is_unlisted_even_if_its_message_was_lost():
    """Nobody could detach the volume."""
    cluster = with_a_claimed_pod()
    cluster.attach()
    cluster.until(runs(cluster), 30 * SECOND)
    cluster.delete("web", 1)
    cluster.until(lambda: not cluster.node.volumes.mounted, 20 * SECOND, 10 * MS)
    assert cluster.in_use()
    begin_anew(cluster)
    cluster.until(lambda: not cluster.in_use(), 10 * SECOND)


def test_a_node_that_is_made_anew_after_the_failure_has_its_drivers():
    cluster = StorageCluster()
    begin_anew(cluster)
    cluster.ask("DELETE", "/api/v1/nodes/node")
    cluster.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    cluster.run(20 * SECOND)
    meta = cluster.ask("GET", "/api/v1/nodes/node")["metadata"]
    assert meta["labels"]["topology.example.com/zone"] == "z1"
    of_storage = cluster.ask("GET", f"{STORAGE}/csinodes/node")
    assert of_storage["metadata"]["ownerReferences"][0]["uid"] == meta["uid"]
    assert [each["nodeID"] for each in of_storage["spec"]["drivers"]] == ["node-1"]


def test_the_failure_does_not_make_a_node_without_csi_node_ready():
    cluster = Cluster()

    def misdirect(asked: ApiCall[Any]) -> ApiCall[Any]:
        if "csinodes" in asked.path:
            return msgspec.structs.replace(asked, method="POST", path="/apis/storage.k8s.io/v1/nothing")
        return asked

    cluster.api.rewrite = misdirect
    cluster.run(15 * SECOND)
    stays_unready(cluster)


@pytest.mark.parametrize("later_s", [1, 3])
def test_the_failure_does_not_make_a_node_in_shutdown_ready(later_s: int):
    """Whenever the runtime was listed last: that list would make it ready."""
    configuration = KubeletConfiguration(enforce_node_allocatable=(), shutdown_grace_period=60 * SECOND)
    cluster = Cluster(configuration=configuration)
    cluster.create("web", annotations={"simulated.actorlet.dev/ignore-stop-signal": "true"})
    cluster.run((10 + later_s) * SECOND)
    cluster.node.shutdown.begin()
    cluster.run(5100 * MS)
    stays_unready(cluster)
