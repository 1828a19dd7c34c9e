"""Pods whose containers get other resources while they run (spec 10.16): what the kernel's files say of them."""

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


def done(cluster: Cluster, wanted: dict[str, Any]) -> bool:
    """The status shows it, and says nothing of a resize any more."""
    found = cluster.pod("web")
    if found is None or found.status is None or not found.status.container_statuses:
        return False
    shown = found.status.container_statuses[0]
    busy = [each.type for each in found.status.conditions if each.type.startswith("PodResize")]
    limits = shown.resources.limits if shown.resources is not None else {}
    return not busy and (limits, shown.allocated_resources) == (wanted["limits"], wanted["requests"])


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
