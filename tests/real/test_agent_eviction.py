"""A node that runs short of memory and disk, and pods that take more of its disk than they may, on containerd (spec 7).

The disk is a small one on a loop device. The memory is the machine's own: the threshold is set by what is free at the
moment, so that a pod passes it by what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.eviction.signals import MEMORY, SignalReading, signals_of
from config.api.resources import NODES
from config.objects import Node, PodStatus
from runtime.api import get
from runtime.stats.host import LocalHostStats
from runtime.stats.samples import NodeSample
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import STAY, Truth, container, pod
from tests.real.small_disk import small_disk
from tests.real.waiting import until

PATIENCE_S = 60.0
MIB = 2**20
DISK_MIB = 96
TAKEN_MIB = 48
"""By the pod that fills the disk, of which half is to stay free."""
PERIOD_S = 9
"""How long a condition stays: two passes, and time enough to see what a node does that has it."""
SCRATCH = [{"name": "scratch", "mountPath": "/scratch"}]


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


def test_a_node_short_of_memory_and_disk_ends_one_pod_for_each_takes_no_others_and_is_well_again(
    small_agent: Agent, cluster: Cluster, truth: Truth
) -> None:
    agent, memory = small_agent, memory_of_the_machine()
    taken = min(2048 * MIB, memory.available // 4)
    agent.configure(
        volumeStatsAggPeriod="1s",
        evictionHard={"memory.available": str(memory.available - taken // 2), "nodefs.available": "50%"},
        evictionPressureTransitionPeriod=f"{PERIOD_S}s",
    )
    asks: dict[str, Any] = {"resources": {"requests": {"memory": "1Mi"}}}
    cluster.run(taker("hungry", taken, {"medium": "Memory"}, **asks))
    cluster.run(taker("hoard", TAKEN_MIB * MIB, {}, **asks))
    cluster.run(pod("modest", container(**asks)))
    cluster.join()
    for name, resource in (("hungry", "memory"), ("hoard", "ephemeral-storage")):
        status = await_evicted(cluster, agent, name)
        assert status.phase == "Failed"
        assert (status.message or "").startswith(f"The node was low on resource: {resource}. Threshold quantity: ")
        assert disruption_of(status) == ("True", "TerminationByKubelet")
    assert "Container main was using " in (cluster.status("hungry").message or "")
    assert pressures(cluster), "the node does not say so"
    cluster.run(pod("late"))
    refused = await_evicted(cluster, agent, "late").message or ""
    assert refused.startswith("Pod was rejected: The node had condition: [")
    until(lambda: not pressures(cluster), PATIENCE_S, agent.troubles)
    cluster.run(pod("later"))
    cluster.await_phase("Running", "later", "modest")
    assert [each.event.type for each in agent.events_of("hungry", "Evicted")] == ["Warning"]
    said = {each.event.reason for each in agent.events() if each.event.kind == "Node"}
    assert {"EvictionThresholdMet", "NodeHasInsufficientMemory", "NodeHasDiskPressure"} <= said
    assert {"NodeHasSufficientMemory", "NodeHasNoDiskPressure"} <= said
    assert len(truth.lives("modest")) == 1, "it has been disturbed"


def taker(name: str, size: int, empty_dir: dict[str, str], **fields: Any) -> dict[str, Any]:
    """A pod that takes so many bytes of an emptyDir."""
    script = f"head -c {size} /dev/zero > /scratch/heap; {STAY}"
    volumes = [{"name": "scratch", "emptyDir": empty_dir}]
    return pod(name, container(script=script, volumeMounts=SCRATCH, **fields), volumes=volumes)


def await_evicted(cluster: Cluster, agent: Agent, name: str) -> PodStatus:
    """Its status, once it is so."""
    until(lambda: cluster.status(name).reason == "Evicted", PATIENCE_S, agent.troubles)
    return cluster.status(name)


def memory_of_the_machine() -> SignalReading:
    """As the agent reads it."""
    return signals_of(NodeSample(0, node=LocalHostStats("/nowhere").node()))[MEMORY]


def pressures(cluster: Cluster) -> list[str]:
    """Conditions of the node that are true."""
    node: Node = cluster.lines.main.call(get(NODES, "", NODE)).result(10)
    found = node.status.conditions if node.status is not None else ()
    return sorted(each.type for each in found if each.type.endswith("Pressure") and each.status == "True")


def disruption_of(status: PodStatus) -> tuple[str, str]:
    """Status and reason of the condition that tells controllers of it."""
    found = (each for each in status.conditions if each.type == "DisruptionTarget")
    return next(((each.status, each.reason or "") for each in found), ("", ""))
