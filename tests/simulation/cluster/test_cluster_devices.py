"""The nodes of a simulated cluster offer devices, and DRA drivers serve claims on them."""

from __future__ import annotations

from typing import Any

import pytest

from actorlet.testing import ClusterError, cluster
from tests.simulation.cluster.plain_client import PODS, PlainClient


def devices_of_pods(api: PlainClient) -> list[tuple[str, str]]:
    """The node and the device of each device that a container has, in order."""
    return sorted(
        (pod["spec"]["nodeName"], one["resourceID"])
        for pod in api.pods().values()
        for status in pod["status"].get("containerStatuses", ())
        for kind in status.get("allocatedResourcesStatus", ())
        for one in kind["resources"]
    )


def test_the_scheduler_counts_devices_and_no_two_pods_have_the_same():
    gpu = "vendor.example/gpu"
    with cluster(nodes=2, devices=f"{gpu}=2") as found:
        api = PlainClient(found)
        has = api.ask("GET", "/api/v1/nodes/node-0")["status"]
        assert (has["capacity"][gpu], has["allocatable"][gpu]) == ("2", "2")
        for number in range(5):
            wants = {"resources": {"limits": {gpu: "1"}}}
            container = {"name": "app", "image": "busybox:1.36", **wants}
            pod = {"metadata": {"name": f"p{number}"}, "spec": {"containers": [container]}}
            api.ask("POST", "/api/v1/namespaces/default/pods", pod)

        def phases() -> list[str]:
            return sorted(each["status"]["phase"] for each in api.pods().values())

        found.until(lambda: phases() == ["Pending", *["Running"] * 4])
        assert devices_of_pods(api) == [(f"node-{node}", f"device-{one}") for node in (0, 1) for one in (0, 1)]


@pytest.mark.parametrize("devices", ["gpu=8", "vendor.example/gpu", "vendor.example/gpu=many"])
def test_devices_that_cannot_be_are_refused_with_what_to_write(devices: str):
    with pytest.raises(ClusterError, match=r"write vendor\.example/gpu=8"):
        cluster(devices=devices)


CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default"
DRIVER = "gpu.vendor.example"
BY_CLASS = "deviceclass.resource.kubernetes.io"


def pods_with_claims(api: PlainClient, count: int) -> None:
    """Pods with a device each, of a template."""
    wants = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}}
    api.ask("POST", f"{CLAIMS}/resourceclaimtemplates", {"metadata": {"name": "one"}, "spec": {"spec": wants}})
    entry = {"name": "gpu", "resourceClaimTemplateName": "one"}
    for number in range(count):
        container = {"name": "app", "image": "busybox:1.36", "resources": {"claims": [{"name": "gpu"}]}}
        spec = {"containers": [container], "resourceClaims": [entry]}
        api.ask("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": f"p{number}"}, "spec": spec})


def test_claims_from_a_template_get_the_devices_of_drivers_and_give_them_back():
    with cluster(nodes=2, dra_drivers=f"{DRIVER}=2") as found:
        api = PlainClient(found)
        pods_with_claims(api, 5)
        found.until(lambda: sorted(each["status"]["phase"] for each in api.pods().values())[0] == "Pending")
        found.until(lambda: sum(each["status"]["phase"] == "Running" for each in api.pods().values()) == 4)
        devices = [f"{DRIVER}/device=device-{number}" for number in range(2)]
        assert devices_of_pods(api) == [(f"node-{node}", device) for node in range(2) for device in devices]
        assert "2 cannot allocate all claims" in found.explain("p4")
        api.ask("DELETE", "/api/v1/namespaces/default/pods/p0")
        found.until(lambda: api.pods()["p4"]["status"]["phase"] == "Running")
        found.reset()
        assert api.ask("GET", f"{CLAIMS}/resourceclaims")["items"] == []
        pods_with_claims(api, 4)
        found.until(lambda: sum(each["status"]["phase"] == "Running" for each in api.pods().values()) == 4)


def test_a_pod_that_asks_for_the_resource_of_a_class_runs_with_a_device_of_its_driver():
    with cluster(dra_drivers=f"{DRIVER}=1") as found:
        api = PlainClient(found)
        container = {"name": "app", "image": "app:1", "resources": {"limits": {f"{BY_CLASS}/{DRIVER}": "1"}}}
        for name in ("first", "second"):
            api.ask("POST", PODS, {"metadata": {"name": name}, "spec": {"containers": [container]}})
        found.until(lambda: {"Running", "Pending"} == {each["status"]["phase"] for each in api.pods().values()})
        (running,) = (each for each in api.pods().values() if each["status"]["phase"] == "Running")
        api.ask("DELETE", f"{PODS}/{running['metadata']['name']}")
        found.until(lambda: [each["status"]["phase"] for each in api.pods().values()] == ["Running"])


def test_a_node_that_boots_offers_its_devices_again():
    with cluster(dra_drivers={DRIVER: [{"name": "gpu-0", "attributes": {"model": {"string": "a"}}}]}) as found:
        api = PlainClient(found)
        pods_with_claims(api, 1)
        found.until(lambda: api.pods()["p0"]["status"]["phase"] == "Running")
        found.kill_node("node-0")
        found.step("20s")
        found.start_node("node-0")
        found.step("1m")
        (offered,) = api.ask("GET", "/apis/resource.k8s.io/v1/resourceslices")["items"]
        assert offered["spec"]["devices"] == [{"name": "gpu-0", "attributes": {"model": {"string": "a"}}}]
        assert api.pods()["p0"]["status"]["containerStatuses"][0]["restartCount"] == 1


@pytest.mark.parametrize("drivers", ["Gpu=8", "gpu.vendor.example", {"gpu.vendor.example": [{"attributes": {}}]}])
def test_drivers_that_cannot_be_are_refused(drivers: Any):
    with pytest.raises(ClusterError, match=r"dra_drivers: .*(write gpu\.vendor\.example=4|needs a name)"):
        cluster(dra_drivers=drivers)
