"""A dead node and its pods, as the test of an operator sees them."""

from __future__ import annotations

from typing import Any

from actorlet.testing import Cluster, cluster
from tests.simulation.cluster.plain_client import PlainClient

NODE = "/api/v1/nodes/node-1"
UNREACHABLE = "node.kubernetes.io/unreachable"


def taints(api: PlainClient) -> set[tuple[str, str]]:
    return {(each["key"], each["effect"]) for each in api.ask("GET", NODE)["spec"].get("taints", ())}


def bears(**more: Any) -> dict[str, Any]:
    return {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute", **more}


def is_leaving(api: PlainClient, name: str) -> bool:
    return "deletionTimestamp" in api.pod(name)["metadata"]


def without_power(found: Cluster) -> None:
    """As long as it takes to notice."""
    found.kill_node("node-1")
    found.step("1m")


def test_pods_leave_a_dead_node_after_what_they_tolerate_and_a_node_that_is_back_keeps_the_rest():
    with cluster(nodes=2) as found:
        api = PlainClient(found)
        assert taints(api) == set()
        here = {"kubernetes.io/hostname": "node-1"}
        for name, own in (("soon", [bears(tolerationSeconds=30)]), ("default", []), ("never", [bears()])):
            api.create_pod(name, tolerations=own, nodeSelector=here)
        found.until(lambda: all(api.is_ready(name) for name in ("soon", "default", "never")))
        without_power(found)
        assert taints(api) == {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}
        assert not is_leaving(api, "soon")
        found.step("1m")
        assert is_leaving(api, "soon")
        why = next(each for each in api.pod("soon")["status"]["conditions"] if each["type"] == "DisruptionTarget")
        assert why["reason"] == "DeletionByTaintManager"
        found.start_node("node-1")
        found.step("10m")
        assert taints(api) == set()
        assert set(api.pods()) == {"default", "never"}
        without_power(found)
        found.step("10m")
        assert is_leaving(api, "default")
        assert not is_leaving(api, "never")


def test_an_admin_frees_the_pods_of_a_node_that_is_out_of_service():
    with cluster(nodes=2) as found:
        api = PlainClient(found)
        api.create_pod("web", nodeSelector={"kubernetes.io/hostname": "node-1"})
        found.until(lambda: api.is_ready("web"))
        without_power(found)
        node = api.ask("GET", NODE)
        node["spec"]["taints"].append({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"})
        api.ask("PUT", NODE, node)
        found.step("1s")
        assert is_leaving(api, "web")
        found.step("1m")
        assert api.pods() == {}


def test_nobody_is_evicted_while_no_node_is_ready():
    with cluster(nodes=2) as found:
        api = PlainClient(found)
        api.create_pod("web", nodeSelector={"kubernetes.io/hostname": "node-1"})
        found.until(lambda: api.is_ready("web"))
        found.kill_node("node-0")
        without_power(found)
        found.step("20m")
        assert taints(api) == {(UNREACHABLE, "NoSchedule")}
        assert not is_leaving(api, "web")
