"""Facts about the machine under a node: the capability `HostFacts`, and `LocalHostFacts`.

Read when asked, never remembered. Each of them may hang (a dead mount, a resolver that does not answer), so actors
ask on a lane. The simulated machine is `simulation.host.facts`.
"""

from __future__ import annotations

import os
from typing import Protocol

from runtime.host.machine import MachineFacts, read_machine
from runtime.host.network import NetworkFacts, read_network
from runtime.host.topology import MachineTopology
from runtime.host.topology_files import read_topology


class HostFacts(Protocol):
    """A machine."""

    def machine(self) -> MachineFacts:
        """The facts that do not change while the machine runs. Never fails."""

    def topology(self) -> MachineTopology:
        """Its online CPUs, and its NUMA nodes. They change when CPUs go offline. Never fails."""

    def network(self, name: str) -> NetworkFacts:
        """Addresses, default routes, and what `name` resolves to. Never fails."""

    def disk_bytes(self, path: str) -> int:
        """Size of the file system that holds `path`, or would hold it. Raises OSError."""


class LocalHostFacts:
    """`HostFacts` of this machine."""

    def machine(self) -> MachineFacts:
        return read_machine()

    def topology(self) -> MachineTopology:
        return read_topology()

    def network(self, name: str) -> NetworkFacts:
        return read_network(name)

    def disk_bytes(self, path: str) -> int:
        path = os.path.abspath(path)
        while path != "/" and not os.path.exists(path):
            path = os.path.dirname(path)  # a directory that is yet to be made
        found = os.statvfs(path)
        return found.f_blocks * found.f_frsize
