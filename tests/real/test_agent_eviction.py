"""A node on containerd that runs short of memory and disk (spec 7).

Also pods that take more of its disk than they may.

The disk is a small one on a loop device. The memory is that of the cgroup of all pods, which the agent limits to
`POOL_MIB`. So nothing depends on what else runs on this machine, or on its memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from config.api.resources import NODES
from config.objects import Node, PodStatus
from runtime.api import list_objects
from tests.real.agent import Agent
from tests.real.cluster import ANSWER_S, Cluster
from tests.real.pods import STAY, Truth, container, pod
from tests.real.small_disk import small_disk
from tests.real.waiting import until

PATIENCE_S = 60.0
MIB = 2**20
DISK_MIB = 96
TAKEN_MIB = 48
"""By the pod that fills the disk, of which half is to stay free."""
POOL_MIB = 512
FREE_MIB = 256
"""The threshold.

What is not reserved for it may be requested by pods, and bounds each emptyDir in memory.
"""
HEAP_MIB = 160
"""In each of two such emptyDirs: more than the pool has above the threshold, and less than all of it."""
IN_MEMORY = {name: {"medium": "Memory"} for name in ("first", "second")}
ASKS: dict[str, Any] = {"resources": {"requests": {"memory": "1Mi"}}}
HALF_A_MINUTE_S = 30
"""How long the agent waits for the end of a victim. A look at once would come within seconds."""


def test_pods_over_the_limits_of_their_disks_are_evicted_and_their_neighbour_is_not(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    agent.configure(volumeStatsAggPeriod="2s")
    mount = [{"name": "scratch", "mountPath": "/scratch"}]
    limited = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]
    fill = container(script=f"head -c 3000000 /dev/zero > /scratch/heap; {STAY}", volumeMounts=mount)
    cluster.run(pod("hoard", fill, volumes=limited))
    cluster.run(pod("modest", container(volumeMounts=mount), volumes=limited))
    own: dict[str, Any] = {"resources": {"limits": {"ephemeral-storage": "1Mi"}}}
    cluster.run(pod("spender", container(script=f"head -c 3000000 /dev/zero > /heap; {STAY}", **own)))
    cluster.join()
    until(lambda: cluster.status("hoard").reason == "Evicted", PATIENCE_S, lambda: repr(cluster.status("hoard")))
    status = cluster.status("hoard")
    assert status.phase == "Failed"
    assert status.message == 'Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". '
    assert "DisruptionTarget" not in cluster.conditions("hoard")
    until(lambda: cluster.status("spender").reason == "Evicted", PATIENCE_S, lambda: repr(cluster.status("spender")))
    expected = "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. "
    assert cluster.status("spender").message == expected
    assert cluster.status("modest").phase == "Running"


# --- the whole node ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small_agent(agent: Agent) -> Iterator[Agent]:
    """An agent whose root directory is a small disk."""
    with small_disk(agent.directory / "disk", agent.root, DISK_MIB):
        yield agent
        agent.take_down()


def test_a_node_short_of_memory_and_disk_ends_one_pod_for_each_and_no_others(
    small_agent: Agent, cluster: Cluster, truth: Truth
) -> None:
    agent = small_agent
    short_of_memory(agent, {"nodefs.available": "50%"})
    cluster.run(taker("hungry", HEAP_MIB, IN_MEMORY, **ASKS))
    cluster.run(taker("hoard", TAKEN_MIB, {"scratch": {}}, **ASKS))
    cluster.run(pod("modest", container(**ASKS)))
    cluster.join()
    for name, resource in (("hungry", "memory"), ("hoard", "ephemeral-storage")):
        status = await_evicted(cluster, agent, name)
        assert status.phase == "Failed"
        assert (status.message or "").startswith(f"The node was low on resource: {resource}. Threshold quantity: ")
        assert disruption_of(status) == ("True", "TerminationByKubelet")
    assert "Container main was using " in (cluster.status("hungry").message or "")
    until(lambda: not pressures(cluster), PATIENCE_S, agent.troubles)
    cluster.run(pod("later"))
    cluster.await_phase("Running", "later", "modest")
    assert [each.event.type for each in agent.events_of("hungry", "Evicted")] == ["Warning"]
    expected = {"EvictionThresholdMet", "NodeHasInsufficientMemory", "NodeHasDiskPressure"}
    expected |= {"NodeHasSufficientMemory", "NodeHasNoDiskPressure"}
    agent.await_that(lambda: expected <= said_of_node(agent), f"{said_of_node(agent)}")
    assert len(truth.lives("modest")) == 1, "it has been disturbed"


def test_the_next_victim_waits_half_a_minute_while_the_volumes_of_the_first_hold_memory(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    """An emptyDir in memory keeps its bytes until it is unmounted, and somebody looks into this one."""
    short_of_memory(agent, {})
    go = agent.directory / "go"
    go.mkdir()
    waits = taker("hungry", HEAP_MIB, IN_MEMORY, before="until test -e /go/now; do sleep 0.1; done", **ASKS)
    waits["spec"]["containers"][0]["volumeMounts"].append({"name": "go", "mountPath": "/go"})
    waits["spec"]["volumes"].append({"name": "go", "hostPath": {"path": str(go)}})
    cluster.run(waits)
    cluster.run(pod("modest", container(**ASKS)))
    cluster.join()
    cluster.await_phase("Running", "hungry", "modest")
    volumes = agent.pod_directory(agent.pod("hungry").metadata.uid) / "volumes" / "kubernetes.io~empty-dir"
    with ExitStack() as held:
        for name in IN_MEMORY:
            held.callback(os.close, os.open(volumes / name, os.O_RDONLY | os.O_DIRECTORY))
        (go / "now").touch()
        await_evicted(cluster, agent, "hungry")
        await_evicted(cluster, agent, "modest")
    [first], [second] = (agent.events_of(name, "Evicted") for name in ("hungry", "modest"))
    assert (second.first_wall_ns - first.first_wall_ns) / 10**9 > HALF_A_MINUTE_S / 2
    until(lambda: not volumes.exists(), PATIENCE_S, agent.troubles)


def test_a_node_that_is_short_takes_no_pods_and_takes_them_again_when_it_is_well(
    small_agent: Agent, cluster: Cluster
) -> None:
    agent = small_agent
    agent.configure(evictionHard={"nodefs.available": "50%"}, evictionPressureTransitionPeriod="1s")
    filling = agent.root / "filling"
    filling.write_bytes(bytes(TAKEN_MIB * MIB))
    cluster.join()
    until(lambda: pressures(cluster) == ["DiskPressure"], PATIENCE_S, agent.troubles)
    cluster.run(pod("late"))
    refused = await_evicted(cluster, agent, "late").message or ""
    assert refused.startswith("Pod was rejected: The node had condition: [")
    filling.unlink()
    until(lambda: not pressures(cluster), PATIENCE_S, agent.troubles)
    cluster.run(pod("later"))
    cluster.await_phase("Running", "later")


def short_of_memory(agent: Agent, more: dict[str, str]) -> None:
    """All pods together have a pool of memory, and thresholds. `more`: other ones."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    agent.configure(
        volumeStatsAggPeriod="1s",
        systemReserved={"memory": str(machine - POOL_MIB * MIB)},
        evictionHard={"memory.available": f"{FREE_MIB}Mi", **more},
        evictionPressureTransitionPeriod="15s",  # so that the conditions stay until they are published
    )


def taker(
    name: str, size_mib: int, empty_dirs: dict[str, dict[str, str]], *, before: str = "true", **fields: Any
) -> dict[str, Any]:
    """A pod that takes so much of each of its emptyDirs. `before`: a command that it runs first."""
    heaps = "; ".join([before, *(f"head -c {size_mib * MIB} /dev/zero > /{each}/heap" for each in empty_dirs)])
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in empty_dirs]
    volumes = [{"name": each, "emptyDir": kind} for each, kind in empty_dirs.items()]
    return pod(name, container(script=f"{heaps}; {STAY}", volumeMounts=mounts, **fields), volumes=volumes)


def said_of_node(agent: Agent) -> set[str]:
    """The reasons of the events about the node."""
    return {each.event.reason for each in agent.events() if each.event.kind == "Node"}


def await_evicted(cluster: Cluster, agent: Agent, name: str) -> PodStatus:
    """Its status, once it is evicted."""
    until(lambda: cluster.status(name).reason == "Evicted", PATIENCE_S, agent.troubles)
    return cluster.status(name)


def pressures(cluster: Cluster) -> list[str]:
    """Conditions of the node that are true."""
    nodes: tuple[Node, ...] = cluster.lines.main.call(list_objects(NODES)).result(ANSWER_S).items
    found = [each for node in nodes if node.status is not None for each in node.status.conditions]
    return sorted(each.type for each in found if each.type.endswith("Pressure") and each.status == "True")


def disruption_of(status: PodStatus) -> tuple[str, str]:
    """Status and reason of the condition that tells controllers of it."""
    found = (each for each in status.conditions if each.type == "DisruptionTarget")
    return next(((each.status, each.reason or "") for each in found), ("", ""))
