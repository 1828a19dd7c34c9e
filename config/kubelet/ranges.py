"""Rules for single fields: ranges of numbers, permitted words, bounds of durations (spec 12.2).

A table each, walked by one function: a new rule is a new row. Rules that look at two fields are elsewhere.
"""

from collections.abc import Iterator
from operator import attrgetter

from config.documents.codec import DocumentError
from config.kubelet.configuration import MILLISECOND_NS, SECOND_NS, KubeletConfiguration, document_path
from config.values.durations import format_duration_ns

_MOST = 2**31 - 1

# attribute, least, most
NUMBERS: tuple[tuple[str, int, int], ...] = (
    ("port", 1, 65535),
    ("read_only_port", 0, 65535),
    ("healthz_port", 0, 65535),
    ("registry_pull_qps", 0, _MOST),
    ("registry_burst", 0, _MOST),
    ("event_record_qps", 0, _MOST),
    ("event_burst", 0, _MOST),
    ("kube_api_qps", 0, _MOST),
    ("kube_api_burst", 0, _MOST),
    ("oom_score_adj", -1000, 1000),
    ("node_lease_duration_seconds", 1, _MOST),
    ("image_gc_high_threshold_percent", 0, 100),
    ("image_gc_low_threshold_percent", 0, 100),
    ("max_pods", 0, _MOST),
    ("pods_per_core", 0, _MOST),
    ("node_status_max_images", -1, _MOST),
    ("max_open_files", 0, 2**63 - 1),
    ("max_parallel_image_pulls", 1, _MOST),
    ("iptables_masquerade_bit", 0, 31),
    ("iptables_drop_bit", 0, 31),
    ("container_log_max_files", 2, _MOST),
    ("container_log_max_workers", 1, _MOST),
    ("logging.verbosity", 0, _MOST),
)

# attribute, the words it may be
WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("authorization.mode", ("AlwaysAllow", "Webhook")),
    ("cgroup_driver", ("cgroupfs", "systemd")),
    ("cpu_manager_policy", ("none", "static")),
    ("memory_manager_policy", ("None", "Static")),
    ("topology_manager_policy", ("none", "best-effort", "restricted", "single-numa-node")),
    ("topology_manager_scope", ("container", "pod")),
    ("hairpin_mode", ("promiscuous-bridge", "hairpin-veth", "none")),
    ("memory_swap.swap_behavior", ("", "NoSwap", "LimitedSwap")),
    ("config_map_and_secret_change_detection_strategy", ("Get", "Cache", "Watch")),
    ("memory_reservation_policy", ("None", "TieredReservation")),
    ("tls_min_version", ("", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")),
    ("logging.format", ("text", "json")),
)

_ALWAYS_NS = 2**63 - 1
_POSITIVE_NS = 1

# attribute, least, most; nanoseconds
DURATIONS: tuple[tuple[str, int, int], ...] = (
    ("sync_frequency", _POSITIVE_NS, _ALWAYS_NS),
    ("file_check_frequency", _POSITIVE_NS, _ALWAYS_NS),
    ("http_check_frequency", _POSITIVE_NS, _ALWAYS_NS),
    ("node_status_update_frequency", _POSITIVE_NS, _ALWAYS_NS),
    ("node_status_report_frequency", _POSITIVE_NS, _ALWAYS_NS),
    ("runtime_request_timeout", _POSITIVE_NS, _ALWAYS_NS),
    ("cpu_manager_reconcile_period", _POSITIVE_NS, _ALWAYS_NS),
    ("streaming_connection_idle_timeout", 0, _ALWAYS_NS),
    ("image_minimum_gc_age", 0, _ALWAYS_NS),
    ("image_maximum_gc_age", 0, _ALWAYS_NS),
    ("cpu_cfs_quota_period", MILLISECOND_NS, SECOND_NS),
    ("container_log_monitor_interval", 3 * SECOND_NS, _ALWAYS_NS),
    ("authentication.webhook.cache_ttl", 0, _ALWAYS_NS),
    ("authorization.webhook.cache_authorized_ttl", 0, _ALWAYS_NS),
    ("authorization.webhook.cache_unauthorized_ttl", 0, _ALWAYS_NS),
    ("crash_loop_back_off.max_container_restart_period", SECOND_NS, 300 * SECOND_NS),
    ("logging.flush_frequency", _POSITIVE_NS, _ALWAYS_NS),
)


def range_faults(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    """One fault per field outside its range; absent fields are valid."""
    for attribute, least, most in NUMBERS:
        value = attrgetter(attribute)(configuration)
        if value is not None and not least <= value <= most:
            bounds = f"at least {least}" if most >= _MOST else f"between {least} and {most}"
            yield DocumentError(_path(attribute), f"is {value}, must be {bounds}", f"give a number {bounds}")
    for attribute, words in WORDS:
        value = attrgetter(attribute)(configuration)
        if value not in words:
            allowed = ", ".join(word or '""' for word in words)
            yield DocumentError(_path(attribute), f"{value!r} is not a known value", f"use one of {allowed}")
    for attribute, least, most in DURATIONS:
        value = attrgetter(attribute)(configuration)
        if value is not None and not least <= value <= most:
            bounds = _duration_bounds(least, most)
            reason = f"is {format_duration_ns(value)}, must be {bounds}"
            yield DocumentError(_path(attribute), reason, f"give a duration {bounds}")


def _path(attribute: str) -> str:
    return f"$.{document_path(attribute)}"


def _duration_bounds(least_ns: int, most_ns: int) -> str:
    if most_ns == _ALWAYS_NS:
        return "above 0s" if least_ns == _POSITIVE_NS else f"at least {format_duration_ns(least_ns)}"
    return f"between {format_duration_ns(least_ns)} and {format_duration_ns(most_ns)}"
