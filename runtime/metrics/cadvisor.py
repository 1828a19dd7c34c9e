"""`/metrics/cadvisor`: what the kernel says of machine, pods and containers, by a sample (spec 11.7). Pure.

Labels are those of cAdvisor: a container has its image and name, a pod an empty container and its sandbox's network,
the machine the id `/`. `id` is the path of the control group where that is known. What the kernel does not tell has no
series; its family is there all the same.
"""

from __future__ import annotations

from runtime.metrics.exposition import FamilyRows, MetricRow
from runtime.metrics.families import Family, counter, gauge, in_module
from runtime.stats.readings import (
    CgroupReading,
    CpuReading,
    FsReading,
    MemoryReading,
    NetworkReading,
    ProcessReading,
    StallPressure,
)
from runtime.stats.samples import ContainerSample, NodeSample, PodSample

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000
MICROSECONDS = 1_000_000

_WHO = ("id", "name", "image", "container", "pod", "namespace")
_MACHINE = ("/", "", "", "", "", "")
_Rows = dict[str, list[MetricRow]]
_Labels = tuple[str, ...]


def _counter(name: str, text: str, *more: str) -> Family:
    return counter(name, text, *_WHO, *more)


def _gauge(name: str, text: str, *more: str) -> Family:
    return gauge(name, text, *_WHO, *more)


CPU_USAGE = _counter("container_cpu_usage_seconds_total", "Processor time.", "cpu")
CPU_USER = _counter("container_cpu_user_seconds_total", "Processor time in user mode.")
CPU_SYSTEM = _counter("container_cpu_system_seconds_total", "Processor time in the kernel.")
CFS_PERIODS = _counter("container_cpu_cfs_periods_total", "Periods of the scheduler with a limit.")
CFS_THROTTLED = _counter("container_cpu_cfs_throttled_periods_total", "Periods in which the limit was met.")
CFS_THROTTLED_TIME = _counter("container_cpu_cfs_throttled_seconds_total", "Time for which it was held back.")
MEMORY_USAGE = _gauge("container_memory_usage_bytes", "Memory in use, with what could be dropped.")
MEMORY_WORKING_SET = _gauge("container_memory_working_set_bytes", "Memory in use, without what could be dropped.")
MEMORY_RSS = _gauge("container_memory_rss", "Anonymous memory, in bytes.")
MEMORY_CACHE = _gauge("container_memory_cache", "Pages of files, in bytes.")
MEMORY_SWAP = _gauge("container_memory_swap", "Swap in use, in bytes.")
MEMORY_MAX = _gauge("container_memory_max_usage_bytes", "The most memory that was in use.")
MEMORY_MAPPED = _gauge("container_memory_mapped_file", "Mapped pages of files, in bytes.")
MEMORY_KERNEL = _gauge("container_memory_kernel_usage", "Memory of the kernel, in bytes.")
MEMORY_ACTIVE_FILE = _gauge("container_memory_total_active_file_bytes", "Pages of files used of late.")
MEMORY_INACTIVE_FILE = _gauge("container_memory_total_inactive_file_bytes", "Pages of files not used of late.")
MEMORY_FAILCNT = _counter("container_memory_failcnt", "Times that the limit was met.")
MEMORY_FAILURES = _counter("container_memory_failures_total", "Page faults.", "failure_type", "scope")
OOM_EVENTS = _counter("container_oom_events_total", "Processes killed for want of memory.")
NETWORK_RX_BYTES = _counter("container_network_receive_bytes_total", "Bytes received.", "interface")
NETWORK_RX_PACKETS = _counter("container_network_receive_packets_total", "Packets received.", "interface")
NETWORK_RX_ERRORS = _counter("container_network_receive_errors_total", "Packets received in error.", "interface")
NETWORK_RX_DROPPED = _counter(
    "container_network_receive_packets_dropped_total", "Packets received and dropped.", "interface"
)
NETWORK_TX_BYTES = _counter("container_network_transmit_bytes_total", "Bytes sent.", "interface")
NETWORK_TX_PACKETS = _counter("container_network_transmit_packets_total", "Packets sent.", "interface")
NETWORK_TX_ERRORS = _counter("container_network_transmit_errors_total", "Packets not sent, for errors.", "interface")
NETWORK_TX_DROPPED = _counter(
    "container_network_transmit_packets_dropped_total", "Packets dropped before they were sent.", "interface"
)
FS_USAGE = _gauge("container_fs_usage_bytes", "Bytes on a file system.", "device")
FS_LIMIT = _gauge("container_fs_limit_bytes", "Size of a file system.", "device")
FS_INODES_FREE = _gauge("container_fs_inodes_free", "Inodes left on a file system.", "device")
FS_INODES_TOTAL = _gauge("container_fs_inodes_total", "Inodes of a file system.", "device")
FS_READS = _counter("container_fs_reads_total", "Reads.", "device")
FS_WRITES = _counter("container_fs_writes_total", "Writes.", "device")
FS_READ_BYTES = _counter("container_fs_reads_bytes_total", "Bytes read.", "device")
FS_WRITTEN_BYTES = _counter("container_fs_writes_bytes_total", "Bytes written.", "device")
BLKIO = _counter("container_blkio_device_usage_total", "Bytes by device and direction.", "device", "operation")
PROCESSES = _gauge("container_processes", "Processes.")
THREADS = _gauge("container_threads", "Threads.")
THREADS_MAX = _gauge("container_threads_max", "Threads that there may be; 0 for no limit.")
FILE_DESCRIPTORS = _gauge("container_file_descriptors", "Files that the first process has open.")
SPEC_SHARES = _gauge("container_spec_cpu_shares", "Its weight among others.")
SPEC_QUOTA = _gauge("container_spec_cpu_quota", "Microseconds in each period that it may run.")
SPEC_PERIOD = _gauge("container_spec_cpu_period", "Length of the period, in microseconds.")
SPEC_MEMORY = _gauge("container_spec_memory_limit_bytes", "Memory it may use; 0 for no limit.")
SPEC_SWAP = _gauge("container_spec_memory_swap_limit_bytes", "Swap it may use; 0 for no limit.")
START_TIME = _gauge("container_start_time_seconds", "When it began, in seconds since 1970.")
LAST_SEEN = _gauge("container_last_seen", "When it was looked at, in seconds since 1970.")
PRESSURE_CPU_WAITING = _counter("container_pressure_cpu_waiting_seconds_total", "Time that tasks waited for a CPU.")
PRESSURE_CPU_STALLED = _counter("container_pressure_cpu_stalled_seconds_total", "Time that all waited for a CPU.")
PRESSURE_MEMORY_WAITING = _counter(
    "container_pressure_memory_waiting_seconds_total", "Time that tasks waited for memory."
)
PRESSURE_MEMORY_STALLED = _counter(
    "container_pressure_memory_stalled_seconds_total", "Time that all waited for memory."
)
PRESSURE_IO_WAITING = _counter("container_pressure_io_waiting_seconds_total", "Time that tasks waited for a disk.")
PRESSURE_IO_STALLED = _counter("container_pressure_io_stalled_seconds_total", "Time that all waited for a disk.")
SCRAPE_ERROR = gauge("container_scrape_error", "1 when something could not be read, 0 otherwise.")
MACHINE_CPUS = gauge("machine_cpu_cores", "CPUs of the machine.")
MACHINE_MEMORY = gauge("machine_memory_bytes", "Memory of the machine.")
MACHINE_SWAP = gauge("machine_swap_bytes", "Swap of the machine.")

FAMILIES = in_module(globals())

_NETWORK: tuple[tuple[Family, str], ...] = (
    (NETWORK_RX_BYTES, "rx_bytes"),
    (NETWORK_RX_PACKETS, "rx_packets"),
    (NETWORK_RX_ERRORS, "rx_errors"),
    (NETWORK_RX_DROPPED, "rx_dropped"),
    (NETWORK_TX_BYTES, "tx_bytes"),
    (NETWORK_TX_PACKETS, "tx_packets"),
    (NETWORK_TX_ERRORS, "tx_errors"),
    (NETWORK_TX_DROPPED, "tx_dropped"),
)
_MEMORY: tuple[tuple[Family, str], ...] = (
    (MEMORY_USAGE, "usage"),
    (MEMORY_WORKING_SET, "working_set"),
    (MEMORY_RSS, "rss"),
    (MEMORY_CACHE, "cache"),
    (MEMORY_SWAP, "swap_usage"),
    (MEMORY_MAX, "max_usage"),
    (MEMORY_MAPPED, "mapped_file"),
    (MEMORY_KERNEL, "kernel"),
    (MEMORY_ACTIVE_FILE, "active_file"),
    (MEMORY_INACTIVE_FILE, "inactive_file"),
    (MEMORY_FAILCNT, "failures"),
    (OOM_EVENTS, "oom_kills"),
)


def cadvisor_metrics(sample: NodeSample) -> list[FamilyRows]:
    """Every family, in the order of their names."""
    page = _Page()
    node = sample.node
    if node is not None:
        group = node.cgroup
        page.group(_MACHINE, group.cpu, group.memory, group, node.booted_ns)
        page.pressure(_MACHINE, group.io_pressure, PRESSURE_IO_WAITING, PRESSURE_IO_STALLED, node.at_ns)
        page.network(_MACHINE, node.network)
        for device, disk in (("rootfs", sample.root_fs), ("imagefs", sample.image_fs)):
            page.disk((*_MACHINE, device), disk)
        page.put(MACHINE_CPUS, (), node.cpus)
        page.put(MACHINE_MEMORY, (), node.memory_bytes)
        page.put(MACHINE_SWAP, (), node.swap_bytes)
    for pod in sample.pods:
        page.pod(pod)
    page.put(SCRAPE_ERROR, (), float(node is None or sample.blind))
    return [FamilyRows(family, page.rows[family.name]) for family in FAMILIES]


class _Page:
    """The rows of all families, while they are gathered."""

    def __init__(self) -> None:
        self.rows: _Rows = {family.name: [] for family in FAMILIES}

    def put(self, family: Family, labels: _Labels, value: float | None, at_ns: int | None = None) -> None:
        if value is not None:
            self.rows[family.name].append(MetricRow(labels, value, None if at_ns is None else at_ns // MS_NS))

    def pod(self, pod: PodSample) -> None:
        group = pod.cgroup
        labels = (f"/{pod.uid}" if group is None else group.path, "", "", "", pod.name, pod.namespace)
        self.group(labels, pod.cpu, pod.memory, group, pod.created_ns)
        sandbox = (labels[0], pod.id, "", "POD", pod.name, pod.namespace)
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
            self.put(FS_USAGE, (*labels, ""), layer.used, layer.at_ns)
        if sample.io_pressure is not None:
            at_ns = sample.memory.at_ns if sample.memory is not None else sample.created_ns
            self.pressure(labels, sample.io_pressure, PRESSURE_IO_WAITING, PRESSURE_IO_STALLED, at_ns)
        if process is not None:
            self.process(labels, process)

    def process(self, labels: _Labels, process: ProcessReading) -> None:
        self.put(FILE_DESCRIPTORS, labels, process.file_descriptors)

    def group(
        self,
        labels: _Labels,
        cpu: CpuReading | None,
        memory: MemoryReading | None,
        group: CgroupReading | None,
        began_ns: int,
    ) -> None:
        self.put(START_TIME, labels, began_ns // SECOND_NS)
        if cpu is not None:
            self.cpu(labels, cpu)
        if memory is not None:
            self.memory(labels, memory)
        if group is not None:
            self.limits(labels, group)

    def cpu(self, labels: _Labels, cpu: CpuReading) -> None:
        at_ns = cpu.at_ns
        self.put(LAST_SEEN, labels, at_ns // SECOND_NS)
        self.put(CPU_USAGE, (*labels, "total"), cpu.used_ns / SECOND_NS, at_ns)
        self.put(CPU_USER, labels, _seconds(cpu.user_ns), at_ns)
        self.put(CPU_SYSTEM, labels, _seconds(cpu.system_ns), at_ns)
        if cpu.periods:
            self.put(CFS_PERIODS, labels, cpu.periods, at_ns)
            self.put(CFS_THROTTLED, labels, cpu.throttled_periods, at_ns)
            self.put(CFS_THROTTLED_TIME, labels, _seconds(cpu.throttled_ns), at_ns)
        self.pressure(labels, cpu.pressure, PRESSURE_CPU_WAITING, PRESSURE_CPU_STALLED, at_ns)

    def memory(self, labels: _Labels, memory: MemoryReading) -> None:
        at_ns = memory.at_ns
        for family, name in _MEMORY:
            self.put(family, labels, getattr(memory, name), at_ns)
        self.put(MEMORY_FAILURES, (*labels, "pgfault", "hierarchy"), memory.page_faults, at_ns)
        self.put(MEMORY_FAILURES, (*labels, "pgmajfault", "hierarchy"), memory.major_page_faults, at_ns)
        self.pressure(labels, memory.pressure, PRESSURE_MEMORY_WAITING, PRESSURE_MEMORY_STALLED, at_ns)
        self.put(SPEC_MEMORY, labels, memory.limit or 0)
        self.put(SPEC_SWAP, labels, memory.swap_limit or 0)

    def limits(self, labels: _Labels, group: CgroupReading) -> None:
        self.put(PROCESSES, labels, group.processes)
        self.put(THREADS, labels, group.tasks)
        if group.tasks is not None:
            self.put(THREADS_MAX, labels, group.tasks_limit or 0)
        self.put(SPEC_SHARES, labels, group.cpu_shares)
        self.put(SPEC_QUOTA, labels, group.cpu_quota_us)
        self.put(SPEC_PERIOD, labels, group.cpu_period_us)
        for device in group.devices:
            on = (*labels, device.device)
            self.put(FS_READS, on, device.reads)
            self.put(FS_WRITES, on, device.writes)
            self.put(FS_READ_BYTES, on, device.read_bytes)
            self.put(FS_WRITTEN_BYTES, on, device.write_bytes)
            self.put(BLKIO, (*on, "Read"), device.read_bytes)
            self.put(BLKIO, (*on, "Write"), device.write_bytes)

    def network(self, labels: _Labels, network: NetworkReading | None) -> None:
        if network is None:
            return
        for interface in network.interfaces:
            for family, name in _NETWORK:
                self.put(family, (*labels, interface.name), getattr(interface, name), network.at_ns)

    def disk(self, labels: _Labels, disk: FsReading | None) -> None:
        if disk is None:
            return
        self.put(FS_USAGE, labels, disk.used, disk.at_ns)
        self.put(FS_LIMIT, labels, disk.capacity, disk.at_ns)
        self.put(FS_INODES_FREE, labels, disk.inodes_free, disk.at_ns)
        self.put(FS_INODES_TOTAL, labels, disk.inodes, disk.at_ns)

    def pressure(
        self, labels: _Labels, pressure: StallPressure | None, waiting: Family, stalled: Family, at_ns: int
    ) -> None:
        if pressure is not None and pressure.some is not None:
            self.put(waiting, labels, pressure.some.total_us / MICROSECONDS, at_ns)
        if pressure is not None and pressure.full is not None:
            self.put(stalled, labels, pressure.full.total_us / MICROSECONDS, at_ns)


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / SECOND_NS
