"""Pods on containerd whose containers are resized while they run (spec 10.16).

The kernel's files show the resources.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from config.objects import Container, ContainerResizePolicy, Pod, ResourceRequirements
from runtime.host.machine import cgroup_version
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import Life, Truth, container, pod
from tests.real.test_agent_cgroups import limits
from tests.real.waiting import until

MIB = 2**20
SMALL = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "32Mi"}}
BIG = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}}
RESTARTS = ContainerResizePolicy(resource_name="memory", restart_policy="RestartContainer")


def resized(containers: tuple[Container, ...], wanted: dict[str, Any]) -> tuple[Container, ...]:
    """The same containers, the first of which asks for this."""
    return (msgspec.structs.replace(containers[0], resources=ResourceRequirements(**wanted)), *containers[1:])


def running(cluster: Cluster, **fields: Any) -> Pod:
    cluster.join()
    cluster.run(
        pod("web", **fields) if "initContainers" in fields else pod("web", container(resources=SMALL, **fields))
    )
    cluster.await_phase("Running", "web")
    found = cluster.pod("web")
    assert found is not None
    return found


def memory_of(truth: Truth, life: Life) -> str:
    """The memory limit of a container, as it sees it itself."""
    file = "memory.max" if cgroup_version() == 2 else "memory/memory.limit_in_bytes"
    return truth.run(life, "cat", f"/sys/fs/cgroup/{file}").strip()


def done(cluster: Cluster, wanted: dict[str, Any], name: str = "main") -> bool:
    """The status shows it of that container, and says nothing of a resize any more."""
    status = cluster.status("web")
    everyone = (*status.init_container_statuses, *status.container_statuses)
    shown = next((each for each in everyone if each.name == name), None)
    if shown is None or busy(cluster):
        return False
    limits = shown.resources.limits if shown.resources is not None else {}
    return (limits, shown.allocated_resources) == (wanted["limits"], wanted["requests"])


def busy(cluster: Cluster) -> bool:
    return any(each.type.startswith("PodResize") for each in cluster.status("web").conditions)


def test_a_container_gets_more_and_less_while_it_runs(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    first = running(cluster)
    place = ("burstable", f"pod{first.metadata.uid}")
    record = truth.running("web")
    for wanted, quota, memory in ((BIG, "20000", 64 * MIB), (SMALL, "10000", 32 * MIB)):
        cluster.change_spec("web", "resize", containers=resized(first.spec.containers, wanted))
        until(partial(done, cluster, wanted), 120, agent.troubles)
        assert (limits(agent, *place)["quota"], limits(agent, *place)["memory"]) == (quota, str(memory))
        now = truth.running("web")
        assert (now.id, now.attempt) == (record.id, 0)
        assert memory_of(truth, now) == str(memory)
    assert cluster.restarts("web") == 0


def test_a_container_restarts_where_its_policy_says_so(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    first = running(cluster, resizePolicy=[msgspec.to_builtins(RESTARTS)])
    cluster.change_spec("web", "resize", containers=resized(first.spec.containers, BIG))
    until(lambda: done(cluster, BIG), 120, agent.troubles)
    assert cluster.restarts("web") == 1
    assert memory_of(truth, truth.running("web")) == str(64 * MIB)


def test_a_new_agent_goes_on_with_what_was_given(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    first = running(cluster)
    record = truth.running("web")
    cluster.change_spec("web", "resize", containers=resized(first.spec.containers, BIG))
    agent.kill()
    cluster.join()
    until(lambda: done(cluster, BIG), 180, agent.troubles)
    now = truth.running("web")
    assert (now.id, memory_of(truth, now)) == (record.id, str(64 * MIB))


def test_a_sidecar_gets_more_and_less_beside_its_container(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    side = container("side", restartPolicy="Always", resources=SMALL)
    cluster.join()
    cluster.run(pod("web", container(resources=SMALL), initContainers=[side]))
    cluster.await_phase("Running", "web")
    first = cluster.pod("web")
    assert first is not None
    records = [truth.running("web", name) for name in ("side", "main")]
    for wanted, total in ((BIG, 96 * MIB), (SMALL, 64 * MIB)):
        changed = resized(first.spec.init_containers, wanted)
        cluster.change_spec("web", "resize", init_containers=changed)
        until(partial(done, cluster, wanted, "side"), 180, agent.troubles)
        now = [truth.running("web", name) for name in ("side", "main")]
        assert [(each.id, each.attempt) for each in now] == [(each.id, 0) for each in records]
        assert memory_of(truth, now[0]) == str(total - 32 * MIB)
        assert memory_of(truth, now[1]) == str(32 * MIB)
        assert limits(agent, "burstable", f"pod{first.metadata.uid}")["memory"] == str(total)


def test_a_pod_gets_more_and_less_as_a_whole(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    """A container without a limit of its own is bounded by the pod; the other one keeps what it has."""
    cluster.join()
    whole: dict[str, Any] = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}
    more: dict[str, Any] = {"requests": {"cpu": "30m", "memory": "64Mi"}, "limits": {"cpu": "300m", "memory": "256Mi"}}
    cluster.run(pod("web", container(), container("own", resources=SMALL), resources=whole))
    cluster.await_phase("Running", "web")
    first = cluster.pod("web")
    assert first is not None
    records = [truth.running("web", name) for name in ("main", "own")]
    own_group = partial(limits, agent, "burstable", f"pod{first.metadata.uid}")

    def has(quota: str, memory: int) -> bool:
        group = own_group()
        same = (group["quota"], group["memory"]) == (quota, str(memory))
        return same and not busy(cluster) and memory_of(truth, records[0]) == str(memory)

    for wanted, quota, memory in ((more, "30000", 256 * MIB), (whole, "20000", 128 * MIB)):
        cluster.change_spec("web", "resize", resources=ResourceRequirements(**wanted))
        until(partial(has, quota, memory), 180, agent.troubles)
        now = [truth.running("web", name) for name in ("main", "own")]
        assert [(each.id, each.attempt) for each in now] == [(each.id, 0) for each in records]
        assert memory_of(truth, now[1]) == str(32 * MIB)
