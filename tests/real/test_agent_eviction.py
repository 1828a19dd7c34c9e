"""Pods that take more of the node's disk than they may, on containerd (spec 7.6)."""

from __future__ import annotations

from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import STAY, Truth, container, pod
from tests.real.waiting import until

PATIENCE_S = 60.0


def test_pods_over_the_limits_of_their_disks_are_evicted_and_their_neighbour_is_not(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    agent.configure(volumeStatsAggPeriod="2s")
    mount = [{"name": "scratch", "mountPath": "/scratch"}]
    limited = [{"name": "scratch", "emptyDir": {"sizeLimit": "1Mi"}}]
    fill = container(script=f"head -c 3000000 /dev/zero > /scratch/heap; {STAY}", volumeMounts=mount)
    cluster.run(pod("hoard", fill, volumes=limited))
    cluster.run(pod("modest", container(volumeMounts=mount), volumes=limited))
    own = {"resources": {"limits": {"ephemeral-storage": "1Mi"}}}
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
