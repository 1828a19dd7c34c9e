"""What admission does about nodes: a taint for new ones, and their labels for their pods."""

from __future__ import annotations

from typing import Any

from tests.simulation.apiserver.worlds import MERGE, PODS, Server, pod

NODES = "/api/v1/nodes"
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
PLACE = {"topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "b"}


def node(labels: Any = None, **more: Any) -> Any:
    return {"metadata": {"name": "n1", "labels": labels or {}}, **more}


def taints(server: Server) -> Any:
    return server.get(f"{NODES}/n1").value.get("spec", {}).get("taints")


def test_a_new_node_has_a_taint_until_it_is_ready() -> None:
    server, own = Server(), {"key": "own", "effect": "NoSchedule"}
    assert server.ask("POST", NODES, node(spec={"taints": [own]})).value["spec"]["taints"] == [own, NOT_READY]
    for status, expected in (("False", [own, NOT_READY]), ("True", [own])):
        change = {"status": {"conditions": [{"type": "Ready", "status": status}]}}
        assert server.ask("PATCH", f"{NODES}/n1/status", change, content_type=MERGE).code == 200
        assert taints(server) == expected


def test_a_node_that_is_ready_from_the_first_has_no_taint() -> None:
    server = Server()
    server.ask("POST", NODES, node(status={"conditions": [{"type": "Ready", "status": "True"}]}))
    assert taints(server) is None


def test_a_pod_on_a_node_has_the_labels_of_its_place() -> None:
    server = Server()
    server.ask("POST", NODES, node({**PLACE, "other": "c"}))
    assert server.make_pod("bound", nodeName="n1")["metadata"]["labels"] == PLACE
    server.make_pod("late", labels={"own": "d"})
    binding = {"metadata": {"name": "late", "labels": {"sent": "e"}}, "target": {"kind": "Node", "name": "n1"}}
    assert server.ask("POST", f"{PODS}/late/binding", binding).code == 201
    assert server.get(f"{PODS}/late").value["metadata"]["labels"] == {**PLACE, "own": "d", "sent": "e"}


def test_a_pod_on_an_unknown_node_is_taken() -> None:
    assert Server().ask("POST", PODS, pod(nodeName="gone")).code == 201
