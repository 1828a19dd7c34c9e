"""Names of metrics about CPUs and memory that pods have for themselves, and of the pod resources API.

A kubelet adds to its gauges and takes from them, so they drift (kubernetes/kubernetes#141261). Here a scrape computes
them from the book.
"""

from __future__ import annotations

from runtime.metrics.families import counter, gauge, histogram, in_module, powers

CPU_REQUESTS = counter(
    "kubelet_cpu_manager_pinning_requests_total", "Containers that asked for CPUs for themselves, at their admission."
)
CPU_ERRORS = counter("kubelet_cpu_manager_pinning_errors_total", "Those of them that got none, so that the pod failed.")
SHARED_POOL = gauge(
    "kubelet_cpu_manager_shared_pool_size_millicores", "CPUs that no pod has for itself, without those reserved."
)
EXCLUSIVE_CPUS = gauge("kubelet_cpu_manager_exclusive_cpu_allocation_count", "CPUs that pods have for themselves.")
CPUS_BY_NODE = gauge(
    "kubelet_cpu_manager_allocation_per_numa", "CPUs that pods have for themselves, by NUMA node.", "numa_node"
)
MEMORY_REQUESTS = counter(
    "kubelet_memory_manager_pinning_requests_total",
    "Containers that asked for memory on NUMA nodes, at their admission.",
)
MEMORY_ERRORS = counter(
    "kubelet_memory_manager_pinning_errors_total", "Those of them that got none, so that the pod failed."
)
ADMISSIONS = counter("kubelet_topology_manager_admission_requests_total", "Pods for which NUMA nodes were looked for.")
ADMISSION_ERRORS = counter("kubelet_topology_manager_admission_errors_total", "Those of them that were refused.")
ADMISSION_DURATION = histogram(
    "kubelet_topology_manager_admission_duration_ms",
    "How long it took to find CPUs and memory for a pod, in milliseconds.",
    buckets=powers(0.05, 2, 15),
)
_ALIGNED = ("scope", "boundary")
ALIGNED = counter(
    "kubelet_container_aligned_compute_resources_count",
    "Containers or pods whose resources are aligned, by what they are aligned to.",
    *_ALIGNED,
)
NOT_ALIGNED = counter(
    "kubelet_container_aligned_compute_resources_failure_count",
    "Containers or pods that were refused since their resources could not be aligned.",
    *_ALIGNED,
)

_VERSION = "server_api_version"
CALLS = counter("kubelet_pod_resources_endpoint_requests_total", "Calls of the pod resources API.", _VERSION)
LIST_CALLS = counter("kubelet_pod_resources_endpoint_requests_list", "Calls of List.", _VERSION)
GET_CALLS = counter("kubelet_pod_resources_endpoint_requests_get", "Calls of Get.", _VERSION)
ALLOCATABLE_CALLS = counter(
    "kubelet_pod_resources_endpoint_requests_get_allocatable", "Calls of GetAllocatableResources.", _VERSION
)
LIST_ERRORS = counter("kubelet_pod_resources_endpoint_errors_list", "Calls of List that failed.", _VERSION)
GET_ERRORS = counter("kubelet_pod_resources_endpoint_errors_get", "Calls of Get that failed.", _VERSION)
ALLOCATABLE_ERRORS = counter(
    "kubelet_pod_resources_endpoint_errors_get_allocatable",
    "Calls of GetAllocatableResources that failed.",
    _VERSION,
)

FAMILIES = in_module(globals())
