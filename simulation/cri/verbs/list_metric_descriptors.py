"""ListMetricDescriptors: the metrics that this runtime reports of its sandboxes."""

from __future__ import annotations

from runtime.cri.messages import ListMetricDescriptorsRequest, ListMetricDescriptorsResponse, MetricDescriptor
from simulation.cri.runtime import Runtime

CPU_USAGE = "container_cpu_usage_seconds_total"
MEMORY_WORKING_SET = "container_memory_working_set_bytes"

_ANSWER = ListMetricDescriptorsResponse(
    descriptors=(
        MetricDescriptor(name=CPU_USAGE, help="CPU time used, in seconds.", label_keys=("name",)),
        MetricDescriptor(name=MEMORY_WORKING_SET, help="Working set, in bytes.", label_keys=("name",)),
    )
)


def list_metric_descriptors(runtime: Runtime, request: ListMetricDescriptorsRequest) -> ListMetricDescriptorsResponse:
    return _ANSWER
