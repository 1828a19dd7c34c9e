"""The conformance behaviours of pods and of what is done to them, on a simulated node.

A test has the name of its behaviour; `behaviours.py` has all of them with the place where each is shown.
"""

from __future__ import annotations

from typing import Any

import pytest

from runtime.cri.messages import ContainerState
from tests.conformance.clusters import (
    CORE,
    change,
    does,
    record,
    running,
    status_of,
)
from tests.simulation.node.test_api_server import MINUTE, Cluster, conditions
from tests.simulation.node.worlds import OTHER_IMAGE, SECOND, container


def test_pods_update_image_in_place(cluster: Cluster):
    cluster.create("web", containers=[container(), container("other")])
    running(cluster)
    other = record(cluster, "other").id
    change(cluster, "web", containers=[container(image=OTHER_IMAGE), container("other")])
    cluster.until(lambda: status_of(cluster, "web")["restartCount"] == 1, MINUTE)
    cluster.until(lambda: "running" in status_of(cluster, "web")["state"], MINUTE)
    status = status_of(cluster, "web")
    assert status["image"] == OTHER_IMAGE
    assert "terminated" in status["lastState"]
    assert record(cluster, "other").id == other


def test_pods_update_of_labels(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    found = cluster.ask("GET", f"{CORE}/pods/web")
    found["metadata"]["labels"] = {"time": "now"}
    cluster.ask("PUT", f"{CORE}/pods/web", found)
    cluster.run(5 * SECOND)
    pod = cluster.pods()["web"]
    assert pod["metadata"]["labels"] == {"time": "now"}
    assert status_of(cluster, "web")["restartCount"] == 0
    assert pod["metadata"]["generation"] == 1


def test_pods_generation_updates(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    assert cluster.pods()["web"]["status"]["observedGeneration"] == 1
    change(cluster, "web", containers=[container(image=OTHER_IMAGE)])
    change(cluster, "web", activeDeadlineSeconds=5000)
    cluster.until(lambda: cluster.pods()["web"]["status"]["observedGeneration"] == 3, MINUTE)
    pod = cluster.pods()["web"]
    assert pod["metadata"]["generation"] == 3
    cluster.until(
        lambda: {each["observedGeneration"] for each in cluster.pods()["web"]["status"]["conditions"]} == {3}, MINUTE
    )


def test_pods_generation_500_updates(cluster: Cluster):
    cluster.create("web", activeDeadlineSeconds=10_000)
    running(cluster)
    for number in range(1, 500):
        change(cluster, "web", activeDeadlineSeconds=10_000 - number)
        cluster.run(SECOND // 50)
    cluster.until(lambda: cluster.pods()["web"]["status"]["observedGeneration"] == 500, MINUTE)
    assert cluster.pods()["web"]["metadata"]["generation"] == 500


def test_pods_generation_graceful_delete(cluster: Cluster):
    cluster.create("web", annotations=does(stop_delay="10s"), terminationGracePeriodSeconds=30)
    running(cluster)
    cluster.delete("web", 30)
    cluster.run(3 * SECOND)
    pod = cluster.pods()["web"]
    assert pod["metadata"]["generation"] == 2
    assert pod["status"]["observedGeneration"] == 2, "the node says that it ends this form of it"
    cluster.until(lambda: cluster.pods() == {}, MINUTE)


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({"requests": {"cpu": "100m", "memory": "8Mi"}, "limits": {"cpu": "100m", "memory": "8Mi"}}, "Guaranteed"),
        ({"requests": {"cpu": "100m"}}, "Burstable"),
        ({}, "BestEffort"),
    ],
)
def test_pods_qos(cluster: Cluster, resources: dict[str, Any], qos: str):
    cluster.create("web", containers=[container(resources=resources)])
    running(cluster)
    assert cluster.pods()["web"]["status"]["qosClass"] == qos


def test_pods_active_deadline_seconds(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    change(cluster, "web", activeDeadlineSeconds=5)
    took = cluster.until(lambda: cluster.phases()["web"] == "Failed", MINUTE)
    assert took <= 20 * SECOND
    assert cluster.pods()["web"]["status"]["reason"] == "DeadlineExceeded"
    assert record(cluster).state is ContainerState.CONTAINER_EXITED


def test_pods_lifecycle(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    cluster.delete("web", 30)
    assert cluster.pods()["web"]["metadata"]["deletionTimestamp"]
    cluster.until(lambda: cluster.pods() == {}, MINUTE)
    cluster.until(lambda: cluster.node.containers() == (), MINUTE)


def test_pods_delete_a_collection(cluster: Cluster):
    for number in range(3):
        cluster.create(f"web-{number}")
    running(cluster, "web-0", "web-1", "web-2")
    cluster.ask("DELETE", f"{CORE}/pods")
    cluster.until(lambda: cluster.pods() == {}, MINUTE)


def test_pods_assigned_host_ip(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    [address] = [
        each["address"]
        for each in cluster.ask("GET", "/api/v1/nodes/node")["status"]["addresses"]
        if each["type"] == "InternalIP"
    ]
    status = cluster.pods()["web"]["status"]
    assert status["hostIP"] == address
    assert status["hostIPs"] == [{"ip": address}]


def test_pods_patching_status(cluster: Cluster):
    cluster.create("web")
    running(cluster)
    found = cluster.ask("GET", f"{CORE}/pods/web")
    found["status"]["conditions"].append({"type": "StatusUpdated", "status": "True"})
    cluster.ask("PUT", f"{CORE}/pods/web/status", found)
    cluster.run(30 * SECOND)
    assert conditions(cluster.pods()["web"])["StatusUpdated"] == "True", "what others say of it is kept"


def test_pods_readiness_gates(cluster: Cluster):
    cluster.create("web", readinessGates=[{"conditionType": "example.com/gate"}])
    running(cluster)
    cluster.run(SECOND)
    found = {each["type"]: each for each in cluster.pods()["web"]["status"]["conditions"]}
    assert (found["Ready"]["status"], found["Ready"]["reason"]) == ("False", "ReadinessGatesNotReady")
    pod = cluster.ask("GET", f"{CORE}/pods/web")
    pod["status"]["conditions"].append({"type": "example.com/gate", "status": "True"})
    cluster.ask("PUT", f"{CORE}/pods/web/status", pod)
    cluster.until(lambda: conditions(cluster.pods()["web"])["Ready"] == "True", MINUTE)
