"""`SimulatedHostStats`: what is used on a simulated machine, as `runtime.stats.capability.HostStats` tells it.

The node uses what its containers use, and a little of its own; its one disk has what lies in the simulated file tree,
and the images of the runtime. Files have sizes and no blocks here. Where the tree hangs, so does who counts there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.kernel import Dispatcher
from runtime.stats.readings import (
    CgroupReading,
    CpuReading,
    FsReading,
    InterfaceReading,
    MemoryReading,
    NetworkReading,
    NodeReading,
    PodDisk,
    ProcessReading,
    SystemContainer,
)
from simulation.cri.simulated_cri import SimulatedCri
from simulation.cri.verbs import usage
from simulation.file_tree import FileTree
from simulation.host_facts import INTERFACE, SimulatedHostFacts

MIB = 2**20
GIB = 2**30
OWN_MEMORY_BYTES = 256 * MIB
OWN_CPU_MILLI = 50
OWN_PROCESSES = 40
INODES = 1_000_000
BYTES_PER_S = 1_000


class SimulatedHostStats:
    """See the module. `root`: the agent's directory. Any number may be changed at any time."""

    def __init__(
        self, dispatcher: Dispatcher, cri: SimulatedCri, machine: SimulatedHostFacts, tree: FileTree, root: str
    ) -> None:
        self._dispatcher = dispatcher
        self._cri = cri
        self._machine = machine
        self._tree = tree
        self._volumes = f"{root.rstrip('/')}/pods"
        self._booted_ns = dispatcher.wall_ns()
        self.disk_bytes = machine.root_disk_bytes
        self.used_bytes = 10 * GIB
        self.own_memory_bytes = OWN_MEMORY_BYTES
        self.pids_limit = 32_768

    def node(self) -> NodeReading:
        at_ns = self._dispatcher.wall_ns()
        up_ns = at_ns - self._booted_ns
        running = self._running(at_ns)
        own_ns = up_ns * OWN_CPU_MILLI // 1000
        cpu = CpuReading(at_ns, own_ns + sum(used_ns for used_ns, _ in running))
        total = self._machine.machine_facts.memory_bytes
        used = self.own_memory_bytes + sum(memory for _, memory in running)
        memory = MemoryReading(at_ns, working_set=used, usage=used * 5 // 4, rss=used * 3 // 4, limit=total)
        traffic = up_ns // 10**9 * BYTES_PER_S
        interface = InterfaceReading(INTERFACE, rx_bytes=traffic, tx_bytes=traffic)
        own_cpu = CpuReading(at_ns, own_ns)
        own_memory = MemoryReading(at_ns, working_set=self.own_memory_bytes, usage=self.own_memory_bytes)
        return NodeReading(
            at_ns,
            booted_ns=self._booted_ns,
            cpus=self._machine.machine_facts.cpus,
            cgroup=CgroupReading("/", cpu=cpu, memory=memory, tasks=OWN_PROCESSES + 2 * len(running)),
            memory_bytes=total,
            swap_bytes=0,
            swap_free_bytes=0,
            network=NetworkReading(at_ns, INTERFACE, (interface,)),
            pids_limit=self.pids_limit,
            pids=OWN_PROCESSES + 2 * len(running),
            system=(SystemContainer("kubelet", self._booted_ns, own_cpu, own_memory),),
        )

    def _running(self, at_ns: int) -> list[tuple[int, int]]:
        """(CPU time, memory) of each container that runs."""
        found = []
        for record in tuple(self._cri.state.containers.values()):
            stats = usage.container_stats(record, at_ns, "")
            if stats.cpu is not None and stats.memory is not None:
                used, working_set = stats.cpu.usage_core_nano_seconds, stats.memory.working_set_bytes
                found.append((used.value if used else 0, working_set.value if working_set else 0))
        return found

    def processes(self, pids: Sequence[int]) -> Mapping[int, ProcessReading]:
        return {}

    def filesystem(self, path: str) -> FsReading:
        return self._tree.gate(path, self._file_system)

    def pod_disk(self, uid: str, log_directory: str) -> PodDisk:
        at_ns, directory = self._dispatcher.wall_ns(), f"{self._volumes}/{uid}/volumes"

        def count() -> PodDisk:
            volumes = tuple(
                (kind.replace("~", "/"), name, self._below(f"{directory}/{kind}/{name}"))
                for kind in self._names(directory)
                for name in self._names(f"{directory}/{kind}")
            )
            logs = tuple((name, self._below(f"{log_directory}/{name}")) for name in self._names(log_directory))
            return PodDisk(at_ns, volumes, logs)

        return self._tree.gate_all((directory, log_directory), count)

    def _file_system(self) -> FsReading:
        images = sum(image.size for image in tuple(self._cri.state.images.values()))
        used = self.used_bytes + self._tree.used_bytes + images
        left = max(0, self.disk_bytes - used)
        free = INODES * left // max(1, self.disk_bytes)
        at_ns = self._dispatcher.wall_ns()
        return FsReading(at_ns, self.disk_bytes, left, used, INODES, free, INODES - free, device=1)

    def _names(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(self._tree.names_in(path))) if self._tree.exists(path) else ()

    def _below(self, path: str) -> FsReading:
        used, inodes = self._tree.usage(path)
        whole = self._file_system()
        return FsReading(
            whole.at_ns, whole.capacity, whole.available, used, whole.inodes, whole.inodes_free, inodes, device=1
        )
