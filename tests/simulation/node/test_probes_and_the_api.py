"""Probes of pods that an API server knows (spec 5).

What the server is told, and the effect of a restart of the agent.
"""

from __future__ import annotations

from typing import Any

from runtime.cri.messages import ContainerState
from simulation.cri.behaviour import PREFIX
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container, manifest

TCP = {"tcpSocket": {"port": 80}}


def is_ready(cluster: Cluster, name: str = "a") -> bool:
    conditions = cluster.pods()[name]["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def probed(cluster: Cluster, behaviour: dict[str, str], **probes: Any) -> None:
    annotations = {PREFIX + key: value for key, value in behaviour.items()}
    cluster.create("a", containers=[container(**probes)], annotations=annotations)


def test_a_restart_of_the_agent_does_not_flip_what_is_ready_even_where_the_first_probe_comes_late() -> None:
    cluster = Cluster()
    probe = {**TCP, "periodSeconds": 10, "initialDelaySeconds": 20}
    probed(cluster, {}, readinessProbe=probe, startupProbe={**TCP, "periodSeconds": 10})
    cluster.until(lambda: is_ready(cluster), 120 * SECOND)
    before = cluster.pods()["a"]["status"]
    cluster.node.restart_agent()
    for _ in range(400):
        cluster.run(50 * MS)
        assert is_ready(cluster)
    after = cluster.pods()["a"]["status"]
    assert after["containerStatuses"] == before["containerStatuses"]
    assert after["conditions"] == before["conditions"]


def test_a_static_pod_is_shown_ready_at_once_and_does_not_flip_when_the_agent_restarts_however_slow_its_probe() -> None:
    probe = {**TCP, "periodSeconds": 1, "initialDelaySeconds": 3, "timeoutSeconds": 10}
    pod = manifest("a", [container(readinessProbe=probe)], behaviour={"probe-delay": "7s"})
    cluster = Cluster(manifests={"a.json": pod})
    assert cluster.until(lambda: "a-node" in cluster.pods() and is_ready(cluster, "a-node")) <= 10 * SECOND + 100 * MS
    cluster.node.kill()
    cluster.run(3 * SECOND)
    cluster.node.restart_agent()
    for _ in range(400):
        cluster.run(50 * MS)
        assert is_ready(cluster, "a-node")


def test_an_unready_pod_is_not_shown_ready_after_a_restart() -> None:
    cluster = Cluster()
    probed(cluster, {"readiness-probe": "fail"}, readinessProbe={**TCP, "periodSeconds": 5})
    cluster.until(lambda: cluster.pods()["a"].get("status", {}).get("phase") == "Running")
    cluster.run(20 * SECOND)
    cluster.node.restart_agent()
    for _ in range(200):
        cluster.run(100 * MS)
        assert not is_ready(cluster)


def test_a_pod_that_is_deleted_is_shown_unready_as_soon_as_it_says_so_while_it_ends() -> None:
    cluster = Cluster()
    behaviour = {"readiness-probe": "ok*20, fail", "stop-delay": "50s"}
    annotations = {PREFIX + key: value for key, value in behaviour.items()}
    app = container(readinessProbe={**TCP, "periodSeconds": 1, "failureThreshold": 1})
    cluster.create("a", containers=[app], annotations=annotations, terminationGracePeriodSeconds=100)
    cluster.until(lambda: is_ready(cluster), 60 * SECOND)
    cluster.run(5 * SECOND)
    cluster.delete("a")
    cluster.run(5 * SECOND)
    assert is_ready(cluster), "it still says so"
    cluster.run(20 * SECOND)
    assert not is_ready(cluster)
    assert cluster.pods()["a"]["status"]["containerStatuses"][0]["state"].get("running"), "it has not ended yet"


def test_a_pod_that_ends_before_its_first_probe_under_a_new_agent_is_shown_as_ended_and_leaves_the_api() -> None:
    cluster = Cluster()
    cluster.run(5 * SECOND)
    probed(cluster, {}, readinessProbe={**TCP, "initialDelaySeconds": 100})
    containers = cluster.node.cri.state.containers
    cluster.until(
        lambda: any(each.state == ContainerState.CONTAINER_RUNNING for each in containers.values()), step_ns=MS
    )
    cluster.node.kill()
    assert "containerStatuses" not in cluster.pods()["a"]["status"], "nothing was said yet of what runs"
    cluster.run(10 * SECOND)
    cluster.delete("a")
    cluster.node.restart_agent()
    cluster.run(30 * SECOND)
    assert cluster.pods() == {}, "nobody waits for a probe of what has ended"
