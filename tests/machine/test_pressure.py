"""A machine of 1 GiB, short of memory, disk, inodes or process ids, and containers over their limits.

The agent has joined an API server in the machine, since no agent evicts a static pod. With `ACTORLET_TEST_KUBELET` a
kubelet 1.36 goes the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.api_server import JOINED, EmbeddedServer, condition
from tests.machine.conftest import KIND
from tests.machine.inside.control_plane import NODE
from tests.machine.kubelet import PROGRAM, KubeletAlone
from tests.machine.machine import Machine, machine
from tests.machine.root import Root
from tests.real.pods import STAY, container, pod

MIB = 2**20
SOON = {"evictionPressureTransitionPeriod": "30s", "nodeStatusUpdateFrequency": "5s"}
NEVER = {"memory.available": "1Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi", "nodefs.inodesFree": "10"}
"""Thresholds that nothing here reaches."""
OVER_LIMIT = "dd if=/dev/zero of=/dev/null bs=128M count=1; echo lives > /dev/termination-log; " + STAY
"""Its child takes more than `SMALL`; the first process goes on, if it may."""
SMALL = {"limits": {"memory": "48Mi"}}


def holders(mebibytes: int) -> str:
    """Commands that hold so much memory in the background, each a part of it.

    In user-mode Linux each page is a mapping of the host's, and a process may have 65530: 256 MiB.
    """
    each = "(dd if=/dev/zero bs=100M count=1 2>/dev/null | sleep 1000000) &"
    return f"for part in $(seq {-(-mebibytes // 100)}); do {each} done"


class Node:
    """A machine that has joined its own API server."""

    def __init__(self, machine: Machine, kind: type[AgentAlone]) -> None:
        self.machine = machine
        self.server = EmbeddedServer(machine)
        self.server.begin()
        self.agent = kind(machine, JOINED)
        self.agent.begin(evictionHard=NEVER, **SOON)
        self.await_condition("Ready", "True")

    def await_condition(self, kind: str, status: str) -> None:
        self.server.await_that(lambda: condition(self.server.node(), kind) == status, f"the node's {kind} is {status}")

    def number(self, script: str) -> int:
        """What a script prints."""
        return int(self.machine.run(script).split()[0])

    def ends_evicted(self, victim: dict[str, Any], threshold: dict[str, str], kind: str, resource: str) -> None:
        """The pod is evicted and its neighbour is not, and the node's condition comes and goes."""
        name, server = victim["metadata"]["name"], self.server
        self.agent.begin_again(evictionHard={**NEVER, **threshold}, **SOON)
        self.await_condition("Ready", "True")
        server.run(victim)
        self.await_condition(kind, "True")
        server.await_phase("Failed", name)
        status = server.pod(name)["status"]
        assert status["reason"] == "Evicted"
        assert f"The node was low on resource: {resource}. " in status["message"]
        self.await_condition(kind, "False")
        server.await_running("modest")
        assert server.pod("modest")["status"]["containerStatuses"][0]["restartCount"] == 0
        server.delete(name)


@pytest.fixture(scope="module", params=[AgentAlone, KubeletAlone], ids=["agent", "kubelet"])
def node(roots: Callable[[str], Root], request: pytest.FixtureRequest) -> Iterator[Node]:
    if request.param is KubeletAlone and not PROGRAM:
        pytest.skip("ACTORLET_TEST_KUBELET names no kubelet")
    with machine(roots(KIND), memory="1G", disk="3G", swap=None) as one:
        made = Node(one, request.param)
        made.server.run(pod("modest", container(resources={"requests": {"memory": "8Mi"}})))
        made.server.await_running("modest")
        yield made


def test_a_container_over_its_limit_is_killed_as_a_whole(node: Node) -> None:
    node.server.run(pod("greedy", container(script=OVER_LIMIT, resources=SMALL), restartPolicy="Never"))
    node.server.await_phase("Failed", "greedy")
    ended = node.server.pod("greedy")["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    assert "lives" not in ended.get("message", "")
    node.server.delete("greedy")


def test_only_the_process_over_the_limit_is_killed_where_that_is_configured(node: Node) -> None:
    node.agent.begin_again(evictionHard=NEVER, singleProcessOOMKill=True, **SOON)
    node.server.run(pod("stubborn", container(script=OVER_LIMIT, resources=SMALL), restartPolicy="Never"))
    node.server.await_running("stubborn")
    uid = node.server.pod("stubborn")["metadata"]["uid"]
    node.machine.until(f"grep -rq lives /var/lib/kubelet/pods/{uid}/containers/main", "the first process goes on")
    assert node.server.pod("stubborn")["status"]["phase"] == "Running"
    node.server.delete("stubborn")


def test_a_kill_for_want_of_memory_in_the_machine_is_an_event_of_the_node(node: Node) -> None:
    node.agent.begin_again(evictionHard=NEVER, **SOON)
    node.await_condition("Ready", "True")
    node.machine.put("/opt/hog.sh", f"{holders(1200)}\nsleep 1000000\n")
    node.machine.run("systemd-run -q --unit=hog -p OOMScoreAdjust=1000 sh /opt/hog.sh")

    def told() -> list[str]:
        return [each["message"] for each in node.server.events(NODE) if each["reason"] == "SystemOOM"]

    node.server.await_that(told, "an event tells of the kill")
    assert told()[0].startswith("System OOM encountered, victim process: "), told()
    node.machine.run("systemctl stop hog; systemctl reset-failed hog", may_fail=True)
    node.server.await_running("modest")
    assert node.server.pod("modest")["status"]["containerStatuses"][0]["restartCount"] == 0


def test_disk(node: Node) -> None:
    free = node.number("df --output=avail -m /var/lib/kubelet | tail -1")
    victim = _scratch("hoard", f"head -c {250 * MIB} /dev/zero > /scratch/heap")
    node.ends_evicted(victim, {"nodefs.available": f"{free - 150}Mi"}, "DiskPressure", "ephemeral-storage")


def test_inodes(node: Node) -> None:
    free = node.number("df --output=iavail /var/lib/kubelet | tail -1")
    victim = _scratch("many", "cd /scratch; seq 1 9000 | xargs touch")
    node.ends_evicted(victim, {"nodefs.inodesFree": str(free - 5000)}, "DiskPressure", "inodes")


def test_process_ids(node: Node) -> None:
    most = node.number("cat /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max | sort -n")
    used = node.number("awk '{split($4, parts, \"/\"); print parts[2]}' /proc/loadavg")
    victim = pod("crowd", container(script=f"for each in $(seq 1 250); do sleep 1000000 & done; {STAY}"))
    node.ends_evicted(victim, {"pid.available": str(most - used - 150)}, "PIDPressure", "pids")


def test_memory(node: Node) -> None:
    available = node.number("awk '/MemAvailable/ {print int($2 / 1024)}' /proc/meminfo")
    taken = available - 160
    script = f"{holders(taken)}; {STAY}"
    victim = pod("hungry", container(script=script, resources={"requests": {"memory": "8Mi"}}))
    node.ends_evicted(victim, {"memory.available": "250Mi"}, "MemoryPressure", "memory")


def _scratch(name: str, script: str) -> dict[str, Any]:
    mounted = container(script=f"{script}; {STAY}", volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}])
    return pod(name, mounted, volumes=[{"name": "scratch", "emptyDir": {}}])
