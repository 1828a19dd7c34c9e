"""The summary API, `stats.v1alpha1`: usage of a node, its pods and containers.

`/stats/summary` answers with it (spec 11.6).

Only the shape. Times are RFC 3339 to the second, sizes bytes; what is not known is left out.
"""

from __future__ import annotations

import msgspec


class _Shape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    pass


class PsiData(_Shape, frozen=True, omit_defaults=False):
    """Pressure of one kind: total in ns, averages in percent. Zeroes are written."""

    total: int
    avg10: float
    avg60: float
    avg300: float


class PsiStats(_Shape, frozen=True):
    full: PsiData | None = None
    some: PsiData | None = None


class CpuStats(_Shape, frozen=True):
    time: str
    usage_nano_cores: int | None = None
    usage_core_nano_seconds: int | None = None
    psi: PsiStats | None = None


class MemoryStats(_Shape, frozen=True):
    time: str
    available_bytes: int | None = None
    usage_bytes: int | None = None
    working_set_bytes: int | None = None
    rss_bytes: int | None = None
    page_faults: int | None = None
    major_page_faults: int | None = None
    psi: PsiStats | None = None


class IoStats(_Shape, frozen=True):
    time: str
    psi: PsiStats | None = None


class InterfaceStats(_Shape, frozen=True):
    name: str
    rx_bytes: int | None = None
    rx_errors: int | None = None
    tx_bytes: int | None = None
    tx_errors: int | None = None


class NetworkStats(_Shape, frozen=True):
    """The default interface, and all of them."""

    time: str
    name: str = ""
    rx_bytes: int | None = None
    rx_errors: int | None = None
    tx_bytes: int | None = None
    tx_errors: int | None = None
    interfaces: tuple[InterfaceStats, ...] = ()


class FsStats(_Shape, frozen=True, kw_only=True):
    time: str
    available_bytes: int | None = None
    capacity_bytes: int | None = None
    used_bytes: int | None = None
    inodes_free: int | None = None
    inodes: int | None = None
    inodes_used: int | None = None


class PvcReference(_Shape, frozen=True):
    name: str
    namespace: str


class VolumeHealthStats(_Shape, frozen=True):
    abnormal: bool


class VolumeStats(FsStats, frozen=True, kw_only=True):
    name: str
    pvc_ref: PvcReference | None = None
    volume_health_stats: VolumeHealthStats | None = None


class SwapStats(_Shape, frozen=True):
    time: str
    swap_available_bytes: int | None = None
    swap_usage_bytes: int | None = None


class RlimitStats(_Shape, frozen=True):
    time: str
    maxpid: int | None = None
    curproc: int | None = None


class RuntimeStats(_Shape, frozen=True):
    image_fs: FsStats | None = None
    container_fs: FsStats | None = None


class ContainerStats(_Shape, frozen=True):
    name: str
    start_time: str
    cpu: CpuStats | None = None
    memory: MemoryStats | None = None
    io: IoStats | None = None
    rootfs: FsStats | None = None
    logs: FsStats | None = None
    swap: SwapStats | None = None


class PodReference(_Shape, frozen=True):
    name: str
    namespace: str
    uid: str


class ProcessStats(_Shape, frozen=True, rename=None):
    """The one object of the API whose names are written this way."""

    process_count: int | None = None


class PodStats(_Shape, frozen=True, rename={"ephemeral_storage": "ephemeral-storage"}):
    pod_ref: PodReference = msgspec.field(name="podRef")
    start_time: str = msgspec.field(name="startTime")
    containers: tuple[ContainerStats, ...] = ()
    cpu: CpuStats | None = None
    memory: MemoryStats | None = None
    io: IoStats | None = None
    network: NetworkStats | None = None
    volume: tuple[VolumeStats, ...] = ()
    ephemeral_storage: FsStats | None = None
    process_stats: ProcessStats | None = None
    swap: SwapStats | None = None


class NodeStats(_Shape, frozen=True, kw_only=True):
    node_name: str
    system_containers: tuple[ContainerStats, ...] = ()
    start_time: str
    cpu: CpuStats | None = None
    memory: MemoryStats | None = None
    io: IoStats | None = None
    network: NetworkStats | None = None
    fs: FsStats | None = None
    runtime: RuntimeStats | None = None
    rlimit: RlimitStats | None = None
    swap: SwapStats | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary; `pods` is written even if it is empty."""

    node: NodeStats
    pods: tuple[PodStats, ...] = ()
