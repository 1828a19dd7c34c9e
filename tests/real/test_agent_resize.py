"""Pods on containerd whose containers are resized while they run (spec 10.16).

The kernel's files show the resources, of each container and of the whole pod. No container restarts that need not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest

from config.objects import Container, Pod, ResourceRequirements
from runtime.host.machine import cgroup_version
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.pods import Life, Truth, container, pod
from tests.real.test_agent_cgroups import limits, shares
from tests.real.waiting import until

MIB = 2**20
SMALL = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "32Mi"}}
BIG = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}}
HAS_SMALL, HAS_BIG = ("10000", 32 * MIB), ("20000", 64 * MIB)
"""The CPU quota and the memory limit of a container with these."""


def restarts_for(resource: str) -> list[dict[str, str]]:
    return [{"resourceName": resource, "restartPolicy": "RestartContainer"}]


def mixed(resource: str) -> dict[str, dict[str, str]]:
    """Big in this resource, and small in the other."""
    return {kind: {**SMALL[kind], resource: BIG[kind][resource]} for kind in SMALL}


def resized(containers: tuple[Container, ...], wanted: dict[str, Any]) -> tuple[Container, ...]:
    """The same containers, the first of which asks for this."""
    return (msgspec.structs.replace(containers[0], resources=ResourceRequirements(**wanted)), *containers[1:])


def running(cluster: Cluster, *containers: dict[str, Any], phase: str = "Running", **spec: Any) -> Pod:
    """The pod `web`, joined with its node."""
    cluster.join()
    cluster.run(pod("web", *containers, **spec))
    cluster.await_phase(phase, "web")
    found = cluster.pod("web")
    assert found is not None
    return found


def bounds(truth: Truth, life: Life) -> tuple[str, int]:
    """The CPU quota and the memory limit of a container, as it sees them itself."""
    files = ("cpu.max", "memory.max")
    if cgroup_version() == 1:
        files = ("cpu/cpu.cfs_quota_us", "memory/memory.limit_in_bytes")
    quota, memory = (truth.run(life, "cat", f"/sys/fs/cgroup/{file}").split()[0] for file in files)
    return quota, int(memory)


def group(agent: Agent, found: Pod) -> tuple[str, str, str]:
    """The shares, the CPU quota and the memory limit of the pod's cgroup."""
    has = limits(agent, "burstable", f"pod{found.metadata.uid}")
    return has["shares"], has["quota"], has["memory"]


def has_group(milli: int, quota: str, memory: int) -> tuple[str, str, str]:
    return shares(milli * 1024 // 1000), quota, str(memory)


def restarts(cluster: Cluster) -> dict[str, int]:
    """Of each container, as the status tells it."""
    status = cluster.status("web")
    return {each.name: each.restart_count for each in (*status.init_container_statuses, *status.container_statuses)}


def done(cluster: Cluster, wanted: dict[str, Any], name: str = "main", restarted: int = 0) -> bool:
    """The status shows these resources of that container, and no resize any more.

    `restarted`: how often the container has restarted. A resize may end before a container that it restarts runs
    again.
    """
    status = cluster.status("web")
    everyone = (*status.init_container_statuses, *status.container_statuses)
    shown = next((each for each in everyone if each.name == name), None)
    if shown is None or shown.restart_count != restarted or busy(cluster):
        return False
    limits = shown.resources.limits if shown.resources is not None else {}
    return (limits, shown.allocated_resources) == (wanted["limits"], wanted["requests"])


def busy(cluster: Cluster) -> bool:
    return any(each.type.startswith("PodResize") for each in cluster.status("web").conditions)


def test_a_container_gets_more_and_less_while_it_runs(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    first = running(cluster, container(resources=SMALL), container("other", resources=SMALL))
    records = [truth.running("web", name) for name in ("main", "other")]
    for wanted, has, whole in (
        (BIG, HAS_BIG, has_group(30, "30000", 96 * MIB)),
        (mixed("cpu"), ("20000", 32 * MIB), has_group(30, "30000", 64 * MIB)),
        (SMALL, HAS_SMALL, has_group(20, "20000", 64 * MIB)),
    ):
        cluster.change_spec("web", "resize", containers=resized(first.spec.containers, wanted))
        until(partial(done, cluster, wanted), 120, agent.troubles)
        now = [truth.running("web", name) for name in ("main", "other")]
        assert [each.key for each in now] == [each.key for each in records]
        assert [bounds(truth, each) for each in now] == [has, HAS_SMALL]
        assert group(agent, first) == whole
    assert restarts(cluster) == {"main": 0, "other": 0}


@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_a_container_restarts_only_for_the_resource_that_its_policy_names(
    agent: Agent, truth: Truth, cluster: Cluster, resource: str
) -> None:
    strict = container(resources=SMALL, resizePolicy=restarts_for(resource))
    first = running(cluster, strict, container("other", resources=SMALL))
    other = truth.running("web", "other")
    half = mixed("memory" if resource == "cpu" else "cpu")
    has_half = ("10000", 64 * MIB) if resource == "cpu" else ("20000", 32 * MIB)
    for wanted, has, count in ((half, has_half, 0), (BIG, HAS_BIG, 1), (half, has_half, 2), (SMALL, HAS_SMALL, 2)):
        cluster.change_spec("web", "resize", containers=resized(first.spec.containers, wanted))
        until(partial(done, cluster, wanted, restarted=count), 180, agent.troubles)
        assert restarts(cluster) == {"main": count, "other": 0}
        assert bounds(truth, truth.running("web")) == has
        assert group(agent, first)[2] == str(has[1] + 32 * MIB)
    assert truth.running("web", "other").key == other.key


def test_a_new_agent_goes_on_with_what_was_given(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    first = running(cluster, container(resources=SMALL))
    record = truth.running("web")
    cluster.change_spec("web", "resize", containers=resized(first.spec.containers, BIG))
    agent.kill()
    cluster.join()
    until(lambda: done(cluster, BIG), 180, agent.troubles)
    now = truth.running("web")
    assert (now.key, bounds(truth, now)) == (record.key, HAS_BIG)
    assert restarts(cluster) == {"main": 0}


def test_an_init_container_gets_more_and_less_while_it_runs(agent: Agent, truth: Truth, cluster: Cluster) -> None:
    setup = container("setup", "until [ -e /go ]; do sleep 0.1; done", resources=SMALL)
    first = running(cluster, container(resources=SMALL), initContainers=[setup], phase="Pending")
    record = truth.running("web", "setup")
    for wanted, has in ((BIG, HAS_BIG), (SMALL, HAS_SMALL), (BIG, HAS_BIG)):
        changed = resized(first.spec.init_containers, wanted)
        cluster.change_spec("web", "resize", init_containers=changed)
        until(partial(done, cluster, wanted, "setup"), 180, agent.troubles)
        now = truth.running("web", "setup")
        assert (now.key, bounds(truth, now)) == (record.key, has)
        assert group(agent, first)[1:] == (has[0], str(has[1]))
    truth.run(record, "touch", "/go")
    cluster.await_phase("Running", "web")
    assert bounds(truth, truth.running("web")) == HAS_SMALL
    assert [each.status.exit_code for each in truth.lives("web", "setup")] == [0]
    assert restarts(cluster) == {"setup": 0, "main": 0}


@pytest.mark.parametrize("strict", [False, True])
def test_a_sidecar_gets_more_and_less_beside_its_container(
    agent: Agent, truth: Truth, cluster: Cluster, strict: bool
) -> None:
    """`strict`: it restarts for its memory; its container does not."""
    side = container("side", restartPolicy="Always", resources=SMALL)
    side |= {"resizePolicy": restarts_for("memory")} if strict else {}
    first = running(cluster, container(resources=SMALL), initContainers=[side])
    records = [truth.running("web", name) for name in ("side", "main")]
    for number, (wanted, has) in enumerate(((BIG, HAS_BIG), (SMALL, HAS_SMALL)), 1):
        changed = resized(first.spec.init_containers, wanted)
        cluster.change_spec("web", "resize", init_containers=changed)
        until(partial(done, cluster, wanted, "side", number if strict else 0), 180, agent.troubles)
        now = [truth.running("web", name) for name in ("side", "main")]
        assert [each.key == record.key for each, record in zip(now, records, strict=True)] == [not strict, True]
        assert [bounds(truth, each) for each in now] == [has, HAS_SMALL]
        assert group(agent, first)[2] == str(has[1] + 32 * MIB)
        assert restarts(cluster) == {"side": number if strict else 0, "main": 0}


@pytest.mark.parametrize("strict", [False, True])
def test_a_pod_gets_more_and_less_as_a_whole(agent: Agent, truth: Truth, cluster: Cluster, strict: bool) -> None:
    """A container without a limit of its own is bounded by the pod; the other one keeps what it has.

    `strict`: it restarts for a memory limit that it has from the pod.
    """
    whole: dict[str, Any] = {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"cpu": "200m", "memory": "128Mi"}}
    more: dict[str, Any] = {"requests": {"cpu": "30m", "memory": "64Mi"}, "limits": {"cpu": "300m", "memory": "256Mi"}}
    main = container() | ({"resizePolicy": restarts_for("memory")} if strict else {})
    first = running(cluster, main, container("own", resources=SMALL), resources=whole)
    records = [truth.running("web", name) for name in ("main", "own")]

    def has(wanted: tuple[str, str, str], restarted: int) -> bool:
        if busy(cluster) or restarts(cluster) != {"main": restarted, "own": 0} or group(agent, first) != wanted:
            return False
        return bounds(truth, truth.running("web")) == (wanted[1], int(wanted[2]))

    steps = ((more, has_group(30, "30000", 256 * MIB)), (whole, has_group(20, "20000", 128 * MIB)))
    for number, (wanted, numbers) in enumerate(steps, 1):
        cluster.change_spec("web", "resize", resources=ResourceRequirements(**wanted))
        until(partial(has, numbers, number if strict else 0), 180, agent.troubles)
        now = [truth.running("web", name) for name in ("main", "own")]
        assert [each.key == record.key for each, record in zip(now, records, strict=True)] == [not strict, True]
        assert bounds(truth, now[1]) == HAS_SMALL
