"""Claims on a server in virtual time: made from templates, allocated with their pods, and taken back."""

from __future__ import annotations

from typing import Any

from simulation.controllers.resource_claims import ResourceClaims, base_name
from tests.simulation.apiserver.worlds import PODS
from tests.simulation.controllers.test_scheduler import Cluster

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
DRIVER = "gpu.example.com"
BY_DRIVER = f'device.driver == "{DRIVER}"'
STILL = "still not schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


class Devices(Cluster):
    """A cluster whose nodes have devices."""

    def __init__(self, **nodes: int) -> None:
        super().__init__()
        self.claims = ResourceClaims(self.server, self.world)
        self.claims.start()
        self.write("deviceclasses", {"kind": "DeviceClass", "metadata": {"name": DRIVER}, "spec": by_cel(BY_DRIVER)})
        for name, count in nodes.items():
            self.make_node(name)
            self.offer(name, *({"name": f"gpu-{number}"} for number in range(count)))

    def offer(self, node: str, *devices: dict[str, Any]) -> None:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
        self.write("resourceslices", {"kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec})

    def write(self, plural: str, body: dict[str, Any]) -> None:
        namespaced = "namespaces/default/" if body["kind"].startswith("ResourceClaim") else ""
        answer = self.ask("POST", f"{GROUP}/{namespaced}{plural}", {"apiVersion": "resource.k8s.io/v1", **body})
        assert answer.code == 201, answer

    def template(self, name: str = "gpus", **exactly: Any) -> None:
        body = {"metadata": {"name": name}, "spec": {"spec": requests(**exactly)}}
        self.write("resourceclaimtemplates", {"kind": "ResourceClaimTemplate", **body})

    def claim(self, name: str = "gpu", **exactly: Any) -> None:
        self.write("resourceclaims", {"kind": "ResourceClaim", "metadata": {"name": name}, "spec": requests(**exactly)})

    def pod(self, name: str, **entry: str) -> None:
        entries = [{"name": "gpu", **entry}]
        uses = {"containers": [{"name": "main", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}]}
        assert self.ask("POST", PODS, pod(name, uses | {"resourceClaims": entries})).code == 201
        self.settle()

    def of(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"{CLAIMS}/{name}").value
        return found

    def names(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.get(CLAIMS).value["items"]]

    def given(self, name: str) -> list[str]:
        allocation = (self.of(name).get("status") or {}).get("allocation") or {"devices": {"results": []}}
        return [f"{each['pool']}/{each['device']}" for each in allocation["devices"]["results"]]

    def why(self, name: str) -> str:
        condition = self.scheduled(name)
        assert condition is not None
        return str(condition["message"])


def by_cel(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


def requests(**exactly: Any) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": DRIVER, **exactly}}]}}


def pod(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def test_a_claim_from_a_template_is_made_told_allocated_and_goes_with_its_pod() -> None:
    cluster = Devices(n1=2)
    cluster.template(count=2)
    cluster.pod("web", resourceClaimTemplateName="gpus")
    assert cluster.node_of() == "n1"
    (name,) = cluster.names()
    assert name.startswith("web-gpu-")
    whole = cluster.get(f"{PODS}/web").value
    assert whole["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": name}]
    claim = cluster.of(name)
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", whole["metadata"]["uid"], True)
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "gpu"}
    assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert claim["status"]["reservedFor"] == [{"resource": "pods", "name": "web", "uid": whole["metadata"]["uid"]}]
    assert cluster.given(name) == ["n1/gpu-0", "n1/gpu-1"]
    cluster.ask("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 0})
    cluster.settle()
    assert cluster.names() == []


def test_a_pod_without_devices_says_so_and_runs_when_another_ends() -> None:
    cluster = Devices(n1=1)
    cluster.template()
    cluster.pod("a", resourceClaimTemplateName="gpus")
    cluster.pod("b", resourceClaimTemplateName="gpus")
    assert cluster.why("b") == f"0/1 nodes are available: 1 cannot allocate all claims. {STILL}"
    cluster.ask("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
    cluster.settle()
    assert cluster.node_of("b") == "n1"


def test_pods_that_share_a_claim_go_to_its_node_and_a_named_claim_stays_without_devices() -> None:
    cluster = Devices(n1=1, n2=1)
    cluster.claim()
    for name in ("a", "b"):
        cluster.pod(name, resourceClaimName="gpu")
    assert cluster.node_of("a") == cluster.node_of("b") == "n1"
    assert [each["name"] for each in cluster.of("gpu")["status"]["reservedFor"]] == ["a", "b"]
    for name in ("a", "b"):
        cluster.ask("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
    cluster.settle()
    assert cluster.given("gpu") == []
    assert "finalizers" not in cluster.of("gpu")["metadata"]


def test_a_claim_or_template_that_is_missing_is_waited_for() -> None:
    cluster = Devices(n1=2)
    cluster.pod("a", resourceClaimName="gpu")
    assert cluster.why("a") == f'0/1 nodes are available: resourceclaim.resource.k8s.io "gpu" not found. {STILL}'
    cluster.pod("b", resourceClaimTemplateName="gpus")
    assert [reason for reason, _ in cluster.told("b")] == ["FailedResourceClaimCreation"]
    cluster.claim()
    cluster.template()
    cluster.settle()
    assert cluster.node_of("a") == cluster.node_of("b") == "n1"


def test_a_pod_on_a_node_by_name_may_use_a_claim_that_has_devices() -> None:
    cluster = Devices(n1=1)
    cluster.claim()
    cluster.pod("a", resourceClaimName="gpu")
    body = pod("b", {"nodeName": "n1", "containers": [{"name": "main", "image": "i"}]})
    body["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "gpu"}]
    cluster.ask("POST", PODS, body)
    cluster.settle()
    assert [each["name"] for each in cluster.of("gpu")["status"]["reservedFor"]] == ["a", "b"]


def test_a_class_that_backs_an_extended_resource_gives_devices_for_it() -> None:
    cluster = Devices(n1=2)
    spec = {**by_cel(BY_DRIVER), "extendedResourceName": "example.com/gpu"}
    cluster.write("deviceclasses", {"kind": "DeviceClass", "metadata": {"name": "backs"}, "spec": spec})
    asks = {"example.com/gpu": "2"}
    one = {"name": "main", "image": "i", "resources": {"requests": asks, "limits": asks}}
    cluster.ask("POST", PODS, pod("web", {"containers": [one]}))
    cluster.ask("POST", PODS, pod("late", {"containers": [one]}))
    cluster.settle()
    assert cluster.node_of() == "n1"
    (name,) = cluster.names()
    status = cluster.get(f"{PODS}/web").value["status"]["extendedResourceClaimStatus"]
    mapping = {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}
    assert status == {"resourceClaimName": name, "requestMappings": [mapping]}
    assert cluster.given(name) == ["n1/gpu-0", "n1/gpu-1"]
    assert cluster.why("late") == f"0/1 nodes are available: 1 cannot allocate all claims. {STILL}"


def test_long_names_of_a_claim_lose_the_same_share() -> None:
    assert base_name("web", "gpu") == "web-gpu-"
    assert base_name("p" * 60, "g" * 40) == f"{'p' * 33}-{'g' * 22}-"
