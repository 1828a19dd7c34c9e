"""The cgroups of pods on containerd, seen from outside (spec 10.2 to 10.7).

In this machine's own hierarchy.

Each agent has a `cgroupRoot` of its own. What a machine lacks (huge pages here) is not asked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.local import LocalCgroups, cpu_weight
from runtime.cgroups.names import KUBEPODS
from runtime.host.machine import cgroup_version
from tests.real.agent import CGROUPS, Agent
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until

MIB = 2**20
VERSION = cgroup_version()
FULL = {"requests": {"cpu": "500m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}
SOME = {"requests": {"cpu": "250m", "memory": "16Mi"}}
SMALL = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "100m", "memory": "32Mi"}}


def words_of(agent: Agent, *below: str) -> tuple[str, ...]:
    return (*agent.cgroup_root.strip("/").split("/"), KUBEPODS, *below)


def limits(agent: Agent, *below: str) -> dict[str, str]:
    """Of a cgroup below that of all pods, in the words of v1."""
    directories = agent.cgroup_of(KUBEPODS, *below)

    def text(controller: str, file: str) -> str:
        path = directories.get("" if VERSION == 2 else controller, Path("/nowhere")) / file
        return path.read_text().strip() if path.exists() else "none"

    if VERSION == 2:
        quota = text("cpu", "cpu.max").split()[0].replace("max", "-1")
        memory, weight = text("memory", "memory.max"), text("cpu", "cpu.weight")
        return {"shares": weight, "quota": quota, "memory": memory, "pids": text("pids", "pids.max")}
    memory = text("memory", "memory.limit_in_bytes")
    return {
        "shares": text("cpu", "cpu.shares"),
        "quota": text("cpu", "cpu.cfs_quota_us"),
        "memory": memory if int(memory) < 2**60 else "max",
        "pids": text("pids", "pids.max"),
    }


def shares(amount: int) -> str:
    return str(cpu_weight(amount) if VERSION == 2 else amount)


def group_of(pid: int) -> str:
    """Where a process is, by its memory."""
    lines = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    return next(path for _, controllers, path in lines if controllers == ("" if VERSION == 2 else "memory"))


def processes_below(agent: Agent, *below: str) -> set[int]:
    """All of the containers in a cgroup below that of all pods."""
    [top] = [path for name, path in agent.cgroup_of(KUBEPODS, *below).items() if name in ("", "memory")]
    return {int(pid) for path, _, _ in os.walk(top) for pid in Path(path, "cgroup.procs").read_text().split()}


def test_10_2_to_10_5_every_pod_is_in_its_tier_and_its_limits_are_in_force(agent: Agent, truth: Truth) -> None:
    agent.configure(podPidsLimit=77, systemReserved={"cpu": "100m", "memory": "1Gi"})
    overhead: dict[str, Any] = {"overhead": {"cpu": "250m", "memory": "16Mi"}}
    agent.drop("full.json", pod("full", container(resources=FULL), **overhead))
    agent.drop("some.json", pod("some", container(resources=SOME)))
    agent.drop("free.json", pod("free"))
    agent.start()
    agent.await_running("full", "some", "free")
    uids = {name: agent.pod(name).metadata.uid for name in ("full", "some", "free")}
    places = {"full": (), "some": ("burstable",), "free": ("besteffort",)}
    for name, tier in places.items():
        below = (*tier, f"pod{uids[name]}")
        # The sandbox and the container, and nobody else's processes.
        assert len(processes_below(agent, *below)) >= 2
        inside = {group_of(pid) for pid in processes_below(agent, *below)}
        assert all(each.startswith(f"{agent.cgroup_root}/{'/'.join((KUBEPODS, *below))}/") for each in inside), inside
    bounds = {name: limits(agent, *places[name], f"pod{uids[name]}") for name in places}
    # What the pod asks for and may have, with what its sandbox takes on top.
    assert bounds["full"] == {"shares": shares(768), "quota": "75000", "memory": str(80 * MIB), "pids": "77"}
    assert bounds["some"] == {"shares": shares(256), "quota": "-1", "memory": "max", "pids": "77"}
    assert bounds["free"] == {"shares": shares(2), "quota": "-1", "memory": "max", "pids": "77"}
    until(lambda: limits(agent, "burstable")["shares"] == shares(256), 10, agent.troubles)
    assert limits(agent, "besteffort")["shares"] == shares(2)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    until(lambda: limits(agent)["memory"] == str(whole - 1024 * MIB), 10, agent.troubles)
    assert limits(agent)["shares"] == shares((os.cpu_count() or 1) * 1024 - 103)
    assert any(each.event.reason == "NodeAllocatableEnforced" for each in agent.events())
    assert "not every limit" not in agent.said()


def test_10_2_a_restart_of_the_agent_changes_nothing_and_what_pods_leave_goes(agent: Agent, truth: Truth) -> None:
    manifest = agent.drop("some.json", pod("some", container(resources=SOME)))
    agent.drop("stays.json", pod("stays"))
    agent.start()
    agent.await_running("some", "stays")
    gone, stays = (agent.pod(name).metadata.uid for name in ("some", "stays"))
    before = {life.key for life in truth.lives()}
    inside = processes_below(agent)
    agent.kill()
    # What an agent has left that ended in the middle: a pod that nobody knows, and a process in it.
    orphan = words_of(agent, "burstable", "pod0f0f-1")
    LocalCgroups(str(CGROUPS), VERSION).apply(orphan, CgroupLimits(cpu_shares=100))
    agent.start()
    agent.await_running("some", "stays")
    agent.await_that(lambda: not agent.cgroup_of(KUBEPODS, "burstable", "pod0f0f-1"), "the cgroup of nobody stays")
    assert {life.key for life in truth.lives()} == before
    assert inside <= processes_below(agent), "they run on where they are; their shells may have begun more since"
    truth.end(truth.running("stays"))
    until(lambda: any(each.attempt == 1 and each.running for each in truth.lives("stays")), 20, agent.troubles)
    # A container that comes later is where the first one was.
    assert len(processes_below(agent, "besteffort", f"pod{stays}")) >= 2
    manifest.unlink()
    agent.await_that(lambda: not agent.cgroup_of(KUBEPODS, "burstable", f"pod{gone}"), "the cgroup of the pod stays")
    until(lambda: limits(agent, "burstable")["shares"] == shares(2), 10, agent.troubles)
    assert agent.cgroup_of(KUBEPODS, "besteffort", f"pod{stays}")


@pytest.mark.skipif(VERSION == 2, reason="one hierarchy is there, or is not")
def test_10_2_where_cgroups_cannot_be_made_pods_run_all_the_same_and_it_is_said_once(
    agent: Agent, truth: Truth
) -> None:
    half = f"{agent.cgroup_root}/half"
    CGROUPS.joinpath("memory", half.strip("/")).mkdir(parents=True)  # but in none of the other hierarchies
    agent.configure(cgroupRoot=half)
    agent.drop("free.json", pod("free"))
    agent.start()
    agent.await_running("free")
    assert truth.running("free")
    assert not agent.cgroup_of("half", KUBEPODS)
    [said] = [each.event for each in agent.events() if each.event.reason == "FailedNodeAllocatableEnforcement"]
    assert f"the cgroup {half} does not exist: make it, or change cgroupRoot" in said.message


def test_10_2_without_tiers_pods_are_right_below_the_root_and_10_6_the_agent_where_it_is_told(
    agent: Agent, truth: Truth
) -> None:
    # On v2 a cgroup with others in it takes no process.
    own = f"{agent.cgroup_root}/agent" if VERSION == 1 else ""
    agent.configure(cgroupsPerQOS=False, enforceNodeAllocatable=["none"], kubeletCgroups=own)
    agent.drop("free.json", pod("free"))
    agent.start()
    agent.await_running("free")
    assert not agent.cgroup_of(KUBEPODS)
    [life] = truth.lives("free")
    assert agent.cgroup_of(life.id)
    if own:
        until(lambda: group_of(agent.pid) == own, 10, agent.said)
