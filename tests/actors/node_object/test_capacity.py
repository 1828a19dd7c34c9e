"""How much there is, and how much of it pods may have (spec 9.5)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node_object.capacity import allocatable, capacity, is_extended, missing, pod_limit, reserved
from config.kubelet import KubeletConfiguration
from runtime.host.machine import MachineFacts

GIB = 2**30
MACHINE = MachineFacts(host_name="n", cpus=4, memory_bytes=16 * GIB, huge_pages=((2 * 2**20, 512), (GIB, 0)))


def configured(**fields: Any) -> KubeletConfiguration:
    return KubeletConfiguration(**fields)


# (spec 9.5.1)
def test_capacity_is_what_the_machine_has() -> None:
    assert capacity({}, MACHINE, 100 * GIB, configured()) == {
        "cpu": "4",
        "memory": "16Gi",
        "pods": "110",
        "hugepages-2Mi": "1Gi",
        "hugepages-1Gi": "0",
        "ephemeral-storage": "100Gi",
    }


def test_capacity_of_others_is_kept_and_unknown_values_keep_their_last_value() -> None:
    existing = {"example.com/gpu": "2", "ephemeral-storage": "90Gi", "hugepages-64Ki": "1Mi", "cpu": "2"}
    now = capacity(existing, MACHINE, None, configured())
    assert now["example.com/gpu"] == "2"
    assert now["ephemeral-storage"] == "90Gi"
    assert now["cpu"] == "4"
    assert "hugepages-64Ki" not in now


@pytest.mark.parametrize(
    ("fields", "limit"),
    [({}, 110), ({"max_pods": 250}, 250), ({"pods_per_core": 10}, 40), ({"pods_per_core": 100, "max_pods": 300}, 300)],
)
# (spec 9.5.1)
def test_pods_are_limited_by_node_and_by_core(fields: dict[str, int], limit: int) -> None:
    assert pod_limit(4, configured(**fields)) == limit


WHOLE = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110", "example.com/gpu": "2"}


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({}, {}),
        ({"system_reserved": {"cpu": "500m", "memory": "1Gi"}}, {"cpu": "3500m", "memory": "15Gi"}),
        (
            {"system_reserved": {"memory": "1Gi"}, "kube_reserved": {"memory": "1Gi", "cpu": "1"}},
            {"memory": "14Gi", "cpu": "3"},
        ),
        ({"eviction_hard": {"memory.available": "100Mi"}}, {"memory": "16284Mi"}),
        ({"eviction_hard": {"nodefs.available": "10%"}}, {"ephemeral-storage": "90Gi"}),
        ({"eviction_hard": {"memory.available": "0%", "imagefs.available": "50%"}}, {}),
        ({"reserved_system_cpus": "0-1", "kube_reserved": {"cpu": "1"}}, {"cpu": "2"}),
        ({"kube_reserved": {"memory": "20Gi"}}, {"memory": "0"}),
        ({"kube_reserved": {"ephemeral-storage": "1Gi", "pid": "1000"}}, {"ephemeral-storage": "99Gi"}),
    ],
    ids=[
        "nothing is reserved",
        "for the system",
        "for both",
        "for the eviction of pods that use memory",
        "a share for the eviction of pods that use disk",
        "thresholds that are off, and of images, take nothing",
        "a set of CPUs instead of amounts",
        "never below zero",
        "process ids are not a resource of a node",
    ],
)
# (spec 9.5.2, 10.1.4)
def test_allocatable_is_what_is_not_reserved(fields: dict[str, Any], left: dict[str, str]) -> None:
    assert allocatable(WHOLE, configured(**fields)) == {**WHOLE, **left}


# (spec 9.5.2)
def test_reserved_resources_include_process_ids_and_no_eviction_thresholds() -> None:
    fields = {"system_reserved": {"pid": "500", "cpu": "1"}, "kube_reserved": {"pid": "1k", "memory": "1Gi"}}
    kept = reserved(configured(**fields, eviction_hard={"memory.available": "5Gi"}))
    assert {name: str(amount) for name, amount in kept.items()} == {
        "cpu": "1",
        "memory": "1Gi",
        "ephemeral-storage": "0",
        "pid": "1500",
    }


# (spec 9.5.2)
def test_huge_pages_are_taken_out_of_allocatable_memory() -> None:
    pods = allocatable({"memory": "16Gi", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "2Gi"}, configured())
    assert pods == {"memory": "13Gi", "hugepages-2Mi": "1Gi", "hugepages-1Gi": "2Gi"}


def test_a_node_is_not_ready_without_the_resources_that_pods_need() -> None:
    assert missing({"cpu": "4", "memory": "1Gi", "pods": "110"}, configured()) == ("ephemeral-storage",)
    assert (
        missing({"cpu": "4", "memory": "1Gi", "pods": "110"}, configured(local_storage_capacity_isolation=False)) == ()
    )


@pytest.mark.parametrize(
    ("name", "extended"),
    [("cpu", False), ("hugepages-2Mi", False), ("kubernetes.io/batch", False), ("example.com/gpu", True)],
)
def test_extended_resources_have_a_domain_of_their_own(name: str, extended: bool) -> None:
    assert is_extended(name) is extended
