"""Everything that a pod and its containers go through, with the tests that show it on containerd.

What cannot be shown there has a reason, and other tests.

`test_pod_life.py` looks whether the tests that are named exist. `newer` in a path means containerd 2.1 and runc 1.3
(`tests/real/newer_runtime.py`); all others run on what Debian 12 has, containerd 1.6 and runc 1.1.
"""

from __future__ import annotations

_BACK_OFF = "tests/real/test_agent_back_off.py"
_CONDITIONS = "tests/real/test_agent_conditions.py"
_CONFIG_VOLUMES = "tests/real/test_agent_config_volumes.py"
_CONTAINERS = "tests/real/test_agent_containers.py"
_CREDENTIALS = "tests/real/test_agent_credentials.py"
_ENDS = "tests/real/test_agent_pod_ends.py"
_ENVIRONMENT = "tests/real/test_agent_environment.py"
_EPHEMERAL = "tests/real/test_agent_ephemeral.py"
_EXPLAIN = "tests/real/test_agent_explain.py"
_HOOKS = "tests/real/test_agent_hooks.py"
_HOOK_KINDS = "tests/real/test_agent_hook_kinds.py"
_IDENTITY = "tests/real/test_agent_identity.py"
_INITS = "tests/real/test_agent_inits.py"
_LIFECYCLE = "tests/real/test_agent_lifecycle.py"
_LOGS = "tests/real/test_agent_logs.py"
_NEWER = "tests/real/test_agent_newer_runtime.py"
_PROBES = "tests/real/test_agent_probes.py"
_PROBE_KINDS = "tests/real/test_agent_probe_kinds.py"
_OF_OBJECTS = "tests/real/test_agent_references.py"
_RESTART = "tests/real/test_agent_restart.py"
_RULES = "tests/real/test_agent_restart_rules.py"
_SECURITY = "tests/real/test_agent_security.py"
_SERVICES = "tests/real/test_agent_services.py"

_EACH_PROBE = f"{_PROBE_KINDS}::test_5_each_kind_of_probe_asked_in_each_way"
_STARTUP_ENDS = f"{_PROBE_KINDS}::test_5_a_startup_probe_that_fails_ends_the_container"
_PROBE_TIMES = f"{_PROBE_KINDS}::test_5_delay_thresholds_and_grace_of_a_probe"
_EXEC_HOOKS = f"{_HOOKS}::test_post_start_runs_in_the_container_and_pre_stop_before_the_stop_signal"
_HTTP_HOOKS = f"{_HOOK_KINDS}::test_3_11_hooks_call_over_http_and_https_and_fall_back_without_credentials"
_SLEEPS = f"{_HOOK_KINDS}::test_3_11_a_sleep_hook_delays_the_next_container_and_the_stop_signal"
_BAD_HOOKS = f"{_HOOK_KINDS}::test_3_11_a_failed_post_start_hook_ends_the_container_and_is_named"
_HOOK_GRACE = f"{_HOOK_KINDS}::test_3_10_a_hook_takes_its_time_of_the_grace_and_not_more"
_INIT_ORDER = f"{_LIFECYCLE}::test_init_containers_run_one_after_another_and_sidecars_with_the_rest"
_INIT_FAILS = f"{_LIFECYCLE}::test_an_init_container_that_fails_is_repeated_or_fails_the_pod"
_INITS_FAIL = f"{_INITS}::test_3_3_init_containers_that_fail"
_GATE = f"{_INITS}::test_3_3_a_sidecar_opens_the_way_when_its_startup_probe_succeeds"
_SIDECARS_END = f"{_INITS}::test_3_3_sidecars_end_with_the_containers_that_they_serve"
_NEW_SANDBOX = f"{_INITS}::test_3_3_a_new_sandbox_begins_with_the_first_init_container"
_OWN_POLICY = f"{_RULES}::test_3_4_the_rules_of_a_container_come_before_its_policy_and_that_before_the_pods"
_KEY = f"{_RULES}::test_3_5_another_image_ends_the_wait_and_counts_outlive_lost_containers"
_LAST_WORDS = f"{_LIFECYCLE}::test_the_last_words_of_a_container_are_in_its_status"
_GRACE = f"{_ENDS}::test_2_6_the_grace_of_a_pod_is_the_deletions_before_the_specs_and_can_only_shrink"
_NO_GRACE = f"{_ENDS}::test_2_6_without_grace_the_object_is_gone_at_once_and_its_containers_follow"
_ALL_CONDITIONS = f"{_CONDITIONS}::test_4_3_every_condition_says_what_it_is_about"
_NAMES = f"{_IDENTITY}::test_14_2_and_14_3_host_names_and_hosts_files"
_RESOLVERS = f"{_IDENTITY}::test_14_1_the_resolver_of_each_policy"
_NAMESPACES = f"{_IDENTITY}::test_3_9_namespaces_that_are_shared"
_USERS = f"{_NEWER}::test_17_6_pods_have_users_of_their_own"
_ITSELF = f"{_ENVIRONMENT}::test_13_3_a_pod_gets_its_own_fields_as_variables_and_files"
_OF_SERVICES = f"{_SERVICES}::test_13_1_a_container_has_the_variables_of_the_services_that_were_there_before_it"
_OVERHEAD = f"{_SERVICES}::test_10_14_overhead_counts_when_the_node_takes_a_pod"
_REFERENCES = f"{_ENVIRONMENT}::test_13_4_references_are_replaced_everywhere_they_may_stand"
_FILES = f"{_ENVIRONMENT}::test_13_3_variables_from_files_that_another_container_has_written"
_OBJECTS = f"{_OF_OBJECTS}::test_13_2_variables_of_config_maps_and_secrets_and_those_that_are_missing"
_REASONS = f"{_ENVIRONMENT}::test_3_7_the_reasons_for_which_a_container_waits"
_ROTATION = f"{_LOGS}::test_logs_of_a_chatty_container_are_rotated_without_loss_and_go_with_it"
_PRIVILEGES = f"{_IDENTITY}::test_17_4_users_groups_and_privileges"
_CGROUPS = "tests/real/test_agent_cgroups.py::test_10_2_to_10_5_every_pod_is_in_its_tier_and_its_limits_are_in_force"
_TOLD = f"{_SECURITY}::test_3_8_and_3_9_the_runtime_gets_selinux_options_overhead_and_resources"

ON_CONTAINERD: dict[str, tuple[str, ...]] = {
    **{
        f"probes: {kind}, asked by {way}": (_EACH_PROBE, *more)
        for kind, more in (("startup", (_STARTUP_ENDS,)), ("readiness", ()), ("liveness", ()))
        for way in ("exec", "httpGet", "tcpSocket", "grpc")
    },
    "probes: a named port, a path that is not there": (
        f"{_PROBES}::test_containers_are_ready_when_their_probes_say_so_and_while_they_do",
    ),
    "probes: thresholds": (_PROBE_TIMES, _EACH_PROBE),
    "probes: initial delay": (_PROBE_TIMES,),
    "probes: reset on container change": (_EACH_PROBE,),
    "probes: probe-level grace period": (_PROBE_TIMES,),
    "probes: a timeout is a failure": (f"{_PROBES}::test_a_container_that_fails_its_liveness_probe_is_started_again",),
    "probes: a late probe is unknown, not failed": (
        f"{_PROBES}::test_an_agent_that_is_stopped_for_a_while_kills_nobody_for_it",
    ),
    "hooks: postStart, exec": (
        _EXEC_HOOKS,
        f"{_HOOKS}::test_a_container_waits_for_the_post_start_hook_of_the_one_before_it",
    ),
    "hooks: postStart, httpGet": (_HTTP_HOOKS,),
    "hooks: postStart, sleep": (_SLEEPS,),
    "hooks: postStart, tcpSocket, which nobody serves": (_BAD_HOOKS,),
    "hooks: postStart that fails": (
        _BAD_HOOKS,
        f"{_HOOKS}::test_hooks_that_fail_are_told_and_a_failed_post_start_ends_its_container",
    ),
    "hooks: preStop, exec": (
        _EXEC_HOOKS,
        f"{_HOOKS}::test_sidecars_run_their_pre_stop_hooks_at_once_and_end_in_their_order",
    ),
    "hooks: preStop, httpGet": (
        _HTTP_HOOKS,
        f"{_HOOKS}::test_an_http_hook_reaches_the_pod_at_its_own_address",
    ),
    "hooks: preStop, sleep": (_SLEEPS,),
    "hooks: preStop, tcpSocket, which nobody serves": (_BAD_HOOKS,),
    "hooks: HTTPS, and its fallback without credentials": (_HTTP_HOOKS,),
    "hooks: preStop takes its time of the grace, and runs after a failed probe": (_HOOK_GRACE,),
    "hooks: over a restart of the agent": (
        f"{_HOOKS}::test_killed_while_a_hook_runs_the_next_agent_does_not_run_it_again_and_keeps_to_the_grace",
        f"{_HOOKS}::test_killed_while_a_post_start_hook_runs_the_next_agent_takes_the_container_for_started",
    ),
    "containers: init containers and sidecars begin in their order": (_INIT_ORDER, _GATE),
    "containers: sidecars end after the others, the latest first": (
        _INIT_ORDER,
        f"{_HOOKS}::test_sidecars_run_their_pre_stop_hooks_at_once_and_end_in_their_order",
    ),
    "containers: init containers that fail, by each policy": (_INIT_FAILS, _INITS_FAIL),
    "containers: init containers that are killed for their memory": (_INITS_FAIL,),
    "containers: a sidecar's startup probe opens the way, or has it restarted": (_GATE,),
    "containers: a sidecar without its image holds up the rest": (_GATE,),
    "containers: sidecars that crash, that end with the pod, whose code decides nothing": (
        _SIDECARS_END,
        f"{_LIFECYCLE}::test_a_sidecar_that_ends_is_restarted_and_the_others_run_on",
    ),
    "containers: a new sandbox begins with the first init container": (_NEW_SANDBOX,),
    "containers: ephemeral": (
        f"{_EPHEMERAL}::test_an_ephemeral_container_sees_the_processes_of_its_target_and_is_never_restarted",
    ),
    "containers: restart policy of the pod": (f"{_LIFECYCLE}::test_restart_policies_decide_what_follows_an_end",),
    "containers: restart policy of the container, and rules": (_OWN_POLICY,),
    "containers: RestartAllContainers": (f"{_HOOKS}::test_one_end_restarts_all_containers_in_place",),
    "containers: back-off of 10, 20, 40 seconds, over a restart of the agent": (
        f"{_BACK_OFF}::test_a_crashing_container_backs_off_10_20_40_seconds",
    ),
    "containers: back-off key": (_KEY,),
    "containers: back-off with a configured maximum": (
        f"{_RULES}::test_3_5_the_wait_of_a_crash_loop_ends_at_the_configured_maximum",
    ),
    "containers: in-place image change": (
        f"{_HOOKS}::test_another_image_is_another_container_in_the_same_pod",
        _ALL_CONDITIONS,
    ),
    "containers: stop signal of the image": (f"{_ENDS}::test_3_10_the_stop_signal_is_the_images",),
    "containers: terminationMessagePath and terminationMessagePolicy": (_LAST_WORDS,),
    "containers: last state": (
        _OWN_POLICY,
        f"{_BACK_OFF}::test_a_crashing_container_backs_off_10_20_40_seconds",
        f"{_LIFECYCLE}::test_a_container_beyond_its_memory_is_told_to_have_been_killed_for_it",
    ),
    "containers: restart counts that survive a lost container": (
        _KEY,
        f"{_RULES}::test_4_2_a_lost_container_shows_its_end_and_counts_as_a_restart",
    ),
    "containers: taken over by the next agent": (
        f"{_RESTART}::test_containers_run_on_without_the_agent_and_it_takes_them_over",
        f"{_RESTART}::test_a_container_that_died_while_the_agent_was_not_there_is_restarted",
    ),
    "pods: activeDeadlineSeconds": (f"{_ENDS}::test_2_11_a_pod_ends_at_its_deadline_and_stays_to_be_read",),
    "pods: deletion in the grace of the spec": (_GRACE,),
    "pods: deletion in a grace of its own": (_GRACE,),
    "pods: deletion hurried by a second order, and never delayed": (_GRACE,),
    "pods: deletion with the least grace there is": (_GRACE,),
    "pods: deletion without grace": (_NO_GRACE,),
    "pods: deletion of who heeds the signal, and of who does not": (
        f"{_LIFECYCLE}::test_a_container_ends_gracefully_or_is_killed_when_its_grace_is_over",
    ),
    "pods: deletion over a restart of the agent": (f"{_RESTART}::test_the_end_of_a_pod_goes_on_after_a_kill",),
    "pods: readiness gates": (_ALL_CONDITIONS,),
    "pods: hostname, subdomain, setHostnameAsFQDN, hostname override": (_NAMES,),
    "pods: DNS policies and config": (
        _RESOLVERS,
        f"{_IDENTITY}::test_14_1_a_missing_cluster_dns_is_said_and_a_broken_file_of_the_node_holds_the_pod_up",
    ),
    "pods: /etc/hosts and hostAliases": (
        _NAMES,
        f"{_IDENTITY}::test_14_3_the_hosts_file_has_the_addresses_of_the_newest_sandbox",
    ),
    "pods: share process namespace": (_NAMESPACES,),
    "pods: host namespaces": (
        _NAMESPACES,
        f"{_CONTAINERS}::test_a_pod_has_a_name_and_a_network_of_its_own_or_those_of_the_host",
    ),
    "pods: user namespaces": (
        _USERS,
        f"{_IDENTITY}::test_a_feature_that_the_runtime_lacks_is_refused",
    ),
    "pods: sysctls": (f"{_IDENTITY}::test_17_5_sysctls",),
    "pods: supplemental groups policy": (
        f"{_NEWER}::test_17_4_groups_of_the_image_are_merged_or_left_out",
        f"{_IDENTITY}::test_a_feature_that_the_runtime_lacks_is_refused",
    ),
    "pods: overhead is told to the runtime": (_TOLD,),
    "pods: overhead in force": (_CGROUPS,),
    "pods: every condition, with observedGeneration": (_ALL_CONDITIONS, _GATE, _SIDECARS_END),
    "environment: downward API, fields and amounts": (_ITSELF,),
    "environment: downward API in files": (
        f"{_CONFIG_VOLUMES}::test_files_about_the_pod_are_read_only_in_memory_and_gone_with_it",
    ),
    "environment: config maps, secrets, prefixes, precedence, the API server's address": (
        _OBJECTS,
        f"{_CREDENTIALS}::test_a_pod_of_a_cluster_takes_its_image_and_its_variables_from_what_it_refers_to",
    ),
    "environment: variables of services": (_OF_SERVICES,),
    "pods: overhead counts when the node takes the pod": (_OVERHEAD,),
    "environment: $(VAR) in values, command, arguments and probes": (
        _REFERENCES,
        f"{_CONTAINERS}::test_environment_command_and_arguments_are_expanded",
    ),
    "environment: fileKeyRef": (_FILES,),
    "environment: optional references": (_OBJECTS, _FILES),
    "environment: what is missing is what the container waits for": (_OBJECTS, _FILES),
    "environment: exact waiting reasons": (_REASONS, _BAD_HOOKS),
    "logs: rotation, compression, number of files": (_ROTATION,),
    "logs: symlinks": (_ROTATION, f"{_CONTAINERS}::test_labels_annotations_and_logs_lead_to_the_pod"),
    "logs: per-pod bound": (_ROTATION,),
    "logs: clean-up": (_ROTATION,),
    "security: runAsNonRoot verification": (f"{_IDENTITY}::test_3_8_run_as_non_root_is_verified",),
    "security: users and groups": (_PRIVILEGES, f"{_CONTAINERS}::test_the_security_context_holds"),
    "security: capabilities": (f"{_SECURITY}::test_17_4_capabilities_are_added_and_dropped_one_by_one",),
    "security: seccomp profiles": (f"{_SECURITY}::test_17_4_profiles_of_seccomp",),
    "security: AppArmor": (f"{_SECURITY}::test_17_4_apparmor_is_applied_or_the_pod_is_refused",),
    "security: procMount": (_USERS, _PRIVILEGES),
    "security: SELinux options are told to the runtime": (_TOLD,),
    "security: privileged": (_PRIVILEGES,),
    "security: no_new_privs": (_PRIVILEGES, f"{_CONTAINERS}::test_the_security_context_holds"),
    "explain": (f"{_EXPLAIN}::test_pods_in_trouble_are_explained_on_a_real_runtime",),
}

_NO_APPARMOR = (
    "the kernel of the machines that run these tests has no AppArmor (CONFIG_SECURITY_APPARMOR is not set): there the"
    " test shows the refusal; where it is on, the same test shows the profile in /proc/1/attr/current"
)
_NO_SELINUX = (
    "the kernel has SELinux compiled in and not switched on (there is no /sys/fs/selinux), and containerd applies no"
    " labels then; on containerd it is shown that the runtime was told them"
)
_NO_SIGNAL_IN_CRI = (
    "containerd knows the field of CRI since 2.2; Debian 12 has 1.6 and its next release 2.1, which pass it over and"
    " send the image's own"
)
_TEN_MINUTES = "the quiet time is ten minutes and no configuration shortens it: too long for a test on a real clock"
_VIRTUAL = "is about the agent's own clock and chance; shown in virtual time, where it can be counted"

ELSEWHERE: dict[str, tuple[str, tuple[str, ...]]] = {
    "containers: stop signal of the pod (lifecycle.stopSignal)": (
        _NO_SIGNAL_IN_CRI,
        (
            "tests/simulation/node/test_restart_all.py::test_the_stop_signal_of_a_pod_reaches_the_runtime_where_the_gate_is_on",
            "tests/actors/pod_rules/test_unhonoured.py::test_a_stop_signal_is_honoured_where_its_feature_gate_is_on",
        ),
    ),
    "containers: back-off reset": (
        _TEN_MINUTES,
        (
            "tests/simulation/node/test_lives.py::test_a_container_that_ran_ten_minutes_starts_again_at_once",
            "tests/actors/pod_rules/test_backoff.py::test_a_container_that_ran_long_enough_resets_its_back_off",
        ),
    ),
    "probes: jitter of a young agent": (
        _VIRTUAL,
        (
            "tests/actors/probes/test_runner.py::test_spec_5_a_young_agent_spreads_its_first_probes_over_a_period",
            "tests/actors/probes/test_rules.py::test_spec_5_there_is_first_jitter_only_while_the_agent_is_younger_than_a_period",
        ),
    ),
    "probes: due times kept to 100 ms under load": (
        _VIRTUAL,
        (
            "tests/actors/probes/test_runner.py"
            "::test_with_100_of_1000_probes_hanging_the_others_are_on_time_within_100_ms",
        ),
    ),
    "security: AppArmor in force": (
        _NO_APPARMOR,
        (
            "tests/actors/start/test_security.py::test_apparmor_is_told_in_both_fields",
            "tests/actors/start/test_security.py"
            "::test_apparmor_is_that_of_the_container_of_the_pod_or_of_the_annotation",
        ),
    ),
    "security: SELinux in force": (
        _NO_SELINUX,
        ("tests/actors/start/test_security.py::test_the_rest_is_passed_on",),
    ),
}
