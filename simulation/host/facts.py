"""`SimulatedHostFacts`: the machine under a simulated node, as in `runtime.host.facts.HostFacts`.

A small server: 4 CPUs, 16 GiB, one network interface. Its hardware may change at any time: `reboot` gives it another
boot id, and `machine_facts`, `machine_topology` and `network_facts` may be replaced.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from runtime.host.machine import MachineFacts
from runtime.host.network import InterfaceAddress, NetworkFacts
from runtime.host.topology import MachineTopology
from simulation.host.topologies import plain_topology

GIB = 2**30
INTERFACE = "eth0"
ADDRESS = "192.0.2.1"
MAX_PODS = 20_000
"""How many pods a simulated node takes, unless its configuration says otherwise.

Large, since simulations are about the number of pods.
"""


class SimulatedHostFacts:
    """Its ids are derived from its name, so that each run of a simulation has the same."""

    def __init__(
        self,
        name: str = "node",
        *,
        cpus: int = 4,
        memory_bytes: int = 16 * GIB,
        disk_bytes: int = 100 * GIB,
        addresses: tuple[str, ...] = (ADDRESS,),
    ) -> None:
        self._name = name
        self._boots = 1
        self.root_disk_bytes = disk_bytes
        self.machine_facts = MachineFacts(
            host_name=name,
            cpus=cpus,
            memory_bytes=memory_bytes,
            huge_pages=((2 * 2**20, 0), (GIB, 0)),
            machine_id=_id(name, "machine").replace("-", ""),
            system_uuid=_id(name, "system"),
            boot_id=_id(name, "boot 1"),
            kernel_version="6.12.0-simulated",
            os_image="actorlet simulated host",
        )
        self.machine_topology = plain_topology(cpus, memory_bytes)
        self.network_facts = NetworkFacts(
            (InterfaceAddress("lo", "127.0.0.1"), *(InterfaceAddress(INTERFACE, address) for address in addresses)),
            (INTERFACE,),
        )

    def become(self, topology: MachineTopology) -> None:
        """Another machine from now on: its CPUs, and its memory."""
        self.machine_topology = topology
        memory_bytes = sum(node.memory_bytes for node in topology.nodes)
        self.machine_facts = replace(self.machine_facts, cpus=len(topology.cpus), memory_bytes=memory_bytes)

    def reboot(self) -> None:
        """Another boot id from now on."""
        self._boots += 1
        self.machine_facts = replace(self.machine_facts, boot_id=_id(self._name, f"boot {self._boots}"))

    def machine(self) -> MachineFacts:
        return self.machine_facts

    def topology(self) -> MachineTopology:
        return self.machine_topology

    def network(self, name: str) -> NetworkFacts:
        return self.network_facts

    def disk_bytes(self, path: str) -> int:
        return self.root_disk_bytes


def _id(name: str, what: str) -> str:
    digits = hashlib.sha256(f"{name}/{what}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
