"""Stats of containers and sandboxes, one by one or listed, and the runtime's own metrics (spec 11.6)."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.enums import MetricType
from runtime.cri.messages.base import Message, UInt64Value
from runtime.cri.messages.config import ContainerMetadata, PodSandboxMetadata
from runtime.cri.messages.image import FilesystemUsage, WindowsFilesystemUsage
from runtime.cri.messages.usage import (
    CpuUsage,
    IoUsage,
    MemoryUsage,
    NetworkUsage,
    ProcessUsage,
    SwapUsage,
    WindowsCpuUsage,
    WindowsMemoryUsage,
    WindowsNetworkUsage,
    WindowsProcessUsage,
)


class ContainerAttributes(Message, frozen=True, kw_only=True):
    """Whose stats these are."""

    id: str = ""
    metadata: ContainerMetadata | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class ContainerStats(Message, frozen=True, kw_only=True):
    """What a container has used."""

    attributes: ContainerAttributes | None = None
    cpu: CpuUsage | None = None
    memory: MemoryUsage | None = None
    writable_layer: FilesystemUsage | None = None
    swap: SwapUsage | None = None
    io: IoUsage | None = None


class WindowsContainerStats(Message, frozen=True, kw_only=True):
    """What a container has used, on Windows."""

    attributes: ContainerAttributes | None = None
    cpu: WindowsCpuUsage | None = None
    memory: WindowsMemoryUsage | None = None
    writable_layer: WindowsFilesystemUsage | None = None


class ContainerStatsFilter(Message, frozen=True, kw_only=True):
    """Conditions on containers whose stats are asked for."""

    id: str = ""
    pod_sandbox_id: str = ""
    label_selector: Mapping[str, str] = {}


class ContainerStatsRequest(Message, frozen=True, kw_only=True):
    """Ask for the stats of one container."""

    container_id: str = ""


class ContainerStatsResponse(Message, frozen=True, kw_only=True):
    """The stats of one container."""

    stats: ContainerStats | None = None


class ListContainerStatsRequest(Message, frozen=True, kw_only=True):
    """Ask for the stats of containers."""

    filter: ContainerStatsFilter | None = None


class ListContainerStatsResponse(Message, frozen=True, kw_only=True):
    """The stats of containers."""

    stats: tuple[ContainerStats, ...] = ()


class StreamContainerStatsRequest(Message, frozen=True, kw_only=True):
    """Ask for the stats of containers, in parts."""

    filter: ContainerStatsFilter | None = None


class StreamContainerStatsResponse(Message, frozen=True, kw_only=True):
    """A part of the stats of containers."""

    container_stats: tuple[ContainerStats, ...] = ()


class PodSandboxAttributes(Message, frozen=True, kw_only=True):
    """Whose stats these are."""

    id: str = ""
    metadata: PodSandboxMetadata | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class LinuxPodSandboxStats(Message, frozen=True, kw_only=True):
    """What a sandbox and its containers have used, on Linux."""

    cpu: CpuUsage | None = None
    memory: MemoryUsage | None = None
    network: NetworkUsage | None = None
    process: ProcessUsage | None = None
    containers: tuple[ContainerStats, ...] = ()
    io: IoUsage | None = None


class WindowsPodSandboxStats(Message, frozen=True, kw_only=True):
    """What a sandbox and its containers have used, on Windows."""

    cpu: WindowsCpuUsage | None = None
    memory: WindowsMemoryUsage | None = None
    network: WindowsNetworkUsage | None = None
    process: WindowsProcessUsage | None = None
    containers: tuple[WindowsContainerStats, ...] = ()


class PodSandboxStats(Message, frozen=True, kw_only=True):
    """What a sandbox has used, for the platform at hand."""

    attributes: PodSandboxAttributes | None = None
    linux: LinuxPodSandboxStats | None = None
    windows: WindowsPodSandboxStats | None = None


class PodSandboxStatsFilter(Message, frozen=True, kw_only=True):
    """Conditions on sandboxes whose stats are asked for."""

    id: str = ""
    label_selector: Mapping[str, str] = {}


class PodSandboxStatsRequest(Message, frozen=True, kw_only=True):
    """Ask for the stats of one sandbox."""

    pod_sandbox_id: str = ""


class PodSandboxStatsResponse(Message, frozen=True, kw_only=True):
    """The stats of one sandbox."""

    stats: PodSandboxStats | None = None


class ListPodSandboxStatsRequest(Message, frozen=True, kw_only=True):
    """Ask for the stats of sandboxes."""

    filter: PodSandboxStatsFilter | None = None


class ListPodSandboxStatsResponse(Message, frozen=True, kw_only=True):
    """The stats of sandboxes."""

    stats: tuple[PodSandboxStats, ...] = ()


class StreamPodSandboxStatsRequest(Message, frozen=True, kw_only=True):
    """Ask for the stats of sandboxes, in parts."""

    filter: PodSandboxStatsFilter | None = None


class StreamPodSandboxStatsResponse(Message, frozen=True, kw_only=True):
    """A part of the stats of sandboxes."""

    pod_sandbox_stats: tuple[PodSandboxStats, ...] = ()


class MetricDescriptor(Message, frozen=True, kw_only=True):
    """Name, help and label keys of a metric the runtime will report."""

    name: str = ""
    help: str = ""
    label_keys: tuple[str, ...] = ()


class ListMetricDescriptorsRequest(Message, frozen=True, kw_only=True):
    """Ask which metrics the runtime reports."""


class ListMetricDescriptorsResponse(Message, frozen=True, kw_only=True):
    """The metrics the runtime reports."""

    descriptors: tuple[MetricDescriptor, ...] = ()


class Metric(Message, frozen=True, kw_only=True):
    """One reading of a metric."""

    name: str = ""
    timestamp: int = 0
    metric_type: MetricType = MetricType.COUNTER
    label_values: tuple[str, ...] = ()
    value: UInt64Value | None = None


class ContainerMetrics(Message, frozen=True, kw_only=True):
    """The readings of one container."""

    container_id: str = ""
    metrics: tuple[Metric, ...] = ()


class PodSandboxMetrics(Message, frozen=True, kw_only=True):
    """The readings of one sandbox and its containers."""

    pod_sandbox_id: str = ""
    metrics: tuple[Metric, ...] = ()
    container_metrics: tuple[ContainerMetrics, ...] = ()


class ListPodSandboxMetricsRequest(Message, frozen=True, kw_only=True):
    """Ask for the readings of all sandboxes."""


class ListPodSandboxMetricsResponse(Message, frozen=True, kw_only=True):
    """The readings of all sandboxes."""

    pod_metrics: tuple[PodSandboxMetrics, ...] = ()


class StreamPodSandboxMetricsRequest(Message, frozen=True, kw_only=True):
    """Ask for the readings of all sandboxes, in parts."""


class StreamPodSandboxMetricsResponse(Message, frozen=True, kw_only=True):
    """A part of the readings of all sandboxes."""

    pod_sandbox_metrics: tuple[PodSandboxMetrics, ...] = ()
