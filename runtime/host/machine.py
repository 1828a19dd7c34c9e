"""The facts of a machine from the kernel's files.

These are CPUs, memory, huge pages, ids, kernel and operating system.

`read_machine` never fails: an unreadable fact has a value that says so (0 bytes, an empty text). The root of the file
system is a parameter, so any tree of files can be a machine. Another module makes API objects of these facts.
"""

from __future__ import annotations

import glob
import os
import platform
import re
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.files.text_file import text_or_empty

KIB = 1024
OTHER_SYSTEM = "Linux"
"""The name of a system that does not tell its own."""

_HUGE_PAGES = re.compile(r"hugepages-([0-9]+)kB")
_CPU = re.compile(r"cpu([0-9]+)")
_MEMORY_LINE = re.compile(r"(\w+):\s+([0-9]+) kB")

GO_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "i386": "386",
    "i686": "386",
    "loongarch64": "loong64",
    "ppc64le": "ppc64le",
    "riscv64": "riscv64",
    "s390x": "s390x",
}
"""Architectures by the kernel's name, as labels and images name them."""


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Facts that do not change while the machine runs.

    `huge_pages`: number of pages by their size in bytes.
    """

    host_name: str
    cpus: int
    memory_bytes: int
    swap_bytes: int = 0
    huge_pages: tuple[tuple[int, int], ...] = ()
    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel_version: str = ""
    os_image: str = OTHER_SYSTEM
    operating_system: str = "linux"
    architecture: str = "amd64"
    cgroup_version: int = 2
    swap_counted: bool = False
    """Whether cgroups can limit swap."""
    pids: int = 0
    """The limit of processes and threads; 0: not known."""
    apparmor: bool = False
    physical_cores: int = 0
    sockets: int = 0
    """Cores and sockets of the CPUs; 0: the kernel does not tell."""
    thermal_paths: tuple[str, ...] = ()
    """Directories with the throttling of each CPU.

    A container that reads them can spy on others, so they are masked.
    """


def read_machine(root: str = "/") -> MachineFacts:
    """The machine whose files are under `root`; its name, CPUs and architecture are always this one's."""
    memory = memory_sizes(root)
    physical_cores, sockets = cores_and_sockets(root)
    return MachineFacts(
        host_name=host_name(),
        cpus=os.cpu_count() or 0,
        memory_bytes=memory.get("MemTotal", 0),
        swap_bytes=memory.get("SwapTotal", 0),
        huge_pages=huge_pages(root),
        machine_id=_first(root, "etc/machine-id", "var/lib/dbus/machine-id"),
        system_uuid=_first(
            root,
            "sys/class/dmi/id/product_uuid",
            "proc/device-tree/system-id",
            "proc/device-tree/vm,uuid",
            "etc/machine-id",
        ),
        boot_id=_first(root, "proc/sys/kernel/random/boot_id"),
        kernel_version=_first(root, "proc/sys/kernel/osrelease"),
        os_image=os_image(root),
        operating_system="linux",
        architecture=architecture_of(platform.machine()),
        cgroup_version=cgroup_version(root),
        swap_counted=swap_counted(root),
        pids=pid_limit(root),
        apparmor=_first(root, "sys/module/apparmor/parameters/enabled") == "Y",
        physical_cores=physical_cores,
        sockets=sockets,
        thermal_paths=thermal_paths(root),
    )


def host_name() -> str:
    """The name of this machine in lower case, as nodes are named (spec 9.8)."""
    return socket.gethostname().strip().lower()


def cgroup_version(root: str = "/") -> int:
    """2 where the unified hierarchy is at the root, else 1."""
    return 2 if os.path.exists(os.path.join(root, "sys/fs/cgroup/cgroup.controllers")) else 1


def swap_counted(root: str = "/") -> bool:
    """Whether any cgroup of v2 counts swap; the root cgroup never does."""
    return bool(glob.glob(os.path.join(root, "sys/fs/cgroup/*/memory.swap.max")))


def pid_limit(root: str = "/") -> int:
    """The smaller of the kernel's two limits."""
    texts = [_text(root, f"proc/sys/kernel/{name}").strip() for name in ("pid_max", "threads-max")]
    return min((int(text) for text in texts if text.isdigit()), default=0)


def cores_and_sockets(root: str = "/") -> tuple[int, int]:
    """How many physical cores the CPUs are, in how many sockets. 0 for either: the kernel does not tell."""
    cpus = os.path.join(root, "sys/devices/system/cpu")
    found = set()
    for core_path in glob.glob(f"{glob.escape(cpus)}/cpu[0-9]*/topology/core_id"):
        package = _text("/", f"{os.path.dirname(core_path)}/physical_package_id").strip()
        found.add((package, _text("/", core_path).strip()))
    return len(found), len({package for package, _ in found})


def thermal_paths(root: str = "/") -> tuple[str, ...]:
    """The thermal directories of this machine, by CPU number. The kernel has them if the hardware does."""
    cpus = "sys/devices/system/cpu"
    try:
        names = os.listdir(os.path.join(root, cpus))
    except OSError:
        return ()
    found = sorted(int(match[1]) for name in names if (match := _CPU.fullmatch(name)))
    paths = (f"{cpus}/cpu{number}/thermal_throttle" for number in found)
    return tuple(f"/{path}" for path in paths if os.path.isdir(os.path.join(root, path)))


def memory_sizes(root: str = "/") -> Mapping[str, int]:
    """Bytes by the names of `/proc/meminfo` (MemTotal, SwapTotal); only values in kB."""
    lines = _text(root, "proc/meminfo").splitlines()
    return {match[1]: int(match[2]) * KIB for line in lines if (match := _MEMORY_LINE.fullmatch(line.strip()))}


def huge_pages(root: str = "/") -> tuple[tuple[int, int], ...]:
    """(size in bytes, number of pages) of every size of huge pages, the smallest first."""
    directory = os.path.join(root, "sys/kernel/mm/hugepages")
    try:
        names = os.listdir(directory)
    except OSError:
        return ()
    found: list[tuple[int, int]] = []
    for name in names:
        count = _text(root, f"sys/kernel/mm/hugepages/{name}/nr_hugepages").strip()
        if (match := _HUGE_PAGES.fullmatch(name)) and count.isdigit():
            found.append((int(match[1]) * KIB, int(count)))
    return tuple(sorted(found))


def os_image(root: str = "/") -> str:
    """The name of the system for people: PRETTY_NAME of os-release."""
    for path in ("etc/os-release", "usr/lib/os-release"):
        for line in _text(root, path).splitlines():
            name, equals, value = line.partition("=")
            if equals and name.strip() == "PRETTY_NAME":
                return _unquoted(value.strip()) or OTHER_SYSTEM
    return OTHER_SYSTEM


def architecture_of(machine: str) -> str:
    """The architecture as images and labels name it, by the kernel's name."""
    return "arm" if machine.startswith("armv") else GO_ARCHITECTURES.get(machine, machine)


def _unquoted(text: str) -> str:
    try:
        return " ".join(shlex.split(text))
    except ValueError:
        return text.strip("\"'")


def _first(root: str, *paths: str) -> str:
    """The content of the first non-empty file. Device tree files end in a null byte."""
    return next((text for path in paths if (text := _text(root, path).strip().strip("\0").strip())), "")


def _text(root: str, path: str) -> str:
    return text_or_empty(os.path.join(root, path))
