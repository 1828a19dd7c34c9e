"""`/metrics/cadvisor`: metrics of machine, pods and containers from a sample (spec 11.7).

Pure.

Labels are those of cAdvisor. A container has its image and name, and a pod an empty container. The network has the name
and image of its sandbox, the machine the id `/`, and the node's own parts have their control group. `id` is the path of
the control group, if known. A value that the kernel does not tell has no series, but its family is there.
"""

from __future__ import annotations

from runtime.metrics import cadvisor_names as names
from runtime.metrics.exposition import FamilyRows, MetricRow
from runtime.metrics.families import Family
from runtime.stats.readings import (
    BlockDevice,
    CgroupReading,
    CpuReading,
    FsReading,
    IoCost,
    MemoryReading,
    NetworkReading,
    NodeReading,
    ProcessReading,
    StallPressure,
)
from runtime.stats.samples import ContainerSample, NodeSample, PodSample

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000
MICROSECONDS = 1_000_000
MILLISECONDS = 1_000
SECTOR_BYTES = 512
"""The unit of the kernel's counts, whatever the disk's own sectors are."""

_MACHINE = ("/", "", "", "", "", "")
_Rows = dict[str, list[MetricRow]]
_Labels = tuple[str, ...]

_NETWORK: tuple[tuple[Family, str], ...] = (
    (names.NETWORK_RX_BYTES, "rx_bytes"),
    (names.NETWORK_RX_PACKETS, "rx_packets"),
    (names.NETWORK_RX_ERRORS, "rx_errors"),
    (names.NETWORK_RX_DROPPED, "rx_dropped"),
    (names.NETWORK_TX_BYTES, "tx_bytes"),
    (names.NETWORK_TX_PACKETS, "tx_packets"),
    (names.NETWORK_TX_ERRORS, "tx_errors"),
    (names.NETWORK_TX_DROPPED, "tx_dropped"),
)
_MEMORY: tuple[tuple[Family, str], ...] = (
    (names.MEMORY_USAGE, "usage"),
    (names.MEMORY_WORKING_SET, "working_set"),
    (names.MEMORY_RSS, "rss"),
    (names.MEMORY_CACHE, "cache"),
    (names.MEMORY_SWAP, "swap_usage"),
    (names.MEMORY_MAX, "max_usage"),
    (names.MEMORY_MAPPED, "mapped_file"),
    (names.MEMORY_KERNEL, "kernel"),
    (names.MEMORY_ACTIVE_FILE, "active_file"),
    (names.MEMORY_INACTIVE_FILE, "inactive_file"),
    (names.MEMORY_FAILCNT, "failures"),
    (names.OOM_EVENTS, "oom_kills"),
)
_DISK: tuple[tuple[Family, str], ...] = (
    (names.FS_READS, "reads"),
    (names.FS_READS_MERGED, "reads_merged"),
    (names.FS_SECTOR_READS, "sectors_read"),
    (names.FS_WRITES, "writes"),
    (names.FS_WRITES_MERGED, "writes_merged"),
    (names.FS_SECTOR_WRITES, "sectors_written"),
    (names.FS_IO_CURRENT, "in_flight"),
)
_DISK_TIMES: tuple[tuple[Family, str], ...] = (
    (names.FS_READ_SECONDS, "read_ms"),
    (names.FS_WRITE_SECONDS, "write_ms"),
    (names.FS_IO_SECONDS, "io_ms"),
    (names.FS_IO_WEIGHTED, "weighted_io_ms"),
)
_IO_COST: tuple[tuple[Family, str], ...] = (
    (names.FS_COST_USAGE, "usage_us"),
    (names.FS_COST_WAIT, "wait_us"),
    (names.FS_COST_INDEBT, "indebt_us"),
    (names.FS_COST_INDELAY, "indelay_us"),
)


def cadvisor_metrics(sample: NodeSample) -> list[FamilyRows]:
    """Every family, in the order of their names."""
    page = _Page()
    node = sample.node
    if node is not None:
        page.node(node)
        for device, disk in (("rootfs", sample.root_fs), ("imagefs", sample.image_fs)):
            page.disk((*_MACHINE, device), disk)
    for pod in sample.pods:
        page.pod(pod)
    page.put(names.SCRAPE_ERROR, (), float(node is None or sample.blind))
    page.put(names.MACHINE_ERROR, (), float(node is None or node.machine is None))
    return [FamilyRows(family, page.rows[family.name]) for family in names.FAMILIES]


class _Page:
    """The rows of all families, while they are gathered."""

    def __init__(self) -> None:
        self.rows: _Rows = {family.name: [] for family in names.FAMILIES}
        self.devices: dict[str, str] = {}
        """Number of a block device -> its name, as far as the kernel tells both."""

    def put(self, family: Family, labels: _Labels, value: float | None, at_ns: int | None = None) -> None:
        if value is not None:
            self.rows[family.name].append(MetricRow(labels, value, None if at_ns is None else at_ns // MS_NS))

    def node(self, node: NodeReading) -> None:
        self.devices = {disk.number: disk.name for disk in node.disks}
        group = node.cgroup
        self.whole_group(_MACHINE, group, node.booted_ns, node.at_ns)
        self.network(_MACHINE, node.network)
        for disk in node.disks:
            self.block_device((*_MACHINE, disk.name), disk, node.at_ns)
        shown = {group.path}
        for part in node.system:
            if part.cgroup is not None and part.cgroup.path not in shown:
                shown.add(part.cgroup.path)
                self.whole_group((part.cgroup.path, *_MACHINE[1:]), part.cgroup, part.started_ns, node.at_ns)
        machine = node.machine
        if machine is None:
            return
        labels = (machine.machine_id, machine.system_uuid, machine.boot_id)
        self.put(names.VERSION, (machine.kernel_version, machine.os_image, "", "", ""), 1)
        self.put(names.MACHINE_CPUS, labels, node.cpus)
        self.put(names.MACHINE_CORES, labels, machine.physical_cores or node.cpus)
        self.put(names.MACHINE_SOCKETS, labels, machine.sockets or 1)
        self.put(names.MACHINE_MEMORY, labels, node.memory_bytes)
        self.put(names.MACHINE_SWAP, labels, node.swap_bytes)

    def whole_group(self, labels: _Labels, group: CgroupReading, began_ns: int, at_ns: int) -> None:
        self.group(labels, group.cpu, group.memory, group, began_ns)
        self.pressure(labels, group.io_pressure, names.PRESSURE_IO_WAITING, names.PRESSURE_IO_STALLED, at_ns)

    def pod(self, pod: PodSample) -> None:
        group = pod.cgroup
        labels = (f"/{pod.uid}" if group is None else group.path, "", "", "", pod.name, pod.namespace)
        self.group(labels, pod.cpu, pod.memory, group, pod.created_ns)
        sandbox = (labels[0], pod.id, pod.image, "", pod.name, pod.namespace)
        self.network(sandbox, pod.network)
        for container in pod.containers:
            self.container(pod, container)

    def container(self, pod: PodSample, sample: ContainerSample) -> None:
        group, process = sample.cgroup, sample.process
        path = f"/{sample.id}" if group is None else group.path
        labels = (path, sample.id, sample.image, sample.name, pod.name, pod.namespace)
        self.group(labels, sample.cpu, sample.memory, group, sample.created_ns)
        layer = sample.layer
        if layer is not None:
            self.put(names.FS_USAGE, (*labels, ""), layer.used, layer.at_ns)
        if sample.io_pressure is not None:
            at_ns = sample.memory.at_ns if sample.memory is not None else sample.created_ns
            self.pressure(labels, sample.io_pressure, names.PRESSURE_IO_WAITING, names.PRESSURE_IO_STALLED, at_ns)
        if process is not None:
            self.process(labels, process)

    def process(self, labels: _Labels, process: ProcessReading) -> None:
        self.put(names.FILE_DESCRIPTORS, labels, process.file_descriptors)
        self.put(names.SOCKETS, labels, process.sockets)
        for name, soft in process.ulimits:
            self.put(names.ULIMITS, (*labels, name), soft)

    def group(
        self,
        labels: _Labels,
        cpu: CpuReading | None,
        memory: MemoryReading | None,
        group: CgroupReading | None,
        began_ns: int,
    ) -> None:
        self.put(names.START_TIME, labels, began_ns // SECOND_NS)
        if cpu is not None:
            self.cpu(labels, cpu)
        if memory is not None:
            self.memory(labels, memory)
        if group is not None:
            self.limits(labels, group)

    def cpu(self, labels: _Labels, cpu: CpuReading) -> None:
        at_ns = cpu.at_ns
        self.put(names.LAST_SEEN, labels, at_ns // SECOND_NS)
        self.put(names.CPU_USAGE, (*labels, "total"), cpu.used_ns / SECOND_NS, at_ns)
        self.put(names.CPU_USER, labels, _seconds(cpu.user_ns), at_ns)
        self.put(names.CPU_SYSTEM, labels, _seconds(cpu.system_ns), at_ns)
        if cpu.periods:
            self.put(names.CFS_PERIODS, labels, cpu.periods, at_ns)
            self.put(names.CFS_THROTTLED, labels, cpu.throttled_periods, at_ns)
            self.put(names.CFS_THROTTLED_TIME, labels, _seconds(cpu.throttled_ns), at_ns)
            self.put(names.CFS_BURSTS, labels, cpu.burst_periods, at_ns)
            self.put(names.CFS_BURST_TIME, labels, _seconds(cpu.burst_ns), at_ns)
        self.pressure(labels, cpu.pressure, names.PRESSURE_CPU_WAITING, names.PRESSURE_CPU_STALLED, at_ns)

    def memory(self, labels: _Labels, memory: MemoryReading) -> None:
        at_ns = memory.at_ns
        for family, name in _MEMORY:
            self.put(family, labels, getattr(memory, name), at_ns)
        self.put(names.MEMORY_FAILURES, (*labels, "pgfault", "hierarchy"), memory.page_faults, at_ns)
        self.put(names.MEMORY_FAILURES, (*labels, "pgmajfault", "hierarchy"), memory.major_page_faults, at_ns)
        self.pressure(labels, memory.pressure, names.PRESSURE_MEMORY_WAITING, names.PRESSURE_MEMORY_STALLED, at_ns)
        self.put(names.SPEC_MEMORY, labels, memory.limit or 0)
        self.put(names.SPEC_SWAP, labels, memory.swap_limit or 0)
        self.put(names.SPEC_RESERVED, labels, memory.reserved or 0)

    def limits(self, labels: _Labels, group: CgroupReading) -> None:
        self.put(names.PROCESSES, labels, group.processes)
        self.put(names.THREADS, labels, group.tasks)
        if group.tasks is not None:
            self.put(names.THREADS_MAX, labels, group.tasks_limit or 0)
        self.put(names.SPEC_SHARES, labels, group.cpu_shares)
        self.put(names.SPEC_QUOTA, labels, group.cpu_quota_us)
        self.put(names.SPEC_PERIOD, labels, group.cpu_period_us)
        for device in group.devices:
            major, _, minor = device.device.partition(":")
            name = self.devices.get(device.device, device.device)
            on = (*labels, name)
            if labels is not _MACHINE or device.device not in self.devices:
                self.put(names.FS_READS, on, device.reads)
                self.put(names.FS_WRITES, on, device.writes)
                self.put(names.FS_READ_BYTES, on, device.read_bytes)
                self.put(names.FS_WRITTEN_BYTES, on, device.write_bytes)
            self.put(names.BLKIO, (*on, major, minor, "Read"), device.read_bytes)
            self.put(names.BLKIO, (*on, major, minor, "Write"), device.write_bytes)
            if device.cost is not None:
                self.io_cost(on, device.cost)

    def io_cost(self, labels: _Labels, cost: IoCost) -> None:
        for family, name in _IO_COST:
            self.put(family, labels, getattr(cost, name) / MICROSECONDS)

    def block_device(self, labels: _Labels, disk: BlockDevice, at_ns: int) -> None:
        for family, name in _DISK:
            self.put(family, labels, getattr(disk, name), at_ns)
        for family, name in _DISK_TIMES:
            self.put(family, labels, getattr(disk, name) / MILLISECONDS, at_ns)
        self.put(names.FS_READ_BYTES, labels, disk.sectors_read * SECTOR_BYTES, at_ns)
        self.put(names.FS_WRITTEN_BYTES, labels, disk.sectors_written * SECTOR_BYTES, at_ns)

    def network(self, labels: _Labels, network: NetworkReading | None) -> None:
        if network is None:
            return
        for interface in network.interfaces:
            for family, name in _NETWORK:
                self.put(family, (*labels, interface.name), getattr(interface, name), network.at_ns)

    def disk(self, labels: _Labels, disk: FsReading | None) -> None:
        if disk is None:
            return
        self.put(names.FS_USAGE, labels, disk.used, disk.at_ns)
        self.put(names.FS_LIMIT, labels, disk.capacity, disk.at_ns)
        self.put(names.FS_INODES_FREE, labels, disk.inodes_free, disk.at_ns)
        self.put(names.FS_INODES_TOTAL, labels, disk.inodes, disk.at_ns)

    def pressure(
        self, labels: _Labels, pressure: StallPressure | None, waiting: Family, stalled: Family, at_ns: int
    ) -> None:
        if pressure is not None and pressure.some is not None:
            self.put(waiting, labels, pressure.some.total_us / MICROSECONDS, at_ns)
        if pressure is not None and pressure.full is not None:
            self.put(stalled, labels, pressure.full.total_us / MICROSECONDS, at_ns)


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / SECOND_NS
