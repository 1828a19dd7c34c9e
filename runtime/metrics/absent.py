"""Metrics of kubelet 1.36 that this agent does not export, or exports otherwise, with reasons.

`docs/reference/metrics.md` shows them. `tests/upstream/metrics.txt` has all names of a kubelet: each is exported or
stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

_REASONS: Mapping[str, str] = {
    "an old name of `resource_scrape_error`, which a kubelet no longer shows": "scrape_error",
    "a kubelet shows them only with its alpha gate PodLevelResourceManagers": """
        resource_manager_allocations_total resource_manager_allocation_errors_total
        resource_manager_container_assignments
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
        apiserver_webhooks_x509_missing_san_total apiserver_validation_declarative_validation_mismatch_total
        apiserver_validation_declarative_validation_panic_total apiserver_validation_duplicate_validation_error_total
        aggregator_discovery_nopeer_requests_total aggregator_discovery_peer_aggregated_cache_hits_total
        aggregator_discovery_peer_aggregated_cache_misses_total
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

_OTHER_AT_START: Mapping[str, str] = {
    "the two ask their runtimes for different things": """
        kubelet_runtime_operations_duration_seconds kubelet_runtime_operations_errors_total
        kubelet_runtime_operations_total kubelet_cgroup_manager_duration_seconds
    """,
    "the two ask the API server for different things": """
        rest_client_rate_limiter_duration_seconds rest_client_request_size_bytes
        rest_client_requests_total rest_client_response_size_bytes
    """,
    "the queues of this agent are those of its actors": """
        workqueue_adds_total workqueue_depth workqueue_longest_running_processor_seconds workqueue_retries_total
        workqueue_unfinished_work_seconds
    """,
    "the gates of a kubelet include those of the API server's libraries": "kubernetes_feature_enabled",
    "the recording counts its own requests": """
        kubelet_http_inflight_requests kubelet_http_requests_duration_seconds kubelet_http_requests_total
    """,
    "shown for a runtime that a later kubelet will not support": "kubelet_cri_losing_support",
    "0 from the start; a kubelet begins with the first use": """
        kubelet_certificate_manager_client_expiration_renew_errors kubelet_certificate_manager_client_ttl_seconds
        kubelet_certificate_manager_server_rotation_seconds kubelet_certificate_manager_server_ttl_seconds
        kubelet_memory_qos_node_memory_low_bytes kubelet_memory_qos_node_memory_min_bytes kubelet_metrics_provider
        kubelet_pod_start_sli_duration_seconds kubelet_pod_start_total_duration_seconds
        kubelet_server_expiration_renew_errors
    """,
    "of a machine without swap there is none": "node_swap_usage_bytes",
}

OTHER_AT_START: Mapping[str, str] = {
    name: reason for reason, names in _OTHER_AT_START.items() for name in names.split()
}
"""Name of a metric -> why its series differ from a kubelet's on a node without pods."""

ABSENT: Mapping[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Name of a metric -> why it is not exported."""
