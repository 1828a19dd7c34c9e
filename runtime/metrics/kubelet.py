"""The names of a kubelet that apply here (spec 11.7): what dashboards and alerts of today ask for.

Types and labels are theirs. Three subjects have modules of their own: `kubelet_api.py` has requests and certificates,
`selinux.py` the labels of volumes, `shares.py` the CPUs and the memory of single pods. `runtime/metrics/absent.py` has
the names that do not apply, with the reason. A name moves here from there together with the part of the node that it is
about.
"""

from __future__ import annotations

from runtime.metrics import claims, devices, kubelet_api, selinux, shares
from runtime.metrics.families import counter, gauge, histogram, in_module, powers

_MINUTES = (60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600)
_START_BUCKETS = (0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, *_MINUTES)
_PULL_BUCKETS = (1, 5, 10, 20, 30, *_MINUTES)
_VOLUME_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600)
_CALL_BUCKETS = powers(0.005, 2.5, 14)

# --- the node -------------------------------------------------------------------------------------------------------

NODE_NAME = gauge("kubelet_node_name", "The node's name; always 1.", "node")
CGROUP_VERSION = gauge("kubelet_cgroup_version", "Version of cgroups on this machine.")
CGROUP_MANAGER = histogram(
    "kubelet_cgroup_manager_duration_seconds",
    "How long it took to make, change or remove one cgroup.",
    "operation_type",
)
MEMORY_KEPT = gauge("kubelet_memory_qos_node_memory_min_bytes", "Memory that the kernel never takes from pods.")
MEMORY_KEPT_AT_BEST = gauge(
    "kubelet_memory_qos_node_memory_low_bytes",
    "Memory that the kernel takes from pods only when it finds none elsewhere.",
)
LOSING_SUPPORT = gauge(
    "kubelet_cri_losing_support",
    "1: the runtime lacks a call that this version of Kubernetes will require.",
    "version",
)
STARTUP_PRE_KUBELET = gauge(
    "kubelet_node_startup_pre_kubelet_duration_seconds", "From the boot of the machine to the start of the agent."
)
STARTUP_PRE_REGISTRATION = gauge(
    "kubelet_node_startup_pre_registration_duration_seconds", "From the start of the agent to its registration."
)
STARTUP_REGISTRATION = gauge("kubelet_node_startup_registration_duration_seconds", "How long the registration took.")
STARTUP_POST_REGISTRATION = gauge(
    "kubelet_node_startup_post_registration_duration_seconds", "From the registration to a node that is ready."
)
STARTUP = gauge("kubelet_node_startup_duration_seconds", "From the boot of the machine to a node that is ready.")

# --- pods -----------------------------------------------------------------------------------------------------------

CONTAINERS_PER_POD = histogram(
    "kubelet_containers_per_pod_count", "Containers of a pod, at its first status.", buckets=(1, 2, 4, 8, 16)
)
WORKER_DURATION = histogram(
    "kubelet_pod_worker_duration_seconds", "Duration of passes of pod workers, by their kind.", "operation_type"
)
WORKER_START = histogram(
    "kubelet_pod_worker_start_duration_seconds", "Time from the first sight of a pod to the first pass of its worker."
)
POD_START = histogram(
    "kubelet_pod_start_duration_seconds",
    "Time from the first sight of a pod to the start of its containers.",
    buckets=_START_BUCKETS,
)
POD_START_SLI = histogram(
    "kubelet_pod_start_sli_duration_seconds",
    "From a pod's creation to its containers' running, without the pulls of images and init containers.",
    buckets=_START_BUCKETS,
)
POD_START_TOTAL = histogram(
    "kubelet_pod_start_total_duration_seconds",
    "From a pod's creation to its containers' running, with the pulls of images and init containers.",
    buckets=_START_BUCKETS,
)
FIRST_NETWORK_POD_START_SLI = gauge(
    "kubelet_first_network_pod_start_sli_duration_seconds",
    "The same as the SLI, of the first pod with a network of its own.",
)
STATUS_SYNC = histogram(
    "kubelet_pod_status_sync_duration_seconds",
    "Time from a new status to its write to the API.",
    buckets=(0.010, 0.050, 0.100, 0.500, 1, 5, 10, 20, 30, 45, 60),
)
RUNNING_PODS = gauge("kubelet_running_pods", "Pods with a sandbox that is ready.")
RUNNING_CONTAINERS = gauge("kubelet_running_containers", "Containers by state.", "container_state")
DESIRED_PODS = gauge("kubelet_desired_pods", "Pods that the sources want here.", "static")
ACTIVE_PODS = gauge("kubelet_active_pods", "Pods that have a worker and are not ending.", "static")
MIRROR_PODS = gauge("kubelet_mirror_pods", "Mirror pods of this node in the API.")
WORKING_PODS = gauge("kubelet_working_pods", "Pods by the stage of their life.", "lifecycle", "config", "static")
ORPHANED_PODS = counter("kubelet_orphaned_runtime_pods_total", "Pods found running that no source wants.")
RESTARTED_PODS = counter(
    "kubelet_restarted_pods_total", "Pods that came back with the same UID while they were ending.", "static"
)
STARTED_PODS = counter("kubelet_started_pods_total", "Attempts to make a sandbox.")
STARTED_PODS_ERRORS = counter("kubelet_started_pods_errors_total", "Sandboxes that could not be made.")
STARTED_USERNS_PODS = counter(
    "kubelet_started_user_namespaced_pods_total", "Attempts to make a sandbox with a user namespace."
)
STARTED_USERNS_PODS_ERRORS = counter(
    "kubelet_started_user_namespaced_pods_errors_total", "Sandboxes with a user namespace that could not be made."
)
STARTED_CONTAINERS = counter("kubelet_started_containers_total", "Attempts to start a container.", "container_type")
STARTED_CONTAINERS_ERRORS = counter(
    "kubelet_started_containers_errors_total", "Containers that could not be started.", "container_type", "code"
)
TERMINATED_CONTAINERS = counter(
    "kubelet_terminated_containers_total", "Containers that have ended.", "container_type", "exit_code", "reason"
)
EPHEMERAL_CONTAINERS = gauge("kubelet_managed_ephemeral_containers", "Ephemeral containers of the pods here.")
ADMISSION_REJECTIONS = counter(
    "kubelet_admission_rejections_total", "Pods that the node rejected, by reason.", "reason"
)
PREEMPTIONS = counter(
    "kubelet_preemptions", "Pods that were ended for critical pods, by the short resource.", "preemption_signal"
)
RESIZES_REQUESTED = counter(
    "kubelet_container_requested_resizes_total",
    "Requested resizes of pods.",
    "resource",
    "requirement",
    "operation",
)
RESIZE_DURATION = histogram(
    "kubelet_pod_resize_duration_milliseconds",
    "From the grant of a resize to its end, in ms.",
    "success",
    buckets=powers(10, 2, 15),
)
RESIZES_PENDING = gauge("kubelet_pod_pending_resizes", "Pods that wait for a resize, by reason.", "reason")
RESIZES_IN_PROGRESS = gauge("kubelet_pod_in_progress_resizes", "Pods whose containers are being resized.")
RESIZES_INFEASIBLE = counter(
    "kubelet_pod_infeasible_resizes_total", "Resizes that can never succeed, by reason.", "reason_detail"
)
RESIZES_DEFERRED_ACCEPTED = counter(
    "kubelet_pod_deferred_accepted_resizes_total",
    "Resizes granted after a wait, by the trigger of the retry.",
    "retry_trigger",
)
EVICTIONS = counter("kubelet_evictions", "Pods that were evicted, by signal.", "eviction_signal")
EVICTION_STATS_AGE = histogram(
    "kubelet_eviction_stats_age_seconds", "Age of the readings by which a pod was evicted.", "eviction_signal"
)
GRACEFUL_SHUTDOWN_START = gauge(
    "kubelet_graceful_shutdown_start_time_seconds",
    "When the last shutdown of the machine began, in seconds since 1970.",
)
GRACEFUL_SHUTDOWN_END = gauge(
    "kubelet_graceful_shutdown_end_time_seconds",
    "When the pods had ended at that shutdown, in seconds since 1970; 0: not yet.",
)
HANDLER_FALLBACKS = counter(
    "kubelet_lifecycle_handler_http_fallbacks_total", "Hooks over HTTPS that were asked again over HTTP."
)
SLEEP_ENDED_EARLY = counter(
    "kubelet_sleep_action_terminated_early_total", "Sleep hooks that ended early, because their container ended."
)

# --- the runtime ----------------------------------------------------------------------------------------------------

PLEG_DURATION = histogram("kubelet_pleg_relist_duration_seconds", "Duration of listing all pods of the runtime.")
PLEG_INTERVAL = histogram("kubelet_pleg_relist_interval_seconds", "Time between two lists of all pods of the runtime.")
PLEG_LAST_SEEN = gauge(
    "kubelet_pleg_last_seen_seconds", "When all pods of the runtime were last listed, in seconds since 1970."
)
PLEG_DISCARDED = counter(
    "kubelet_pleg_discard_events", "Times that events were lost, so that all workers looked again."
)
EVENTED_CONNECTIONS = counter("kubelet_evented_pleg_connection_success_count", "Streams of events that were opened.")
EVENTED_ERRORS = counter("kubelet_evented_pleg_connection_error_count", "Streams of events that broke.")
EVENTED_LATENCY = histogram(
    "kubelet_evented_pleg_connection_latency_seconds", "Time from an event of the runtime to its arrival here."
)
RUNTIME_OPERATIONS = counter("kubelet_runtime_operations_total", "Calls to the runtime.", "operation_type")
RUNTIME_ERRORS = counter(
    "kubelet_runtime_operations_errors_total", "Calls to the runtime that failed.", "operation_type"
)
RUNTIME_DURATION = histogram(
    "kubelet_runtime_operations_duration_seconds", "Calls to the runtime.", "operation_type", buckets=_CALL_BUCKETS
)
SANDBOX_DURATION = histogram(
    "kubelet_run_podsandbox_duration_seconds", "Duration of making a sandbox.", "runtime_handler", at_most=50
)
SANDBOX_ERRORS = counter(
    "kubelet_run_podsandbox_errors_total", "Sandboxes that could not be made.", "runtime_handler", at_most=50
)
PULL_DURATION = histogram(
    "kubelet_image_pull_duration_seconds",
    "Duration of image pulls, by size of the image.",
    "image_size_in_bytes",
    buckets=_PULL_BUCKETS,
)
CREDENTIAL_PROVIDER_ERRORS = counter(
    "kubelet_credential_provider_plugin_errors_total",
    "Runs of a credential program that failed.",
    "plugin_name",
)
CREDENTIAL_PROVIDER_DURATION = histogram(
    "kubelet_credential_provider_plugin_duration", "Runs of a credential program, in seconds.", "plugin_name"
)
CREDENTIAL_PROVIDER_CONFIG = gauge(
    "kubelet_credential_provider_config_info",
    "Digest of the configuration of credential programs; always 1.",
    "hash",
)
PULL_INTENTS = gauge("kubelet_imagemanager_ondisk_pullintents", "Pulls under way, as recorded on disk.")
PULLED_RECORDS = gauge("kubelet_imagemanager_ondisk_pulledrecords", "Images with a record on disk of who pulled them.")
PULL_INTENTS_PERCENT = gauge(
    "kubelet_imagemanager_inmemory_pullintents_usage_percent",
    "Pulls that have begun, in percent of what a kubelet keeps in memory.",
)
PULLED_RECORDS_PERCENT = gauge(
    "kubelet_imagemanager_inmemory_pulledrecords_usage_percent",
    "Records of pulled images, in percent of what a kubelet keeps in memory.",
)
MUST_PULL_CHECKS = counter(
    "kubelet_imagemanager_image_mustpull_checks_total",
    "Checks whether a pod may use an image on the node, by result.",
    "result",
)
ENSURE_IMAGE = counter(
    "kubelet_image_manager_ensure_image_requests_total",
    "Checks for an image before a container starts.",
    "pull_policy",
    "present_locally",
    "pull_required",
)
IMAGE_GARBAGE_COLLECTED = counter(
    "kubelet_image_garbage_collected_total", "Images that were removed, for their age or for space.", "reason"
)

IMAGE_VOLUMES = counter("kubelet_image_volume_requested_total", "Image volumes that were requested.")
IMAGE_VOLUMES_MOUNTED = counter("kubelet_image_volume_mounted_succeed_total", "Images that were mounted as volumes.")
IMAGE_VOLUMES_ERRORS = counter(
    "kubelet_image_volume_mounted_errors_total", "Images that could not be mounted as volumes."
)

# --- volumes and logs -----------------------------------------------------------------------------------------------

_OF_CLAIM = ("namespace", "persistentvolumeclaim")
VOLUME_CAPACITY = gauge("kubelet_volume_stats_capacity_bytes", "Size of a volume.", *_OF_CLAIM)
VOLUME_AVAILABLE = gauge("kubelet_volume_stats_available_bytes", "Free bytes of a volume.", *_OF_CLAIM)
VOLUME_USED = gauge("kubelet_volume_stats_used_bytes", "Used bytes of a volume.", *_OF_CLAIM)
VOLUME_INODES = gauge("kubelet_volume_stats_inodes", "Inodes of a volume.", *_OF_CLAIM)
VOLUME_INODES_FREE = gauge("kubelet_volume_stats_inodes_free", "Inodes that are left of a volume.", *_OF_CLAIM)
VOLUME_ABNORMAL = gauge(
    "kubelet_volume_stats_health_status_abnormal", "1 if its driver reports the volume as abnormal, else 0.", *_OF_CLAIM
)
VOLUME_INODES_USED = gauge("kubelet_volume_stats_inodes_used", "Inodes used of a volume.", *_OF_CLAIM)
POD_CERTIFICATES = gauge(
    "kubelet_podcertificate_states",
    "Certificates of pods, by signer and state.",
    *("signer_name", "state"),
)
LOG_BYTES = gauge(
    "kubelet_container_log_filesystem_used_bytes",
    "Disk space of a container's logs.",
    "uid",
    "namespace",
    "pod",
    "container",
)
VOLUME_COLLECTION = histogram(
    "kubelet_volume_metric_collection_duration_seconds",
    "Duration of measuring volumes.",
    "metric_source",
)
METRICS_PROVIDER = gauge("kubelet_metrics_provider", "Where usage comes from; always 1.", "provider")
STORAGE_DURATION = histogram(
    "storage_operation_duration_seconds",
    "Duration of operations on volumes.",
    *("volume_plugin", "operation_name", "status", "migrated"),
    buckets=_VOLUME_BUCKETS,
)
VOLUME_TOTAL = histogram(
    "volume_operation_total_seconds",
    "Time until a requested volume is usable.",
    "plugin_name",
    "operation_name",
    buckets=_VOLUME_BUCKETS,
)
CSI_OPERATIONS = histogram(
    "csi_operations_seconds",
    "Calls of storage drivers.",
    *("driver_name", "method_name", "grpc_status_code", "migrated"),
    buckets=_VOLUME_BUCKETS,
)
MANAGED_VOLUMES = gauge("volume_manager_total_volumes", "Volumes of pods here.", "plugin_name", "state")
PLUGINS = gauge("plugin_manager_total_plugins", "Plugins by their socket; always 1.", "socket_path", "state")

# --- the actors, as work queues --------------------------------------------------------------------------------------

QUEUE_ADDS = counter("workqueue_adds_total", "Messages that came, by class of actor.", "name")
QUEUE_DEPTH = gauge("workqueue_depth", "Messages that wait, by class of actor.", "name")
QUEUE_RETRIES = counter("workqueue_retries_total", "Restarts after failures, by class of actor.", "name")
QUEUE_LONGEST = gauge(
    "workqueue_longest_running_processor_seconds", "How long the oldest handler under way runs.", "name"
)
QUEUE_UNFINISHED = gauge("workqueue_unfinished_work_seconds", "Total running time of the handlers under way.", "name")

# --- probes, at /metrics/probes ---------------------------------------------------------------------------------------

PROBES_AT_MOST = 2_000
_PROBED = ("container", "pod", "namespace")
PROBE_TOTAL = counter(
    "prober_probe_total",
    "Probes by result.",
    *("probe_type", "result", *_PROBED, "pod_uid"),
    at_most=3 * PROBES_AT_MOST,
)
PROBE_DURATION = histogram(
    "prober_probe_duration_seconds", "Duration of probes.", "probe_type", *_PROBED, at_most=PROBES_AT_MOST
)

# --- the process ------------------------------------------------------------------------------------------------------

BUILD_INFO = gauge(
    "kubernetes_build_info",
    "The version of Kubernetes that this node is one of; always 1.",
    *("major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler"),
    "platform",
)
FEATURE_ENABLED = gauge("kubernetes_feature_enabled", "Whether a feature gate is on.", "name", "stage")
PROCESS_CPU = counter("process_cpu_seconds_total", "Processor time of the agent.")
PROCESS_RESIDENT = gauge("process_resident_memory_bytes", "Memory of the agent.")
PROCESS_VIRTUAL = gauge("process_virtual_memory_bytes", "Address space of the agent.")
PROCESS_VIRTUAL_MAX = gauge("process_virtual_memory_max_bytes", "Address space that the agent may have; -1 for all.")
PROCESS_RECEIVED = counter("process_network_receive_bytes_total", "Bytes received in the agent's network.")
PROCESS_SENT = counter("process_network_transmit_bytes_total", "Bytes sent in the agent's network.")
PROCESS_FDS = gauge("process_open_fds", "Files that the agent has open.")
PROCESS_MAX_FDS = gauge("process_max_fds", "Files that the agent may have open.")
PROCESS_START = gauge("process_start_time_seconds", "When the agent began, in seconds since 1970.")

AT_PROBES = (PROBE_DURATION, PROBE_TOTAL)
_ALL = sorted(
    (
        *in_module(globals()),
        *claims.FAMILIES,
        *devices.FAMILIES,
        *kubelet_api.FAMILIES,
        *selinux.FAMILIES,
        *shares.FAMILIES,
    ),
    key=lambda each: each.name,
)
FAMILIES = tuple(each for each in _ALL if each not in AT_PROBES)
