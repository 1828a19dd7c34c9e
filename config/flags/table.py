"""The kubelet's command line as data (spec 12.3): every flag, what its value is, and what it sets.

Four tables: flags that are a node's own, deprecated flags that a field of the configuration file replaces, flags that
do nothing, and flags that are refused. Only words, no reading: that is `config.flags.command_line`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from config.kubelet.configuration import document_path


class FlagKind(StrEnum):
    """The type of a flag's value, and its placeholder in the help."""

    TEXT = "text"
    BOOLEAN = "true|false"
    INT32 = "number"
    INT64 = "number64"
    DURATION = "duration"
    LIST = "a,b,..."
    PAIRS = "key=value,..."
    GATES = "Gate=true,..."
    THRESHOLDS = "signal<amount,..."
    HEADERS = "Header:value,..."
    TAINTS = "key=value:effect,..."
    MEMORY = "node:memory=amount,...;..."
    VMODULE = "file=level,..."
    VERSION = "true|raw"
    SWITCH = "switch"


BARE: Mapping[FlagKind, str] = {FlagKind.BOOLEAN: "true", FlagKind.VERSION: "true", FlagKind.SWITCH: "true"}
"""Kinds that may stand without a value, and the value they then have.

They never take the next argument.
"""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag.

    `attribute`: the target of the value in NodeFlags, or, with `configures`, in KubeletConfiguration.
    """

    name: str
    kind: FlagKind
    group: str
    help: str
    attribute: str = ""
    configures: bool = False
    deprecated: bool = False

    @property
    def field(self) -> str:
        """The path of the configuration field it sets, as in documents."""
        return document_path(self.attribute)


JOINING, NODE, IMAGES, LOGGING, OTHER = "Joining a cluster", "This node", "Image credentials", "Logging", "Other"
FILES = "Configuration files"
EXTRA = "Of this agent, and of no kubelet"
GARBAGE = "Dead containers (deprecated, without a field in the file)"
FIELDS = "Deprecated: set the field in the file of --config"
NOTHING = "Without effect"


def _own(name: str, kind: FlagKind, group: str, text: str, attribute: str = "", *, configures: bool = False) -> Flag:
    """A flag that is mostly called as its attribute is."""
    return Flag(name, kind, group, text, attribute or name.replace("-", "_"), configures, deprecated=group == GARBAGE)


OWN = (
    _own("config", FlagKind.TEXT, FILES, "configuration file, KubeletConfiguration in YAML or JSON"),
    _own("config-dir", FlagKind.TEXT, FILES, "directory of *.conf drop-ins laid over the file in order"),
    _own("kubeconfig", FlagKind.TEXT, JOINING, "how to reach the API server; without it the node is alone"),
    _own("bootstrap-kubeconfig", FlagKind.TEXT, JOINING, "used once to get a client certificate"),
    _own("cert-dir", FlagKind.TEXT, JOINING, "where certificates are kept"),
    _own("node-labels", FlagKind.PAIRS, JOINING, "labels to register the node with"),
    _own("provider-id", FlagKind.TEXT, JOINING, "the node's id at its provider", configures=True),
    _own("cloud-provider", FlagKind.TEXT, JOINING, '"external", or empty for none'),
    _own("hostname-override", FlagKind.TEXT, NODE, "the node's name instead of the host's"),
    _own("node-ip", FlagKind.TEXT, NODE, "the node's address, or one of each family"),
    _own("root-dir", FlagKind.TEXT, NODE, "where pods and state are kept"),
    _own("runtime-cgroups", FlagKind.TEXT, NODE, "cgroup of the container runtime"),
    _own("seccomp-default", FlagKind.BOOLEAN, NODE, "RuntimeDefault for pods without profile", configures=True),
    _own("fail-cgroupv1", FlagKind.BOOLEAN, NODE, "refuse to start on cgroup v1", "fail_cgroup_v1", configures=True),
    _own("lock-file", FlagKind.TEXT, NODE, "file to hold locked while running (alpha)"),
    _own("exit-on-lock-contention", FlagKind.BOOLEAN, NODE, "end when another asks for the lock file (alpha)"),
    _own("image-credential-provider-config", FlagKind.TEXT, IMAGES, "file or directory of CredentialProviderConfig"),
    _own("image-credential-provider-bin-dir", FlagKind.TEXT, IMAGES, "directory of the provider programs"),
    _own("v", FlagKind.INT32, LOGGING, "verbosity, 0 and up", "logging.verbosity", configures=True),
    _own("vmodule", FlagKind.VMODULE, LOGGING, "verbosity of single files", "logging.vmodule", configures=True),
    _own(
        "log-flush-frequency",
        FlagKind.DURATION,
        LOGGING,
        "longest wait in memory",
        "logging.flush_frequency",
        configures=True,
    ),
    _own("accept-manifests", FlagKind.BOOLEAN, EXTRA, "take pod manifests over HTTP, at /manifests"),
    _own(
        "pod-volume-content-bytes",
        FlagKind.INT64,
        EXTRA,
        "what the files of one pod's configMap, secret, downwardAPI and projected volumes may take together",
    ),
    _own(
        "device-plugin-wait-duration",
        FlagKind.DURATION,
        EXTRA,
        "how long a pod waits for a device plugin that this node had and that is not here; 0: it fails at once",
        "device_plugin_wait_duration_ns",
    ),
    _own(
        "island-config",
        FlagKind.TEXT,
        EXTRA,
        "file with an IslandConfiguration: pods start from memory after a reboot while the API server is away",
    ),
    _own("record", FlagKind.TEXT, EXTRA, "directory for a record of all that reaches the agent, for actorlet replay"),
    _own("record-size", FlagKind.TEXT, EXTRA, "what the record may take on the disk; the oldest goes first"),
    _own("pod-logs-dir", FlagKind.TEXT, EXTRA, "directory of the logs of pods", configures=True),
    _own("version", FlagKind.VERSION, OTHER, "print the version and end"),
    _own("help", FlagKind.SWITCH, OTHER, "print this and end"),
    _own(
        "minimum-container-ttl-duration",
        FlagKind.DURATION,
        GARBAGE,
        "age a dead container reaches at least",
        "minimum_container_ttl_ns",
    ),
    _own("maximum-dead-containers-per-container", FlagKind.INT32, GARBAGE, "dead instances kept of each container"),
    _own("maximum-dead-containers", FlagKind.INT32, GARBAGE, "dead containers kept in all; negative means no limit"),
)

SHORT: Mapping[str, str] = {"v": "v", "h": "help"}

# name, kind, attribute of KubeletConfiguration
_REPLACED = """
    enable-server BOOLEAN enable_server
    file-check-frequency DURATION file_check_frequency
    http-check-frequency DURATION http_check_frequency
    sync-frequency DURATION sync_frequency
    pod-manifest-path TEXT static_pod_path
    manifest-url TEXT static_pod_url
    manifest-url-header HEADERS static_pod_url_header
    address TEXT address
    port INT32 port
    read-only-port INT32 read_only_port
    anonymous-auth BOOLEAN authentication.anonymous.enabled
    authentication-token-webhook BOOLEAN authentication.webhook.enabled
    authentication-token-webhook-cache-ttl DURATION authentication.webhook.cache_ttl
    client-ca-file TEXT authentication.x509.client_ca_file
    authorization-mode TEXT authorization.mode
    authorization-webhook-cache-authorized-ttl DURATION authorization.webhook.cache_authorized_ttl
    authorization-webhook-cache-unauthorized-ttl DURATION authorization.webhook.cache_unauthorized_ttl
    tls-cert-file TEXT tls_cert_file
    tls-private-key-file TEXT tls_private_key_file
    tls-cipher-suites LIST tls_cipher_suites
    tls-min-version TEXT tls_min_version
    rotate-certificates BOOLEAN rotate_certificates
    rotate-server-certificates BOOLEAN server_tls_bootstrap
    registry-qps INT32 registry_pull_qps
    registry-burst INT32 registry_burst
    event-qps INT32 event_record_qps
    event-burst INT32 event_burst
    enable-debugging-handlers BOOLEAN enable_debugging_handlers
    contention-profiling BOOLEAN enable_contention_profiling
    healthz-port INT32 healthz_port
    healthz-bind-address TEXT healthz_bind_address
    oom-score-adj INT32 oom_score_adj
    cluster-domain TEXT cluster_domain
    cluster-dns LIST cluster_dns
    volume-plugin-dir TEXT volume_plugin_dir
    streaming-connection-idle-timeout DURATION streaming_connection_idle_timeout
    node-status-update-frequency DURATION node_status_update_frequency
    node-status-max-images INT32 node_status_max_images
    minimum-image-ttl-duration DURATION image_minimum_gc_age
    image-gc-high-threshold INT32 image_gc_high_threshold_percent
    image-gc-low-threshold INT32 image_gc_low_threshold_percent
    volume-stats-agg-period DURATION volume_stats_agg_period
    feature-gates GATES feature_gates
    kubelet-cgroups TEXT kubelet_cgroups
    system-cgroups TEXT system_cgroups
    cgroups-per-qos BOOLEAN cgroups_per_qos
    cgroup-driver TEXT cgroup_driver
    cgroup-root TEXT cgroup_root
    cpu-manager-policy TEXT cpu_manager_policy
    cpu-manager-policy-options PAIRS cpu_manager_policy_options
    cpu-manager-reconcile-period DURATION cpu_manager_reconcile_period
    memory-manager-policy TEXT memory_manager_policy
    reserved-memory MEMORY reserved_memory
    topology-manager-policy TEXT topology_manager_policy
    topology-manager-policy-options PAIRS topology_manager_policy_options
    topology-manager-scope TEXT topology_manager_scope
    qos-reserved PAIRS qos_reserved
    runtime-request-timeout DURATION runtime_request_timeout
    hairpin-mode TEXT hairpin_mode
    runonce BOOLEAN run_once
    max-pods INT32 max_pods
    pods-per-core INT32 pods_per_core
    pod-cidr TEXT pod_cidr
    pod-max-pids INT64 pod_pids_limit
    resolv-conf TEXT resolv_conf
    cpu-cfs-quota BOOLEAN cpu_cfs_quota
    cpu-cfs-quota-period DURATION cpu_cfs_quota_period
    enable-controller-attach-detach BOOLEAN enable_controller_attach_detach
    make-iptables-util-chains BOOLEAN make_iptables_util_chains
    container-log-max-size TEXT container_log_max_size
    container-log-max-files INT32 container_log_max_files
    container-runtime-endpoint TEXT container_runtime_endpoint
    image-service-endpoint TEXT image_service_endpoint
    allowed-unsafe-sysctls LIST allowed_unsafe_sysctls
    max-open-files INT64 max_open_files
    kube-api-content-type TEXT content_type
    kube-api-qps INT32 kube_api_qps
    kube-api-burst INT32 kube_api_burst
    serialize-image-pulls BOOLEAN serialize_image_pulls
    eviction-hard THRESHOLDS eviction_hard
    eviction-soft THRESHOLDS eviction_soft
    eviction-soft-grace-period PAIRS eviction_soft_grace_period
    eviction-minimum-reclaim PAIRS eviction_minimum_reclaim
    eviction-pressure-transition-period DURATION eviction_pressure_transition_period
    eviction-max-pod-grace-period INT32 eviction_max_pod_grace_period
    kernel-memcg-notification BOOLEAN kernel_memcg_notification
    protect-kernel-defaults BOOLEAN protect_kernel_defaults
    reserved-cpus TEXT reserved_system_cpus
    system-reserved PAIRS system_reserved
    kube-reserved PAIRS kube_reserved
    enforce-node-allocatable LIST enforce_node_allocatable
    system-reserved-cgroup TEXT system_reserved_cgroup
    kube-reserved-cgroup TEXT kube_reserved_cgroup
    fail-swap-on BOOLEAN fail_swap_on
    local-storage-capacity-isolation BOOLEAN local_storage_capacity_isolation
    register-node BOOLEAN register_node
    register-with-taints TAINTS register_with_taints
    logging-format TEXT logging.format
    log-text-split-stream BOOLEAN logging.options.text.split_stream
    log-text-info-buffer-size TEXT logging.options.text.info_buffer_size
    log-json-split-stream BOOLEAN logging.options.json.split_stream
    log-json-info-buffer-size TEXT logging.options.json.info_buffer_size
"""

# Read and warned about: a kubelet knows them, and they do nothing there either, or are of cAdvisor.
_IGNORED = """
    application-metrics-count-limit boot-id-file container-hints containerd containerd-namespace
    event-storage-age-limit event-storage-event-limit global-housekeeping-interval housekeeping-interval
    max-housekeeping-interval machine-id-file storage-driver-buffer-duration storage-driver-db storage-driver-host
    storage-driver-password storage-driver-table storage-driver-user experimental-mounter-path
"""
_IGNORED_BOOLEANS = """
    enable-load-reader log-cadvisor-usage storage-driver-secure experimental-allocatable-ignore-eviction
"""

# A kubelet of 1.36 ends at these as at any flag that never was.
_REMOVED = """
    allow-privileged cloud-config cni-bin-dir cni-cache-dir cni-conf-dir container-runtime
    experimental-kernel-memcg-notification keep-terminated-pod-volumes master-service-namespace network-plugin
    network-plugin-mtu non-masquerade-cidr pod-infra-container-image really-crash-for-testing
    redirect-container-streaming register-schedulable
"""

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("windows-service", "windows-priorityclass"), "it exists on Windows only"),
    **dict.fromkeys(_REMOVED.split(), "remove it; kubelets knew it once, and one of 1.36 does not"),
}
"""Flags that are known and cannot be honoured, each with what to do."""


def _replaced() -> Iterator[Flag]:
    for line in _REPLACED.split("\n"):
        if words := line.split():
            name, kind, attribute = words
            yield Flag(name, FlagKind[kind], FIELDS, "", attribute, configures=True, deprecated=True)


def _without_effect() -> Iterator[Flag]:
    for names, kind in ((_IGNORED, FlagKind.TEXT), (_IGNORED_BOOLEANS, FlagKind.BOOLEAN)):
        for name in names.split():
            yield Flag(name, kind, NOTHING, "", deprecated=True)


FLAGS: Mapping[str, Flag] = {flag.name: flag for flag in (*OWN, *_replaced(), *_without_effect())}
