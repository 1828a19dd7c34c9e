"""`metrics.k8s.io`: what nodes and pods use, asked of their agents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from simulation.apiserver.core import Options
from simulation.apiserver.front.usage import PREFIX, usage
from simulation.apiserver.requests.answers import JsonAnswer, NodeAnswer
from simulation.apiserver.requests.calls import ADMIN, ApiRequest, ApiUser
from simulation.apiserver.status import StatusError
from tests.simulation.apiserver.worlds import Server

TIME = "2026-01-01T00:00:00Z"
SUMMARY = b"""{"node": {"nodeName": "one", "startTime": "t", "cpu": {"time": "2026-01-01T00:00:00Z",
"usageNanoCores": 1500000000}, "memory": {"time": "t", "workingSetBytes": 2048}}, "pods": [
{"podRef": {"name": "web", "namespace": "default", "uid": "u"}, "startTime": "t",
 "cpu": {"time": "2026-01-01T00:00:00Z"}, "containers": [
 {"name": "main", "startTime": "t", "cpu": {"time": "t", "usageNanoCores": 7},
  "memory": {"time": "t", "workingSetBytes": 1024}},
 {"name": "new", "startTime": "t", "cpu": {"time": "t"}, "memory": {"time": "t", "workingSetBytes": 1024}}]},
{"podRef": {"name": "gone", "namespace": "default", "uid": "v"}, "startTime": "t", "containers": []}]}"""


class Cluster(Server):
    """A server with two nodes, and a pod on the first; the second does not answer."""

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.fetched: list[str] = []
        for name in ("one", "two"):
            node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": {"name": name}}}
            assert self.ask("POST", "/api/v1/nodes", node).code == 201
            status = {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}}
            path = f"/api/v1/nodes/{name}/status"
            assert self.ask("PATCH", path, status, content_type="application/merge-patch+json").code == 200
        self.make_pod("web", labels={"app": "web"}, nodeName="one")
        self.make_pod("waits", labels={"app": "waits"})

    async def fetch(self, node: NodeAnswer) -> bytes | None:
        self.fetched.append(f"{node.node}{node.path}?{node.query[0][0]}")
        return SUMMARY if node.node == "one" else None

    def usage(self, path: str, user: ApiUser = ADMIN, method: str = "GET", **query: str) -> Any:
        request = ApiRequest(method, f"{PREFIX}/v1beta1/{path}", tuple(query.items()), user=user)
        answer = asyncio.run(usage(request, self.server, self.fetch))
        assert isinstance(answer, JsonAnswer)
        return answer.value


def test_nodes_whose_agents_answer_are_told() -> None:
    cluster = Cluster()
    told = cluster.usage("nodes")
    assert told["kind"] == "NodeMetricsList"
    (node,) = told["items"]
    assert node["metadata"]["name"] == "one"
    assert (node["timestamp"], node["usage"]) == (TIME, {"cpu": "1500000000n", "memory": "2Ki"})
    assert cluster.fetched == [f"{name}/stats/summary?only_cpu_and_memory" for name in ("one", "two")]
    assert cluster.usage("nodes/one")["kind"] == "NodeMetrics"
    assert cluster.usage("nodes", labelSelector="name=two")["items"] == []


def test_pods_are_told_by_the_agents_of_their_nodes_alone() -> None:
    cluster = Cluster()
    (pod,) = cluster.usage("pods")["items"]
    assert (pod["metadata"]["name"], pod["metadata"]["labels"]) == ("web", {"app": "web"})
    assert pod["containers"] == [{"name": "main", "usage": {"cpu": "7n", "memory": "1Ki"}}], "the other has no rate yet"
    assert len(cluster.fetched) == 1
    assert cluster.usage("namespaces/default/pods/web")["kind"] == "PodMetrics"
    assert cluster.usage("namespaces/default/pods", labelSelector="app=waits")["items"] == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("namespaces/default/pods/waits", 404),
        ("namespaces/default/pods/none", 404),
        ("nodes/two", 404),
        ("nodes/none", 404),
        ("pods/web", 404),
        ("namespaces/default/nodes", 404),
        ("services", 404),
    ],
)
def test_usage_of_a_missing_or_unmeasured_object_is_refused(path: str, code: int) -> None:
    with pytest.raises(StatusError) as refusal:
        Cluster().usage(path)
    assert refusal.value.code == code


def test_usage_needs_the_same_rights_as_the_objects() -> None:
    cluster = Cluster(Options(authorization="Node"))
    for path in ("nodes", "pods"):
        with pytest.raises(StatusError) as refusal:
            cluster.usage(path, ApiUser("somebody", ("system:authenticated",)))
        assert refusal.value.code == 403
    with pytest.raises(StatusError) as refusal:
        cluster.usage("nodes", method="DELETE")
    assert refusal.value.code == 405
    assert cluster.fetched == []
