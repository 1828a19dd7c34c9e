"""`SimulatedHostStats`: usage of a simulated machine.

The capability is `runtime.stats.capability.HostStats`.

The node uses what its containers use, a little of its own, and what something else on it takes (`taken`). Its disk has
what lies in the simulated file tree, and the images and writable layers of the runtime, unless these have a disk of
their own (`image_disk_bytes`). Files have sizes and no blocks here. Where the tree hangs, so does who counts there.
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
from simulation.cri.views import is_running
from simulation.host.cgroups import SimulatedCgroups
from simulation.host.facts import INTERFACE, SimulatedHostFacts
from simulation.host.file_tree import FileTree

MIB = 2**20
GIB = 2**30
OWN_MEMORY_BYTES = 256 * MIB
OWN_CPU_MILLI = 50
OWN_PROCESSES = 40
INODES = 1_000_000
_MOUNTED = ("kubernetes.io/csi", "kubernetes.io/local-volume", "kubernetes.io/nfs")
"""Kinds of volumes that are mounts on a real machine."""
BYTES_PER_S = 1_000


class SimulatedHostStats:
    """See the module. `root`: the agent's directory. Any number may be changed at any time."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        cri: SimulatedCri,
        machine: SimulatedHostFacts,
        tree: FileTree,
        root: str,
        cgroups: SimulatedCgroups | None = None,
    ) -> None:
        self._cgroups = cgroups
        self._dispatcher = dispatcher
        self._cri = cri
        self._machine = machine
        self._tree = tree
        self.root = root
        self.image_directory = cri.image_directory
        self._volumes = f"{root.rstrip('/')}/pods"
        self._booted_ns = dispatcher.wall_ns()
        self.disk_bytes = machine.root_disk_bytes
        self.used_bytes = 10 * GIB
        self.own_memory_bytes = OWN_MEMORY_BYTES
        self.pids_limit = 32_768
        self.image_disk_bytes: int | None = None
        """Of a disk for images and layers; None: they lie on the node's."""
        self.taken: dict[str, int] = {}
        """By what, how much something else on the node takes (`simulation.faults.shortages`)."""
        self.readings = 0
        """How often the agent has looked at the node."""

    def node(self) -> NodeReading:
        self.readings += 1
        return self.as_it_is()

    def as_it_is(self) -> NodeReading:
        """The same for the world itself; it is not counted in `readings`."""
        at_ns = self._dispatcher.wall_ns()
        up_ns = at_ns - self._booted_ns
        running = self._running(at_ns)
        own_ns = up_ns * OWN_CPU_MILLI // 1000
        cpu = CpuReading(at_ns, own_ns + sum(used_ns for used_ns, _, _ in running))
        total = self._machine.machine_facts.memory_bytes
        used = self.own_memory_bytes + sum(memory for _, memory, _ in running) + self.taken.get("memory", 0)
        processes = OWN_PROCESSES + sum(1 + each for _, _, each in running) + self.taken.get("pids", 0)
        memory = MemoryReading(at_ns, working_set=used, usage=used * 5 // 4, rss=used * 3 // 4, limit=total)
        traffic = up_ns // 10**9 * BYTES_PER_S
        interface = InterfaceReading(INTERFACE, rx_bytes=traffic, tx_bytes=traffic)
        own_cpu = CpuReading(at_ns, own_ns)
        own_memory = MemoryReading(at_ns, working_set=self.own_memory_bytes, usage=self.own_memory_bytes)
        return NodeReading(
            at_ns,
            booted_ns=self._booted_ns,
            cpus=self._machine.machine_facts.cpus,
            cgroup=CgroupReading("/", cpu=cpu, memory=memory, tasks=processes),
            memory_bytes=total,
            swap_bytes=0,
            swap_free_bytes=0,
            network=NetworkReading(at_ns, INTERFACE, (interface,)),
            pids_limit=self.pids_limit,
            pids=processes,
            machine=self._machine.machine_facts,
            system=(SystemContainer("kubelet", self._booted_ns, own_cpu, own_memory), *self._of_pods(running, at_ns)),
        )

    def _of_pods(self, running: Sequence[tuple[int, int, int]], at_ns: int) -> tuple[SystemContainer, ...]:
        """The cgroup of all pods, where there is one."""
        limit = 0 if self._cgroups is None else self._cgroups.memory_of_pods()
        if not limit:
            return ()
        cpu = CpuReading(at_ns, sum(used_ns for used_ns, _, _ in running))
        used = sum(memory for _, memory, _ in running)
        return (SystemContainer("pods", self._booted_ns, cpu, MemoryReading(at_ns, working_set=used, limit=limit)),)

    def _running(self, at_ns: int) -> list[tuple[int, int, int]]:
        """(CPU time, memory, processes) of each container that runs."""
        found = []
        for record in tuple(self._cri.state.containers.values()):
            if is_running(record):
                cpu_ns = usage.cpu_used_ns(record, at_ns)
                found.append((cpu_ns, usage.memory_bytes(record, at_ns), usage.processes(record, at_ns)))
        return found

    def processes(self, pids: Sequence[int]) -> Mapping[int, ProcessReading]:
        return {}

    def filesystem(self, path: str) -> FsReading:
        if self.image_disk_bytes is not None and path == self.image_directory:
            return self._tree.gate(path, self._image_disk)
        if path.startswith(f"{self._volumes}/"):
            return self._tree.gate(path, lambda: self._below(path))
        return self._tree.gate(path, self._file_system)

    def pod_disk(self, uid: str, log_directory: str) -> PodDisk:
        at_ns, directory = self._dispatcher.wall_ns(), f"{self._volumes}/{uid}/volumes"

        def count() -> PodDisk:
            there = [
                (kind.replace("~", "/"), name, f"{directory}/{kind}/{name}")
                for kind in self._tree.names_if_any(directory)
                for name in self._tree.names_if_any(f"{directory}/{kind}")
            ]
            mounts = tuple(each for each in there if each[0] in _MOUNTED)
            volumes = tuple((kind, name, self._below(path)) for kind, name, path in there if kind not in _MOUNTED)
            logs = tuple(
                (name, self._below(f"{log_directory}/{name}")) for name in self._tree.names_if_any(log_directory)
            )
            return PodDisk(at_ns, volumes, logs, mounts)

        return self._tree.gate_all((directory, log_directory), count)

    def _file_system(self) -> FsReading:
        used = self.used_bytes + self._tree.used_bytes + self.taken.get("disk", 0)
        if self.image_disk_bytes is not None:
            return self._reading(self.disk_bytes, used, self.taken.get("inodes", 0), device=1)
        layers, inodes = self._layers()
        used += self._images() + layers + self.taken.get("image-disk", 0)
        return self._reading(self.disk_bytes, used, inodes + self.taken.get("inodes", 0), device=1)

    def _image_disk(self) -> FsReading:
        layers, inodes = self._layers()
        used = self._images() + layers + self.taken.get("image-disk", 0)
        return self._reading(self.image_disk_bytes or 0, used, inodes, device=2)

    def _reading(self, capacity: int, used: int, inodes: int, *, device: int) -> FsReading:
        """Inodes go with the bytes, and some besides."""
        left = max(0, capacity - used)
        free = max(0, INODES * left // max(1, capacity) - inodes)
        at_ns = self._dispatcher.wall_ns()
        return FsReading(at_ns, capacity, left, used, INODES, free, INODES - free, device=device)

    def _images(self) -> int:
        return sum(image.size for image in tuple(self._cri.state.images.values()))

    def _layers(self) -> tuple[int, int]:
        """Bytes and inodes of all writable layers, those of dead containers included."""
        at_ns = self._dispatcher.wall_ns()
        records = tuple(self._cri.state.containers.values())
        used = sum(usage.layer_bytes(record, at_ns) for record in records)
        return used, sum(usage.layer_inodes(record, at_ns) for record in records)

    def _below(self, path: str) -> FsReading:
        used, inodes = self._tree.usage(path)
        whole = self._file_system()
        return FsReading(
            whole.at_ns, whole.capacity, whole.available, used, whole.inodes, whole.inodes_free, inodes, device=1
        )
