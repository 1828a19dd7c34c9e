"""ListPodSandboxMetrics and StreamPodSandboxMetrics: the readings of `list_metric_descriptors`, per container."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.messages import (
    ContainerMetrics,
    ListPodSandboxMetricsRequest,
    ListPodSandboxMetricsResponse,
    Metric,
    MetricType,
    PodSandboxMetrics,
    StreamPodSandboxMetricsRequest,
    StreamPodSandboxMetricsResponse,
    UInt64Value,
)
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord
from simulation.cri.verbs.list_metric_descriptors import CPU_USAGE, MEMORY_WORKING_SET
from simulation.cri.verbs.parts import parts_of
from simulation.cri.verbs.usage import memory_bytes
from simulation.cri.views import is_ready, is_running


def list_pod_sandbox_metrics(runtime: Runtime, request: ListPodSandboxMetricsRequest) -> ListPodSandboxMetricsResponse:
    return ListPodSandboxMetricsResponse(pod_metrics=_all(runtime))


def stream_pod_sandbox_metrics(
    runtime: Runtime,
    request: StreamPodSandboxMetricsRequest,
    on_item: Callable[[StreamPodSandboxMetricsResponse], None],
) -> None:
    for part in parts_of(_all(runtime)):
        runtime.later(on_item, StreamPodSandboxMetricsResponse(pod_sandbox_metrics=part))


def _all(runtime: Runtime) -> tuple[PodSandboxMetrics, ...]:
    now_ns = runtime.wall_ns()
    return tuple(
        PodSandboxMetrics(
            pod_sandbox_id=sandbox.id,
            container_metrics=tuple(
                _of_container(record, now_ns) for record in sandbox.containers.values() if is_running(record)
            ),
        )
        for sandbox in runtime.state.sandboxes.values()
        if is_ready(sandbox)
    )


def _of_container(record: ContainerRecord, now_ns: int) -> ContainerMetrics:
    labels = (record.config.metadata.name if record.config.metadata else "",)
    used_s = max(0, now_ns - record.started_at) * record.behaviour.cpu // 10**12
    return ContainerMetrics(
        container_id=record.id,
        metrics=(
            Metric(
                name=CPU_USAGE,
                timestamp=now_ns,
                metric_type=MetricType.COUNTER,
                label_values=labels,
                value=UInt64Value(value=used_s),
            ),
            Metric(
                name=MEMORY_WORKING_SET,
                timestamp=now_ns,
                metric_type=MetricType.GAUGE,
                label_values=labels,
                value=UInt64Value(value=memory_bytes(record, now_ns)),
            ),
        ),
    )
