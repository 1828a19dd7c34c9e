"""What a pod on containerd has from its cluster: variables of services, and overhead that counts."""

from __future__ import annotations

from config.api.resources import RUNTIME_CLASSES, SERVICES
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, container, pod


def test_13_1_a_container_has_the_variables_of_the_services_that_were_there_before_it(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    ports = [{"name": "sql", "port": 5432, "protocol": "TCP"}]
    cluster.create(SERVICES, "my-db", spec={"ports": ports})
    address = cluster.get(SERVICES, "my-db").spec.cluster_ip
    cluster.create(SERVICES, "headless", spec={"clusterIP": "None", "ports": ports})
    cluster.join()
    cluster.run(pod("asks", container()))
    cluster.run(pod("does-not", container(), enableServiceLinks=False))
    cluster.await_phase("Running", "asks", "does-not")
    found = truth.variables("asks")
    assert found["MY_DB_SERVICE_HOST"] == address
    assert found["MY_DB_SERVICE_PORT"] == found["MY_DB_SERVICE_PORT_SQL"] == "5432"
    assert found["MY_DB_PORT_5432_TCP_ADDR"] == address
    assert not [name for name in found if name.startswith("HEADLESS")]
    assert "MY_DB_SERVICE_HOST" not in truth.variables("does-not")


def test_10_14_overhead_counts_when_the_node_takes_a_pod(cluster: Cluster, agent: Agent, truth: Truth) -> None:
    asks = container(resources={"requests": {"cpu": "1m"}})
    for name, overhead in (("light", {"cpu": "1m", "memory": "1Mi"}), ("heavy", {"cpu": "10000"})):
        cluster.create(RUNTIME_CLASSES, name, handler="runc", overhead={"podFixed": overhead})
    cluster.join()
    cluster.run(pod("light", asks, runtimeClassName="light"))
    cluster.run(pod("heavy", asks, runtimeClassName="heavy"))
    cluster.await_phase("Running", "light")
    cluster.await_phase("Failed", "heavy")
    refused = cluster.status("heavy")
    assert refused.reason == "OutOfcpu"
    assert "requested: 10000001," in (refused.message or "")
    assert not truth.sandboxes("heavy"), "nothing of it was made"
