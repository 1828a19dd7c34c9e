"""What the pod resources API says of a node: pods from who knows them, CPUs and memory from the book."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.node.pod_resources import NodePodResources
from config.kubelet.feature_gates import FeatureGates
from runtime.pod_resources.capability import Holdings, MemoryOnNodes, PodHoldings
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.test_shares import MACHINE, STATIC, node, pinned
from tests.simulation.node.worlds import SECOND, World, container, manifest

GIB = 2**30
RESERVED_BYTES = 100 * 2**20


def listed(world: World, *, active: bool = True) -> dict[str, PodHoldings]:
    pods = NodePodResources(world.node.node).pods(active=active)
    assert pods is not None
    return {pod.name: pod for pod in pods}


def test_each_container_is_told_with_its_cpus_and_its_memory_node() -> None:
    world = node()
    sidecar = {**pinned("1", name="side"), "restartPolicy": "Always"}
    world.node.put_manifest("a.yaml", manifest("a", [pinned(), pinned(name="b")], initContainers=[sidecar]))
    world.node.put_manifest("c.yaml", manifest("c", [container()]))
    world.run(20 * SECOND)
    book = world.node.node.shares()
    assert book is not None
    has = {name: share for pod in book.book.values() for name, share in pod.containers.items()}
    found = listed(world)
    assert found["a-node"].sidecars == 1
    assert dict(found["a-node"].containers) == {
        name: Holdings(tuple(sorted(has[name].cpus)), (MemoryOnNodes("memory", GIB, has[name].memory[0].nodes),))
        for name in ("side", "app", "b")
    }
    assert [len(holdings.cpus) for _, holdings in found["a-node"].containers] == [1, 2, 2]
    assert found["c-node"].containers == (("app", Holdings()),)


def test_allocatable_is_all_that_is_not_reserved_whether_given_or_not() -> None:
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    world.run(20 * SECOND)
    reserved = (MemoryOnNodes("memory", 8 * GIB - RESERVED_BYTES, (0,)), MemoryOnNodes("memory", 8 * GIB, (1,)))
    assert NodePodResources(world.node.node).allocatable() == Holdings(
        tuple(cpu for cpu in range(16) if cpu not in (0, 8)), reserved
    )


def test_without_policies_pods_are_listed_and_have_nothing() -> None:
    world = World(topology=MACHINE).start()
    world.node.put_manifest("a.yaml", manifest("a", [pinned()]))
    world.run(20 * SECOND)
    assert NodePodResources(world.node.node).allocatable() == Holdings()
    assert listed(world)["a-node"].containers == (("app", Holdings()),)


@pytest.mark.parametrize("gate", [True, False])
def test_a_pod_that_has_ended_is_listed_only_without_the_gate(gate: bool) -> None:
    world = node(gates=FeatureGates({"KubeletPodResourcesListUseActivePods": gate}))
    options: dict[str, Any] = {"restartPolicy": "Never"}
    world.node.put_manifest("a.yaml", manifest("a", [pinned()], **options))
    world.run(20 * SECOND)
    source = NodePodResources(world.node.node)
    assert source.lists_active_pods is gate
    world.cri.kill_container(next(each.id for each in world.node.containers()), 0)
    world.run(20 * SECOND)
    assert world.phases()["a"] == "Succeeded"
    listed_now = listed(world, active=source.lists_active_pods)
    assert ("a-node" in listed_now) is not gate
    assert all(holdings == Holdings() for pod in listed_now.values() for _, holdings in pod.containers)


def test_a_refused_pod_is_not_active() -> None:
    world = node()
    world.node.put_manifest("a.yaml", manifest("a", [pinned("12")]))
    world.run(20 * SECOND)
    assert listed(world, active=False).keys() == {"a-node"}
    assert listed(world) == {}


def test_nothing_is_claimed_before_the_book_is_read() -> None:
    files = msgspec.structs.replace(STATIC, topology_manager_policy="none")
    world = World(topology=MACHINE, configuration=files)
    source = NodePodResources(world.node.node)
    assert source.pods(active=True) is None
    assert source.allocatable() is None


def test_pods_are_not_told_after_a_restart_before_the_api_server_has_answered_or_a_minute_is_over() -> None:
    cluster = Cluster()
    cluster.create("a")
    cluster.until(lambda: cluster.phases() == {"a": "Running"})

    def after_a_restart(*seconds: int) -> list[list[str] | None]:
        cluster.node.kill()
        cluster.node.restart_agent()
        source = NodePodResources(cluster.node.node)
        found: list[list[str] | None] = []
        for each in seconds:
            cluster.run(each * SECOND)
            pods = source.pods(active=True)
            found.append(None if pods is None else [pod.name for pod in pods])
        return found

    assert after_a_restart(2) == [["a"]]
    cluster.api.hangs = lambda _: True
    assert after_a_restart(2, 57, 2) == [None, None, []]
    assert after_a_restart(58) == [None]
    cluster.api.hangs = None
    cluster.until(lambda: NodePodResources(cluster.node.node).pods(active=True) is not None)
