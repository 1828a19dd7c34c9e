"""A sample as the summary API tells it (spec 11.6). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict, replace

from config.api import stats_summary as api
from config.objects import Pod
from config.values.api_time import second_text
from runtime.stats.readings import (
    CpuReading,
    FsReading,
    InterfaceReading,
    MemoryReading,
    NetworkReading,
    NodeReading,
    Stall,
    StallPressure,
    SystemContainer,
)
from runtime.stats.samples import ContainerSample, NodeSample, PodSample

SECOND_NS = 1_000_000_000

VolumesByPlace = Mapping[tuple[str, str], tuple[str, str]]
"""(UID, name on disk) -> (name in the pod, claim or empty).

On disk, a persistent volume has its own name and not the pod's.
"""
_NO_VOLUMES: VolumesByPlace = {}
_NOTHING_SAID: Mapping[tuple[str, str], bool] = {}


def summary_of(
    name: str,
    sample: NodeSample,
    pods: Sequence[Pod] = (),
    volumes: VolumesByPlace = _NO_VOLUMES,
    abnormal: Mapping[tuple[str, str], bool] = _NOTHING_SAID,
    *,
    only_cpu_and_memory: bool = False,
) -> api.Summary:
    """`pods`: as they are desired; they know which volumes are of memory. `volumes`: which is which.

    `abnormal`: what drivers say of their health, by UID and name in the pod.
    """
    by_uid = {pod.metadata.uid: pod for pod in pods}
    full = not only_cpu_and_memory
    told = tuple(_pod(each, by_uid.get(each.uid), volumes, abnormal, sample, full=full) for each in sample.pods)
    return api.Summary(node=_node(name, sample, full=full), pods=told)


def _node(name: str, sample: NodeSample, *, full: bool) -> api.NodeStats:
    node = sample.node
    if node is None:
        return api.NodeStats(node_name=name, start_time=moment(0))
    stats = api.NodeStats(
        node_name=name,
        system_containers=tuple(_system(each, node.at_ns, full=full) for each in node.system),
        start_time=moment(node.booted_ns),
        cpu=cpu(node.cgroup.cpu),
        memory=memory(node.cgroup.memory),
    )
    if not full:
        return stats
    return replace(
        stats,
        io=_io(node.at_ns, node.cgroup.io_pressure),
        network=network(node.network),
        fs=fs(sample.root_fs),
        runtime=api.RuntimeStats(image_fs=fs(sample.image_fs), container_fs=fs(sample.container_fs)),
        rlimit=api.RlimitStats(time=moment(node.at_ns), maxpid=node.pids_limit, curproc=node.pids),
        swap=_node_swap(node),
    )


def _node_swap(node: NodeReading) -> api.SwapStats:
    used = node.swap_bytes - node.swap_free_bytes
    return api.SwapStats(
        time=moment(node.at_ns), swap_available_bytes=node.swap_free_bytes, swap_usage_bytes=max(0, used)
    )


def _system(each: SystemContainer, at_ns: int, *, full: bool) -> api.ContainerStats:
    return api.ContainerStats(
        name=each.name,
        start_time=moment(each.started_ns),
        cpu=cpu(each.cpu),
        memory=memory(each.memory),
        io=_io(at_ns, each.cgroup.io_pressure) if full and each.cgroup is not None else None,
        swap=_swap(each.memory),
    )


def _pod(
    sample: PodSample,
    pod: Pod | None,
    volumes: VolumesByPlace,
    abnormal: Mapping[tuple[str, str], bool],
    node: NodeSample,
    *,
    full: bool,
) -> api.PodStats:
    stats = api.PodStats(
        pod_ref=api.PodReference(name=sample.name, namespace=sample.namespace, uid=sample.uid),
        start_time=moment(sample.created_ns),
        containers=tuple(_container(each, node, full=full) for each in sample.containers),
        cpu=cpu(sample.cpu),
        memory=memory(sample.memory),
    )
    if not full:
        return stats
    at_ns = sample.memory.at_ns if sample.memory is not None else node.node.at_ns if node.node is not None else 0
    return replace(
        stats,
        io=_io(at_ns, sample.io_pressure),
        network=network(sample.network),
        volume=_volumes(sample, volumes, abnormal),
        ephemeral_storage=_ephemeral(sample, pod, node),
        process_stats=None if sample.processes is None else api.ProcessStats(process_count=sample.processes),
        swap=_swap(sample.memory),
    )


def _container(sample: ContainerSample, node: NodeSample, *, full: bool) -> api.ContainerStats:
    stats = api.ContainerStats(
        name=sample.name,
        start_time=moment(sample.created_ns),
        cpu=cpu(sample.cpu),
        memory=memory(sample.memory),
        swap=_swap(sample.memory),
    )
    if not full:
        return stats
    at_ns = sample.memory.at_ns if sample.memory is not None else sample.created_ns
    io = _io(at_ns, sample.io_pressure)
    return replace(stats, io=io, rootfs=_layer(sample, node), logs=fs(sample.logs))


def _layer(sample: ContainerSample, node: NodeSample) -> api.FsStats | None:
    """The writable layer: its own use, in what the file system of layers has."""
    layer = sample.layer
    if layer is None:
        return None
    at = moment(layer.at_ns)
    disk = fs(node.container_fs) or api.FsStats(time=at)
    return replace(disk, time=at, used_bytes=layer.used, inodes_used=layer.inodes_used)


_LOCAL = frozenset(
    f"kubernetes.io/{kind}" for kind in ("empty-dir", "configmap", "secret", "downward-api", "projected", "git-repo")
)
"""Kinds of volumes that live on the node's own disk, where they are not of memory."""


def _ephemeral(sample: PodSample, pod: Pod | None, node: NodeSample) -> api.FsStats | None:
    """The pod's use of the node's disk: layers, logs, and volumes that are not in memory."""
    used = inodes = 0
    for container in sample.containers:
        if container.layer is not None:
            used += container.layer.used or 0
            inodes += container.layer.inodes_used or 0
    for _, logs in sample.disk.logs:
        used += logs.used
        inodes += logs.inodes_used
    memory_volumes = _of_memory(pod)
    for kind, name, reading in sample.disk.volumes:
        if kind in _LOCAL and name not in memory_volumes:
            used += reading.used
            inodes += reading.inodes_used
    disk = fs(node.root_fs)
    return None if disk is None else replace(disk, used_bytes=used, inodes_used=inodes)


def _of_memory(pod: Pod | None) -> frozenset[str]:
    if pod is None:
        return frozenset()
    return frozenset(
        each.name
        for each in pod.spec.volumes
        if each.secret is not None or (each.empty_dir is not None and each.empty_dir.medium not in (None, ""))
    )


def _volumes(
    sample: PodSample, volumes: VolumesByPlace, abnormal: Mapping[tuple[str, str], bool]
) -> tuple[api.VolumeStats, ...]:
    found = []
    for _, on_disk, reading in sample.disk.volumes:
        name, claim = volumes.get((sample.uid, on_disk), (on_disk, ""))
        reference = api.PvcReference(name=claim, namespace=sample.namespace) if claim else None
        told = abnormal.get((sample.uid, name))
        health = None if told is None else api.VolumeHealthStats(abnormal=told)
        found.append(
            api.VolumeStats(name=name, pvc_ref=reference, volume_health_stats=health, **asdict(_of_disk(reading)))
        )
    return tuple(found)


# --- parts ----------------------------------------------------------------------------------------------------------


def moment(at_ns: int) -> str:
    """A time in the format of the API."""
    return second_text(at_ns // SECOND_NS)


def cpu(reading: CpuReading | None) -> api.CpuStats | None:
    if reading is None:
        return None
    return api.CpuStats(
        time=moment(reading.at_ns),
        usage_nano_cores=reading.nano_cores,
        usage_core_nano_seconds=reading.used_ns,
        psi=psi(reading.pressure),
    )


def memory(reading: MemoryReading | None) -> api.MemoryStats | None:
    if reading is None:
        return None
    return api.MemoryStats(
        time=moment(reading.at_ns),
        available_bytes=reading.available,
        usage_bytes=reading.usage,
        working_set_bytes=reading.working_set,
        rss_bytes=reading.rss,
        page_faults=reading.page_faults,
        major_page_faults=reading.major_page_faults,
        psi=psi(reading.pressure),
    )


def _swap(reading: MemoryReading | None) -> api.SwapStats | None:
    if reading is None or reading.swap_usage is None:
        return None
    left = None if reading.swap_limit is None else max(0, reading.swap_limit - reading.swap_usage)
    return api.SwapStats(time=moment(reading.at_ns), swap_available_bytes=left, swap_usage_bytes=reading.swap_usage)


def _io(at_ns: int, pressure: StallPressure | None) -> api.IoStats | None:
    return None if pressure is None else api.IoStats(time=moment(at_ns), psi=psi(pressure))


def psi(pressure: StallPressure | None) -> api.PsiStats | None:
    return None if pressure is None else api.PsiStats(full=_stall(pressure.full), some=_stall(pressure.some))


def _stall(stall: Stall | None) -> api.PsiData | None:
    if stall is None:
        return None
    return api.PsiData(total=stall.total_us * 1_000, avg10=stall.avg10, avg60=stall.avg60, avg300=stall.avg300)


def network(reading: NetworkReading | None) -> api.NetworkStats | None:
    if reading is None:
        return None
    every = tuple(map(_interface, reading.interfaces))
    default = next((asdict(each) for each in every if each.name == reading.default), {})
    return api.NetworkStats(time=moment(reading.at_ns), interfaces=every, **default)


def _interface(each: InterfaceReading) -> api.InterfaceStats:
    return api.InterfaceStats(
        name=each.name,
        rx_bytes=each.rx_bytes,
        rx_errors=each.rx_errors,
        tx_bytes=each.tx_bytes,
        tx_errors=each.tx_errors,
    )


def fs(reading: FsReading | None) -> api.FsStats | None:
    return None if reading is None else _of_disk(reading)


def _of_disk(reading: FsReading) -> api.FsStats:
    return api.FsStats(
        time=moment(reading.at_ns),
        available_bytes=reading.available,
        capacity_bytes=reading.capacity,
        used_bytes=reading.used,
        inodes_free=reading.inodes_free,
        inodes=reading.inodes,
        inodes_used=reading.inodes_used,
    )
