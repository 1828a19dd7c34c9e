"""The agent and its machine (spec 10.1).

What it refuses to start on, what it sets, and what it hears from the kernel.
"""

from __future__ import annotations

import contextlib
import os
import re

from actors.node.kernel_tunables import WANTED
from runtime.host.kernel_parameters import LocalKernelParameters
from runtime.host.machine import cgroup_version
from tests.memory_group import MemoryGroup
from tests.real.agent import Agent


# (spec 2.2.1)
def test_everything_that_is_wrong_with_the_machine_is_told_at_once_and_nothing_is_made(agent: Agent) -> None:
    agent.configure(
        cgroupRoot="/not/there",
        systemReserved={"memory": "64Pi", "pid": "100M"},
        reservedSystemCPUs="0,4000",
        failCgroupV1=True,
    )
    (agent.root).rmdir()
    refused = agent.ran()
    assert refused.returncode == 1
    told = refused.stderr.splitlines()
    expected = ["there is no cgroup '/not/there'", "not online here: 4000", "64Pi of memory", "100M of pid"]
    if cgroup_version() == 1:
        expected.insert(0, "$.failCgroupV1: this machine has cgroup v1")
    assert [words for words in expected if not any(words in line for line in told)] == [], told
    assert len(told) == len(expected)
    assert not agent.root.exists()


def test_the_machine_is_prepared_and_its_kernel_is_heard(agent: Agent) -> None:
    agent.configure(oomScoreAdj=-998)
    agent.start()
    kernel = LocalKernelParameters()
    for name, wanted in WANTED:
        assert kernel.get(name) in (wanted, None) or f"{name} stays" in agent.said()
    with open(f"/proc/{agent.pid}/oom_score_adj", encoding="ascii") as score:
        assert score.read().strip() == "-998" or "oomScoreAdj -998 cannot be set" in agent.said()
    agent.await_that(lambda: "/dev/kmsg" in open_files(agent.pid), "it does not listen to its kernel")
    with MemoryGroup(limit_bytes=16 * 2**20) as group:
        pid = group.have_one_killed()
    said = re.compile(f"{group.name} has reached its limit of memory: the kernel has killed .* \\(pid {pid}\\)")
    agent.await_that(lambda: said.search(agent.said()), "it has not heard of it")
    about_node = [each.event for each in agent.events() if each.event.kind == "Node"]
    assert ("CgroupV1" in {each.reason for each in about_node}) == (cgroup_version() == 1)
    assert not any(each.reason == "SystemOOM" and str(pid) in each.message for each in about_node)


def open_files(pid: int) -> list[str]:
    """Of a process, by their paths."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found
