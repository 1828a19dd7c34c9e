"""The verbs about stats and metrics, of containers and of sandboxes. `usage` has the numbers."""

from __future__ import annotations

from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord, CriRefusal
from simulation.cri.verbs import usage
from simulation.cri.views import is_ready, is_running, running

CPU_USAGE = "container_cpu_usage_seconds_total"
MEMORY_WORKING_SET = "container_memory_working_set_bytes"

_METRICS = cri.ListMetricDescriptorsResponse(
    descriptors=(
        cri.MetricDescriptor(name=CPU_USAGE, help="CPU time used, in seconds.", label_keys=("name",)),
        cri.MetricDescriptor(name=MEMORY_WORKING_SET, help="Working set, in bytes.", label_keys=("name",)),
    )
)


def container_stats(runtime: Runtime, request: cri.ContainerStatsRequest) -> cri.ContainerStatsResponse:
    record = running(runtime.state.containers[request.container_id])
    stats = usage.container_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return cri.ContainerStatsResponse(stats=stats)


def select_container_stats(
    runtime: Runtime, request: cri.ListContainerStatsRequest | cri.StreamContainerStatsRequest
) -> tuple[cri.ContainerStats, ...]:
    """Containers that do not run are listed with their writable layer alone."""
    wanted = request.filter or cri.ContainerStatsFilter()
    found = runtime.state.select_containers(wanted.id, wanted.pod_sandbox_id, wanted.label_selector)
    now_ns, directory = runtime.wall_ns(), runtime.settings.image_directory
    return tuple(usage.container_stats(record, now_ns, directory) for record in found)


def pod_sandbox_stats(runtime: Runtime, request: cri.PodSandboxStatsRequest) -> cri.PodSandboxStatsResponse:
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    if not is_ready(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.id!r} is not ready")
    stats = usage.pod_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return cri.PodSandboxStatsResponse(stats=stats)


def select_pod_sandbox_stats(
    runtime: Runtime, request: cri.ListPodSandboxStatsRequest | cri.StreamPodSandboxStatsRequest
) -> tuple[cri.PodSandboxStats, ...]:
    wanted = request.filter or cri.PodSandboxStatsFilter()
    found = runtime.state.select_sandboxes(wanted.id, wanted.label_selector)
    now_ns, directory = runtime.wall_ns(), runtime.settings.image_directory
    return tuple(usage.pod_stats(record, now_ns, directory) for record in found if is_ready(record))


def list_metric_descriptors(
    runtime: Runtime, request: cri.ListMetricDescriptorsRequest
) -> cri.ListMetricDescriptorsResponse:
    return _METRICS


def select_pod_sandbox_metrics(
    runtime: Runtime, request: cri.ListPodSandboxMetricsRequest | cri.StreamPodSandboxMetricsRequest
) -> tuple[cri.PodSandboxMetrics, ...]:
    now_ns = runtime.wall_ns()
    return tuple(
        cri.PodSandboxMetrics(
            pod_sandbox_id=sandbox.id,
            container_metrics=tuple(
                _container_metrics(record, now_ns) for record in sandbox.containers.values() if is_running(record)
            ),
        )
        for sandbox in runtime.state.sandboxes.values()
        if is_ready(sandbox)
    )


def _container_metrics(record: ContainerRecord, now_ns: int) -> cri.ContainerMetrics:
    labels = (record.config.metadata.name if record.config.metadata else "",)
    used_s = usage.cpu_used_ns(record, now_ns) // 10**9

    def metric(name: str, kind: cri.MetricType, value: int) -> cri.Metric:
        return cri.Metric(
            name=name, timestamp=now_ns, metric_type=kind, label_values=labels, value=cri.UInt64Value(value=value)
        )

    return cri.ContainerMetrics(
        container_id=record.id,
        metrics=(
            metric(CPU_USAGE, cri.MetricType.COUNTER, used_s),
            metric(MEMORY_WORKING_SET, cri.MetricType.GAUGE, usage.memory_bytes(record, now_ns)),
        ),
    )
