"""Every name of spec 11.7 is there, or stands among those that do not apply, with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.metrics import cadvisor, kubelet, own, resource, slis
from runtime.metrics.families import Family
from runtime.metrics.page import page

KUBELET = """
node_name containers_per_pod_count pod_worker_duration_seconds pod_worker_start_duration_seconds
pod_start_duration_seconds pod_start_sli_duration_seconds pod_start_total_duration_seconds
first_network_pod_start_sli_duration_seconds cgroup_manager_duration_seconds pod_status_sync_duration_seconds
pleg_relist_duration_seconds pleg_relist_interval_seconds pleg_pod_relist_duration_seconds pleg_discard_events
pleg_last_seen_seconds evented_pleg_connection_error_count evented_pleg_connection_success_count
evented_pleg_connection_latency_seconds runtime_operations_total runtime_operations_errors_total
runtime_operations_duration_seconds evictions eviction_stats_age_seconds preemptions device_plugin_registration_total
device_plugin_alloc_duration_seconds pod_resources_endpoint_requests_total pod_resources_endpoint_requests_list
pod_resources_endpoint_requests_get pod_resources_endpoint_requests_get_allocatable pod_resources_endpoint_errors_list
pod_resources_endpoint_errors_get pod_resources_endpoint_errors_get_allocatable run_podsandbox_duration_seconds
run_podsandbox_errors_total running_pods running_containers desired_pods active_pods mirror_pods working_pods
orphaned_runtime_pods_total restarted_pods_total started_pods_total started_pods_errors_total started_containers_total
terminated_containers_total started_containers_errors_total started_host_process_containers_total
started_host_process_containers_errors_total started_user_namespaced_pods_total
started_user_namespaced_pods_errors_total managed_ephemeral_containers graceful_shutdown_start_time_seconds
graceful_shutdown_end_time_seconds lifecycle_handler_http_fallbacks_total sleep_action_terminated_early_total
cpu_manager_pinning_requests_total cpu_manager_pinning_errors_total cpu_manager_shared_pool_size_millicores
cpu_manager_exclusive_cpu_allocation_count cpu_manager_allocation_per_numa container_aligned_compute_resources_count
container_aligned_compute_resources_failure_count memory_manager_pinning_requests_total
memory_manager_pinning_errors_total memory_qos_node_memory_min_bytes memory_qos_node_memory_low_bytes
topology_manager_admission_requests_total topology_manager_admission_errors_total
topology_manager_admission_duration_ms resource_manager_allocations_total resource_manager_allocation_errors_total
resource_manager_container_assignments orphan_pod_cleaned_volumes orphan_pod_cleaned_volumes_errors
node_startup_pre_kubelet_duration_seconds node_startup_pre_registration_duration_seconds
node_startup_registration_duration_seconds node_startup_post_registration_duration_seconds
node_startup_duration_seconds image_garbage_collected_total image_pull_duration_seconds
image_manager_ensure_image_requests_total imagemanager_ondisk_pullintents imagemanager_ondisk_pulledrecords
imagemanager_inmemory_pullintents_usage_percent imagemanager_inmemory_pulledrecords_usage_percent
imagemanager_image_mustpull_checks_total image_volume_requested_total image_volume_mounted_succeed_total
image_volume_mounted_errors_total cgroup_version cri_losing_support admission_rejections_total
container_requested_resizes_total pod_resize_duration_milliseconds pod_pending_resizes pod_infeasible_resizes_total
pod_in_progress_resizes pod_deferred_accepted_resizes_total pod_watch_events_dropped_total podcertificate_states
volume_stats_capacity_bytes volume_stats_available_bytes volume_stats_used_bytes volume_stats_inodes
volume_stats_inodes_free volume_stats_inodes_used volume_stats_health_status_abnormal
container_log_filesystem_used_bytes volume_metric_collection_duration_seconds metrics_provider http_requests_total
http_inflight_requests http_requests_duration_seconds websocket_streaming_requests_total
certificate_manager_client_ttl_seconds certificate_manager_server_ttl_seconds
certificate_manager_server_rotation_seconds certificate_manager_client_expiration_renew_errors
server_expiration_renew_errors credential_provider_plugin_errors_total credential_provider_plugin_duration
credential_provider_config_info
"""
RESOURCE = """
node_cpu_usage_seconds_total node_memory_working_set_bytes container_cpu_usage_seconds_total
container_memory_working_set_bytes container_start_time_seconds pod_cpu_usage_seconds_total
pod_memory_working_set_bytes resource_scrape_error node_swap_usage_bytes container_swap_usage_bytes
container_swap_limit_bytes pod_swap_usage_bytes scrape_error
"""
EVERY: tuple[tuple[str, tuple[Family, ...]], ...] = (
    ("/metrics", (*kubelet.FAMILIES, *own.FAMILIES)),
    ("/metrics/probes", kubelet.AT_PROBES),
    ("/metrics/cadvisor", cadvisor.FAMILIES),
    ("/metrics/resource", resource.FAMILIES),
    ("/metrics/slis", slis.FAMILIES),
)


@pytest.mark.parametrize("name", KUBELET.split())
def test_a_name_of_a_kubelet_is_there_or_does_not_apply(name: str) -> None:
    there = {family.name for family in kubelet.FAMILIES}
    full = f"kubelet_{name}"
    assert (full in there) != (full in kubelet.ABSENT)


def test_nothing_is_said_to_be_absent_that_nobody_knows() -> None:
    assert {name.removeprefix("kubelet_") for name in kubelet.ABSENT} <= set(KUBELET.split())


def test_the_resource_page_has_its_names() -> None:
    assert {family.name for family in resource.FAMILIES} == set(RESOURCE.split())


@pytest.mark.parametrize(("path", "families"), EVERY)
def test_a_page_has_each_name_once(path: str, families: tuple[Family, ...]) -> None:
    names = [family.name for family in families]
    assert len(names) == len(set(names)), path
    assert all(family.help.endswith(".") or ";" in family.help for family in families)


def test_the_page_is_drawn_from_the_code() -> None:
    written = Path(__file__).parents[3] / "docs" / "metrics.md"
    assert written.read_text() == page(), "run: python -m runtime.metrics.page > docs/metrics.md"
