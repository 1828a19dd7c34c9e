"""The usage of simulated containers, for all stats verbs. Pure.

It follows from their annotations and from how long they run.
"""

from __future__ import annotations

from runtime.cri import messages as cri
from simulation.cri.state import ContainerRecord, SandboxRecord
from simulation.cri.views import is_running

NETWORK_BYTES_PER_S = 1000
_MILLI_TO_NANO = 10**6


def container_stats(record: ContainerRecord, now_ns: int, image_directory: str) -> cri.ContainerStats:
    """The stats of one container at wall time `now_ns`; cpu and memory only while it runs."""
    config = record.config
    attributes = cri.ContainerAttributes(
        id=record.id, metadata=config.metadata, labels=config.labels, annotations=config.annotations
    )
    layer = cri.FilesystemUsage(
        timestamp=now_ns,
        fs_id=cri.FilesystemIdentifier(mountpoint=image_directory),
        used_bytes=cri.UInt64Value(value=layer_bytes(record, now_ns)),
        inodes_used=cri.UInt64Value(value=layer_inodes(record, now_ns)),
    )
    if not is_running(record):
        return cri.ContainerStats(attributes=attributes, writable_layer=layer)
    return cri.ContainerStats(
        attributes=attributes,
        cpu=_cpu(cpu_used_ns(record, now_ns), record.behaviour.cpu, now_ns),
        memory=_memory(memory_bytes(record, now_ns), _memory_limit(record), now_ns),
        writable_layer=layer,
    )


def pod_stats(record: SandboxRecord, now_ns: int, image_directory: str) -> cri.PodSandboxStats:
    """The stats of one sandbox: the sum of its running containers, and its network."""
    config = record.config
    running = [container for container in record.containers.values() if is_running(container)]
    alive_s = max(0, now_ns - record.created_at) // 10**9
    traffic = cri.UInt64Value(value=alive_s * NETWORK_BYTES_PER_S)
    interface = cri.NetworkInterfaceUsage(
        name="eth0", rx_bytes=traffic, tx_bytes=traffic, rx_errors=cri.UInt64Value(), tx_errors=cri.UInt64Value()
    )
    linux = cri.LinuxPodSandboxStats(
        cpu=_cpu(
            sum(cpu_used_ns(container, now_ns) for container in running),
            sum(container.behaviour.cpu for container in running),
            now_ns,
        ),
        memory=_memory(sum(memory_bytes(container, now_ns) for container in running), 0, now_ns),
        network=None
        if record.host_network
        else cri.NetworkUsage(timestamp=now_ns, default_interface=interface, interfaces=(interface,)),
        process=cri.ProcessUsage(
            timestamp=now_ns, process_count=cri.UInt64Value(value=1 + sum(processes(each, now_ns) for each in running))
        ),
        containers=tuple(container_stats(container, now_ns, image_directory) for container in running),
    )
    attributes = cri.PodSandboxAttributes(
        id=record.id, metadata=config.metadata, labels=config.labels, annotations=config.annotations
    )
    return cri.PodSandboxStats(attributes=attributes, linux=linux)


def memory_bytes(record: ContainerRecord, now_ns: int) -> int:
    """The working set of a container that runs, at wall time `now_ns`."""
    return record.behaviour.memory.at(now_ns - record.started_at)


def processes(record: ContainerRecord, now_ns: int) -> int:
    """The number of processes of a running container."""
    return record.behaviour.processes.at(now_ns - record.started_at)


def layer_bytes(record: ContainerRecord, now_ns: int) -> int:
    """The bytes in a container's writable layer; for an ended one, those at its end."""
    return record.behaviour.disk.at(_has_run_ns(record, now_ns))


def layer_inodes(record: ContainerRecord, now_ns: int) -> int:
    """The inodes in a container's writable layer, like `layer_bytes`."""
    return record.behaviour.inodes.at(_has_run_ns(record, now_ns))


def _has_run_ns(record: ContainerRecord, now_ns: int) -> int:
    return (record.finished_at or now_ns) - record.started_at if record.started_at else 0


def cpu_used_ns(record: ContainerRecord, now_ns: int) -> int:
    """CPU time of a running container since its start."""
    return max(0, now_ns - record.started_at) * record.behaviour.cpu // 1000


def _cpu(used_ns: int, milli: int, now_ns: int) -> cri.CpuUsage:
    return cri.CpuUsage(
        timestamp=now_ns,
        usage_core_nano_seconds=cri.UInt64Value(value=used_ns),
        usage_nano_cores=cri.UInt64Value(value=milli * _MILLI_TO_NANO),
    )


def _memory(used_bytes: int, limit_bytes: int, now_ns: int) -> cri.MemoryUsage:
    return cri.MemoryUsage(
        timestamp=now_ns,
        working_set_bytes=cri.UInt64Value(value=used_bytes),
        available_bytes=cri.UInt64Value(value=max(0, limit_bytes - used_bytes)),
        usage_bytes=cri.UInt64Value(value=used_bytes * 5 // 4),
        rss_bytes=cri.UInt64Value(value=used_bytes * 3 // 4),
        page_faults=cri.UInt64Value(value=used_bytes // 4096),
        major_page_faults=cri.UInt64Value(),
    )


def _memory_limit(record: ContainerRecord) -> int:
    return record.resources.memory_limit_in_bytes if record.resources else 0
