"""What is true of the machine under a node: the capability `HostFacts` and the real one, `LocalHostFacts`.

Read when asked, never remembered. Any of the three may hang (a dead mount, a resolver that does not answer), so actors
ask on a lane. The simulated machine is `simulation.host_facts`.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Protocol

import psutil

from runtime.host_machine import MachineFacts, read_machine
from runtime.host_network import NetworkFacts, read_network


class HostFacts(Protocol):
    """A machine."""

    def machine(self) -> MachineFacts:
        """What does not change while it runs. Never fails."""
        ...

    def network(self, name: str) -> NetworkFacts:
        """Addresses, default routes, and what `name` resolves to. Never fails."""
        ...

    def disk_bytes(self, path: str) -> int:
        """Size of the file system that holds `path`, or would hold it. Raises OSError."""
        ...


class LocalHostFacts:
    """`HostFacts` of this machine."""

    def machine(self) -> MachineFacts:
        return read_machine()

    def network(self, name: str) -> NetworkFacts:
        return read_network(name)

    def disk_bytes(self, path: str) -> int:
        path = os.path.abspath(path)
        while path != "/" and not os.path.exists(path):
            path = os.path.dirname(path)  # a directory that is yet to be made
        found = os.statvfs(path)
        return found.f_blocks * found.f_frsize


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
