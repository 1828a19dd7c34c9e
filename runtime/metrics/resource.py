"""`/metrics/resource`: the few metrics that autoscalers use, from one sample (spec 11.7). Pure.

Each value carries the time it was read at.
"""

from __future__ import annotations

from collections.abc import Iterable

from runtime.metrics.exposition import FamilyRows, MetricRow
from runtime.metrics.families import Family, counter, gauge, in_module
from runtime.stats.readings import CpuReading, MemoryReading
from runtime.stats.samples import NodeSample

MS_NS = 1_000_000
SECOND_NS = 1_000_000_000

_CONTAINER = ("container", "pod", "namespace")
_POD = ("pod", "namespace")
NODE_CPU = counter("node_cpu_usage_seconds_total", "Processor time of the node.")
NODE_MEMORY = gauge("node_memory_working_set_bytes", "Working set of the node.")
NODE_SWAP = gauge("node_swap_usage_bytes", "Swap that the node uses.")
CONTAINER_CPU = counter("container_cpu_usage_seconds_total", "Processor time of a container.", *_CONTAINER)
CONTAINER_MEMORY = gauge("container_memory_working_set_bytes", "Working set of a container.", *_CONTAINER)
CONTAINER_START = gauge("container_start_time_seconds", "When a container began, in seconds since 1970.", *_CONTAINER)
CONTAINER_SWAP = gauge("container_swap_usage_bytes", "Swap that a container uses.", *_CONTAINER)
CONTAINER_SWAP_LIMIT = gauge("container_swap_limit_bytes", "Swap that a container may use.", *_CONTAINER)
POD_CPU = counter("pod_cpu_usage_seconds_total", "Processor time of a pod.", *_POD)
POD_MEMORY = gauge("pod_memory_working_set_bytes", "Working set of a pod.", *_POD)
POD_SWAP = gauge("pod_swap_usage_bytes", "Swap that a pod uses.", *_POD)
RESOURCE_ERROR = gauge("resource_scrape_error", "1 when something could not be read, 0 otherwise.")

FAMILIES = in_module(globals())


def resource_metrics(sample: NodeSample) -> list[FamilyRows]:
    """Every family, in the order of their names."""
    rows: dict[str, list[MetricRow]] = {family.name: [] for family in FAMILIES}
    node = sample.node
    if node is not None:
        _cpu(rows, NODE_CPU, (), node.cgroup.cpu)
        _memory(rows, (NODE_MEMORY, NODE_SWAP), (), node.cgroup.memory)
    for pod in sample.pods:
        of_pod = (pod.name, pod.namespace)
        _cpu(rows, POD_CPU, of_pod, pod.cpu)
        _memory(rows, (POD_MEMORY, POD_SWAP), of_pod, pod.memory)
        for container in pod.containers:
            labels = (container.name, *of_pod)
            _cpu(rows, CONTAINER_CPU, labels, container.cpu)
            _memory(rows, (CONTAINER_MEMORY, CONTAINER_SWAP), labels, container.memory)
            memory = container.memory
            if memory is not None and memory.swap_limit is not None:
                at_ms = memory.at_ns // MS_NS
                rows[CONTAINER_SWAP_LIMIT.name].append(MetricRow(labels, memory.swap_limit, at_ms))
            rows[CONTAINER_START.name].append(MetricRow(labels, container.created_ns / SECOND_NS))
    failed = float(node is None or sample.blind)
    rows[RESOURCE_ERROR.name].append(MetricRow((), failed))
    return [FamilyRows(family, rows[family.name]) for family in FAMILIES]


def _cpu(rows: dict[str, list[MetricRow]], family: Family, labels: Iterable[str], cpu: CpuReading | None) -> None:
    if cpu is not None:
        rows[family.name].append(MetricRow(tuple(labels), cpu.used_ns / SECOND_NS, cpu.at_ns // MS_NS))


def _memory(
    rows: dict[str, list[MetricRow]],
    families: tuple[Family, Family],
    labels: tuple[str, ...],
    memory: MemoryReading | None,
) -> None:
    if memory is None:
        return
    at_ms = memory.at_ns // MS_NS
    rows[families[0].name].append(MetricRow(labels, memory.working_set, at_ms))
    if memory.swap_usage is not None:
        rows[families[1].name].append(MetricRow(labels, memory.swap_usage, at_ms))
