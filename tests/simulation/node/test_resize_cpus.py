"""CPUs that a pod has for itself are resized while it runs (InPlacePodVerticalScalingExclusiveCPUs)."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from actors.messages.shares import NodeShares
from actors.model.shares import exclusive_cpus
from config.kubelet.feature_gates import FeatureGates
from config.pods.identity import QosClass
from config.values.cpu_sets import parse_cpu_set
from runtime.cri.messages import ContainerState, LinuxContainerResources
from simulation.cri.state import ContainerRecord
from tests.seeds import over_seeds
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_resize import cgroup, conditions, full, messages, resize, resized_to, running, shown
from tests.simulation.node.test_shares import STATIC
from tests.simulation.node.worlds import SECOND, container

GATES = FeatureGates({"InPlacePodVerticalScalingExclusiveCPUs": True})
MACHINE = "2x5x1 memory=8Gi"
CONFIGURATION = msgspec.structs.replace(STATIC, reserved_system_cpus="0")
NODE_0, NODE_1 = frozenset({1, 2, 3, 4}), frozenset({5, 6, 7, 8, 9})
"""The CPUs of each NUMA node that may be given."""
EVERY = 40
"""Each seed kills at one of so many moments."""


def cluster(seed: int = 1, *, gates: FeatureGates = GATES) -> Cluster:
    world = Cluster(seed, topology=MACHINE, gates=gates, configuration=CONFIGURATION)
    world.run(5 * SECOND)
    return world


def amounts(cpu: str) -> dict[str, Any]:
    return full(cpu, "1Gi")


def record(world: Cluster, name: str = "web") -> ContainerRecord:
    """The running container of the pod, as the runtime has it."""
    (found,) = [
        each
        for each in world.node.containers()
        if each.config.labels["io.kubernetes.pod.name"] == name and each.state is ContainerState.CONTAINER_RUNNING
    ]
    return found


def resources(world: Cluster, name: str = "web") -> LinuxContainerResources:
    found = record(world, name).resources
    assert found is not None
    return found


def cpus(world: Cluster, name: str = "web") -> frozenset[int]:
    return parse_cpu_set(resources(world, name).cpuset_cpus)


def shares(world: Cluster) -> NodeShares:
    found = world.node.node.shares()
    assert found is not None
    return found


def in_book(world: Cluster) -> frozenset[int]:
    return frozenset[int]().union(*map(exclusive_cpus, shares(world).book.values()))


def resized(world: Cluster, cpu: str, name: str = "web") -> None:
    resize(world, amounts(cpu), name)
    world.until(lambda: resized_to(world, amounts(cpu), name))
    world.run(5 * SECOND)


def test_two_cpus_become_four_and_two_again_without_a_restart_and_in_their_numa_node() -> None:
    world = cluster()
    pod = running(world, resources=amounts("2"))
    first, before = record(world).id, cpus(world)
    for cpu in ("4", "2"):
        resized(world, cpu)
        after = cpus(world)
        assert len(after) == int(cpu)
        assert after <= NODE_0
        assert after <= before or before <= after
        assert in_book(world) == after
        assert shares(world).pool == frozenset(range(10)) - after
        assert (record(world).id, shown(world)["restartCount"]) == (first, 0)
        assert resources(world).cpu_quota == cgroup(world, pod, QosClass.GUARANTEED).cpu_quota_us == -1
        before = after
    assert len(messages(world, "ResizeCompleted")) == 2


def test_with_the_gate_off_the_resize_is_infeasible_as_with_a_kubelet() -> None:
    world = cluster(gates=FeatureGates({}))
    running(world, resources=amounts("2"))
    resize(world, amounts("4"))
    world.until(lambda: bool(conditions(world)))
    told = conditions(world)["PodResizePending"]
    assert told["reason"] == "Infeasible"
    assert told["message"].endswith('Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"')
    assert len(cpus(world)) == 2


def test_a_resize_between_whole_cpus_and_parts_is_infeasible() -> None:
    world = cluster()
    running(world, resources=amounts("2"))
    resize(world, amounts("1500m"))
    world.until(lambda: bool(conditions(world)))
    assert "between whole CPUs and parts of one" in conditions(world)["PodResizePending"]["message"]
    assert len(cpus(world)) == 2


def test_a_resize_that_does_not_fit_into_the_numa_node_waits_until_others_end() -> None:
    world = cluster()
    running(world, resources=amounts("2"))
    running(world, "other", resources=amounts("2"))
    assert cpus(world) | cpus(world, "other") == NODE_0
    resize(world, amounts("4"))
    world.until(lambda: bool(conditions(world)))
    told = conditions(world)["PodResizePending"]
    assert told["reason"] == "Deferred"
    assert "Topology locality" in told["message"]
    world.delete("other")
    world.until(lambda: resized_to(world, amounts("4")), 60 * SECOND)
    world.run(5 * SECOND)
    assert cpus(world) == NODE_0


def test_cpus_that_are_given_back_go_to_others_only_after_the_runtime_was_told() -> None:
    world = cluster()
    behaviour = {"simulated.actorlet.dev/hang": "UpdateContainerResources*1"}
    running(world, resources=amounts("4"), annotations=behaviour)
    running(world, "other", resources=amounts("5"))
    before = cpus(world)
    assert before | cpus(world, "other") == NODE_0 | NODE_1
    resize(world, amounts("2"))
    world.run(3 * SECOND)
    assert cpus(world) == before, "the runtime hangs"
    create = [container(resources=amounts("2"))]
    world.create("late", containers=create)
    world.run(3 * SECOND)
    assert world.phases()["late"] == "Failed", "what the container still has is not free"
    world.until(lambda: len(cpus(world)) == 2, 300 * SECOND)
    world.until(lambda: len(in_book(world)) == 7, 60 * SECOND)
    running(world, "next", resources=amounts("2"))
    assert cpus(world, "next") == before - cpus(world)


def play(seed: int, kill_at: int) -> int:
    """A pod is resized from 2 to 4 CPUs and to 2 again, beside another. Returns the number of moments."""
    world = cluster(seed)
    moments = 0

    def moment(_: str) -> None:
        nonlocal moments
        moments += 1
        if moments == kill_at:
            world.dispatcher.schedule(SECOND, world.node.restart_agent)
            world.node.kill()

    running(world, resources=amounts("2"))
    running(world, "other", resources=amounts("3"))
    first = record(world).id
    world.node.tell_each_moment(moment)
    for cpu in ("4", "2"):
        resize(world, amounts(cpu))
        for _ in range(60):
            world.run(SECOND // 4)
            assert cpus(world).isdisjoint(cpus(world, "other")), "a CPU is in two pods"
            assert len(cpus(world)) in (2, 4)
        world.until(partial(resized_to, world, amounts(cpu)), 120 * SECOND)
    world.node.tell_each_moment(lambda _: None)
    world.run(20 * SECOND)
    assert (record(world).id, len(cpus(world))) == (first, 2)
    assert in_book(world) == cpus(world) | cpus(world, "other")
    assert shares(world).pool == frozenset(range(10)) - in_book(world)
    return moments


@over_seeds(2)
def test_an_agent_that_dies_at_any_moment_of_a_resize_gives_no_cpu_twice_and_loses_none(seed: int) -> None:
    moments = play(seed, 0)
    for kill_at in range((seed - 1) % EVERY + 1, moments + 1, EVERY):
        play(seed, kill_at)


def test_a_container_that_restarts_for_cpus_begins_with_the_new_ones() -> None:
    world = cluster()
    restarts = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    running(world, resources=amounts("2"), resizePolicy=restarts)
    before = cpus(world)
    resized(world, "4")
    assert shown(world)["restartCount"] == 1
    assert before < cpus(world) <= NODE_0
