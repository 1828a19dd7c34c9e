"""KubeletConfiguration v1beta1 as frozen structs, with every default in its place (spec 12.2).

This file has the shape and the defaults of the document. Reading, checking and writing walk over it
(`config.kubelet.shapes`), so a field is named once. Durations are integer nanoseconds here and Go's text in documents.
Quantities stay the user's text. This file knows neither flags nor files, nor which values make sense together.

Two kinds of scalar exist, as in the API. In an ordinary field, zero (or `""`, `false`, `0s`) means "not said" and takes
the default. A field marked explicit keeps its zero, because zero says something there (`registryPullQPS: 0` is "no
limit").
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"

MILLISECOND_NS = 10**6
SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
HOUR_NS = 60 * MINUTE_NS

_NO_STRINGS: Mapping[str, str] = {}


class Form(msgspec.Struct, frozen=True):
    """How a field is written.

    `duration`: as Go's text. `explicit`: its zero is kept and written. `bits`: the width of an integer.
    `number_too`: documents may give a bare number where text is meant (a quantity, or nanoseconds).
    """

    duration: bool = False
    explicit: bool = False
    bits: int = 32
    number_too: bool = False


Switch = Annotated[bool, Form(explicit=True)]
Count = Annotated[int, Form(explicit=True)]
Wide = Annotated[int, Form(bits=64)]
ExplicitWide = Annotated[int, Form(explicit=True, bits=64)]
Duration = Annotated[int, Form(duration=True, bits=64)]
ExplicitDuration = Annotated[int, Form(duration=True, explicit=True, bits=64)]
Text = Annotated[str, Form(explicit=True)]
Amount = Annotated[str, Form(explicit=True, number_too=True)]
FlushDuration = Annotated[int, Form(duration=True, bits=64, number_too=True)]
Fraction = Annotated[float, Form(explicit=True)]

_UPPER = frozenset({"url", "ttl", "qps", "gc", "tls", "oom", "cfs", "id", "dns", "ca", "cidr", "qos", "api"})
_ODD = {"cpus": "CPUs", "iptables": "IPTables"}


def document_name(attribute: str) -> str:
    """The name in the document of a Python attribute: `image_gc_high` -> `imageGCHigh`."""
    first, *rest = attribute.split("_")
    return first + "".join(w.upper() if w in _UPPER else _ODD.get(w, w.capitalize()) for w in rest)


def document_path(attribute: str) -> str:
    """The document path of an attribute: `memory_swap.swap_behavior` -> `memorySwap.swapBehavior`."""
    return ".".join(map(document_name, attribute.split(".")))


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename=document_name):
    """A piece of the configuration; equal by value."""


class X509Authentication(_Part, frozen=True, kw_only=True):
    client_ca_file: str = ""


class WebhookAuthentication(_Part, frozen=True, kw_only=True):
    enabled: Switch = True
    cache_ttl: Duration = 2 * MINUTE_NS


class AnonymousAuthentication(_Part, frozen=True, kw_only=True):
    enabled: Switch = False


class Authentication(_Part, frozen=True, kw_only=True):
    x509: X509Authentication = X509Authentication()
    webhook: WebhookAuthentication = WebhookAuthentication()
    anonymous: AnonymousAuthentication = AnonymousAuthentication()


class WebhookAuthorization(_Part, frozen=True, kw_only=True):
    cache_authorized_ttl: Duration = 5 * MINUTE_NS
    cache_unauthorized_ttl: Duration = 30 * SECOND_NS


class Authorization(_Part, frozen=True, kw_only=True):
    mode: str = "Webhook"
    webhook: WebhookAuthorization = WebhookAuthorization()


class MemorySwap(_Part, frozen=True, kw_only=True):
    swap_behavior: str = ""


class VerbosityByFile(_Part, frozen=True, kw_only=True):
    """One entry of `--vmodule`: the log verbosity of the files whose name matches the pattern.

    The name is without `.go`.
    """

    file_pattern: Text = ""
    verbosity: Count = 0


class LogStream(_Part, frozen=True, kw_only=True):
    split_stream: bool = False
    info_buffer_size: Amount = "0"


class LogOptions(_Part, frozen=True, kw_only=True):
    text: LogStream = LogStream()
    json: LogStream = LogStream()


class Logging(_Part, frozen=True, kw_only=True):
    format: str = "text"
    flush_frequency: FlushDuration = 5 * SECOND_NS
    verbosity: Count = 0
    vmodule: tuple[VerbosityByFile, ...] = ()
    options: LogOptions = LogOptions()


class ShutdownGracePeriodByPodPriority(_Part, frozen=True, kw_only=True):
    priority: Count = 0
    shutdown_grace_period_seconds: ExplicitWide = 0


class CrashLoopBackOff(_Part, frozen=True, kw_only=True):
    """`None` only while the gate KubeletCrashLoopBackOffMax is off (spec 2.1)."""

    max_container_restart_period: ExplicitDuration | None = None


class MemoryReservation(_Part, frozen=True, kw_only=True):
    numa_node: Count = 0
    limits: Mapping[str, Amount] = _NO_STRINGS


class RegisteredTaint(_Part, frozen=True, kw_only=True):
    """A taint the node registers itself with.

    `time_added` is known only so that it can be refused by name.
    """

    key: Text = ""
    value: str = ""
    effect: Text = ""
    time_added: str | None = None


class Tracing(_Part, frozen=True, kw_only=True):
    endpoint: Text | None = None
    sampling_rate_per_million: Count | None = None


class UserNamespaces(_Part, frozen=True, kw_only=True):
    ids_per_pod: ExplicitWide | None = None


class KubeletConfiguration(_Part, frozen=True, kw_only=True):
    """The whole document, defaults included: `KubeletConfiguration()` is what an empty document means."""

    api_version: str = API_VERSION
    kind: str = KIND

    # Sources of pods.
    enable_server: Switch = True
    static_pod_path: str = ""
    pod_logs_dir: str = "/var/log/pods"
    sync_frequency: Duration = MINUTE_NS
    file_check_frequency: Duration = 20 * SECOND_NS
    http_check_frequency: Duration = 20 * SECOND_NS
    static_pod_url: str = ""
    static_pod_url_header: Mapping[str, tuple[str, ...]] = {}

    # The node's own server.
    address: str = "0.0.0.0"
    port: int = 10250
    read_only_port: int = 0
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    tls_cipher_suites: tuple[str, ...] = ()
    tls_curve_preferences: tuple[int, ...] = ()
    tls_min_version: str = ""
    rotate_certificates: bool = False
    server_tls_bootstrap: bool = False
    authentication: Authentication = Authentication()
    authorization: Authorization = Authorization()
    enable_debugging_handlers: Switch = True
    enable_contention_profiling: bool = False
    enable_profiling_handler: Switch = True
    enable_debug_flags_handler: Switch = True
    enable_system_log_handler: Switch = True
    enable_system_log_query: Switch = False
    healthz_port: Count = 10248
    healthz_bind_address: str = "127.0.0.1"
    streaming_connection_idle_timeout: Duration = 4 * HOUR_NS

    # Images.
    registry_pull_qps: Count = 5
    registry_burst: int = 10
    image_pull_credentials_verification_policy: str = "NeverVerifyPreloadedImages"
    preloaded_images_verification_allowlist: tuple[str, ...] = ()
    image_minimum_gc_age: Duration = 2 * MINUTE_NS
    image_maximum_gc_age: Duration = 0
    image_gc_high_threshold_percent: Count = 85
    image_gc_low_threshold_percent: Count = 80
    serialize_image_pulls: Switch = True
    max_parallel_image_pulls: Count | None = None

    # Events and the API server.
    event_record_qps: Count = 50
    event_burst: int = 100
    content_type: str = "application/vnd.kubernetes.protobuf"
    kube_api_qps: Count = 50
    kube_api_burst: int = 100
    config_map_and_secret_change_detection_strategy: str = "Watch"

    # The node object.
    register_node: Switch = True
    register_with_taints: tuple[RegisteredTaint, ...] = ()
    provider_id: str = ""
    node_status_update_frequency: Duration = 10 * SECOND_NS
    node_status_report_frequency: Duration = 5 * MINUTE_NS
    node_lease_duration_seconds: int = 40
    node_status_max_images: Count = 50
    max_pods: int = 110
    pods_per_core: int = 0
    pod_cidr: str = ""
    enable_controller_attach_detach: Switch = True

    # Resources of the node.
    kubelet_cgroups: str = ""
    system_cgroups: str = ""
    cgroup_root: str = ""
    cgroups_per_qos: Switch = True
    cgroup_driver: str = "cgroupfs"
    fail_cgroup_v1: Switch = True
    single_process_oom_kill: Switch | None = None
    oom_score_adj: Count = -999
    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Mapping[str, str] = _NO_STRINGS
    cpu_manager_reconcile_period: Duration = 10 * SECOND_NS
    memory_manager_policy: str = "None"
    reserved_memory: tuple[MemoryReservation, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] = _NO_STRINGS
    qos_reserved: Mapping[str, str] = _NO_STRINGS
    cpu_cfs_quota: Switch = True
    cpu_cfs_quota_period: ExplicitDuration = 100 * MILLISECOND_NS
    pod_pids_limit: ExplicitWide = -1
    max_open_files: Wide = 1_000_000
    system_reserved: Mapping[str, str] = _NO_STRINGS
    kube_reserved: Mapping[str, str] = _NO_STRINGS
    reserved_system_cpus: str = ""
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    enforce_node_allocatable: Annotated[tuple[str, ...], Form(explicit=True)] = ("pods",)
    fail_swap_on: Switch = True
    memory_swap: MemorySwap = MemorySwap()
    memory_throttling_factor: Fraction = 0.9
    memory_reservation_policy: str = "None"
    local_storage_capacity_isolation: Switch = True

    # Eviction. No default for `eviction_hard` here: it depends on there being a file (`config.kubelet.eviction`).
    eviction_hard: Mapping[str, str] = _NO_STRINGS
    eviction_soft: Mapping[str, str] = _NO_STRINGS
    eviction_soft_grace_period: Mapping[str, str] = _NO_STRINGS
    eviction_minimum_reclaim: Mapping[str, str] = _NO_STRINGS
    eviction_pressure_transition_period: Duration = 5 * MINUTE_NS
    eviction_max_pod_grace_period: int = 0
    merge_default_eviction_settings: Switch = False
    kernel_memcg_notification: bool = False

    # The runtime, pods and containers.
    container_runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    image_service_endpoint: str = ""
    runtime_request_timeout: Duration = 2 * MINUTE_NS
    hairpin_mode: str = "promiscuous-bridge"
    run_once: bool = False
    cluster_domain: str = ""
    cluster_dns: tuple[str, ...] = ()
    resolv_conf: Text = "/etc/resolv.conf"
    crash_loop_back_off: CrashLoopBackOff = CrashLoopBackOff()
    container_log_max_size: str = "10Mi"
    container_log_max_files: Count = 5
    container_log_max_workers: Count = 1
    container_log_monitor_interval: ExplicitDuration = 10 * SECOND_NS
    volume_stats_agg_period: Duration = MINUTE_NS
    volume_plugin_dir: str = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"
    user_namespaces: UserNamespaces | None = None

    # Security, shutdown, and the rest.
    seccomp_default: Switch = False
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    protect_kernel_defaults: bool = False
    make_iptables_util_chains: Switch = True
    iptables_masquerade_bit: Count = 14
    iptables_drop_bit: Count = 15
    feature_gates: Mapping[str, bool] = {}
    shutdown_grace_period: Duration = 0
    shutdown_grace_period_critical_pods: Duration = 0
    shutdown_grace_period_by_pod_priority: tuple[ShutdownGracePeriodByPodPriority, ...] = ()
    logging: Logging = Logging()
    tracing: Tracing | None = None
    show_hidden_metrics_for_version: str = ""

    @property
    def ids_per_pod(self) -> int:
        """Length of the id range of a pod with a user namespace (spec 17.6)."""
        chosen = self.user_namespaces.ids_per_pod if self.user_namespaces else None
        return 65536 if chosen is None else chosen
