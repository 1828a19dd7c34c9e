"""What objects use of a quota, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.quotas.counts import CREATE, UPDATE, Change, Count, count_of, resources_of
from simulation.quotas.resource_lists import texts_of

NOW_S = 1_000_000.0


def pod(status: Any = None, metadata: Any = None, **spec: Any) -> dict[str, Any]:
    both = {"requests": {"cpu": "1", "example.com/disk": "2"}, "limits": {"memory": "1Gi"}}
    containers = [{"name": "main", "resources": both}]
    return {"metadata": metadata or {}, "spec": {"containers": containers, **spec}, "status": status or {}}


def counted(resource: str) -> Count:
    count = count_of(resource)
    assert count is not None
    return count


def usage(resource: str, value: Any) -> dict[str, str]:
    return texts_of(counted(resource).usage(value, NOW_S))


def test_a_pod_uses_its_requests_and_limits() -> None:
    assert usage("pods", pod(overhead={"cpu": "100m", "memory": "1Gi"})) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "1100m",
        "requests.cpu": "1100m",
        "memory": "1Gi",
        "requests.memory": "1Gi",
        "requests.example.com/disk": "2",
        "limits.memory": "2Gi",
    }


@pytest.mark.parametrize(
    ("value", "is_charged"),
    [
        (pod({"phase": "Running"}), True),
        (pod({"phase": "Succeeded"}), False),
        (pod({"phase": "Failed"}), False),
        (pod(None, {"deletionTimestamp": "1970-01-12T13:46:40Z", "deletionGracePeriodSeconds": 30}), True),
        (pod(None, {"deletionTimestamp": "1970-01-12T13:46:00Z", "deletionGracePeriodSeconds": 30}), False),
    ],
    ids=["running", "succeeded", "failed", "ending", "outlived its grace"],
)
def test_a_pod_that_has_ended_counts_as_an_object_alone(value: Any, is_charged: bool) -> None:
    assert ("pods" in usage("pods", value), usage("pods", value)["count/pods"]) == (is_charged, "1")


@pytest.mark.parametrize(
    ("state", "cpu"),
    [
        ({}, "1"),
        ({"resources": {"requests": {"cpu": "2"}}}, "2"),
        ({"resources": {}, "allocatedResources": {"cpu": "3"}}, "3"),
    ],
    ids=["none", "in use", "allocated"],
)
def test_a_pod_uses_what_it_has_until_a_resize_is_done(state: Any, cpu: str) -> None:
    status = {"containerStatuses": [{"name": "main", **state}]}
    assert usage("pods", pod(status))["requests.cpu"] == cpu


def test_an_infeasible_resize_uses_nothing_more() -> None:
    condition = {"type": "PodResizePending", "reason": "Infeasible"}
    state = {"name": "main", "resources": {"requests": {"cpu": "500m"}}}
    assert usage("pods", pod({"conditions": [condition], "containerStatuses": [state]}))["requests.cpu"] == "500m"


@pytest.mark.parametrize(
    ("spec", "node_ports", "balancers"),
    [
        ({"type": "ClusterIP"}, "0", "0"),
        ({"type": "NodePort"}, "2", "0"),
        ({"type": "LoadBalancer"}, "2", "1"),
        ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, "1", "1"),
    ],
)
def test_a_service_uses_node_ports_by_its_type(spec: Any, node_ports: str, balancers: str) -> None:
    used = usage("services", {"spec": {**spec, "ports": [{"port": 1}, {"port": 2, "nodePort": 30000}]}})
    assert (used["services.nodeports"], used["services.loadbalancers"]) == (node_ports, balancers)


def test_a_claim_uses_storage_also_of_its_class_and_what_is_allocated() -> None:
    claim = {
        "metadata": {},
        "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"allocatedResources": {"storage": "2Gi"}},
    }
    assert usage("persistentvolumeclaims", claim) == {
        "count/persistentvolumeclaims": "1",
        "persistentvolumeclaims": "1",
        "requests.storage": "2Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
    }


def test_a_claim_for_devices_uses_the_largest_of_its_alternatives() -> None:
    exact = {"exactly": {"deviceClassName": "gpu", "count": 2}}
    either = {"firstAvailable": [{"deviceClassName": "gpu", "count": 1}, {"deviceClassName": "nic", "count": 3}]}
    every = {"exactly": {"deviceClassName": "fpga", "allocationMode": "All"}}
    used = usage("resourceclaims.resource.k8s.io", {"spec": {"devices": {"requests": [exact, either, every]}}})
    assert {name.partition(".")[0]: amount for name, amount in used.items() if name.endswith("/devices")} == {
        "gpu": "3",
        "nic": "3",
        "fpga": "32",
    }


@pytest.mark.parametrize(
    ("selector", "is_in"),
    [
        ({"scopeName": "BestEffort"}, False),
        ({"scopeName": "NotBestEffort"}, True),
        ({"scopeName": "Terminating"}, True),
        ({"scopeName": "NotTerminating"}, False),
        ({"scopeName": "CrossNamespacePodAffinity"}, True),
        ({"scopeName": "PriorityClass", "operator": "Exists"}, True),
        ({"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}, True),
        ({"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]}, False),
        ({"scopeName": "PriorityClass", "operator": "DoesNotExist"}, False),
        ({"scopeName": "VolumeAttributesClass", "operator": "Exists"}, False),
    ],
)
def test_a_pod_is_in_scopes(selector: Any, is_in: bool) -> None:
    terms = [{"podAffinityTerm": {"topologyKey": "zone", "namespaceSelector": {}}}]
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    spec = {"activeDeadlineSeconds": 0, "priorityClassName": "high", "affinity": affinity}
    assert counted("pods").is_in_scope(selector, pod({"qosClass": "Burstable"}, **spec)) is is_in


def test_every_container_must_say_what_a_quota_limits_of_cpu_and_memory() -> None:
    two = pod(initContainers=[{"name": "first"}])
    names = {"limits.cpu", "requests.cpu", "requests.ephemeral-storage", "pods"}
    why = "must specify limits.cpu for: first,main; requests.cpu for: first"
    assert counted("pods").missing(names, two) == why
    whole = pod(resources={"limits": {"cpu": "1"}}, initContainers=[{"name": "first"}])
    assert counted("pods").missing(names, whole) == ""


@pytest.mark.parametrize(
    ("resource", "change", "handles"),
    [
        ("configmaps", (CREATE, ""), True),
        ("configmaps", (UPDATE, ""), False),
        ("pods", (UPDATE, ""), False),
        ("pods", (UPDATE, "status"), False),
        ("pods", (UPDATE, "resize"), True),
        ("services", (UPDATE, ""), True),
        ("services", (UPDATE, "status"), False),
        ("persistentvolumeclaims", (UPDATE, "status"), True),
    ],
)
def test_only_some_requests_may_use_more(resource: str, change: Any, handles: bool) -> None:
    old = None if change[0] == CREATE else pod()
    operation, part = change
    assert counted(resource).handles(Change(operation, part, old, pod())) is handles


def test_names_of_a_quota_say_what_to_count() -> None:
    names = ("requests.nvidia.com/gpu", "count/jobs.batch", "secrets", "a.storageclass.storage.k8s.io/requests.storage")
    assert resources_of(names) == {"pods", "jobs.batch", "secrets", "persistentvolumeclaims"}
    assert resources_of(("requests.storage", "count/events")) == {"persistentvolumeclaims"}
    assert count_of("events") is None
