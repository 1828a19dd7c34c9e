"""What is left on this machine of removed pods.

It is nothing, if the agent and the runtime have done their work.
"""

from __future__ import annotations

import os
from pathlib import Path

from runtime.cri.messages import ListContainersRequest
from runtime.cri.verbs import LIST_CONTAINERS
from tests.real.agent import Agent
from tests.real.containerd import Containerd
from tests.real.pods import Truth

_KEPT_CGROUPS = {"kubepods", "besteffort", "burstable"}


def remains(agent: Agent, containerd: Containerd, truth: Truth) -> dict[str, list[str]]:
    """By place, what is left; no place when nothing is."""
    cri_state = containerd.directory / "state" / "io.containerd.grpc.v1.cri"
    addresses = containerd.directory / "addresses" / containerd.bridge
    found = {
        "containers of the CRI": [each.id for each in truth.ask(LIST_CONTAINERS, ListContainersRequest()).containers],
        "sandboxes": [each.id for each in truth.sandboxes()],
        "containers of containerd": containerd.ctr("containers", "ls", "-q").split(),
        "tasks": containerd.ctr("tasks", "ls", "-q").split(),
        "network namespaces": _names(cri_state / "netns"),
        "addresses": [each for each in _names(addresses) if each[0].isdigit()],
        "pod directories": _names(agent.root / "pods"),
        "other files": [str(each) for each in agent.root.glob("*/*/*")],
        "logs": _names(agent.pod_logs),
        "log links": [str(each) for each in agent.log_links()],
        "mounts": _mounts(agent.root) + _mounts(containerd.directory / "state"),
        "cgroups": _cgroups(agent),
    }
    return {place: sorted(each) for place, each in found.items() if each}


def _names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()] if directory.is_dir() else []


def _mounts(directory: Path) -> list[str]:
    points = (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [point for point in points if point.startswith(f"{directory}/")]


def _cgroups(agent: Agent) -> list[str]:
    """Besides those of the node and of the QoS classes."""
    below = (
        Path(above, name) for top in agent.cgroup_of().values() for above, names, _ in os.walk(top) for name in names
    )
    return [str(each) for each in below if each.name not in _KEPT_CGROUPS]
