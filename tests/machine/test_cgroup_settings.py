"""Settings that change what stands in the cgroups of pods, on cgroup v2 with systemd.

The values are what a kubelet 1.36 computes. With `ACTORLET_TEST_KUBELET` one is played in the agent's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.api_server import JOINED, EmbeddedServer, condition
from tests.machine.cgroup_files import cgroup_files
from tests.machine.conftest import KIND
from tests.machine.kubelet import PROGRAM, KubeletAlone
from tests.machine.machine import Machine, machine
from tests.machine.root import Root
from tests.real.pods import container, pod

MIB = 2**20
SWAP_MIB = 1024
SETTINGS = {
    "featureGates": {"MemoryQoS": True},
    "memoryReservationPolicy": "TieredReservation",
    "failSwapOn": False,
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "systemReserved": {"cpu": "200m", "memory": "1Gi", "pid": "5000"},
    "kubeReserved": {"cpu": "100m", "memory": "300Mi", "pid": "1000"},
    "systemReservedCgroup": "/system",
    "kubeReservedCgroup": "/kube",
    "enforceNodeAllocatable": ["pods", "system-reserved", "kube-reserved"],
    "podPidsLimit": 300,
}
_UNENFORCED = {"enforceNodeAllocatable": ["pods"], "systemReservedCgroup": "", "kubeReservedCgroup": ""}
"""A kubelet wants a cpuset in reserved cgroups, which user-mode Linux does not have."""
LARGE = {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "250m", "memory": "256Mi"}}
PART = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "192Mi"}}
WHOLE = {"requests": {"cpu": "300m", "memory": "128Mi"}, "limits": {"cpu": "600m", "memory": "256Mi"}}
PODS = (
    pod("guaranteed", container(resources=LARGE)),
    pod("burstable", container(resources=PART), container("beside")),
    pod("besteffort", container()),
    pod("whole", container(resources=PART), container("beside"), resources=WHOLE),
)
NAMES = tuple(each["metadata"]["name"] for each in PODS)
FILES = (
    *("cpu.weight", "cpu.max", "pids.max", "memory.min", "memory.low", "memory.high", "memory.max"),
    *("memory.swap.max", "memory.oom.group"),
)
UNSET = {
    **dict.fromkeys(("memory.high", "memory.max", "memory.swap.max"), "max"),
    **dict.fromkeys(("memory.min", "memory.low", "memory.oom.group"), "0"),
    "cpu.max": "max 100000",
}


class Node:
    """A machine that has joined its own API server, with `PODS` running."""

    def __init__(self, machine: Machine, kind: type[AgentAlone]) -> None:
        self.machine = machine
        machine.run("swapon -L swap")
        machine.put("/etc/systemd/system/kube.slice", "[Slice]\n")
        machine.run("systemctl daemon-reload; systemctl start kube.slice")
        self.server = EmbeddedServer(machine)
        self.server.begin()
        self.agent = kind(machine, JOINED)
        self.agent.begin(**{**SETTINGS, **(_UNENFORCED if kind is KubeletAlone and machine.kind == "uml" else {})})
        self.server.await_that(lambda: condition(self.server.node(), "Ready") == "True", "the node is Ready")
        self.server.run(*PODS)
        self.server.await_running(*NAMES)

    def files(self, *tops: str) -> dict[str, dict[str, str]]:
        """Of all cgroups, those that are not at the kernel's own value."""
        found = cgroup_files(self.machine, FILES, *tops)
        return {
            name: {file: text for file, text in each.items() if text != UNSET.get(file, "")}
            for name, each in found.items()
        }


@pytest.fixture(scope="module", params=[AgentAlone, KubeletAlone], ids=["agent", "kubelet"])
def node(roots: Callable[[str], Root], request: pytest.FixtureRequest) -> Iterator[Node]:
    if request.param is KubeletAlone and not PROGRAM:
        pytest.skip("ACTORLET_TEST_KUBELET names no kubelet")
    with machine(roots(KIND), memory="3G", disk="3G", swap=f"{SWAP_MIB}M") as one:
        yield Node(one, request.param)


SANDBOX = {"cpu.weight": "1"}
ALONE = {"memory.swap.max": "0", "memory.oom.group": "1"}
MAIN = {
    "cpu.weight": "4",
    "cpu.max": "50000 100000",
    "memory.low": str(64 * MIB),
    "memory.max": str(192 * MIB),
    # A tenth of what lies between request and limit, in whole pages, is left out.
    "memory.high": str((64 * MIB + 128 * MIB * 9 // 10) // 4096 * 4096),
    "memory.oom.group": "1",
}
WANTED = {
    "kubepods": {"cpu.weight": "28", "memory.min": str(256 * MIB), "memory.low": str(192 * MIB)},
    "kubepods/besteffort": {"cpu.weight": "1"},
    "kubepods/besteffort/besteffort": {"cpu.weight": "1", "pids.max": "300"},
    "kubepods/besteffort/besteffort/main": {"cpu.weight": "1", **ALONE},
    "kubepods/besteffort/besteffort/sandbox": SANDBOX,
    "kubepods/burstable": {"cpu.weight": "16", "memory.low": str(192 * MIB)},
    "kubepods/burstable/burstable": {"cpu.weight": "4", "pids.max": "300", "memory.low": str(64 * MIB)},
    "kubepods/burstable/burstable/main": MAIN,
    "kubepods/burstable/burstable/beside": {"cpu.weight": "1", **ALONE},
    "kubepods/burstable/burstable/sandbox": SANDBOX,
    "kubepods/burstable/whole": {
        "cpu.weight": "12",
        "cpu.max": "60000 100000",
        "pids.max": "300",
        "memory.low": str(128 * MIB),
        "memory.max": str(256 * MIB),
    },
    "kubepods/burstable/whole/main": MAIN,
    "kubepods/burstable/whole/beside": {
        "cpu.weight": "24",
        "cpu.max": "60000 100000",
        "memory.max": str(256 * MIB),
        **ALONE,
    },
    "kubepods/burstable/whole/sandbox": SANDBOX,
    "kubepods/guaranteed": {
        "cpu.weight": "10",
        "cpu.max": "25000 100000",
        "pids.max": "300",
        "memory.min": str(256 * MIB),
        "memory.max": str(256 * MIB),
    },
    "kubepods/guaranteed/main": {
        "cpu.weight": "10",
        "cpu.max": "25000 100000",
        **ALONE,
        "memory.min": str(256 * MIB),
        "memory.max": str(256 * MIB),
    },
    "kubepods/guaranteed/sandbox": SANDBOX,
}
"""Without what the size of the machine decides: `OF_MACHINE`."""


def test_every_cgroup_of_pods_has_a_kubelets_values(node: Node) -> None:
    found = node.files()
    total = int(node.machine.run("awk '/MemTotal/ {print $2}' /proc/meminfo")) * 1024
    swap = int(node.machine.run("awk '/SwapTotal/ {print $2}' /proc/meminfo")) * 1024
    top = found["kubepods"]
    assert top.pop("memory.max") == str(total - (1024 + 300) * MIB)
    assert int(top.pop("pids.max")) > 5_000
    for name in ("burstable", "whole"):
        # Static pods are critical, and critical pods never swap; these come from the API server.
        may = int(found[f"kubepods/burstable/{name}/main"].pop("memory.swap.max"))
        assert may == 64 * MIB * swap // total // 4096 * 4096
    for name, values in found.items():
        if name.endswith(("/main", "/beside", "/sandbox")) or values.get("pids.max") == "max":
            # That of systemd's own units, or none.
            values.pop("pids.max")
    wanted = WANTED
    if isinstance(node.agent, KubeletAlone):
        # Without memory.low there, that of the tier below has no effect (docs/explanation/cgroups.md).
        wanted = {**WANTED, "kubepods": {"cpu.weight": "28", "memory.min": str(448 * MIB)}}
    assert found == wanted


def test_reserved_cgroups_have_what_is_reserved(node: Node) -> None:
    if isinstance(node.agent, KubeletAlone) and node.machine.kind == "uml":
        pytest.skip("a kubelet enforces no reservation in user-mode Linux")
    system = node.files("system.slice")["system"]
    kube = node.files("kube.slice")["kube"]
    assert system == {"cpu.weight": "8", "pids.max": "5000", "memory.max": str(1024 * MIB)}
    assert kube == {"cpu.weight": "4", "pids.max": "1000", "memory.max": str(300 * MIB)}


def test_a_resize_reaches_the_cgroups_of_container_and_pod_without_a_restart(node: Node) -> None:
    changed = {"requests": {"cpu": "120m", "memory": "64Mi"}, "limits": {"cpu": "600m", "memory": "256Mi"}}
    body = {"spec": {"containers": [{"name": "main", "resources": changed}]}}
    path = "/api/v1/namespaces/default/pods/burstable/resize"
    node.server.ask("PATCH", path, body, kind="application/strategic-merge-patch+json")

    def values() -> tuple[str, str, str]:
        found = node.files()
        main, whole = (found[f"kubepods/burstable/burstable{each}"] for each in ("/main", ""))
        return main["cpu.max"], main["memory.max"], whole["cpu.weight"]

    node.server.await_that(lambda: values() == ("60000 100000", str(256 * MIB), "5"), "the resize is in the cgroups")
    node.server.await_running("burstable")
    statuses = node.server.pod("burstable")["status"]["containerStatuses"]
    assert [each["restartCount"] for each in statuses] == [0, 0]
    main = next(each for each in statuses if each["name"] == "main")
    assert main["resources"]["limits"] == {"cpu": "600m", "memory": "256Mi"}


def test_an_unknown_pods_cgroup_goes_with_what_runs_in_it(node: Node) -> None:
    unit = "kubepods-besteffort-pod11111111_2222_3333_4444_555555555555.slice"
    node.machine.run(f"systemd-run --scope --slice={unit} sleep 1000000 > /dev/null 2>&1 &")
    path = f"/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/{unit}"
    node.machine.until(f"test -e {path}", "the slice is there")
    node.machine.until(f"! test -e {path}", "the slice of a pod that nobody knows goes", 600)
