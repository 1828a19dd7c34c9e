"""The names of kubelet 1.36 that this agent does not export, each with the reason.

`docs/reference/metrics.md` shows them. `tests/upstream/metrics.txt` has all names of a kubelet: each is exported or
stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

_REASONS: Mapping[str, str] = {
    "there are no device plugins yet": """
        kubelet_device_plugin_registration_total kubelet_device_plugin_alloc_duration_seconds
    """,
    "there is no socket for pod resources yet": """
        kubelet_pod_resources_endpoint_requests_total kubelet_pod_resources_endpoint_requests_list
        kubelet_pod_resources_endpoint_requests_get kubelet_pod_resources_endpoint_requests_get_allocatable
        kubelet_pod_resources_endpoint_errors_list kubelet_pod_resources_endpoint_errors_get
        kubelet_pod_resources_endpoint_errors_get_allocatable
    """,
    "the node gives out no CPUs, memory or devices of its own yet": """
        kubelet_cpu_manager_pinning_requests_total kubelet_cpu_manager_pinning_errors_total
        kubelet_cpu_manager_shared_pool_size_millicores kubelet_cpu_manager_exclusive_cpu_allocation_count
        kubelet_cpu_manager_allocation_per_numa kubelet_container_aligned_compute_resources_count
        kubelet_container_aligned_compute_resources_failure_count kubelet_memory_manager_pinning_requests_total
        kubelet_memory_manager_pinning_errors_total kubelet_topology_manager_admission_requests_total
        kubelet_topology_manager_admission_errors_total kubelet_topology_manager_admission_duration_ms
        resource_manager_allocations_total resource_manager_allocation_errors_total
        resource_manager_container_assignments
    """,
    "a pod with resource claims is refused": """
        dra_grpc_operations_duration_seconds dra_operations_duration_seconds dra_resource_claims_in_use
    """,
    "containers of Windows are not run": """
        kubelet_started_host_process_containers_total kubelet_started_host_process_containers_errors_total
    """,
    "nobody follows the pods of this node by a stream": "kubelet_pod_watch_events_dropped_total",
    "one list tells of all pods, none is asked for alone": "kubelet_pleg_pod_relist_duration_seconds",
    "directories are removed with their pods, there is no pass for orphans": """
        kubelet_orphan_pod_cleaned_volumes kubelet_orphan_pod_cleaned_volumes_errors
    """,
    "what a restart finds on disk becomes the state of the volumes at once; a volume without a pod is unmounted": """
        reconstruct_volume_operations_total reconstruct_volume_operations_errors_total
        force_cleaned_failed_volume_operations_total force_cleaned_failed_volume_operation_errors_total
    """,
    "a node elects nobody and runs no controllers": """
        leader_election_master_status leader_election_slowpath_total running_managed_controllers
    """,
    "watched objects go from the stream to their actor: there are no informers (`actorlet_mailbox_messages` tells)": """
        informer_processing_latency_seconds informer_queued_items informer_store_resource_version
    """,
    "the agent counts messages and their time, without histograms (`actorlet_handler_seconds_total`)": """
        workqueue_queue_duration_seconds workqueue_work_duration_seconds
    """,
    "no metric is hidden or switched off": """
        disabled_metrics_total hidden_metrics_total registered_metrics_total
        cardinality_enforcement_unexpected_categorizations_total
    """,
    "the agent emulates no other version; `kubernetes_build_info` has its own": "version_info",
    "all calls share one set of connections to one server": """
        rest_client_transport_cache_entries rest_client_transport_create_calls_total
        rest_client_transport_cache_gc_calls_total rest_client_transport_cert_rotation_gc_calls_total
        rest_client_transport_ca_reload_total rest_client_dns_resolution_duration_seconds
    """,
    "no policy says which credential plugins may run": "rest_client_exec_plugin_policy_call_total",
    "credential plugins replace their certificates themselves": "rest_client_exec_plugin_certificate_rotation_age",
    "what a kubelet links of the API server and never uses": """
        aggregator_discovery_aggregation_count_total apiserver_audit_event_total apiserver_audit_requests_rejected_total
        apiserver_envelope_encryption_dek_cache_fill_percent apiserver_storage_data_key_generation_duration_seconds
        apiserver_storage_data_key_generation_failures_total
        apiserver_storage_envelope_transformation_cache_misses_total apiserver_webhooks_x509_insecure_sha1_total
        apiserver_webhooks_x509_missing_san_total
    """,
    "the agent is not a program in Go": """
        go_gc_duration_seconds go_goroutines go_info go_memstats_alloc_bytes go_memstats_heap_inuse_bytes
        go_sched_latencies_seconds go_threads
    """,
    "a kubelet does not have the kernel count these, and shows 0": """
        container_cpu_load_average_10s container_cpu_load_d_average_10s container_tasks_state
    """,
    "no runtime tells it over the CRI": "container_health_state",
    "the kernel tells it of mainframes and of persistent memory only": """
        machine_cpu_books machine_cpu_drawers machine_dimm_capacity_bytes machine_dimm_count
        machine_nvm_avg_power_budget_watts machine_nvm_capacity
    """,
}

ABSENT: Mapping[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Name of a metric -> why it is not exported."""
