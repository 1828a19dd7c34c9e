"""Containers get the CPUs and memory nodes that the node's book has (spec 10.8 to 10.10)."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from actors.node.numbers import NodeNumbers
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import MemoryReservation
from config.kubelet.feature_gates import FeatureGates
from runtime.cri.messages import LinuxContainerResources
from simulation.cri.state import ContainerRecord
from simulation.host.facts import MAX_PODS
from simulation.host.topologies import topology_of
from simulation.node.simulated_node import ROOT
from tests.simulation.node.worlds import SECOND, World, container, manifest

MACHINE = "2x4x2 memory=8Gi"
STATIC = KubeletConfiguration(
    max_pods=MAX_PODS,
    cpu_manager_policy="static",
    reserved_system_cpus="0,8",
    memory_manager_policy="Static",
    eviction_hard={"memory.available": "100Mi"},
    reserved_memory=(MemoryReservation(numa_node=0, limits={"memory": "100Mi"}),),
    topology_manager_policy="single-numa-node",
)


def node(**fields: Any) -> World:
    options = {"topology": MACHINE, "configuration": STATIC, **fields}
    world = World(**options).start()
    world.run(2 * SECOND)
    return world


def pinned(cpu: str = "2", memory: str = "1Gi", name: str = "app") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return container(name, resources={"requests": amounts, "limits": amounts})


def record(world: World, pod: str, name: str = "app") -> ContainerRecord:
    """The newest container of that name."""
    found = [
        each
        for each in world.node.containers()
        if each.config.labels["io.kubernetes.pod.name"] == f"{pod}-node"
        and each.config.labels["io.kubernetes.container.name"] == name
    ]
    return found[-1]


def linux(world: World, pod: str, name: str = "app") -> LinuxContainerResources:
    found = record(world, pod, name).resources
    assert found is not None
    return found


def runs(world: World, *pods: str) -> None:
    names = {f"{pod}-node" for pod in pods}
    world.until(
        lambda: (
            names
            <= {
                each.metadata.name
                for each in world.node.pods()
                if each.status is not None and each.status.phase == "Running"
            }
        )
    )


def test_a_guaranteed_container_is_made_with_its_cpus_its_memory_node_and_no_quota():
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    runs(world, "a")
    has = linux(world, "a")
    assert (has.cpuset_cpus, has.cpuset_mems, has.cpu_quota) == ("1,9", "0", -1)
    (limits,) = [limits for words, limits in world.node.cgroups.written.items() if words[-1].startswith("pod")]
    assert limits is not None
    assert limits.cpu_quota_us == -1


def test_with_the_gate_off_a_pinned_container_keeps_its_quota():
    gates = FeatureGates({"DisableCPUQuotaWithExclusiveCPUs": False})
    world = node(gates=gates)
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    runs(world, "a")
    assert (linux(world, "a").cpuset_cpus, linux(world, "a").cpu_quota) == ("1,9", 200_000)


def test_containers_of_the_shared_pool_give_way_and_get_the_cpus_back():
    world = node()
    world.node.put_manifest("s.yaml", manifest("s", [container()]))
    runs(world, "s")
    assert linux(world, "s").cpuset_cpus == "0-15"
    world.node.put_manifest("a.yaml", manifest("a", [pinned("4")]))
    runs(world, "a")
    assert linux(world, "a").cpuset_cpus == "1-2,9-10"
    world.until(lambda: linux(world, "s").cpuset_cpus == "0,3-8,11-15", 5 * SECOND)
    world.node.remove_manifest("a.yaml")
    world.until(lambda: linux(world, "s").cpuset_cpus == "0-15", 120 * SECOND)


def test_what_others_changed_is_mended_from_the_book_each_period():
    """`cpuManagerReconcilePeriod` is 10 s."""
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    runs(world, "a")
    changed = record(world, "a")
    changed.resources = msgspec.structs.replace(linux(world, "a"), cpuset_cpus="0-15")
    world.cri.state.changed(changed)
    world.run(25 * SECOND)
    assert linux(world, "a").cpuset_cpus == "1,9"


def test_cpus_that_somebody_wrote_into_a_cgroup_are_mended_though_the_runtime_does_not_show_them():
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    world.node.put_manifest("s.yaml", manifest("s", [container()]))
    runs(world, "a", "s")
    world.run(15 * SECOND)
    changed, cgroups = record(world, "s"), world.node.cgroups
    told, sandbox = linux(world, "s"), changed.sandbox.config.linux
    assert sandbox is not None
    cgroups.meddle(changed, "0-15")
    world.run(25 * SECOND)
    assert dict(cgroups.cpu_sets(sandbox.cgroup_parent)) == {changed.id: told.cpuset_cpus}
    mended = linux(world, "s")
    world.run(60 * SECOND)
    assert linux(world, "s") is mended, "it is updated once"


@pytest.mark.parametrize("killed", [False, True])
def test_a_restart_of_the_agent_changes_no_container_and_no_file(killed: bool):
    world = node()
    for name in "ab":
        world.node.put_manifest(f"{name}.yaml", manifest(name, [pinned()]))
    world.node.put_manifest("s.yaml", manifest("s", [container()]))
    runs(world, "a", "b", "s")
    world.run(15 * SECOND)
    before = {each.id: each.resources for each in world.node.containers()}
    files = {name: world.node.host.tree.read(f"{ROOT}/{name}_manager_state") for name in ("cpu", "memory")}
    if not killed:
        world.node.stop()
    world.node.restart_agent()
    world.run(60 * SECOND)
    assert {each.id: each.resources for each in world.node.containers()} == before
    assert {name: world.node.host.tree.read(f"{ROOT}/{name}_manager_state") for name in files} == files


def test_a_refused_pod_fails_with_a_kubelets_reason_and_takes_nothing():
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned("12")]))
    world.until(lambda: any(pod.status is not None and pod.status.phase == "Failed" for pod in world.node.pods()))
    (pod,) = world.node.pods()
    assert pod.status is not None
    assert (pod.status.reason, pod.status.message) == (
        "TopologyAffinityError",
        "Pod was rejected: Resources cannot be allocated with Topology locality",
    )
    world.node.put_manifest("b.yaml", manifest("b", [pinned("6")]))
    runs(world, "b")
    assert linux(world, "b").cpuset_cpus == "1-3,9-11"


def test_a_reboot_with_a_cpu_less_starts_and_each_pod_has_cpus_that_are_online():
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    world.node.put_manifest("b.yaml", manifest("b", [pinned()]))
    runs(world, "a", "b")
    world.node.machine.become(topology_of(f"{MACHINE} offline=9"))
    world.node.restart_agent()
    world.run(30 * SECOND)
    has = [frozenset(linux(world, name).cpuset_cpus.split(",")) for name in "ab"]
    assert "9" not in has[0] | has[1]
    assert len(has[0] | has[1]) == 4, "each has two, and none has another's"


def test_without_policies_the_runtime_is_told_no_cpus():
    world = World(topology=MACHINE).start()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    runs(world, "a")
    assert (linux(world, "a").cpuset_cpus, linux(world, "a").cpuset_mems) == ("", "")


def test_gauges_are_those_of_the_book_also_after_a_restart_of_the_agent():
    world = node()

    def gauges() -> list[str]:
        page = NodeNumbers(world.node.node, "1").metrics().decode()
        return [line for line in page.splitlines() if re.match("kubelet_cpu_manager_(s|exc|all)", line)]

    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    runs(world, "a")
    told = [
        'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 2',
        'kubelet_cpu_manager_allocation_per_numa{numa_node="1"} 0',
        "kubelet_cpu_manager_exclusive_cpu_allocation_count 2",
        "kubelet_cpu_manager_shared_pool_size_millicores 12000",
    ]
    assert gauges() == told
    world.node.restart_agent()
    world.run(30 * SECOND)
    assert gauges() == told
    world.node.remove_manifest("a.yaml")
    world.run(60 * SECOND)
    assert gauges()[2:] == [
        "kubelet_cpu_manager_exclusive_cpu_allocation_count 0",
        "kubelet_cpu_manager_shared_pool_size_millicores 14000",
    ]
