"""What is counted of an admission, as a kubelet counts it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from actors.resources.cpus.static import CpuRules
from actors.resources.memory.amounts import MemoryRules
from actors.resources.shares.assigning import assign
from actors.resources.shares.counting import counted
from actors.resources.shares.rules import ShareRules
from actors.resources.shares.wanted import wanted_of
from actors.resources.topology.hints import TopologyPolicy, TopologyRules
from config.frozen_map import FrozenMap
from simulation.host.topologies import topology_of
from tests.actors.resources.test_share_keeper import pinned

RESERVED = frozenset({0})
NUMA = TopologyRules(TopologyPolicy.SINGLE_NODE)
ADMITTED = {"topology_manager_admission_requests_total": 1}
REFUSED = {**ADMITTED, "topology_manager_admission_errors_total": 1}
CPUS = {"cpu_manager_pinning_requests_total": 1}
CPU_ERROR = {**CPUS, "cpu_manager_pinning_errors_total": 1}
MEMORY = {"memory_manager_pinning_requests_total": 1}
MEMORY_ERROR = {**MEMORY, "memory_manager_pinning_errors_total": 1}
ALIGNED, FAILURE = (f"container_aligned_compute_resources_{end}" for end in ("count", "failure_count"))


@pytest.mark.parametrize(
    ("rules", "cpu", "memory", "expected"),
    [
        (ShareRules(CpuRules(RESERVED)), "2", "1Gi", {**ADMITTED, **CPUS, f"{ALIGNED} container uncore_cache": 1}),
        (ShareRules(CpuRules(RESERVED)), "5", "1Gi", {**ADMITTED, **CPUS}),
        (ShareRules(CpuRules(RESERVED)), "1500m", "1Gi", ADMITTED),
        (ShareRules(CpuRules(RESERVED)), "9", "1Gi", {**REFUSED, **CPU_ERROR}),
        (
            ShareRules(CpuRules(RESERVED, full_cores=True)),
            "3",
            "1Gi",
            {**REFUSED, **CPU_ERROR, f"{FAILURE} container physical_cpu": 1},
        ),
        (ShareRules(None, MemoryRules({})), "2", "1Gi", {**ADMITTED, **MEMORY}),
        (ShareRules(None, MemoryRules({})), "2", "90Gi", {**REFUSED, **MEMORY_ERROR}),
        (
            ShareRules(CpuRules(RESERVED, full_cores=True), topology=NUMA),
            "2",
            "1Gi",
            {
                **ADMITTED,
                **CPUS,
                f"{ALIGNED} container physical_cpu": 1,
                f"{ALIGNED} container uncore_cache": 1,
                f"{ALIGNED} container numa_node": 1,
            },
        ),
        (ShareRules(CpuRules(RESERVED), topology=NUMA), "6", "1Gi", {**REFUSED, f"{FAILURE} container numa_node": 1}),
        (
            ShareRules(CpuRules(RESERVED), topology=TopologyRules(TopologyPolicy.SINGLE_NODE, whole_pods=True)),
            "6",
            "1Gi",
            {**REFUSED, f"{FAILURE} pod numa_node": 1},
        ),
    ],
)
def test_an_admission_counts_as_with_a_kubelet(
    rules: ShareRules, cpu: str, memory: str, expected: dict[str, int]
) -> None:
    machine = topology_of("2x2x2 memory=8Gi")
    pod = pinned("a", cpu, memory)
    found: Any = assign(machine, FrozenMap(), pod, rules)
    lines = Counter(
        " ".join((family.name.removeprefix("kubelet_"), *labels))
        for family, labels in counted(machine, rules, wanted_of(pod), found)
    )
    assert lines == expected
