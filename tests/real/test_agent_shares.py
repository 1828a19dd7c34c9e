"""CPUs and memory nodes of pinned containers on containerd, as the kernel has them (spec 10.8, 10.9).

This machine needs two CPUs. The test sees the files of the cgroup and what the kernel allows the process.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from config.values.cpu_sets import format_cpu_set
from runtime.cgroups.names import KUBEPODS
from runtime.host.machine import cgroup_version
from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until

CPUS = sorted(os.sched_getaffinity(0))
FULL = {"requests": {"cpu": "1", "memory": "32Mi"}, "limits": {"cpu": "1", "memory": "32Mi"}}
NODES = sorted(path.name for path in Path("/sys/devices/system/node").glob("node[0-9]*"))

pytestmark = pytest.mark.skipif(
    len(CPUS) < 2 or not NODES, reason="this machine has one CPU, or its kernel does not tell NUMA nodes"
)


def cpus_file(agent: Agent, truth: Truth, name: str, *tier: str) -> Path:
    """The kernel's file with the CPUs of the pod's container."""
    life = truth.running(name)
    found = agent.cgroup_of(KUBEPODS, *tier, f"pod{agent.pod(name).metadata.uid}", life.id)
    return found["" if cgroup_version() == 2 else "cpuset"] / "cpuset.cpus"


def in_kernel(agent: Agent, truth: Truth, name: str, *tier: str) -> tuple[str, str]:
    """The CPUs and memory nodes in the cgroup of the pod's container."""
    file = cpus_file(agent, truth, name, *tier)
    return file.read_text().strip(), file.with_name("cpuset.mems").read_text().strip()


def allowed(truth: Truth, name: str) -> str:
    """The CPUs on which the kernel lets the container's first process run."""
    status = truth.run(truth.running(name), "cat", "/proc/1/status")
    return next(line.split()[1] for line in status.splitlines() if line.startswith("Cpus_allowed_list:"))


def test_10_8_a_pinned_container_is_alone_on_its_cpu_and_others_leave_it(agent: Agent, truth: Truth) -> None:
    last = CPUS[-1]
    reserved = format_cpu_set(set(CPUS) - {last})
    agent.configure(
        cpuManagerPolicy="static",
        cpuManagerReconcilePeriod="2s",
        reservedSystemCPUs=reserved,
        memoryManagerPolicy="Static",
        evictionHard={"memory.available": "100Mi"},
        reservedMemory=[{"numaNode": int(NODES[0].removeprefix("node")), "limits": {"memory": "100Mi"}}],
    )
    agent.drop("shared.json", pod("shared"))
    agent.start()
    agent.await_running("shared")
    assert allowed(truth, "shared") == format_cpu_set(CPUS)
    agent.drop("pinned.json", pod("pinned", container(resources=FULL)))
    agent.await_running("shared", "pinned")
    cpus, nodes = in_kernel(agent, truth, "pinned")
    assert (cpus, allowed(truth, "pinned")) == (str(last), str(last))
    assert nodes == NODES[0].removeprefix("node")
    until(lambda: allowed(truth, "shared") == reserved, 60, agent.troubles)
    assert in_kernel(agent, truth, "shared", "besteffort")[0] == reserved
    # Somebody gives it back a CPU that is not its own.
    cpus_file(agent, truth, "shared", "besteffort").write_text(format_cpu_set(CPUS))
    until(lambda: in_kernel(agent, truth, "shared", "besteffort")[0] == reserved, 60, agent.troubles)
    before = {life.key for life in truth.lives()}
    agent.kill()
    agent.start()
    agent.await_running("shared", "pinned")
    assert in_kernel(agent, truth, "pinned")[0] == str(last)
    assert {life.key for life in truth.lives()} == before
    (agent.manifests / "pinned.json").unlink()
    truth.await_none("pinned", 60)
    until(lambda: allowed(truth, "shared") == format_cpu_set(CPUS), 120, agent.troubles)
