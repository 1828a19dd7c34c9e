"""The conformance behaviours of Kubernetes that are about a node.

Each names the tests that show it, or why none does.

The names are those of the published list of behaviours (a few occur twice there). `test_behaviours.py` looks whether
the tests that are named exist. A test that is named last and stands in `tests/real` shows it on containerd.
"""

from __future__ import annotations

_GIVEN = "tests/conformance/test_what_containers_get.py"
_ENDS = "tests/conformance/test_container_ends.py"
_PODS = "tests/conformance/test_pods.py"
_FILES = "tests/conformance/test_config_volumes.py"
_PROBES = "tests/simulation/node/test_probes.py"
_HOOKS = "tests/simulation/node/test_hooks.py"
_IDENTITY = "tests/simulation/node/test_identity.py"
_REFERENCES = "tests/simulation/node/test_references.py"
_VOLUMES = "tests/runtime/volumes/test_volumes.py"
_REAL_VOLUMES = "tests/real/test_agent_volumes.py"
_REAL_PARTS = f"{_REAL_VOLUMES}::test_parts_of_volumes_are_mounted_anew_for_each_start"
_PARTS = "tests/simulation/node/test_volume_parts.py"
_NO_PART = f"{_PARTS}::test_volume_subpath_env_expansion_subpath_with_absolute_path_and_with_backticks"
_CONFIG_VOLUME = "tests/runtime/volumes/test_config_volume.py"
_NETWORK_PROBES = "tests/runtime/probes/test_network_probes.py"
_REAL_LIFE = "tests/real/test_agent_lifecycle.py"
_REAL_CONTAINERS = "tests/real/test_agent_containers.py"
_REAL_IDENTITY = "tests/real/test_agent_identity.py"
_REAL_PROBES = "tests/real/test_agent_probes.py"
_REAL_HOOKS = "tests/real/test_agent_hooks.py"
_REAL_FILES = "tests/real/test_agent_config_volumes.py"
_REAL_EPHEMERAL = "tests/real/test_agent_ephemeral.py"

_RESIZE = "tests/simulation/node/test_resize.py"
_REAL_RESIZE = "tests/real/test_agent_resize.py::test_a_container_gets_more_and_less_while_it_runs"
_SEVERAL_RESIZED = (f"{_RESIZE}::test_guaranteed_pods_of_several_containers_grow_and_shrink", _REAL_RESIZE)
_COMMAND = (
    f"{_GIVEN}::test_containers_command_and_arguments",
    f"{_REAL_CONTAINERS}::test_environment_command_and_arguments_are_expanded",
)
_SECURITY = (
    f"{_GIVEN}::test_security_context_reaches_the_runtime",
    f"{_REAL_CONTAINERS}::test_the_security_context_holds",
)
_GROUPS = (
    f"{_GIVEN}::test_security_context_reaches_the_runtime",
    f"{_REAL_IDENTITY}::test_17_4_users_groups_and_privileges",
)
_ENVIRONMENT = (
    f"{_GIVEN}::test_environment_variables_expansion",
    f"{_REAL_CONTAINERS}::test_environment_command_and_arguments_are_expanded",
)
_OWN_FIELDS = (f"{_GIVEN}::test_downward_api_environment_for_name_namespace_ips_and_uid",)
_LAST_WORDS = (
    f"{_ENDS}::test_container_runtime_termination_message",
    f"{_REAL_LIFE}::test_the_last_words_of_a_container_are_in_its_status",
)
_FAILED_POD = (f"{_ENDS}::test_kubelet_failed_pod_terminated_reason_and_delete",)
_POST_START = f"{_REAL_HOOKS}::test_post_start_runs_in_the_container_and_pre_stop_before_the_stop_signal"
_HTTP_HOOK = f"{_REAL_HOOKS}::test_an_http_hook_reaches_the_pod_at_its_own_address"
_PROBE_KINDS = "tests/real/test_agent_probe_kinds.py::test_5_each_kind_of_probe_asked_in_each_way"
_WELL = f"{_PROBES}::test_a_container_that_is_well_is_asked_on_and_never_started_again"
_ILL = f"{_PROBES}::test_a_container_that_stays_ill_is_started_again_and_again_and_the_count_only_grows"
_HEALTHY = (_WELL, f"{_PROBES}::test_two_probe_failures_below_the_threshold_change_nothing", _PROBE_KINDS)
_KILLED = (
    _ILL,
    f"{_PROBES}::test_a_container_that_fails_its_liveness_probe_is_killed_and_started_again",
    f"{_REAL_PROBES}::test_a_container_that_fails_its_liveness_probe_is_started_again",
    _PROBE_KINDS,
)
_INIT_ORDER = f"{_REAL_LIFE}::test_init_containers_run_one_after_another_and_sidecars_with_the_rest"
_INIT_FAILS = f"{_REAL_LIFE}::test_an_init_container_that_fails_is_repeated_or_fails_the_pod"
_PLAIN = (f"{_FILES}::test_without_mapping_every_key_is_a_file_of_mode_0644",)
_MODE = (f"{_FILES}::test_without_mapping_volume_mode_set",)
_MAPPED = (f"{_FILES}::test_with_mapping_only_what_is_named_is_there_under_its_path",)
_GROUP_READS = (f"{_CONFIG_VOLUME}::test_the_fs_group_owns_volume_and_files",)
_TWICE = (f"{_FILES}::test_multiple_volume_paths_of_one_object",)
_UPDATE = (f"{_FILES}::test_update_is_seen_inside",)
_OPTIONAL = (f"{_FILES}::test_optional_objects_create_update_and_delete",)
_AMOUNTS = (f"{_FILES}::test_downward_api_cpu_and_memory_limits_and_requests",)
_DEFAULTS = (f"{_FILES}::test_downward_api_limits_default_to_node_allocatable",)
_POD_NAME = (
    f"{_FILES}::test_downward_api_pod_name_and_modes",
    f"{_REAL_FILES}::test_files_about_the_pod_are_read_only_in_memory_and_gone_with_it",
)
_CHANGES = (f"{_FILES}::test_downward_api_update_labels_and_annotations",)
_EMPTY = (
    f"{_VOLUMES}::test_an_empty_dir_is_open_to_all_and_keeps_its_files_when_asked_for_again",
    f"{_REAL_CONTAINERS}::test_volumes_are_shared_between_containers_and_with_the_host",
)
_EMPTY_MEMORY = (f"{_VOLUMES}::test_an_empty_dir_in_memory_is_mounted_once_with_its_size_and_unmounted",)

_NETWORK = "tests/real/test_agent_network.py::test_networking_pods_reach_each_other_over_http_and_so_does_the_host"

COVERED: dict[str, tuple[str, ...]] = {
    "ConfigMap, from environment field with various prefixes": (
        f"{_GIVEN}::test_config_map_from_environment_field_with_various_prefixes",
    ),
    "ConfigMap, from environment field": (
        f"{_GIVEN}::test_config_map_from_environment_field_and_from_environment_variables",
    ),
    "ConfigMap, from environment variables": (
        f"{_GIVEN}::test_config_map_from_environment_field_and_from_environment_variables",
    ),
    "ConfigMap, with empty-key": (f"{_GIVEN}::test_config_map_and_secrets_with_empty_key",),
    "Pod Lifecycle, post start exec hook": (
        f"{_HOOKS}::test_a_container_has_not_started_before_its_post_start_hook_has_ended",
        _POST_START,
    ),
    "Pod Lifecycle, post start http hook": (_HTTP_HOOK,),
    "Pod Lifecycle, prestop exec hook": (f"{_HOOKS}::test_a_pre_stop_command_runs_before_the_stop_signal", _POST_START),
    "Pod Lifecycle, prestop http hook": (
        f"{_HOOKS}::test_an_http_hook_calls_the_named_port_of_the_pod_and_says_that_it_fell_back",
        _HTTP_HOOK,
    ),
    "Container Runtime, TerminationMessage, from log output of succeeding container": _LAST_WORDS,
    "Container Runtime, TerminationMessage, from file of succeeding container": _LAST_WORDS,
    "Container Runtime, TerminationMessage, from container's log output of failing container": _LAST_WORDS,
    "Container Runtime, TerminationMessagePath, non-root user and non-default path": (
        f"{_ENDS}::test_container_runtime_termination_message_path_non_default_path",
    ),
    "Container Runtime, Restart Policy, Pod Phases": (
        f"{_ENDS}::test_container_runtime_restart_policy_pod_phases",
        f"{_REAL_LIFE}::test_restart_policies_decide_what_follows_an_end",
    ),
    "Containers, with arguments": _COMMAND,
    "Containers, with command": _COMMAND,
    "Containers, with command and arguments": _COMMAND,
    "Containers, without command and arguments": _COMMAND,
    "DownwardAPI, environment for CPU and memory limits and requests": (
        f"{_GIVEN}::test_downward_api_environment_for_cpu_and_memory_limits_and_requests",
    ),
    "DownwardAPI, environment for default CPU and memory limits and requests": (
        f"{_GIVEN}::test_downward_api_environment_for_default_cpu_and_memory_limits_and_requests",
    ),
    "DownwardAPI, environment for host ip": _OWN_FIELDS,
    "DownwardAPI, environment for hostIPs": _OWN_FIELDS,
    "DownwardAPI, environment for Pod UID": _OWN_FIELDS,
    "DownwardAPI, environment for name, namespace and ip": _OWN_FIELDS,
    "Ephemeral Container, update ephemeral containers": (
        f"{_ENDS}::test_ephemeral_container_update_ephemeral_containers",
    ),
    "Ephemeral Container Creation": (
        f"{_ENDS}::test_ephemeral_container_creation",
        f"{_REAL_EPHEMERAL}::test_an_ephemeral_container_sees_the_processes_of_its_target_and_is_never_restarted",
    ),
    "init-container-starts-app-restartalways-pod": (
        f"{_ENDS}::test_init_container_starts_app_restart_always_pod",
        _INIT_ORDER,
    ),
    "init-container-starts-app-restartnever-pod": (f"{_ENDS}::test_init_container_starts_app_restart_never_pod",),
    "init-container-fails-stops-app-restartnever-pod": (
        f"{_ENDS}::test_init_container_fails_stops_app_restart_never_pod",
        _INIT_FAILS,
    ),
    "init-container-fails-stops-app-restartalways-pod": (
        f"{_ENDS}::test_init_container_fails_stops_app_restart_always_pod",
        _INIT_FAILS,
    ),
    "Kubelet, log output, default": (
        f"{_ENDS}::test_kubelet_log_output_default",
        f"{_REAL_CONTAINERS}::test_labels_annotations_and_logs_lead_to_the_pod",
    ),
    "Kubelet, failed pod, delete": _FAILED_POD,
    "Kubelet, failed pod, terminated reason": _FAILED_POD,
    "Kubelet, pod with read only root file system": _SECURITY,
    "Kubelet, hostAliases": (
        f"{_IDENTITY}::test_conformance_kubelet_host_aliases_and_the_pods_own_name_are_in_its_hosts_file",
        f"{_REAL_IDENTITY}::test_14_2_and_14_3_host_names_and_hosts_files",
    ),
    "Kubelet, managed etc hosts": (
        f"{_IDENTITY}"
        "::test_conformance_kubelet_managed_etc_hosts_not_where_mounted_and_not_as_managed_in_the_host_network",
        f"{_REAL_IDENTITY}::test_14_2_and_14_3_host_names_and_hosts_files",
    ),
    "Pods Generation, graceful delete": (f"{_PODS}::test_pods_generation_graceful_delete",),
    "Pods Generation, 500 updates": (f"{_PODS}::test_pods_generation_500_updates",),
    "Pods Generation, updates": (f"{_PODS}::test_pods_generation_updates",),
    "In-place Pod Resize, burtable pod with multiple containers and various operations": (
        f"{_RESIZE}::test_a_burstable_pod_changes_what_it_has_in_many_ways_at_once",
        _REAL_RESIZE,
    ),
    "In-place Pod Resize, burstable pod resized with equivalents": (
        f"{_RESIZE}::test_amounts_that_are_the_same_for_the_kernel_are_shown_as_asked",
        _REAL_RESIZE,
    ),
    "In-place Pod Resize, guaranteed pods with multiple containers, net increase": _SEVERAL_RESIZED,
    "In-place Pod Resize, guaranteed pods with multiple containers, net decrease": _SEVERAL_RESIZED,
    "In-place Pod Resize, guaranteed pods with multiple containers, various operations": _SEVERAL_RESIZED,
    "Pods, QOS": (f"{_PODS}::test_pods_qos",),
    "Pods, ActiveDeadlineSeconds": (f"{_PODS}::test_pods_active_deadline_seconds",),
    "Pods, lifecycle": (f"{_PODS}::test_pods_lifecycle",),
    "Pods, update": (
        f"{_PODS}::test_pods_update_of_labels",
        f"{_PODS}::test_pods_update_image_in_place",
        f"{_REAL_HOOKS}::test_another_image_is_another_container_in_the_same_pod",
    ),
    "Pods, service environment variables": (f"{_GIVEN}::test_pods_service_environment_variables",),
    "Pods, delete a collection": (f"{_PODS}::test_pods_delete_a_collection",),
    "Pods, assigned hostip": (f"{_PODS}::test_pods_assigned_host_ip",),
    "Pods, patching status": (f"{_PODS}::test_pods_patching_status",),
    "Pods, completes the lifecycle of a Pod and the PodStatus": (
        f"{_PODS}::test_pods_lifecycle",
        f"{_PODS}::test_pods_patching_status",
    ),
    "Pods, prestop hook": (f"{_HOOKS}::test_a_pre_stop_command_runs_before_the_stop_signal", _POST_START),
    "Pod liveness probe, using http endpoint, failure": _HEALTHY,
    "Pod liveness probe, using grpc call, success": (
        f"{_NETWORK_PROBES}::test_spec_5_grpc_asks_for_a_service_and_takes_serving_only",
        *_HEALTHY,
    ),
    "Pod liveness probe, using local file, no restart": (f"{_PROBES}::test_a_command_is_run_by_the_runtime", *_HEALTHY),
    "Pod liveness probe, using tcp socket, no restart": _HEALTHY,
    "Pod liveness probe, using http endpoint, restart": _KILLED,
    "Pod liveness probe, using grpc call, failure": (
        f"{_NETWORK_PROBES}::test_spec_5_a_port_at_which_nobody_listens_is_a_failure_of_every_kind",
        *_KILLED,
    ),
    "Pod liveness probe, using local file, restart": _KILLED,
    "Pod liveness probe, using http endpoint, multiple restarts (slow)": _KILLED,
    "Pod readiness probe, with initial delay": (
        f"{_PROBES}::test_the_first_readiness_probe_waits_for_its_initial_delay",
        f"{_REAL_PROBES}::test_containers_are_ready_when_their_probes_say_so_and_while_they_do",
    ),
    "Pod readiness probe, failure": (
        f"{_PROBES}"
        "::test_a_pod_is_ready_once_its_readiness_probe_succeeds_and_not_ready_after_it_has_failed_three_times",
    ),
    "RuntimeClass Overhead field must be respected.": (
        f"{_IDENTITY}::test_overhead_is_told_beside_the_sum_of_the_containers",
    ),
    "Can schedule a pod requesting existing RuntimeClass.": (
        f"{_REFERENCES}::test_a_pod_is_made_by_the_handler_of_its_runtime_class",
    ),
    "Secrets, pod environment from source": (f"{_GIVEN}::test_secrets_pod_environment_field_and_from_source",),
    "Secrets, pod environment field": (f"{_GIVEN}::test_secrets_pod_environment_field_and_from_source",),
    "Secrets, with empty-key": (f"{_GIVEN}::test_config_map_and_secrets_with_empty_key",),
    "Security Context, runAsUser=65534": _SECURITY,
    "Security Context, privileged=false.": (
        f"{_GIVEN}::test_security_context_reaches_the_runtime",
        f"{_REAL_IDENTITY}::test_17_4_users_groups_and_privileges",
    ),
    "Security Context, readOnlyRootFilesystem=false.": _SECURITY,
    "Security Context, test RunAsGroup at container level": _GROUPS,
    "Security Context, test RunAsGroup at pod level": _GROUPS,
    "Security Context, allowPrivilegeEscalation=false.": _SECURITY,
    "Sysctls, reject invalid sysctls": (f"{_IDENTITY}::test_conformance_sysctls",),
    "Sysctl, test sysctls": (
        f"{_IDENTITY}::test_conformance_sysctls",
        f"{_REAL_IDENTITY}::test_17_5_sysctls",
    ),
    "Environment variables, expansion": _ENVIRONMENT,
    "Environment variables, command argument expansion": _ENVIRONMENT,
    "Environment variables, command expansion": _ENVIRONMENT,
    "ConfigMap Volume, text data, binary data": (f"{_FILES}::test_config_map_volume_text_data_and_binary_data",),
    "ConfigMap Volume, create, update and delete": _OPTIONAL,
    "ConfigMap Volume, without mapping": _PLAIN,
    "ConfigMap Volume, without mapping, non-root user": (*_PLAIN, *_GROUP_READS),
    "ConfigMap Volume, without mapping, volume mode set": _MODE,
    "ConfigMap Volume, with mapping": _MAPPED,
    "ConfigMap Volume, with mapping, volume mode set": _MAPPED,
    "ConfigMap Volume, with mapping, non-root user": (*_MAPPED, *_GROUP_READS),
    "ConfigMap Volume, multiple volume maps": _TWICE,
    "ConfigMap Volume, update": _UPDATE,
    "DownwardAPI volume, CPU limits": _AMOUNTS,
    "DownwardAPI volume, CPU request": _AMOUNTS,
    "DownwardAPI volume, memory limits": _AMOUNTS,
    "DownwardAPI volume, memory request": _AMOUNTS,
    "DownwardAPI volume, CPU limit, default node allocatable": _DEFAULTS,
    "DownwardAPI volume, memory limit, default node allocatable": _DEFAULTS,
    "DownwardAPI volume, pod name": _POD_NAME,
    "DownwardAPI volume, volume mode 0400": _POD_NAME,
    "DownwardAPI volume, file mode 0400": _POD_NAME,
    "DownwardAPI volume, update annotations": _CHANGES,
    "DownwardAPI volume, update label": _CHANGES,
    **dict.fromkeys(
        [f"EmptyDir, medium default, volume mode {mode}" for mode in ("0644", "0666", "0777", "default")],
        _EMPTY,
    ),
    **dict.fromkeys(
        [
            *(f"EmptyDir, medium memory, volume mode {mode}" for mode in ("0644", "0666", "0777", "default")),
            "EmptyDir, medium memory, volume mode 0644, non-root user",
            "EmptyDir, medium memory, volume mode 0666,, non-root user",
            "EmptyDir, medium memory, volume mode 0777, non-root user",
        ],
        _EMPTY_MEMORY,
    ),
    "Projected Volume, multiple projections": (f"{_FILES}::test_projected_volume_multiple_projections",),
    "Projected Volume, ConfigMap, create, update and delete": _OPTIONAL,
    "Projected Volume, ConfigMap, volume mode default": _PLAIN,
    "Projected Volume, ConfigMap, non-root user": (*_PLAIN, *_GROUP_READS),
    "Projected Volume, ConfigMap, volume mode 0400": _MODE,
    "Projected Volume, ConfigMap, mapped": _MAPPED,
    "Projected Volume, ConfigMap, mapped, volume mode 0400": _MAPPED,
    "Projected Volume, ConfigMap, mapped, non-root user": (*_MAPPED, *_GROUP_READS),
    "Projected Volume, ConfigMap, multiple volume paths": _TWICE,
    "Projected Volume, ConfigMap, update": _UPDATE,
    "Projected Volume, DownwardAPI, CPU limits": _AMOUNTS,
    "Projected Volume, DownwardAPI, CPU request": _AMOUNTS,
    "Projected Volume, DownwardAPI, memory limits": _AMOUNTS,
    "Projected Volume, DownwardAPI, memory request": _AMOUNTS,
    "Projected Volume, DownwardAPI, CPU limit, node allocatable": _DEFAULTS,
    "Projected Volume, DownwardAPI, memory limit, node allocatable": _DEFAULTS,
    "Projected Volume, DownwardAPI, pod name": _POD_NAME,
    "Projected Volume, DownwardAPI, volume mode 0400": _POD_NAME,
    "Projected Volume, DownwardAPI, update annotation": _CHANGES,
    "Projected Volume, DownwardAPI, update labels": _CHANGES,
    "Projected Volume, Secrets, create, update delete": _OPTIONAL,
    "Projected Volume, Secrets, volume mode default": _PLAIN,
    "Project Volume, Secrets, non-root, custom fsGroup": (*_PLAIN, *_GROUP_READS),
    "Projected Volume, Secrets, volume mode 0400": _MODE,
    "Projected Volume, Secrets, mapped": _MAPPED,
    "Projected Volume, Secrets, mapped, volume mode 0400": _MAPPED,
    "Projected Volume, Secrets, mapped, multiple paths": _TWICE,
    "Secrets Volume, create, update and delete": _OPTIONAL,
    "Secrets Volume, volume mode default, secret with same name in different namespace": (
        f"{_FILES}::test_secrets_volume_secret_with_same_name_in_different_namespace",
    ),
    "Secrets Volume, default": _PLAIN,
    "Secrets Volume, volume mode 0440, fsGroup 1001 and uid 1000": (*_MODE, *_GROUP_READS),
    "Secrets Volume, volume mode 0400": _MODE,
    "Secrets Volume, mapping": _MAPPED,
    "Secrets Volume, mapping, volume mode 0400": _MAPPED,
    "Secrets Volume, mapping multiple volume paths": _TWICE,
    "Image Volume": (
        f"{_PARTS}::test_an_image_that_is_not_there_is_pulled_for_the_volume",
        f"{_REAL_VOLUMES}::test_files_of_an_image_are_a_volume_that_is_read_only",
    ),
    "VolumeSubpathEnvExpansion, subpath expansion": (
        f"{_PARTS}::test_volume_subpath_env_expansion_subpath_expansion",
        _REAL_PARTS,
    ),
    "VolumeSubpathEnvExpansion, subpath with absolute path": (_NO_PART,),
    "VolumeSubpathEnvExpansion, subpath with backticks": (_NO_PART,),
    "VolumeSubpathEnvExpansion, subpath test writes": (_REAL_PARTS,),
    "Pods, remote command execution over websocket": (
        "tests/real/test_agent_http.py::test_commands_run_with_input_output_errors_and_exit_codes",
    ),
    "Networking, intra pod http": (_NETWORK,),
    "Networking, intra pod http, from node": (_NETWORK,),
    "VolumeSubpathEnvExpansion, subpath ready from failed state": (
        f"{_PARTS}::test_volume_subpath_env_expansion_subpath_ready_from_failed_state",
    ),
}

_UDP = (
    "carried by the same plugin as TCP, which is shown; the images that tests make on the spot have no server for UDP"
)
_LOGS_OVER_WEBSOCKETS = (
    "it is the API server that makes a websocket of a pod's log; the node gives the log over HTTP, which is shown by "
    "tests/real/test_agent_http.py::test_logs_are_read_and_followed_to_the_end_of_the_container"
)
_CLASS = (
    "it is the admission of the API server that rejects the pod; a node that gets one all the same says so and waits "
    "(tests/simulation/node/test_references.py)"
)
_TAINTS = "it is a controller of the cluster that evicts, with a DELETE; what a DELETE does is shown by Pods, lifecycle"
_LEASES = "it is about what the API server keeps; the node's own lease is in tests/actors/node/status/test_lease.py"
_NODES = "it is about what the API server keeps; the node's own object is in tests/actors/test_node_status.py"
_READ_HERE = (
    "it is about what the API server keeps; what a node makes of those that its pods refer to is in "
    "tests/simulation/node/test_references.py"
)
_NOT_READ = "it is about what the API server keeps, and no node reads"
_DEVICES = "it is about what the API server keeps; this node prepares no dynamic resources yet"

NOT_COVERED: dict[str, str] = {
    "Networking, intra pod udp": _UDP,
    "ConfigMap lifecycle": _READ_HERE,
    "ConfigMap Update": _READ_HERE,
    "lease API should be available": _LEASES,
    "Pod Eviction, Toleration limits": _TAINTS,
    "Taint, Pod Eviction on taint removal": _TAINTS,
    "Node, resource lifecycle": _NODES,
    "In-place Pod Resize, read and replace endpoints": "it is about a subresource of the API server alone",
    "PodTemplate, delete a collection": _NOT_READ,
    "PodTemplate, replace": _NOT_READ,
    "PodTemplate lifecycle": _NOT_READ,
    "Pods, logs from websockets": _LOGS_OVER_WEBSOCKETS,
    "Pod with the deleted RuntimeClass is rejected.": _CLASS,
    "Pod with the non-existing RuntimeClass is rejected.": _CLASS,
    "RuntimeClass API": _READ_HERE,
    "Secret patching": _READ_HERE,
    "CRUD operations for deviceclasses": _DEVICES,
    "CRUD operations for resourceclaims": _DEVICES,
    "CRUD operations for resourceclaimtemplates": _DEVICES,
    "CRUD operations for resoureslices": _DEVICES,
}
