"""`StartFacts`: facts of the machine that an agent needs before it starts (spec 10.1).

They are read from the kernel's files.

Reading never fails: an unreadable fact has a value that says so. The root of the file system is a parameter, so any
tree of files can be a machine. `actors.node.start_checks` decides whether an agent may start.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from config.values.cpu_sets import parse_cpu_set
from runtime.cgroups.names import paths_of, root_words
from runtime.files.text_file import text_or_empty
from runtime.host.machine import cgroup_version, pid_limit
from runtime.host.swap import swaps

CGROUPS = "sys/fs/cgroup"
SINGLE = "memory"
"""The controller whose hierarchy finds cgroups of version 1: every machine that can be a node has it."""


@dataclass(frozen=True, slots=True)
class StartFacts:
    """The facts.

    `controllers`: mounted (cgroup v1) or offered at the root (v2). `swaps` None: cannot be read, `swap_fault` says why.
    `online_cpus` and `pids` None: not known. `user_id`: the user of the agent. `root_cpu_stat`: whether the root cgroup
    has CPU statistics. `missing_cgroups`: those of the configuration that do not exist.
    """

    cgroup_version: int = 2
    controllers: frozenset[str] = frozenset()
    swaps: tuple[str, ...] | None = ()
    swap_fault: str = ""
    online_cpus: frozenset[int] | None = None
    pids: int | None = None
    user_id: int = 0
    root_cpu_stat: bool = True
    missing_cgroups: frozenset[str] = frozenset()


def read_start_facts(cgroups: tuple[str, ...] = (), root: str = "/") -> StartFacts:
    """The machine whose files are under `root`. `cgroups`: the cgroups that the configuration requires."""
    version = cgroup_version(root)
    found: tuple[str, ...] | None = None
    fault = ""
    try:
        found = swaps(os.path.join(root, "proc/swaps"))
    except OSError as failure:
        fault = failure.strerror or str(failure)
    return StartFacts(
        cgroup_version=version,
        controllers=_offered(root) if version == 2 else mounted_controllers(_text(root, "proc/self/mountinfo")),
        swaps=found,
        swap_fault=fault,
        online_cpus=_online(root),
        pids=pid_limit(root) or None,
        user_id=os.geteuid(),
        root_cpu_stat=os.path.exists(os.path.join(root, CGROUPS, "cpu.stat")),
        missing_cgroups=frozenset(each for each in cgroups if each and not _is_there(root, version, each)),
    )


def mounted_controllers(mountinfo: str) -> frozenset[str]:
    """The controllers of version 1 in `/proc/self/mountinfo`: the options of their super blocks."""
    found: set[str] = set()
    for line in mountinfo.splitlines():
        _, dash, after = line.partition(" - ")
        fields = after.split()
        if dash and len(fields) > 2 and fields[0] == "cgroup":
            found.update(fields[2].split(","))
    return frozenset(found - {"rw", "ro"})


def _offered(root: str) -> frozenset[str]:
    return frozenset(_text(root, f"{CGROUPS}/cgroup.controllers").split())


def _is_there(root: str, version: int, name: str) -> bool:
    """Whether a cgroup exists by its name with either driver: the runtime's driver is not known yet."""
    top = os.path.join(root, CGROUPS) if version == 2 else os.path.join(root, CGROUPS, SINGLE)
    paths = paths_of(root_words(name, per_qos=False))
    return any(os.path.isdir(top + path) for path in paths)


def _online(root: str) -> frozenset[int] | None:
    text = _text(root, "sys/devices/system/cpu/online").strip()
    try:
        return parse_cpu_set(text) if text else None
    except ValueError:
        return None


def _text(root: str, path: str) -> str:
    return text_or_empty(os.path.join(root, path))
