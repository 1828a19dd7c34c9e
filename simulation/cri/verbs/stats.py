"""The verbs about stats and metrics, of containers and of sandboxes. `usage` has the numbers."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import (
    ContainerMetrics,
    ContainerStats,
    ContainerStatsFilter,
    ContainerStatsRequest,
    ContainerStatsResponse,
    ListContainerStatsRequest,
    ListContainerStatsResponse,
    ListMetricDescriptorsRequest,
    ListMetricDescriptorsResponse,
    ListPodSandboxMetricsRequest,
    ListPodSandboxMetricsResponse,
    ListPodSandboxStatsRequest,
    ListPodSandboxStatsResponse,
    Metric,
    MetricDescriptor,
    MetricType,
    PodSandboxMetrics,
    PodSandboxStats,
    PodSandboxStatsFilter,
    PodSandboxStatsRequest,
    PodSandboxStatsResponse,
    StreamContainerStatsRequest,
    StreamPodSandboxMetricsRequest,
    StreamPodSandboxStatsRequest,
    UInt64Value,
)
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord, CriRefusal
from simulation.cri.verbs import usage
from simulation.cri.views import is_ready, is_running, running

CPU_USAGE = "container_cpu_usage_seconds_total"
MEMORY_WORKING_SET = "container_memory_working_set_bytes"

_METRICS = ListMetricDescriptorsResponse(
    descriptors=(
        MetricDescriptor(name=CPU_USAGE, help="CPU time used, in seconds.", label_keys=("name",)),
        MetricDescriptor(name=MEMORY_WORKING_SET, help="Working set, in bytes.", label_keys=("name",)),
    )
)


def container_stats(runtime: Runtime, request: ContainerStatsRequest) -> ContainerStatsResponse:
    record = running(runtime.state.containers[request.container_id])
    stats = usage.container_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return ContainerStatsResponse(stats=stats)


def list_container_stats(runtime: Runtime, request: ListContainerStatsRequest) -> ListContainerStatsResponse:
    return ListContainerStatsResponse(stats=select_container_stats(runtime, request))


def select_container_stats(
    runtime: Runtime, request: ListContainerStatsRequest | StreamContainerStatsRequest
) -> tuple[ContainerStats, ...]:
    """Containers that do not run are listed with their writable layer alone."""
    wanted = request.filter or ContainerStatsFilter()
    found = runtime.state.select_containers(wanted.id, wanted.pod_sandbox_id, wanted.label_selector)
    now_ns, directory = runtime.wall_ns(), runtime.settings.image_directory
    return tuple(usage.container_stats(record, now_ns, directory) for record in found)


def pod_sandbox_stats(runtime: Runtime, request: PodSandboxStatsRequest) -> PodSandboxStatsResponse:
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    if not is_ready(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.id!r} is not ready")
    stats = usage.pod_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return PodSandboxStatsResponse(stats=stats)


def list_pod_sandbox_stats(runtime: Runtime, request: ListPodSandboxStatsRequest) -> ListPodSandboxStatsResponse:
    return ListPodSandboxStatsResponse(stats=select_pod_sandbox_stats(runtime, request))


def select_pod_sandbox_stats(
    runtime: Runtime, request: ListPodSandboxStatsRequest | StreamPodSandboxStatsRequest
) -> tuple[PodSandboxStats, ...]:
    wanted = request.filter or PodSandboxStatsFilter()
    found = runtime.state.select_sandboxes(wanted.id, wanted.label_selector)
    now_ns, directory = runtime.wall_ns(), runtime.settings.image_directory
    return tuple(usage.pod_stats(record, now_ns, directory) for record in found if is_ready(record))


def list_metric_descriptors(runtime: Runtime, request: ListMetricDescriptorsRequest) -> ListMetricDescriptorsResponse:
    return _METRICS


def list_pod_sandbox_metrics(runtime: Runtime, request: ListPodSandboxMetricsRequest) -> ListPodSandboxMetricsResponse:
    return ListPodSandboxMetricsResponse(pod_metrics=select_pod_sandbox_metrics(runtime, request))


def select_pod_sandbox_metrics(
    runtime: Runtime, request: ListPodSandboxMetricsRequest | StreamPodSandboxMetricsRequest
) -> tuple[PodSandboxMetrics, ...]:
    now_ns = runtime.wall_ns()
    return tuple(
        PodSandboxMetrics(
            pod_sandbox_id=sandbox.id,
            container_metrics=tuple(
                _container_metrics(record, now_ns) for record in sandbox.containers.values() if is_running(record)
            ),
        )
        for sandbox in runtime.state.sandboxes.values()
        if is_ready(sandbox)
    )


def _container_metrics(record: ContainerRecord, now_ns: int) -> ContainerMetrics:
    labels = (record.config.metadata.name if record.config.metadata else "",)
    used_s = usage.cpu_used_ns(record, now_ns) // 10**9

    def metric(name: str, kind: MetricType, value: int) -> Metric:
        return Metric(
            name=name, timestamp=now_ns, metric_type=kind, label_values=labels, value=UInt64Value(value=value)
        )

    return ContainerMetrics(
        container_id=record.id,
        metrics=(
            metric(CPU_USAGE, MetricType.COUNTER, used_s),
            metric(MEMORY_WORKING_SET, MetricType.GAUGE, usage.memory_bytes(record, now_ns)),
        ),
    )
