"""The scheduler on a server in virtual time: bindings, events, conditions, and its waits."""

from __future__ import annotations

from collections import Counter
from typing import Any

from simulation.apiserver.status import expired
from simulation.controllers.scheduler import Scheduler
from simulation.node.effort import forget_cached
from tests.simulation.apiserver.worlds import MERGE, PODS, Server, pod
from tests.work import calls_of

NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
NO_ROOM = (
    "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
    "1 Preemption is not helpful for scheduling."
)


class Cluster(Server):
    """A server with a scheduler; `settle` lets it do what there is to do."""

    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(self.server, self.world)
        self.scheduler.start()

    def settle(self) -> None:
        self.world.run_for(10**9)

    def make_node(self, name: str = "n1", *, ready: str = "True", **allocatable: str) -> None:
        status = {
            "conditions": [{"type": "Ready", "status": ready}],
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110", **allocatable},
        }
        body = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}, "status": status}
        assert self.ask("POST", NODES, body).code == 201

    def node_of(self, name: str = "web") -> str | None:
        node: str | None = self.get(f"{PODS}/{name}").value["spec"].get("nodeName")
        return node

    def told(self, name: str = "web") -> list[tuple[str, str]]:
        events = self.get(EVENTS).value["items"]
        return [(event["reason"], event["message"]) for event in events if event["involvedObject"]["name"] == name]

    def scheduled(self, name: str = "web") -> dict[str, Any] | None:
        conditions = self.get(f"{PODS}/{name}").value["status"].get("conditions", ())
        return next((condition for condition in conditions if condition["type"] == "PodScheduled"), None)


def asking(cpu: str) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": cpu}}}]}


def test_a_pod_is_bound_to_a_ready_node_and_an_event_says_so() -> None:
    cluster = Cluster()
    cluster.make_node()
    cluster.make_pod()
    cluster.settle()
    assert cluster.node_of() == "n1"
    assert cluster.told() == [("Scheduled", "Successfully assigned default/web to n1")]
    condition = cluster.scheduled()
    assert condition is not None
    assert condition["status"] == "True"


def test_a_pod_waits_for_a_node_and_says_why_once() -> None:
    cluster = Cluster()
    cluster.make_pod()
    cluster.settle()
    assert cluster.node_of() is None
    assert cluster.told() == [("FailedScheduling", "no nodes available to schedule pods")]
    condition = cluster.scheduled()
    assert condition is not None
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"] == "no nodes available to schedule pods"
    cluster.world.run_for(600 * 10**9)
    assert len(cluster.told()) == 1
    cluster.make_node(ready="False")
    cluster.settle()
    assert [reason for reason, _ in cluster.told()] == ["FailedScheduling", "FailedScheduling"]
    cluster.ask(
        "PATCH",
        f"{NODES}/n1/status",
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        content_type=MERGE,
    )
    cluster.settle()
    assert cluster.node_of() == "n1"


def test_a_cordoned_node_gets_no_pod_until_it_is_uncordoned() -> None:
    cluster = Cluster()
    cluster.make_node()
    cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"unschedulable": True}}, content_type=MERGE)
    cluster.make_pod()
    cluster.settle()
    assert "1 node(s) were unschedulable" in cluster.told()[0][1]
    cluster.ask("PATCH", f"{NODES}/n1", {"spec": {"unschedulable": None}}, content_type=MERGE)
    cluster.settle()
    assert cluster.node_of() == "n1"


def test_room_that_a_pod_leaves_is_given_to_one_that_waits() -> None:
    cluster = Cluster()
    cluster.make_node(cpu="1")
    cluster.make_pod("first", **asking("800m"))
    cluster.settle()
    cluster.make_pod("second", **asking("800m"))
    cluster.settle()
    assert cluster.node_of("second") is None
    assert cluster.told("second")[0][1].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    cluster.ask("PATCH", f"{PODS}/first/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE)
    cluster.settle()
    assert cluster.node_of("second") == "n1"


def test_a_pod_too_large_for_any_node_says_so() -> None:
    cluster = Cluster()
    cluster.make_node(cpu="1")
    cluster.make_pod(**asking("2"))
    cluster.settle()
    assert cluster.told() == [("FailedScheduling", NO_ROOM)]


def test_a_waiting_pod_that_is_deleted_is_forgotten_and_its_name_may_come_again() -> None:
    cluster = Cluster()
    cluster.make_pod()
    cluster.settle()
    cluster.ask("DELETE", f"{PODS}/web")
    cluster.make_pod()
    cluster.settle()
    assert len(cluster.told()) == 2
    cluster.make_node()
    cluster.settle()
    assert cluster.node_of() == "n1"


def test_pods_of_others_are_left_alone() -> None:
    cluster = Cluster()
    cluster.make_node()
    cluster.make_pod("theirs", schedulerName="another")
    cluster.make_pod("placed", nodeName="elsewhere")
    cluster.make_pod("gated", schedulingGates=[{"name": "example.com/wait"}])
    cluster.settle()
    assert [cluster.node_of(name) for name in ("theirs", "placed", "gated")] == [None, "elsewhere", None]
    assert cluster.get(EVENTS).value["items"] == []


def test_a_gated_pod_is_bound_when_the_gate_opens() -> None:
    cluster = Cluster()
    cluster.make_node()
    cluster.make_pod(schedulingGates=[{"name": "example.com/wait"}])
    cluster.settle()
    assert cluster.ask("PATCH", f"{PODS}/web", {"spec": {"schedulingGates": None}}, content_type=MERGE).code == 200
    cluster.settle()
    assert cluster.node_of() == "n1"


def test_a_watch_that_is_cut_loses_no_pod() -> None:
    cluster = Cluster()
    cluster.make_node()
    cluster.server.cut_watches(expired("history is gone"))
    cluster.make_pod()
    cluster.settle()
    assert cluster.node_of() == "n1"


def test_nothing_is_bound_after_the_end() -> None:
    cluster = Cluster()
    cluster.make_node()
    cluster.scheduler.stop()
    cluster.make_pod()
    cluster.settle()
    assert cluster.node_of() is None
    cluster.scheduler.start()
    cluster.settle()
    assert cluster.node_of() == "n1"


def work_of(pods: int) -> int:
    """Spread so many pods over ten nodes, evenly; in calls of functions."""
    forget_cached()
    cluster = Cluster()
    for number in range(10):
        cluster.make_node(f"n{number}", cpu="400", pods="500")
    for number in range(pods):
        cluster.ask("POST", PODS, pod(f"p{number}", **asking("100m")))
    calls = calls_of(cluster.settle)
    items = cluster.get(PODS).value["items"]
    assert Counter(item["spec"].get("nodeName") for item in items) == {f"n{number}": pods // 10 for number in range(10)}
    return calls


def test_the_work_for_a_thousand_pods_is_that_for_two_hundred_five_times() -> None:
    assert work_of(1000) < 1.5 * 5 * work_of(200)
