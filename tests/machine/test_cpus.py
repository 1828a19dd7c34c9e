"""Cores and memory nodes of pinned pods, in the cgroup files of a machine with two NUMA nodes.

It has four CPUs, and is one of QEMU whatever `ACTORLET_MACHINE_KIND` says, since user-mode Linux has no cpusets. With
`ACTORLET_TEST_KUBELET` a kubelet is played on a machine of its own: the values are the same. Without KVM the agent's
tests take an hour, and a kubelet's a quarter of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.machine.alone import STATE, AgentAlone
from tests.machine.cgroup_files import cgroup_files
from tests.machine.components import complaint
from tests.machine.kubelet import PROGRAM, KubeletAlone
from tests.machine.machine import machine
from tests.machine.root import Root
from tests.real.pods import container, pod

MEMORY = "64Mi"
SLOW_S = 1200.0
"""In QEMU without KVM runc takes minutes to start or change a container."""
SETTINGS: dict[str, Any] = {
    "cpuManagerPolicy": "static",
    "cpuManagerReconcilePeriod": "2s",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedSystemCPUs": "0",
    "kubeReserved": {"memory": "100Mi"},
    "evictionHard": {"memory.available": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "200Mi"}}],
}


def _pinned(name: str, cpus: int) -> dict[str, Any]:
    amounts = {"cpu": str(cpus), "memory": MEMORY}
    return pod(name, container(resources={"requests": amounts, "limits": amounts}))


PAIR, ONE = _pinned("pair", 2), _pinned("one", 1)
SHARED = pod("shared", container())
TOO_LARGE = _pinned("too-large", 3)
"""The node has as many cores to give, on both NUMA nodes together."""
FILES = ("cpuset.cpus", "cpuset.mems", "cpu.max")
SETS = {
    "pair/main": {"cpuset.cpus": "2-3", "cpuset.mems": "1", "cpu.max": "max 100000"},
    "one/main": {"cpuset.cpus": "1", "cpuset.mems": "0", "cpu.max": "max 100000"},
    "besteffort/shared/main": {"cpuset.cpus": "0", "cpuset.mems": "", "cpu.max": "max 100000"},
}
"""Two cores fit on the node that reserves none; the one core and the shared pod have the rest."""


@pytest.fixture(scope="module", params=["agent", "kubelet"])
def node(request: pytest.FixtureRequest, roots: Callable[[str], Root]) -> Iterator[AgentAlone]:
    """A node with pinned pods, which came in one order."""
    if request.param == "kubelet" and not PROGRAM:
        pytest.skip("ACTORLET_TEST_KUBELET names no kubelet")
    if why := complaint("qemu"):
        pytest.skip(why)
    with machine(roots("qemu"), cpus=4, numa=2, swap=None) as one:
        made = (AgentAlone if request.param == "agent" else KubeletAlone)(one)
        made.begin(**SETTINGS)
        running: list[str] = []
        for each in (PAIR, ONE, SHARED):
            made.drop(each)
            running.append(each["metadata"]["name"])
            made.await_running(*running, limit_s=SLOW_S)
        yield made


def _sets(node: AgentAlone) -> dict[str, dict[str, str]]:
    found = cgroup_files(node.machine, FILES)
    return {name.removeprefix("kubepods/"): files for name, files in found.items() if name.endswith("/main")}


def _state(node: AgentAlone) -> dict[str, Any]:
    """What the state file says, by pod."""
    state = json.loads(node.machine.read(f"{STATE}/cpu_manager_state"))
    names = {each["metadata"]["uid"]: name for name, each in node.pods().items()}
    entries = {names.get(uid, uid): containers for uid, containers in state["entries"].items()}
    return {"default": state["defaultCpuSet"], **{name: each["main"] for name, each in entries.items()}}


def test_pinned_containers_have_cores_and_memory_of_one_node(node: AgentAlone) -> None:
    assert _sets(node) == SETS
    assert _state(node) == {"default": "0", "pair": "2-3", "one": "1"}


def test_a_restart_changes_no_set(node: AgentAlone) -> None:
    before = node.restarts()
    node.machine.run(f"systemctl restart {node.unit}")
    node.await_running("pair", "one", "shared", limit_s=SLOW_S)
    assert _sets(node) == SETS
    assert node.restarts() == before


def test_a_set_that_somebody_changed_is_mended(node: AgentAlone) -> None:
    if isinstance(node, KubeletAlone):
        pytest.skip("a kubelet compares with what it told the runtime last, and leaves the set as it is")
    path = node.machine.run("find /sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice -name cpuset.cpus").split()
    [file] = [each for each in path if "cri-containerd" in each and node.machine.read(each).strip() == "0"]
    node.machine.run(f"echo 0-1 > {file}")
    node.machine.until(f"[ $(cat {file}) = 0 ]", "the shared container has its set back", SLOW_S)


def test_cores_of_a_pod_that_went_are_shared_again(node: AgentAlone) -> None:
    node.withdraw("one")
    node.await_running("pair", "shared")
    node.machine.until(
        "grep -rqx 0-1 /sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice --include=cpuset.cpus",
        "the shared container gets the core",
        SLOW_S,
    )
    assert _state(node) == {"default": "0-1", "pair": "2-3"}


def test_a_pod_that_fits_on_no_node_is_refused_with_its_reason(node: AgentAlone) -> None:
    node.withdraw("pair")
    node.await_running("shared")
    node.drop(TOO_LARGE)
    refused = "any(each.get('status', {}).get('reason') == 'TopologyAffinityError' for each in found)"
    node.machine.until(
        f'{node.listing} | python3 -c "import json, sys; found = json.load(sys.stdin); '
        f"found = found['items'] if isinstance(found, dict) else found; sys.exit(not {refused})\"",
        "the pod is refused",
        SLOW_S,
        pause_s=3.0,
    )
    node.withdraw("too-large")
