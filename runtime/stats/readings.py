"""Values read of a machine, a control group or a file system: plain numbers with the time of reading.

The summary, the metrics and the signals of eviction are made of these. A number that the kernel does not give is None;
nothing is guessed. Times are wall-clock ns, CPU times ns, sizes bytes.
"""

from __future__ import annotations

import msgspec

from runtime.host.machine import MachineFacts


class Stall(msgspec.Struct, frozen=True, gc=False):
    """Pressure: `total_us` waited since boot, and the shares of the last seconds, in percent."""

    total_us: int = 0
    avg10: float = 0.0
    avg60: float = 0.0
    avg300: float = 0.0


class StallPressure(msgspec.Struct, frozen=True):
    """`some`: at least one task waited. `full`: all tasks waited."""

    some: Stall | None = None
    full: Stall | None = None


class CpuReading(msgspec.Struct, frozen=True):
    """Processor time since the beginning. `nano_cores`: the current rate, if known."""

    at_ns: int
    used_ns: int
    user_ns: int | None = None
    system_ns: int | None = None
    periods: int | None = None
    throttled_periods: int | None = None
    throttled_ns: int | None = None
    burst_periods: int | None = None
    burst_ns: int | None = None
    nano_cores: int | None = None
    pressure: StallPressure | None = None


class MemoryReading(msgspec.Struct, frozen=True):
    """`working_set`: usage without memory that the kernel can drop at once. `limit` None: unlimited.

    `reserved`: memory that the kernel leaves to the group when the machine runs short.
    """

    at_ns: int
    working_set: int
    usage: int | None = None
    rss: int | None = None
    cache: int | None = None
    mapped_file: int | None = None
    active_file: int | None = None
    inactive_file: int | None = None
    kernel: int | None = None
    max_usage: int | None = None
    failures: int | None = None
    page_faults: int | None = None
    major_page_faults: int | None = None
    limit: int | None = None
    reserved: int | None = None
    swap_usage: int | None = None
    swap_limit: int | None = None
    oom_kills: int | None = None
    pressure: StallPressure | None = None

    @property
    def available(self) -> int | None:
        """The limit less the working set; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.working_set)


class IoCost(msgspec.Struct, frozen=True, gc=False):
    """Device time that a group used, waited for, owes and was delayed for, in us."""

    usage_us: int = 0
    wait_us: int = 0
    indebt_us: int = 0
    indelay_us: int = 0


class DeviceIo(msgspec.Struct, frozen=True, gc=False):
    """I/O of one block device (`8:0`), since the beginning.

    `cost`: of the controller iocost, where it is on.
    """

    device: str
    read_bytes: int = 0
    write_bytes: int = 0
    reads: int = 0
    writes: int = 0
    cost: IoCost | None = None


class CgroupReading(msgspec.Struct, frozen=True):
    """One control group. `path`: below the mount, the same for all controllers that we name."""

    path: str
    cpu: CpuReading | None = None
    memory: MemoryReading | None = None
    tasks: int | None = None
    tasks_limit: int | None = None
    processes: int | None = None
    devices: tuple[DeviceIo, ...] = ()
    io_pressure: StallPressure | None = None
    cpu_shares: int | None = None
    cpu_quota_us: int | None = None
    cpu_period_us: int | None = None


class InterfaceReading(msgspec.Struct, frozen=True, gc=False):
    """Traffic of one network interface, since the beginning."""

    name: str
    rx_bytes: int = 0
    rx_packets: int = 0
    rx_errors: int = 0
    rx_dropped: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0
    tx_errors: int = 0
    tx_dropped: int = 0


class NetworkReading(msgspec.Struct, frozen=True):
    """`default`: the name of the interface of the default route; empty without one."""

    at_ns: int
    default: str
    interfaces: tuple[InterfaceReading, ...]


class FsReading(msgspec.Struct, frozen=True, gc=False):
    """A file system, or a directory in one: then `used` and `inodes_used` are the directory's.

    `device`: identifies the file system.
    """

    at_ns: int
    capacity: int
    available: int
    used: int
    inodes: int
    inodes_free: int
    inodes_used: int
    device: int = 0


class LayerUsage(msgspec.Struct, frozen=True, gc=False):
    """The writable layer of a container. `mount`: its file system."""

    at_ns: int
    mount: str
    used: int | None
    inodes_used: int | None


class ProcessReading(msgspec.Struct, frozen=True):
    """A container or sandbox, by one of its processes.

    `pod`: the parent of its group, if that is a pod's group.

    `file_descriptors`, `sockets`: of all processes of the group. `ulimits`: soft limits of this process by name; -1 is
    unlimited.
    """

    cgroup: CgroupReading | None = None
    pod: CgroupReading | None = None
    network: NetworkReading | None = None
    file_descriptors: int | None = None
    sockets: int | None = None
    threads: int | None = None
    ulimits: tuple[tuple[str, int], ...] = ()


class SystemContainer(msgspec.Struct, frozen=True):
    """A part of the node outside of pods. `name`: kubelet, runtime, pods, misc (spec 11.6).

    `cgroup`: its control group. None: it shares one with others, so `cpu` and `memory` are those of its process.
    """

    name: str
    started_ns: int
    cpu: CpuReading | None
    memory: MemoryReading | None
    cgroup: CgroupReading | None = None


class BlockDevice(msgspec.Struct, frozen=True, gc=False):
    """A disk or partition since the boot, from `/proc/diskstats`.

    `number`: `8:0`; `name`: `/dev/sda`. Times in ms.
    """

    number: str
    name: str
    reads: int
    reads_merged: int
    sectors_read: int
    read_ms: int
    writes: int
    writes_merged: int
    sectors_written: int
    write_ms: int
    in_flight: int
    io_ms: int
    weighted_io_ms: int


class NodeReading(msgspec.Struct, frozen=True):
    """A machine. `cgroup`: its root group, with capacities as limits. `machine`: what does not change."""

    at_ns: int
    booted_ns: int
    cpus: int
    cgroup: CgroupReading
    memory_bytes: int
    swap_bytes: int
    swap_free_bytes: int
    network: NetworkReading
    pids_limit: int | None
    pids: int | None
    system: tuple[SystemContainer, ...] = ()
    disks: tuple[BlockDevice, ...] = ()
    machine: MachineFacts | None = None


class PodDisk(msgspec.Struct, frozen=True):
    """One pod on disk: its volumes by the name of their directory, its logs by container.

    `volumes`: (kind such as `kubernetes.io/empty-dir`, name of the directory, reading). `mounts`: (kind, name, path) of
    mounted volumes. They may be dead, so they were not measured.
    """

    at_ns: int
    volumes: tuple[tuple[str, str, FsReading], ...] = ()
    logs: tuple[tuple[str, FsReading], ...] = ()
    mounts: tuple[tuple[str, str, str], ...] = ()


NO_DISK = PodDisk(0)
