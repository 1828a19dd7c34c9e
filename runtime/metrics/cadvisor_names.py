"""The names of `/metrics/cadvisor`: cAdvisor's metrics of a machine and its containers (spec 11.7)."""

from __future__ import annotations

from runtime.metrics.families import Family, counter, gauge, in_module

OF_CONTAINER = ("id", "name", "image", "container", "pod", "namespace")
OF_MACHINE = ("machine_id", "system_uuid", "boot_id")


def _counter(name: str, text: str, *more: str) -> Family:
    return counter(name, text, *OF_CONTAINER, *more)


def _gauge(name: str, text: str, *more: str) -> Family:
    return gauge(name, text, *OF_CONTAINER, *more)


CPU_USAGE = _counter("container_cpu_usage_seconds_total", "Processor time.", "cpu")
CPU_USER = _counter("container_cpu_user_seconds_total", "Processor time in user mode.")
CPU_SYSTEM = _counter("container_cpu_system_seconds_total", "Processor time in the kernel.")
CFS_PERIODS = _counter("container_cpu_cfs_periods_total", "Periods of the scheduler with a limit.")
CFS_THROTTLED = _counter("container_cpu_cfs_throttled_periods_total", "Periods in which the limit was met.")
CFS_THROTTLED_TIME = _counter("container_cpu_cfs_throttled_seconds_total", "Time for which it was held back.")
CFS_BURSTS = _counter("container_cpu_cfs_burst_periods_total", "Periods in which it ran beyond its quota.")
CFS_BURST_TIME = _counter("container_cpu_cfs_burst_seconds_total", "Time that it ran beyond its quota.")
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
FS_SECTOR_READS = _counter("container_fs_sector_reads_total", "Sectors read.", "device")
FS_SECTOR_WRITES = _counter("container_fs_sector_writes_total", "Sectors written.", "device")
FS_READS_MERGED = _counter("container_fs_reads_merged_total", "Reads that were merged with others.", "device")
FS_WRITES_MERGED = _counter("container_fs_writes_merged_total", "Writes that were merged with others.", "device")
FS_READ_SECONDS = _counter("container_fs_read_seconds_total", "Time that reads took.", "device")
FS_WRITE_SECONDS = _counter("container_fs_write_seconds_total", "Time that writes took.", "device")
FS_IO_CURRENT = _gauge("container_fs_io_current", "Reads and writes in progress.", "device")
FS_IO_SECONDS = _counter("container_fs_io_time_seconds_total", "Time in which anything was in progress.", "device")
FS_IO_WEIGHTED = _counter(
    "container_fs_io_time_weighted_seconds_total", "That time, times what was in progress.", "device"
)
FS_COST_USAGE = _counter("container_fs_io_cost_usage_seconds_total", "Device time used, by iocost.", "device")
FS_COST_WAIT = _counter("container_fs_io_cost_wait_seconds_total", "Time waited for device time.", "device")
FS_COST_INDEBT = _counter("container_fs_io_cost_indebt_seconds_total", "Time with a debt of device time.", "device")
FS_COST_INDELAY = _counter("container_fs_io_cost_indelay_seconds_total", "Time delayed for such a debt.", "device")
BLKIO = _counter(
    "container_blkio_device_usage_total",
    "Bytes by device and direction.",
    *("device", "major", "minor", "operation"),
)
PROCESSES = _gauge("container_processes", "Processes.")
THREADS = _gauge("container_threads", "Threads.")
THREADS_MAX = _gauge("container_threads_max", "Threads that there may be; 0 for no limit.")
FILE_DESCRIPTORS = _gauge("container_file_descriptors", "Files that its processes have open.")
SOCKETS = _gauge("container_sockets", "Sockets that its processes have open.")
ULIMITS = _gauge("container_ulimits_soft", "Soft limits of its first process; -1 for no limit.", "ulimit")
SPEC_SHARES = _gauge("container_spec_cpu_shares", "Its weight among others.")
SPEC_QUOTA = _gauge("container_spec_cpu_quota", "Microseconds in each period that it may run.")
SPEC_PERIOD = _gauge("container_spec_cpu_period", "Length of the period, in microseconds.")
SPEC_MEMORY = _gauge("container_spec_memory_limit_bytes", "Memory it may use; 0 for no limit.")
SPEC_RESERVED = _gauge("container_spec_memory_reservation_limit_bytes", "Memory kept for it; 0 for none.")
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
VERSION = gauge(
    "cadvisor_version_info",
    "The kernel and the system; always 1.",
    *("kernelVersion", "osVersion", "dockerVersion", "cadvisorVersion", "cadvisorRevision"),
)
MACHINE_ERROR = gauge("machine_scrape_error", "1 when the machine could not be read, 0 otherwise.")
MACHINE_CPUS = gauge("machine_cpu_cores", "CPUs of the machine.", *OF_MACHINE)
MACHINE_CORES = gauge("machine_cpu_physical_cores", "Cores of the machine; each may be several CPUs.", *OF_MACHINE)
MACHINE_SOCKETS = gauge("machine_cpu_sockets", "Sockets of the machine.", *OF_MACHINE)
MACHINE_MEMORY = gauge("machine_memory_bytes", "Memory of the machine.", *OF_MACHINE)
MACHINE_SWAP = gauge("machine_swap_bytes", "Swap of the machine.", *OF_MACHINE)

FAMILIES = in_module(globals())
