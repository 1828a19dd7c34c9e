"""Files of the cgroups of a machine's pods, by names that do not change from run to run."""

from __future__ import annotations

import json

from tests.machine.machine import Machine

_READ = r"""
import json, re, sys
from pathlib import Path

TOP = Path("/sys/fs/cgroup")
TASKS = Path("/run/containerd/io.containerd.runtime.v2.task/k8s.io")
LOGS = [each.name.split("_") for each in Path("/var/log/pods").iterdir()]
PODS = {uid.replace("-", "_"): name for _, name, uid in LOGS}
files = json.loads(sys.argv[1])


def named(part):
    scope = re.fullmatch(r"cri-containerd-([0-9a-f]{64})\.scope", part)
    if scope:
        notes = json.loads((TASKS / scope[1] / "config.json").read_text())["annotations"]
        return notes.get("io.kubernetes.cri.container-name", "sandbox")
    pod = re.fullmatch(r"kubepods(?:-burstable|-besteffort)?-pod(.*)\.slice", part)
    if pod:
        return PODS.get(pod[1], pod[1]).removesuffix("-machine-1")
    return part.removesuffix(".slice").removeprefix("kubepods-")


def of(directory):
    found = {}
    for file in files:
        try:
            found[file] = (directory / file).read_text().strip()
        except FileNotFoundError:
            pass
    return found


found = {}
for top in sys.argv[2:]:
    for directory in [TOP / top, *(TOP / top).rglob("*")]:
        if directory.is_dir():
            try:
                name = "/".join(map(named, directory.relative_to(TOP).parts))
            except FileNotFoundError:
                continue  # it ends just now
            found[name] = of(directory)
print(json.dumps(found))
"""


def cgroup_files(machine: Machine, files: tuple[str, ...], *tops: str) -> dict[str, dict[str, str]]:
    """The text of these files, by cgroup, such as `kubepods/burstable/web/main`.

    `tops` are slices; without one it is that of all pods.
    """
    held = machine.shared / "read_cgroups.py"
    held.write_text(_READ)
    words = " ".join(tops or ("kubepods.slice",))
    found: dict[str, dict[str, str]] = json.loads(
        machine.run(f"python3 /host/{held.name} '{json.dumps(files)}' {words}")
    )
    return found
