"""Which pods a whole node takes (spec 10.14, 10.15): what their status and events say."""

from __future__ import annotations

from typing import Any

import pytest

from actors.messages.admission import ResourceManagerStarted
from cli.inspect.local_views import explanation
from config.kubelet import KubeletConfiguration
from runtime.state.allocation_file import NAME as ALLOCATIONS
from simulation.node.simulated_node import ROOT
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import SECOND, World, container, manifest

CRITICAL = {"priority": 2_000_000_000, "priorityClassName": "system-cluster-critical"}


def asking(cpu: str, **fields: Any) -> list[dict[str, Any]]:
    return [container(resources={"requests": {"cpu": cpu}}, **fields)]


def status(cluster: Cluster, name: str) -> dict[str, Any]:
    return dict(cluster.pods()[name]["status"])


# (spec 2.4.1, 10.14.8)
def test_a_pod_that_does_not_fit_fails_and_says_how_much_there_is():
    cluster = Cluster()
    cluster.run(SECOND)
    cluster.create("large", containers=asking("3"))
    cluster.run(SECOND)
    cluster.create("too-much", containers=asking("2"))
    cluster.until(lambda: cluster.phases() == {"large": "Running", "too-much": "Failed"})
    refused = status(cluster, "too-much")
    assert refused["reason"] == "OutOfcpu"
    assert refused["message"] == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000"
    )
    assert "containerStatuses" not in refused, "kubectl shows the reason where no container has one"
    assert "OutOfcpu" in cluster.events("too-much")
    assert len(cluster.node.containers()) == 1, "nothing of it was made"


# (spec 2.10.6)
def test_the_room_of_a_pod_is_free_when_it_has_ended_not_before():
    cluster = Cluster()
    cluster.run(SECOND)
    stubborn = {"simulated.actorlet.dev/ignore-stop-signal": "true"}
    cluster.create("first", containers=asking("3"), terminationGracePeriodSeconds=5, annotations=stubborn)
    cluster.until(lambda: cluster.phases()["first"] == "Running")
    cluster.delete("first")
    cluster.create("too-early", containers=asking("2"))
    cluster.until(lambda: "first" not in cluster.pods())
    cluster.create("in-time", containers=asking("2"))
    cluster.until(lambda: cluster.phases().get("in-time") == "Running")
    assert status(cluster, "too-early")["reason"] == "OutOfcpu"


# (spec 2.10.6)
def test_a_job_that_is_done_leaves_its_room_though_its_object_stays():
    cluster = Cluster()
    cluster.run(SECOND)
    done = {"simulated.actorlet.dev/run-for": "1s"}
    cluster.create("job", containers=asking("4"), restartPolicy="Never", annotations=done)
    cluster.until(lambda: cluster.phases()["job"] == "Succeeded")
    cluster.create("next", containers=asking("4"))
    cluster.until(lambda: cluster.phases()["next"] == "Running")


# (spec 10.15.1)
def test_others_make_way_for_a_critical_pod():
    cluster = Cluster()
    cluster.run(SECOND)
    cluster.create("small", containers=asking("1"))
    cluster.create("large", containers=asking("3"))
    cluster.until(lambda: cluster.all_are("Running", 2))
    cluster.create("critical", containers=asking("2"), **CRITICAL)
    cluster.until(lambda: cluster.phases()["critical"] == "Running")
    assert cluster.phases() == {"small": "Running", "large": "Failed", "critical": "Running"}
    ended = status(cluster, "large")
    assert (ended["reason"], ended["message"]) == ("Preempting", "Preempted in order to admit critical pod")
    [target] = [each for each in ended["conditions"] if each["type"] == "DisruptionTarget"]
    assert (target["status"], target["reason"]) == ("True", "TerminationByKubelet")
    assert "Preempting" in cluster.events("large")


@pytest.mark.parametrize(("cpu", "phase"), [("99", "Failed"), ("1", "Running")])
def test_a_pod_has_one_write_after_it_is_decided_whether_the_node_takes_it_and_none_before(cpu: str, phase: str):
    cluster = Cluster()
    cluster.run(SECOND)
    cluster.node.kill()
    path = f"{ROOT}/{ALLOCATIONS}"
    cluster.node.host.tree.hang(path)
    written = cluster.written()
    cluster.create("web", containers=asking(cpu))
    cluster.node.restart_agent()
    cluster.run(4 * SECOND)
    assert (written, cluster.phases()) == ([], {"web": "Pending"})
    assert [pod.metadata.name for pod in cluster.node.pods()] == ["web"], "who asks this node is told of it"
    cluster.node.host.tree.heal(path)
    cluster.until(lambda: cluster.phases()["web"] == phase)
    cluster.run(20 * SECOND)
    assert written == ["web"]


def test_a_critical_pod_says_which_pods_it_waits_for():
    cluster = Cluster()
    cluster.run(SECOND)
    cluster.create("large", containers=asking("3"), annotations={"simulated.actorlet.dev/ignore-stop-signal": "true"})
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.create("critical", containers=asking("2"), **CRITICAL)
    cluster.run(SECOND)
    explained = explanation(cluster.node.node, "default/critical")
    assert [wait.text for wait in explained.waits] == ["others make way for it: default/large"]
    cluster.until(lambda: cluster.phases()["critical"] == "Running")
    cluster.run(SECOND)
    assert explanation(cluster.node.node, "default/critical").waits == ()


# (spec 10.14.5)
def test_labels_that_came_with_the_pod_are_read_before_it_is_refused():
    cluster = Cluster()
    cluster.run(SECOND)
    cluster.create("nowhere", nodeSelector={"disk": "tape"})
    node = cluster.ask("GET", "/api/v1/nodes/node")
    node["metadata"]["labels"]["disk"] = "ssd"
    cluster.ask("PUT", "/api/v1/nodes/node", node)
    cluster.create("here", nodeSelector={"disk": "ssd"})
    cluster.until(lambda: cluster.phases() == {"nowhere": "Failed", "here": "Running"})
    assert status(cluster, "nowhere")["reason"] == "NodeAffinity"


def test_an_agent_that_comes_back_takes_what_runs_though_the_node_would_not_take_it_any_more():
    cluster = Cluster()
    cluster.run(SECOND)
    cluster.create("there", containers=asking("3"), nodeSelector={"kubernetes.io/hostname": "node"})
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.node.kill()
    node = cluster.ask("GET", "/api/v1/nodes/node")
    node["metadata"]["labels"]["kubernetes.io/hostname"] = "other"
    node["spec"]["taints"] = [{"key": "gone", "effect": "NoExecute"}]
    cluster.ask("PUT", "/api/v1/nodes/node", node)
    cluster.node.restart_agent()
    cluster.run(20 * SECOND)
    cluster.create("more", containers=asking("2"), tolerations=[{"operator": "Exists"}])
    cluster.until(lambda: cluster.phases()["more"] != "Pending")
    assert cluster.phases() == {"there": "Running", "more": "Failed"}
    assert status(cluster, "more")["reason"] == "OutOfcpu"
    [record] = [each for each in cluster.node.containers() if each.state.name == "CONTAINER_RUNNING"]
    assert record.attempt == 0


# (spec 1.7.6)
def test_a_static_pod_is_taken_without_an_api_server():
    cluster = Cluster(manifests={"agent.yaml": manifest("agent", asking("1"))})
    cluster.api.down(600 * SECOND)
    cluster.run(5 * SECOND)
    assert [record.state.name for record in cluster.node.containers()] == ["CONTAINER_RUNNING"]


def test_no_more_pods_than_the_node_has_places_for():
    cluster = Cluster(configuration=KubeletConfiguration(max_pods=2))
    cluster.run(SECOND)
    for number in range(3):
        cluster.create(f"pod-{number}")
        cluster.run(SECOND)
    assert sorted(cluster.phases().values()) == ["Failed", "Running", "Running"]
    assert status(cluster, "pod-2")["reason"] == "OutOfpods"


def test_the_room_of_a_pod_known_only_to_the_runtime_is_free_after_its_end():
    """The actor that allocates the node hears of the workers again after its failure.

    Workers of such pods are among them.
    """
    world = World({"web": manifest("web", asking("3"), uid="lost")}).start()
    world.run(10 * SECOND)
    world.node.kill()
    world.node.remove_manifest("web")
    world.node.restart_agent()
    system = world.node.node.system
    world.until(lambda: system.find("/node/sync-loop/lost") is not None)
    sync_loop = system.find("/node/sync-loop")
    assert sync_loop is not None
    sync_loop.tell(ResourceManagerStarted())
    world.until(lambda: world.running() == [])
    world.run(3 * 60 * SECOND)
    world.node.put_manifest("next", manifest("next", asking("3")))
    world.until(lambda: world.running() == ["next/app"])


# (spec 10.11.5)
def test_a_pod_never_runs_without_a_device_that_nobody_offers():
    cluster = Cluster()
    cluster.run(SECOND)
    resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    cluster.create("counted", containers=[container(resources=resources)])
    cluster.until(lambda: cluster.phases() == {"counted": "Failed"})
    assert status(cluster, "counted")["reason"] == "OutOfexample.com/gpu"
    assert cluster.node.containers() == ()


# (spec 10.12.5)
def test_a_pod_never_runs_without_the_devices_of_its_claims():
    cluster = Cluster()
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]
    cluster.create("claiming", resourceClaims=claims, containers=[container(resources={"claims": [{"name": "gpu"}]})])
    cluster.run(30 * SECOND)
    assert cluster.phases() == {"claiming": "Pending"}
    assert "FailedPrepareDynamicResources" in cluster.events("claiming")
    assert cluster.node.containers() == ()
