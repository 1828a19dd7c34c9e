"""Which node a pod goes to, by table; and why none takes it."""

from __future__ import annotations

from typing import Any

import pytest

from config.values.quantity import NANOS
from simulation.controllers.scheduling import (
    NO_NODES,
    NO_PORTS,
    NOT_SELECTED,
    TAINTED,
    TOO_MANY_PODS,
    UNSCHEDULABLE,
    Ledger,
    PodDemand,
    demand_of,
    offer_of,
    refusals,
)

GI = 2**30 * NANOS


def node(name: str = "n1", *, ready: str | None = "True", pods: int = 110, **spec: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, **spec.pop("labels", {})}
    allocatable = {"cpu": "2", "memory": "4Gi", "pods": str(pods), **spec.pop("allocatable", {})}
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def pod(requests: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {}}}
    return {"metadata": {"name": "web"}, "spec": {"containers": [container], **spec}}


def why_not(pod_json: dict[str, Any], node_json: dict[str, Any], taken: PodDemand | None = None) -> list[str]:
    taken = taken or PodDemand()
    return refusals(demand_of(pod_json), offer_of(node_json), taken.amounts, taken.ports, 0)


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def test_a_ready_node_with_room_takes_a_pod() -> None:
    assert why_not(pod({"cpu": "2", "memory": "4Gi"}), node()) == []


@pytest.mark.parametrize(("ready", "takes"), [("True", True), ("False", False), ("Unknown", False), (None, False)])
def test_a_node_that_is_not_ready_takes_none(ready: str | None, takes: bool) -> None:
    assert (why_not(pod(), node(ready=ready)) == []) is takes


def test_a_pod_may_tolerate_that_a_node_is_not_ready() -> None:
    toleration = {"key": "node.kubernetes.io/not-ready", "operator": "Exists"}
    assert why_not(pod(tolerations=[toleration]), node(ready="False")) == []
    assert why_not(pod(tolerations=[toleration]), node(ready="Unknown")) == [TAINTED]


def test_a_cordoned_node_takes_only_who_tolerates_that() -> None:
    assert why_not(pod(), node(unschedulable=True)) == [UNSCHEDULABLE]
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
    assert why_not(pod(tolerations=[toleration]), node(unschedulable=True)) == []


@pytest.mark.parametrize(
    ("taint", "toleration", "takes"),
    [
        (TAINT, None, False),
        ({**TAINT, "effect": "NoExecute"}, None, False),
        ({**TAINT, "effect": "PreferNoSchedule"}, None, True),
        (TAINT, {"operator": "Exists"}, True),
        (TAINT, {"key": "gpu", "operator": "Exists"}, True),
        (TAINT, {"key": "gpu", "value": "yes"}, True),
        (TAINT, {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
        (TAINT, {"key": "gpu", "value": "no"}, False),
        (TAINT, {"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        (TAINT, {"key": "cpu", "operator": "Exists"}, False),
    ],
)
def test_taints_and_tolerations(taint: Any, toleration: Any, takes: bool) -> None:
    tolerations = [toleration] if toleration else []
    assert why_not(pod(tolerations=tolerations), node(taints=[taint])) == ([] if takes else [TAINTED])


@pytest.mark.parametrize(
    ("spec", "takes"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, True),
        ({"nodeSelector": {"disk": "hdd"}}, False),
        ({"affinity": affinity(expression("disk", "In", "ssd", "nvme"))}, True),
        ({"affinity": affinity(expression("disk", "NotIn", "ssd"))}, False),
        ({"affinity": affinity(expression("disk", "Exists"))}, True),
        ({"affinity": affinity(expression("disk", "DoesNotExist"))}, False),
        ({"affinity": affinity(expression("cores", "Gt", "4"))}, True),
        ({"affinity": affinity(expression("cores", "Lt", "4"))}, False),
        ({"affinity": affinity(expression("cores", "Gt"))}, False),
        ({"affinity": affinity(expression("disk", "Near", "ssd"))}, False),
        ({"affinity": affinity(expression("disk", "In", "hdd"), expression("disk", "In", "ssd"))}, True),
        ({"affinity": affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]})}, True),
        (
            {"affinity": affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]})},
            False,
        ),
        ({"affinity": affinity({})}, False),
        ({"affinity": affinity()}, False),
        ({"affinity": {"nodeAffinity": {}}}, True),
        ({"nodeSelector": {"disk": "ssd"}, "affinity": affinity(expression("disk", "DoesNotExist"))}, False),
    ],
)
def test_selectors_and_required_affinity(spec: Any, takes: bool) -> None:
    labels = {"disk": "ssd", "cores": "8"}
    assert why_not(pod(**spec), node(labels=labels)) == ([] if takes else [NOT_SELECTED])


def test_every_resource_that_is_short_is_told() -> None:
    asked = pod({"cpu": "3", "memory": "5Gi", "example.com/gpu": "1"})
    assert why_not(asked, node()) == ["Insufficient cpu", "Insufficient memory", "Insufficient example.com/gpu"]
    assert why_not(pod({"example.com/gpu": "1"}), node(allocatable={"example.com/gpu": "1"})) == []
    assert why_not(pod(), node(pods=0)) == [TOO_MANY_PODS]


@pytest.mark.parametrize(
    ("mine", "other", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80, "hostIP": "192.0.2.1"}, {"hostPort": 80, "hostIP": "192.0.2.2"}, False),
        ({"hostPort": 80, "hostIP": "192.0.2.1"}, {"hostPort": 80, "hostIP": "0.0.0.0"}, True),
        ({"containerPort": 80}, {"hostPort": 80}, False),
    ],
)
def test_ports_of_the_host(mine: Any, other: Any, clash: bool) -> None:
    def asking(port: Any) -> dict[str, Any]:
        return pod(containers=[{"name": "c", "ports": [port]}])

    assert why_not(asking(mine), node(), demand_of(asking(other))) == ([NO_PORTS] if clash else [])


def with_requests(name: str, cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "millis"),
    [
        ({"containers": [with_requests("a", "1"), with_requests("b", "500m")]}, 1500),
        ({"containers": [with_requests("a", "1")], "initContainers": [with_requests("i", "3")]}, 3000),
        ({"containers": [with_requests("a", "3")], "initContainers": [with_requests("i", "1")]}, 3000),
        (
            {
                "containers": [with_requests("a", "1")],
                "initContainers": [with_requests("s", "1", restartPolicy="Always"), with_requests("i", "3")],
            },
            4000,
        ),
        (
            {
                "containers": [with_requests("a", "3")],
                "initContainers": [with_requests("i", "1"), with_requests("s", "1", restartPolicy="Always")],
            },
            4000,
        ),
        ({"containers": [with_requests("a", "1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [with_requests("a", "1")], "resources": {"requests": {"cpu": "2"}}}, 2000),
        ({"containers": [{"name": "a"}]}, 0),
        ({"containers": [with_requests("a", "much")]}, 0),
    ],
)
def test_the_cpu_demand_of_a_pod_includes_init_containers_and_overhead(spec: Any, millis: int) -> None:
    assert demand_of({"spec": spec}).amounts.get("cpu", 0) == millis * NANOS // 1000


def filled(*nodes: dict[str, Any]) -> Ledger:
    ledger = Ledger()
    for one in nodes:
        ledger.put_node(offer_of(one))
    return ledger


def place(ledger: Ledger, number: int, demand: PodDemand) -> str | None:
    chosen = ledger.choose(demand)
    if chosen is not None:
        ledger.put_pod(("default", f"p{number}"), chosen, demand)
    return chosen


def test_pods_go_round_the_nodes_by_name() -> None:
    ledger = filled(node("b"), node("a"), node("c"))
    assert [place(ledger, number, PodDemand()) for number in range(7)] == ["a", "b", "c", "a", "b", "c", "a"]


def test_a_larger_node_takes_more() -> None:
    ledger = filled(node("large", pods=3), node("small", pods=1))
    assert [place(ledger, number, PodDemand()) for number in range(5)] == ["large", "large", "large", "small", None]


def test_the_room_of_a_removed_pod_is_free_again() -> None:
    ledger = filled(node())
    big = demand_of(pod({"cpu": "1500m"}))
    assert place(ledger, 0, big) == "n1"
    assert ledger.choose(big) is None
    assert ledger.remove_pod(("default", "p0"))
    assert not ledger.remove_pod(("default", "p0"))
    assert ledger.choose(big) == "n1"


def test_a_node_that_goes_and_comes_again_still_has_its_pods() -> None:
    ledger = filled(node(pods=1))
    place(ledger, 0, PodDemand())
    ledger.remove_node("n1")
    ledger.remove_node("n1")
    assert ledger.explain(PodDemand()) == NO_NODES
    ledger.put_node(offer_of(node(pods=1)))
    assert ledger.choose(PodDemand()) is None


def test_a_pod_whose_node_is_not_known_yet_is_counted() -> None:
    ledger = Ledger()
    ledger.put_pod(("default", "early"), "n1", PodDemand())
    assert ledger.put_node(offer_of(node(pods=1)))
    assert ledger.choose(PodDemand()) is None
    ledger.put_pod(("default", "early"), "n2", PodDemand())
    assert ledger.choose(PodDemand()) == "n1"


def test_a_heartbeat_changes_nothing() -> None:
    ledger = filled(node())
    beat = node()
    beat["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-02T03:04:05Z"
    assert not ledger.put_node(offer_of(beat))
    assert ledger.put_node(offer_of(node(unschedulable=True)))


def test_the_reasons_of_all_nodes_are_told_in_one_sentence() -> None:
    ledger = filled(node("a", taints=[TAINT]), node("b", unschedulable=True), node("c"), node("d"))
    demand = demand_of(pod({"cpu": "1500m"}))
    place(ledger, 0, demand)
    place(ledger, 1, demand)
    assert ledger.explain(demand) == (
        "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
        "2 Insufficient cpu. "
        "preemption: 0/4 nodes are available: 2 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_without_nodes_that_is_the_reason() -> None:
    assert Ledger().explain(PodDemand()) == "no nodes available to schedule pods"
