"""How containers are asked how they are (5). See the package."""

from __future__ import annotations

from tests.conformance.rules.shape import Rules

_CONTAINERS = "tests/actors/pod_status/test_container_statuses.py"
_PROBE_RULES = "tests/actors/probes/test_rules.py"
_PROBE = "tests/actors/probes/test_state.py"
_RUNNER = "tests/actors/probes/test_runner.py"
_PROBES = "tests/simulation/node/test_probes.py"
_NETWORK = "tests/runtime/probes/test_network_probes.py"
_EXEC = "tests/runtime/probes/test_exec_command.py"
_VERDICT = f"{_PROBE}::test_spec_5_a_verdict_needs_so_many_answers_of_one_kind_in_a_row"
_READY = f"{_CONTAINERS}::test_spec_5_ready_and_started"

PROBES: Rules = (
    (
        "Startup, readiness, liveness, of regular containers and sidecars",
        (
            f"{_PROBE_RULES}::test_spec_5_a_container_has_the_probes_that_it_names_startup_first",
            f"{_RUNNER}::test_spec_5_each_probe_of_each_container_is_asked_by_itself_and_init_containers_are_not",
        ),
    ),
    (
        "Defaults; only readiness may need more than one success",
        (
            f"{_PROBE_RULES}::test_spec_5_defaults_are_those_of_the_api",
            f"{_PROBE_RULES}::test_spec_5_only_readiness_may_need_more_than_one_success",
        ),
    ),
    (
        "The initial delay counts from the start of the container",
        (f"{_PROBE_RULES}::test_spec_5_the_initial_delay_counts_from_the_start_of_the_container",),
    ),
    (
        "Jitter while the agent is younger than a period",
        (
            f"{_PROBE_RULES}::test_spec_5_there_is_first_jitter_only_while_the_agent_is_younger_than_a_period",
            f"{_RUNNER}::test_spec_5_a_young_agent_spreads_its_first_probes_over_a_period",
            f"{_RUNNER}::test_spec_5_an_old_agent_asks_at_once",
        ),
    ),
    (
        "The first check of a liveness or startup probe comes at a tick of a timer that begins with the pod",
        (
            f"{_PROBE_RULES}::test_spec_5_a_probe_that_may_end_its_container_first_checks_at_a_tick_of_its_timer",
            f"{_RUNNER}::test_spec_5_one_failure_does_not_kill_a_container_that_needs_most_of_a_period_to_start",
            f"{_RUNNER}::test_spec_5_a_liveness_probe_begins_a_period_after_a_startup_probe_of_the_same_period_succeeded",
        ),
    ),
    ("Due times are a period apart", (f"{_PROBE_RULES}::test_spec_5_the_next_time_is_on_the_grid",)),
    (
        "Initial results: alive, not ready, not known to have started",
        (
            f"{_PROBE}::test_spec_5_initial_results_are_that_it_lives_and_is_not_ready_and_nobody_knows_whether_it_started",
        ),
    ),
    (
        "Another container: they hold again",
        (f"{_PROBE}::test_spec_5_with_another_container_everything_begins_anew",),
    ),
    (
        "One that ran before the agent keeps what was published of it",
        (
            f"{_PROBE}::test_spec_5_earlier_readiness_is_kept_until_an_answer_differs",
            f"{_PROBE}::test_spec_5_a_container_known_to_have_started_gets_no_startup_probe",
            f"{_RUNNER}::test_spec_5_published_readiness_is_kept_until_the_first_probe_result",
        ),
    ),
    (
        "What does not run is not asked, and not ready",
        (
            f"{_PROBE}::test_spec_5_a_container_that_does_not_run_is_not_probed",
            f"{_RUNNER}::test_spec_5_a_container_that_is_gone_is_not_asked",
        ),
    ),
    (
        "Of a pod that ends liveness and startup are over and kill nobody, and what has not started has not",
        (
            f"{_PROBE}::test_spec_5_liveness_and_startup_probes_of_an_ending_pod_stop",
            f"{_PROBES}::test_a_pod_that_ends_before_it_has_started_is_never_ready",
        ),
    ),
    (
        "And readiness goes on",
        (
            f"{_PROBE}::test_spec_5_readiness_probes_of_an_ending_pod_continue",
            f"{_PROBES}::test_a_pod_that_ends_is_asked_whether_it_is_ready_and_not_killed_for_being_ill",
        ),
    ),
    (
        "Nothing else is asked before it has started, and that not after",
        (
            f"{_PROBE}::test_spec_5_startup_gates_the_others",
            f"{_PROBES}::test_nothing_else_is_asked_before_the_startup_probe_has_succeeded_and_it_is_not_asked_again",
        ),
    ),
    (
        "Errors are tried three times and count for nothing",
        (
            f"{_PROBE}::test_spec_5_errors_are_retried_three_times_in_all_and_then_count_for_nothing",
            f"{_PROBE}::test_spec_5_a_retry_that_answers_counts",
        ),
    ),
    ("A verdict needs as many answers of one kind in a row as the threshold says", (_VERDICT,)),
    (
        "It is told when it changes",
        (f"{_RUNNER}::test_spec_5_the_worker_is_told_of_a_verdict_only_when_it_changes",),
    ),
    (
        "After a failed liveness probe, or any verdict on the start, nothing is asked until another container runs",
        (f"{_PROBE}::test_spec_5_a_probe_that_has_decided_is_on_hold_until_the_container_changes",),
    ),
    (
        "Started: runs, and its startup probe has succeeded if it has one",
        (
            f"{_READY}[not decided]",
            f"{_READY}[started, readiness not decided]",
        ),
    ),
    (
        "Ready: started, and its readiness probe has succeeded if it has one",
        (
            f"{_READY}[both succeeded]",
            f"{_READY}[ready, not started]",
        ),
    ),
    (
        "Events: Unhealthy, ProbeWarning, errored",
        (f"{_PROBE_RULES}::test_spec_5_events_have_the_words_that_people_look_for",),
    ),
    ("HTTP: what is asked, with which defaults", (f"{_PROBE_RULES}::test_spec_5_a_probe_becomes_a_request",)),
    ("HTTP: 2xx and 3xx are success", (f"{_NETWORK}::test_spec_5_2xx_and_3xx_are_success",)),
    (
        "HTTP: 10 KiB of the body are read",
        (f"{_NETWORK}::test_spec_5_only_the_beginning_of_an_endless_body_is_read",),
    ),
    ("HTTP: certificates are not checked", (f"{_NETWORK}::test_spec_5_a_certificate_is_not_checked",)),
    (
        "HTTP: one request, no compression, the kubelet's user agent",
        (f"{_NETWORK}::test_spec_5_it_asks_as_a_kubelet_does_once_and_without_compression",),
    ),
    (
        "HTTP: headers of the pod win, an empty one sends none",
        (f"{_NETWORK}::test_spec_5_headers_of_the_pod_win_and_an_empty_one_sends_none",),
    ),
    (
        "HTTP: a redirect to another host is a warning, more than ten are none",
        (
            f"{_NETWORK}::test_spec_5_a_redirect_to_another_host_is_a_success_with_a_warning_and_not_followed",
            f"{_NETWORK}::test_spec_5_a_redirect_on_the_same_host_is_followed",
            f"{_NETWORK}::test_spec_5_redirects_come_to_an_end",
        ),
    ),
    (
        "TCP: a connection is success",
        (
            f"{_NETWORK}::test_spec_5_a_port_at_which_nobody_listens_is_a_failure_of_every_kind",
            f"{_PROBE_RULES}::test_spec_5_a_probe_becomes_a_request",
        ),
    ),
    (
        "gRPC: SERVING is success, for the service that is named",
        (f"{_NETWORK}::test_spec_5_grpc_asks_for_a_service_and_takes_serving_only",),
    ),
    (
        "gRPC: a server without the protocol has failed, and so has one that is late",
        (
            f"{_NETWORK}::test_spec_5_a_grpc_server_that_does_not_know_the_protocol_has_failed",
            f"{_NETWORK}::test_spec_5_silence_is_a_failure_at_the_timeout",
        ),
    ),
    (
        "Commands know the variables that stand in the pod",
        (f"{_PROBE_RULES}::test_spec_5_a_command_knows_the_variables_that_stand_in_the_pod",),
    ),
    (
        "Commands: exit 0 is success, another or a timeout failure, with 10 KiB of output",
        (
            f"{_EXEC}::test_spec_5_the_end_of_a_command_is_the_verdict[exit code 0]",
            f"{_EXEC}::test_spec_5_the_end_of_a_command_is_the_verdict[another exit code, with its output]",
            f"{_EXEC}::test_spec_5_the_end_of_a_command_is_the_verdict[output without end]",
            f"{_EXEC}::test_spec_5_the_end_of_a_command_is_the_verdict[the runtime says that it takes too long]",
        ),
    ),
    (
        "Each answer is measured, until the pod is over",
        (f"{_RUNNER}::test_spec_5_each_answer_is_measured_by_kind_and_result_until_the_pod_is_over",),
    ),
    (
        "What follows from them, and is ours",
        (
            f"{_EXEC}::test_spec_5_a_deadline_that_this_node_notices_late_says_nothing",
            f"{_EXEC}::test_spec_5_an_exit_code_counts_however_late_it_comes",
            f"{_PROBE_RULES}::test_spec_5_the_runtime_gets_two_minutes_more_than_a_command_before_a_check_is_given_up",
            f"{_PROBE_RULES}::test_spec_5_an_impossible_probe_says_why",
            f"{_RUNNER}::test_spec_5_an_agent_that_was_paused_for_a_minute_kills_nobody_for_it",
            f"{_RUNNER}::test_spec_5_a_check_that_never_ends_is_given_up_and_the_next_one_counts",
            f"{_RUNNER}::test_spec_5_an_answer_about_a_container_that_is_gone_says_nothing_of_the_next",
            f"{_RUNNER}::test_spec_5_a_worker_that_has_forgotten_is_told_again_and_a_runner_that_has_forgotten_asks",
            f"{_RUNNER}::test_spec_5_a_probe_whose_port_has_no_name_says_so_and_kills_nobody",
            f"{_RUNNER}::test_spec_5_a_pod_has_probes_where_a_container_that_stays_has_one",
            f"{_PROBE}::test_spec_5_a_startup_probe_does_not_gate_itself",
            f"{_PROBE}::test_spec_5_a_check_that_the_node_was_too_slow_for_is_not_retried",
            f"{_PROBE}::test_spec_5_an_answer_to_an_earlier_check_is_ignored",
            f"{_PROBE}::test_spec_5_a_check_without_an_answer_is_given_up_and_counts_for_nothing",
            f"{_PROBE}::test_spec_5_due_times_are_a_grid_and_what_was_missed_is_not_made_up_for",
            f"{_PROBE}::test_spec_5_whatever_happens_a_kill_takes_a_failed_check_of_the_very_container",
            f"{_EXEC}::test_spec_5_a_runtime_that_cannot_run_it_says_nothing_of_the_container",
            f"{_EXEC}::test_spec_5_giving_up_a_probe_cancels_its_exec_call",
            f"{_NETWORK}::test_spec_5_an_incomplete_answer_is_a_failure",
            f"{_NETWORK}::test_spec_5_no_answer_in_time_on_a_loop_that_is_busy_says_nothing_of_the_container",
            f"{_NETWORK}::test_spec_5_probes_that_hang_hold_up_no_other",
        ),
    ),
)
