"""What the dashboards, rules and alerts of kubernetes-mixin ask of a kubelet, panel by panel.

Written after them: the same metrics, labels and joins, for the jobs of the test's Prometheus. An alert is its query
without the threshold, so that it has a value when all is well. What asks other exporters (kube-state-metrics, the node
exporter, the control plane) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

KUBELET = 'job="metrics"'
CADVISOR = 'job="metrics-cadvisor"'
DISK = 'device=~"(/dev.+)|mmcblk.p.+|nvme.+|rbd.+|sd.+|vd.+|xvd.+|dm-.+|dasd.+"'
OF_POD = f'{CADVISOR}, namespace="default", pod="busy"'
OF_CONTAINERS = f'{OF_POD}, container!="", image!=""'


def _rate(metric: str, labels: str, by: str = "instance") -> str:
    return f"sum by ({by}) (rate({metric}{{{labels}}}[5m]))"


def _quantile(metric: str, by: str = "instance") -> str:
    return f"histogram_quantile(0.99, sum by ({by}, le) (rate({metric}_bucket{{{KUBELET}}}[5m])))"


_STORAGE = "instance, operation_name, volume_plugin"
_CALLS = "instance, operation_type"
_VOLUME_STATES = ("actual_state_of_world", "desired_state_of_world")
_DIRECTIONS = ("receive", "transmit")

KUBELET_DASHBOARD: Mapping[str, str] = {
    "running kubelets": f"sum(kubelet_node_name{{{KUBELET}}})",
    "running pods": f"sum(kubelet_running_pods{{{KUBELET}}})",
    "running containers": f'sum(kubelet_running_containers{{{KUBELET}, container_state="running"}})',
    **{
        f"volumes, {state}": f'sum(volume_manager_total_volumes{{{KUBELET}, state="{state}"}})'
        for state in _VOLUME_STATES
    },
    "configuration errors": _rate("kubelet_node_config_error", KUBELET),
    "operation rate": _rate("kubelet_runtime_operations_total", KUBELET, _CALLS),
    "operation error rate": _rate("kubelet_runtime_operations_errors_total", KUBELET, _CALLS),
    "operation duration": _quantile("kubelet_runtime_operations_duration_seconds", _CALLS),
    "pod start rate": _rate("kubelet_pod_start_duration_seconds_count", KUBELET),
    "pod worker rate": _rate("kubelet_pod_worker_duration_seconds_count", KUBELET),
    "pod start duration": _quantile("kubelet_pod_start_duration_seconds"),
    "pod worker duration": _quantile("kubelet_pod_worker_duration_seconds"),
    "storage operation rate": _rate("storage_operation_duration_seconds_count", KUBELET, _STORAGE),
    "storage operation error rate": _rate("storage_operation_errors_total", KUBELET, _STORAGE),
    "storage operation duration": _quantile("storage_operation_duration_seconds", _STORAGE),
    "cgroup manager rate": _rate("kubelet_cgroup_manager_duration_seconds_count", KUBELET, _CALLS),
    "cgroup manager duration": _quantile("kubelet_cgroup_manager_duration_seconds", _CALLS),
    "PLEG relist rate": _rate("kubelet_pleg_relist_duration_seconds_count", KUBELET),
    "PLEG relist interval": _quantile("kubelet_pleg_relist_interval_seconds"),
    "PLEG relist duration": _quantile("kubelet_pleg_relist_duration_seconds"),
    **{
        f"calls to the API server, {code}xx": _rate("rest_client_requests_total", f'{KUBELET}, code=~"{code}.."')
        for code in (2, 3, 4, 5)
    },
    "duration of calls to the API server": _quantile("rest_client_request_duration_seconds", "instance, verb"),
    "memory": f"process_resident_memory_bytes{{{KUBELET}}}",
    "CPU": f"rate(process_cpu_seconds_total{{{KUBELET}}}[5m])",
    "goroutines": f"go_goroutines{{{KUBELET}}}",
}

RESOURCES: Mapping[str, str] = {
    "CPU usage": _rate("container_cpu_usage_seconds_total", OF_CONTAINERS, "namespace, pod, container"),
    "CPU throttling": f"{_rate('container_cpu_cfs_throttled_periods_total', OF_CONTAINERS, 'container')} / "
    f"{_rate('container_cpu_cfs_periods_total', OF_CONTAINERS, 'container')}",
    **{
        f"memory, {name}": f"sum by (container) (container_memory_{name}{{{OF_CONTAINERS}}})"
        for name in ("working_set_bytes", "rss", "cache", "swap")
    },
    **{
        f"network, {way} {what}": _rate(f"container_network_{way}_{what}_total", OF_POD, "namespace, pod")
        for way in _DIRECTIONS
        for what in ("bytes", "packets", "packets_dropped")
    },
    **{
        f"disk, {what}": _rate(f"container_fs_{what}_total", f'{CADVISOR}, {DISK}, container!="", namespace!=""', "pod")
        for what in ("reads", "writes", "reads_bytes", "writes_bytes")
    },
    **{
        f"claims, {what}": f"sum(kubelet_volume_stats_{what}{{{KUBELET}}})"
        for what in ("available_bytes", "capacity_bytes", "used_bytes", "inodes", "inodes_free", "inodes_used")
    },
}

ALERTS: Mapping[str, str] = {
    "KubeletTooManyPods": f"max by (instance) (kubelet_running_pods{{{KUBELET}}}) * on (instance) group_left(node) "
    f"max by (instance, node) (kubelet_node_name{{{KUBELET}}})",
    "KubeNodeEviction": _rate("kubelet_evictions", KUBELET, "eviction_signal, instance"),
    "KubeletPlegDurationHigh": f"histogram_quantile(0.99, sum by (instance, le) "
    f"(rate(kubelet_pleg_relist_duration_seconds_bucket{{{KUBELET}}}[5m])) * on (instance) group_left(node) "
    f"max by (instance, node) (kubelet_node_name{{{KUBELET}}}))",
    "KubeletPodStartUpLatencyHigh": f"histogram_quantile(0.99, sum by (instance, le) (topk by (instance, le, "
    f"operation_type) (1, rate(kubelet_pod_worker_duration_seconds_bucket{{{KUBELET}}}[5m])))) * on (instance) "
    f"group_left(node) topk by (instance, node) (1, kubelet_node_name{{{KUBELET}}})",
    "KubeletClientCertificateExpiration": "kubelet_certificate_manager_client_ttl_seconds",
    "KubeletServerCertificateExpiration": "kubelet_certificate_manager_server_ttl_seconds",
    "KubeletClientCertificateRenewalErrors": "increase(kubelet_certificate_manager_client_expiration_renew_errors[5m])",
    "KubeletServerCertificateRenewalErrors": "increase(kubelet_server_expiration_renew_errors[5m])",
    "CPUThrottlingHigh": RESOURCES["CPU throttling"],
}

EMPTY: Mapping[str, str] = {
    "configuration errors": "kubelets of today have no such metric (dynamic configuration is gone)",
    "storage operation error rate": "kubelets of today have no such metric (the durations have a status)",
    "goroutines": "the agent is not a program in Go",
    "calls to the API server, 3xx": "the API server sends nobody elsewhere",
    "calls to the API server, 5xx": "the API server does not fail in this test",
    "KubeNodeEviction": "no pod is evicted in this test",
    **{name: "no pod of this test has a claim" for name in RESOURCES if name.startswith("claims, ")},
}
"""Panels that stay empty here, each with the reason."""
