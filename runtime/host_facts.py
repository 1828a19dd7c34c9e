"""What is true of this machine: its name, addresses, memory, and the version of its cgroups.

Read from the kernel when asked, never remembered. What cannot be read has a value that says so (no address, 0 bytes).
"""

from __future__ import annotations

import ipaddress
import os
import socket

import psutil

CGROUP_ROOT = "/sys/fs/cgroup"


def host_name() -> str:
    """The name of this machine in lower case, as nodes are named (spec 9.1)."""
    return socket.gethostname().strip().lower()


def host_ips() -> tuple[str, ...]:
    """The machine's own addresses: the first usable IPv4, then the first usable IPv6 (spec 9.4).

    Usable is what others can reach: not loopback, not link-local, on an interface that is up. The interfaces that
    carry pods (bridges and virtual pairs) come after all others.
    """
    up = {name for name, stats in psutil.net_if_stats().items() if stats.isup}
    found: dict[int, list[tuple[bool, str, str]]] = {4: [], 6: []}
    for name, addresses in psutil.net_if_addrs().items():
        if name not in up:
            continue
        for address in addresses:
            if address.family not in (socket.AF_INET, socket.AF_INET6):
                continue
            ip = ipaddress.ip_address(address.address.partition("%")[0])
            if not (ip.is_loopback or ip.is_link_local or ip.is_unspecified):
                found[ip.version].append((_is_virtual(name), name, str(ip)))
    return tuple(min(candidates)[2] for candidates in (found[4], found[6]) if candidates)


def memory_capacity_bytes() -> int:
    """All memory of this machine."""
    return int(psutil.virtual_memory().total)


def cgroup_version() -> int:
    """2 where the unified hierarchy is at the root, else 1."""
    return 2 if os.path.exists(os.path.join(CGROUP_ROOT, "cgroup.controllers")) else 1


def _is_virtual(interface: str) -> bool:
    return interface.startswith(("veth", "cni", "br", "docker", "virbr", "flannel", "cali", "lxc"))
