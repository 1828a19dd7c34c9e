"""What systemd and the kernel say of the cgroups of pods, on cgroup v2 with the driver `systemd`.

The values are those that a kubelet sets (docs/explanation/cgroups.md).
"""

from __future__ import annotations

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.machine import Machine
from tests.real.pods import container, pod

MIB = 2**20
KUBEPODS = "/sys/fs/cgroup/kubepods.slice"
PIDS = 200


def _sized(name: str, requests: dict[str, str] | None, limits: dict[str, str] | None) -> dict[str, object]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return pod(name, container(resources=resources))


PODS = (
    _sized("guaranteed", None, {"cpu": "250m", "memory": "48Mi"}),
    _sized("burstable", {"cpu": "100m", "memory": "32Mi"}, {"cpu": "500m", "memory": "64Mi"}),
    _sized("asking", {"cpu": "200m", "memory": "32Mi"}, None),
    _sized("besteffort", None, None),
)
WANTED = {
    "guaranteed": {"cpu.weight": "10", "cpu.max": "25000 100000", "memory.max": str(48 * MIB)},
    "burstable": {"cpu.weight": "4", "cpu.max": "50000 100000", "memory.max": str(64 * MIB)},
    "asking": {"cpu.weight": "8", "cpu.max": "max 100000", "memory.max": "max"},
    "besteffort": {"cpu.weight": "1", "cpu.max": "max 100000", "memory.max": "max"},
}
"""Of the pod's own slice. A weight is 1 + (shares - 2) * 9999 / 262142, rounded down, as in a kubelet."""
TIER = {"guaranteed": "", "burstable": "-burstable", "asking": "-burstable", "besteffort": "-besteffort"}


@pytest.fixture(scope="module")
def agent(booted: Machine) -> AgentAlone:
    """One that runs all of `PODS`."""
    made = AgentAlone(booted)
    made.begin(podPidsLimit=PIDS)
    made.drop(*PODS)
    made.await_running(*WANTED)
    return made


def slice_of(agent: AgentAlone, name: str) -> tuple[str, str]:
    """The unit of a pod, and its directory."""
    uid = agent.pods()[name]["metadata"]["uid"].replace("-", "_")
    above = f"{KUBEPODS}/kubepods{TIER[name]}.slice" if TIER[name] else KUBEPODS
    unit = f"kubepods{TIER[name]}-pod{uid}.slice"
    return unit, f"{above}/{unit}"


def _read(agent: AgentAlone, directory: str, *files: str) -> dict[str, str]:
    lines = agent.machine.run(f"cd {directory}; " + "; ".join(f"cat {file}" for file in files)).splitlines()
    return dict(zip(files, lines, strict=True))


@pytest.mark.parametrize("name", list(WANTED))
def test_the_slice_of_a_pod_has_a_kubelets_limits(agent: AgentAlone, name: str) -> None:
    _, directory = slice_of(agent, name)
    wanted = {**WANTED[name], "pids.max": str(PIDS)}
    assert _read(agent, directory, *wanted) == wanted


@pytest.mark.parametrize("name", list(WANTED))
def test_systemd_knows_the_slice_and_its_limits(agent: AgentAlone, name: str) -> None:
    unit, _ = slice_of(agent, name)
    shown = agent.machine.run(f"systemctl show {unit} -p ActiveState -p CPUWeight -p MemoryMax -p TasksMax")
    values = dict(line.split("=", 1) for line in shown.splitlines())
    memory = WANTED[name]["memory.max"].replace("max", "infinity")
    assert values == {
        "ActiveState": "active",
        "CPUWeight": WANTED[name]["cpu.weight"],
        "MemoryMax": memory,
        "TasksMax": str(PIDS),
    }


@pytest.mark.parametrize("name", list(WANTED))
def test_containers_are_scopes_in_the_slice_of_their_pod(agent: AgentAlone, name: str) -> None:
    _, directory = slice_of(agent, name)
    scopes = agent.machine.run(f"cd {directory}; ls -d cri-containerd-*.scope").split()
    assert len(scopes) == 2, "the container and its sandbox"
    procs = agent.machine.run(f"cd {directory}; cat cri-containerd-*.scope/cgroup.procs").split()
    assert len(procs) >= 2


def test_limits_survive_what_systemd_does_when_it_reloads(agent: AgentAlone) -> None:
    agent.machine.run("systemctl daemon-reload; systemctl daemon-reexec")
    for name, wanted in WANTED.items():
        assert _read(agent, slice_of(agent, name)[1], *wanted) == wanted


def test_tiers_weigh_what_their_pods_ask_for(agent: AgentAlone) -> None:
    weights = {
        tier: _read(agent, f"{KUBEPODS}/kubepods-{tier}.slice", "cpu.weight") for tier in ("burstable", "besteffort")
    }
    # 300m: 307 shares.
    assert weights == {"burstable": {"cpu.weight": "12"}, "besteffort": {"cpu.weight": "1"}}


def test_all_pods_have_the_capacity_of_the_node(agent: AgentAlone) -> None:
    limit = int(_read(agent, KUBEPODS, "memory.max")["memory.max"])
    total = int(agent.machine.run("awk '/MemTotal/ {print $2}' /proc/meminfo")) * 1024
    assert limit == total


def test_the_slice_of_a_pod_that_is_gone_goes(agent: AgentAlone) -> None:
    agent.drop(pod("passing"))
    agent.await_running(*WANTED, "passing")
    uid = agent.pods()["passing"]["metadata"]["uid"].replace("-", "_")
    unit = f"kubepods-besteffort-pod{uid}.slice"
    agent.machine.run(f"systemctl is-active {unit}")
    agent.withdraw("passing")
    agent.machine.until(
        f"! test -e {KUBEPODS}/kubepods-besteffort.slice/{unit} && ! systemctl is-active {unit}", f"{unit} goes"
    )
