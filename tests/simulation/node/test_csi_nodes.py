"""The drivers of a node in its CSINode and its Node object."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from runtime.api.calls import ApiCall
from runtime.csi.capability import NodeInfo
from simulation.host.device_plugins import some_devices
from tests.simulation.node.storage_cluster import DRIVER, STORAGE, StorageCluster, api_object
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND


# (spec 8.8.2)
def test_a_driver_that_registers_is_seen_by_the_cluster_and_one_that_ends_is_not():
    cluster = StorageCluster()
    node = cluster.csi_node()
    assert node is not None
    (driver,) = node["spec"]["drivers"]
    assert (driver["nodeID"], driver["topologyKeys"], driver["allocatable"]) == (
        "node-1",
        ["topology.example.com/zone"],
        {"count": 3},
    )
    (owner,) = node["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", "node")
    assert "kubernetes.io/gce-pd" in node["metadata"]["annotations"]["storage.alpha.kubernetes.io/migrated-plugins"]
    cluster.run(2 * SECOND)
    meta = cluster.ask("GET", "/api/v1/nodes/node")["metadata"]
    assert meta["annotations"]["csi.volume.kubernetes.io/nodeid"] == f'{{"{DRIVER}":"node-1"}}'
    assert meta["labels"]["topology.example.com/zone"] == "z1"
    assert cluster.node.plugins.told == [(DRIVER, "")]
    cluster.node.plugins.remove(DRIVER)
    cluster.until(lambda: cluster.csi_drivers() == [])
    cluster.run(2 * SECOND)
    meta = cluster.ask("GET", "/api/v1/nodes/node")["metadata"]
    assert "csi.volume.kubernetes.io/nodeid" not in meta["annotations"]


def test_a_restarted_agent_takes_no_driver_away_that_is_still_there():
    cluster = StorageCluster()
    version = cluster.csi_node()["metadata"]["resourceVersion"]  # type: ignore[index]
    cluster.node.restart_agent()
    cluster.run(20 * SECOND)
    assert cluster.csi_drivers() == [DRIVER]
    assert cluster.csi_node()["metadata"]["resourceVersion"] == version  # type: ignore[index]
    assert cluster.node.plugins.told == [(DRIVER, ""), (DRIVER, "")]


# (spec 10.12.6)
def test_plugins_of_other_types_are_told_that_nobody_serves_them():
    cluster = StorageCluster()
    cluster.node.plugins.add("gpu.example.com", NodeInfo(""), kind="DRAPlugin", versions=("v1alpha4.DRAPlugin",))
    cluster.node.plugins.add("strange.example.com", NodeInfo(""), kind="StrangePlugin")
    cluster.node.plugins.add("odd.example.com", NodeInfo("n"), versions=("2.0.0",))
    cluster.run(5 * SECOND)
    told = dict(cluster.node.plugins.told)
    assert "none of services supported by the plugin (v1alpha4.DRAPlugin)" in told["gpu.example.com"]
    assert "no handler registered for plugin type: StrangePlugin" in told["strange.example.com"]
    assert "speaks no version of csi.v1" in told["odd.example.com"]
    assert cluster.csi_drivers() == [DRIVER]
    assert len(cluster.node.plugins.told) == 4, "they are not told again and again"


# (spec 10.11.1)
def test_a_device_plugin_that_is_found_by_its_socket_offers_its_devices():
    cluster = StorageCluster()
    plugin = "vendor.example/gpu"
    cluster.node.device_plugins.start(plugin, some_devices(3))
    cluster.node.plugins.add(plugin, NodeInfo(""), kind="DevicePlugin", versions=("v1beta1",))
    cluster.run(20 * SECOND)
    assert dict(cluster.node.plugins.told)[plugin] == ""
    assert cluster.ask("GET", "/api/v1/nodes/node")["status"]["allocatable"][plugin] == "3"


# (spec 8.8.3)
def test_a_csi_node_of_an_earlier_node_of_the_name_is_made_anew():
    cluster = Cluster()
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "of-another-life"}
    spec: dict[str, Any] = {"drivers": [{"name": "old.example.com", "nodeID": "x", "topologyKeys": []}]}
    old = api_object("CSINode", "node", spec, "storage.k8s.io/v1", ownerReferences=[owner])
    uid = cluster.ask("POST", f"{STORAGE}/csinodes", old)["metadata"]["uid"]
    cluster.until(lambda: _csi_node(cluster)["metadata"]["uid"] != uid)
    node = _csi_node(cluster)
    assert node["metadata"]["ownerReferences"][0]["uid"] == cluster.ask("GET", "/api/v1/nodes/node")["metadata"]["uid"]
    assert not node["spec"].get("drivers")


def _csi_node(cluster: Cluster) -> dict[str, Any]:
    return dict(cluster.ask("GET", f"{STORAGE}/csinodes/node"))


# (spec 2.12.2, 8.8.3)
def test_while_the_csi_node_cannot_be_written_the_node_is_not_ready():
    cluster = Cluster()
    broken = True

    def misdirect(asked: ApiCall[Any]) -> ApiCall[Any]:
        if broken and "csinodes" in asked.path:
            return msgspec.structs.replace(asked, method="POST", path="/apis/storage.k8s.io/v1/nothing")
        return asked

    cluster.api.rewrite = misdirect
    cluster.run(15 * SECOND)
    ready = _ready(cluster)
    assert (ready["status"], "CSINode is not yet initialized" in ready["message"]) == ("False", True)
    broken = False
    cluster.until(lambda: _ready(cluster)["status"] == "True", 15 * SECOND)


def test_a_new_node_is_registered_before_it_is_ready_and_an_event_says_when_it_is():
    cluster = Cluster()
    made: list[tuple[str, str]] = []

    def note(asked: ApiCall[Any]) -> ApiCall[Any]:
        if asked.method == "POST" and asked.path.endswith("/nodes"):
            ready = [each for each in json.loads(asked.body or b"")["status"]["conditions"] if each["type"] == "Ready"]
            made.extend((each["status"], each["message"]) for each in ready)
        return asked

    cluster.api.rewrite = note
    cluster.until(lambda: "NodeReady" in [each.event.reason for each in cluster.node.node.events()], 15 * SECOND)
    assert made == [("False", "CSINode is not yet initialized")]
    assert _ready(cluster)["status"] == "True"


def _ready(cluster: Cluster) -> dict[str, Any]:
    conditions = cluster.ask("GET", "/api/v1/nodes/node")["status"]["conditions"]
    return next(dict(each) for each in conditions if each["type"] == "Ready")
