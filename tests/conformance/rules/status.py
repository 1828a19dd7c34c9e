"""What is published of a pod (4.1 to 4.4). See the package."""

from __future__ import annotations

from tests.conformance.rules.shape import Rules

_RESTART_ALL = "tests/actors/pod_rules/test_restart_all.py"
_PHASE = "tests/actors/pod_status/test_phase.py"
_STATUS = "tests/actors/pod_status/test_api_status.py"
_CONTAINERS = "tests/actors/pod_status/test_container_statuses.py"
_SHOWN_CONDITIONS = "tests/actors/pod_status/test_conditions.py"
_ADDRESSES = "tests/actors/pod_status/test_pod_addresses.py"
_WORDS = "tests/actors/pod_status/test_status_rules.py"
_ACTUAL = "tests/actors/pod_status/test_actual_resources.py"
_FAMILY = "tests/actors/pod_status/test_host_family.py"
_PHASES = f"{_PHASE}::test_spec_4_1_phase"
_CONTAINER = f"{_CONTAINERS}::test_spec_4_2_container_status"
_INITS = f"{_WORDS}::test_spec_4_2_statuses_of_init_containers"
_CONDITIONS = f"{_SHOWN_CONDITIONS}::test_spec_4_3_conditions"

PHASE: Rules = (
    (
        "An init container without a status, running, or waiting for the first time: Pending",
        (
            f"{_PHASES}[init: no status]",
            f"{_PHASES}[init: runs]",
            f"{_PHASES}[init: waits]",
        ),
    ),
    (
        "One that failed for good: Failed, before all else",
        (
            f"{_PHASES}[init: failed]",
            f"{_PHASES}[init: had failed]",
            f"{_PHASES}[a failed init container goes before all]",
        ),
    ),
    ("One that failed and comes again: Pending", (f"{_PHASES}[init: failed, again]",)),
    (
        "A sidecar that has not started: Pending, unless a regular one was started here",
        (
            f"{_PHASES}[sidecar starts]",
            f"{_PHASES}[sidecar starts again beside what was started]",
        ),
    ),
    ("A sidecar that waits for the first time: Pending", (f"{_PHASES}[sidecar never started]",)),
    ("A sidecar without a status is unknown", (f"{_PHASES}[a sidecar without a status is unknown]",)),
    (
        "A container that waits for the first time: Pending",
        (
            f"{_PHASES}[one waits for the first time]",
            f"{_PHASES}[waiting goes before failed]",
        ),
    ),
    (
        "One runs and nothing is unknown: Running",
        (
            f"{_PHASES}[one backs off]",
            f"{_PHASES}[Never: one runs]",
            f"{_PHASES}[one is unknown]",
        ),
    ),
    (
        "All stopped, and the pod has ended and is not static: as they ended",
        (
            f"{_PHASES}[ended for good: succeeded]",
            f"{_PHASES}[ended for good: failed]",
            f"{_PHASES}[ended but static: not terminal]",
        ),
    ),
    (
        "All stopped and one comes again: Running",
        (f"{_PHASES}[one of them comes again]", f"{_PHASES}[OnFailure: comes again]"),
    ),
    ("All stopped and all succeeded: Succeeded", (f"{_PHASES}[Never: all good]",)),
    ("All stopped, one of them badly: Failed", (f"{_PHASES}[Never: one bad]",)),
    ("Else Pending", (f"{_PHASES}[one stopped, one unknown]",)),
    (
        "A final phase is kept, whoever said it",
        (
            f"{_STATUS}::test_spec_4_1_a_terminal_phase_is_kept_whoever_said_it",
            f"{_STATUS}::test_spec_4_1_the_phase_never_leaves_a_terminal_one",
        ),
    ),
    (
        "A deadline may force Failed; reason and message stay with the phase",
        (f"{_STATUS}::test_spec_4_1_a_forced_status_is_shown_and_its_reason_kept",),
    ),
)

CONTAINER_STATUSES: Rules = (
    (
        "Before anything is known: ContainerCreating, PodInitializing where there are init containers",
        (f"{_WORDS}::test_spec_4_2_regular_containers_of_a_pod_with_init_containers_wait_for_them",),
    ),
    (
        "The newest two of a name: state and last state",
        (f"{_WORDS}::test_spec_4_2_the_newest_attempt_is_the_state_and_the_one_before_it_the_last_state",),
    ),
    (
        "Made or lost: waiting without a reason",
        (f"{_WORDS}::test_spec_4_2_a_created_or_unknown_container_waits_without_a_reason",),
    ),
    (
        "Lost after it was shown to run: ended with 137 in an unknown way, and counted",
        (
            f"{_WORDS}::test_spec_4_2_a_lost_container_that_ran_has_ended_in_an_unknown_way_and_is_counted",
            f"{_CONTAINERS}::test_spec_4_2_a_lost_container_counts_as_one_restart",
        ),
    ),
    (
        "Missing after it was shown to run: waiting, with that as last state, counted unless the pod is deleted",
        (
            f"{_WORDS}::test_spec_4_2_a_missing_container_that_ran_waits_and_is_counted_unless_its_pod_is_deleted",
            f"{_CONTAINERS}::test_spec_4_2_a_container_gone_while_its_pod_is_deleted_is_no_restart",
        ),
    ),
    (
        "A missing init container of an initialized pod has completed",
        (
            f"{_CONTAINERS}::test_spec_4_2_an_init_container_whose_trace_is_gone_has_done_its_work",
            f"{_INITS}[a regular one exists, so what is missing has done its work]",
        ),
    ),
    (
        "What is to be started and cannot be shows why; its end is the last state",
        (
            f"{_WORDS}::test_spec_4_2_a_reason_to_wait_replaces_the_default_and_goes_with_the_start",
            f"{_CONTAINER}[ended, backs off]",
            f"{_CONTAINERS}::test_spec_4_2_a_reason_is_not_shown_for_what_does_not_come_again",
        ),
    ),
    (
        "Removed to be made anew with all others: waiting so, with an unknown end",
        (f"{_RESTART_ALL}::test_spec_4_2_a_container_removed_for_a_restart_of_all_waits_and_counts_a_restart",),
    ),
    ("Fields: ids, image, times, reason, message", (f"{_CONTAINERS}::test_spec_4_2_fields_of_a_container_status",)),
    ("Fields: mounts", (f"{_WORDS}::test_spec_4_2_mounts_that_are_read_only_say_whether_all_below_is",)),
    (
        "Fields: user and stop signal",
        (f"{_WORDS}::test_spec_4_2_user_and_stop_signal_are_those_that_the_runtime_knows",),
    ),
    (
        "Resources of what runs are the runtime's, but for what is too small to be told",
        (
            f"{_WORDS}::test_spec_4_2_resources_are_those_of_the_runtime_while_it_runs_and_else_those_of_the_spec",
            f"{_ACTUAL}::test_resources_set_by_the_agent_are_shown_as_requested_spec_4_2",
        ),
    ),
    ("Init containers in the order of the spec, others by name", (f"{_WORDS}::test_spec_4_2_order_of_statuses",)),
    (
        "What follows from them, and is ours",
        (
            f"{_ACTUAL}::test_resources_of_what_runs_spec_4_2",
            f"{_ACTUAL}::test_without_anything_asked_or_told_nothing_is_made_up_spec_4_2",
            f"{_CONTAINERS}::test_spec_4_2_init_containers_are_in_the_order_of_the_spec_and_others_by_name",
            f"{_WORDS}::test_spec_4_2_a_pod_that_ends_shows_ends_not_reasons",
            f"{_WORDS}::test_spec_4_2_an_ephemeral_container_changes_neither_phase_nor_readiness",
        ),
    ),
)

CONDITIONS: Rules = (
    ("PodScheduled is True", (f"{_CONDITIONS}[whoever is here is scheduled]",)),
    (
        "AllContainersRestarting where a rule may restart all",
        (
            f"{_RESTART_ALL}::test_spec_4_3_only_a_pod_that_may_restart_all_has_the_condition",
            f"{_RESTART_ALL}::test_spec_4_3_it_goes_on_until_something_is_made_anew",
        ),
    ),
    (
        "Conditions of others are kept",
        (f"{_WORDS}::test_spec_4_3_conditions_of_others_are_kept_and_keep_their_generation",),
    ),
    (
        "ContainersReady: who is unknown, who is not ready",
        (
            f"{_WORDS}::test_spec_4_3_words_of_conditions[everybody who is not ready is named, sidecars first]",
            f"{_WORDS}::test_spec_4_3_containers_of_which_nothing_is_known_are_named_apart",
        ),
    ),
    ("PodCompleted and PodFailed", (f"{_CONDITIONS}[succeeded]", f"{_CONDITIONS}[failed]")),
    (
        "Sidecars count, regular init containers do not",
        (
            f"{_CONDITIONS}[a sidecar counts for readiness, not for what is begun]",
            f"{_WORDS}::test_spec_4_3_readiness_does_not_ask_for_init_containers_that_are_done",
        ),
    ),
    (
        "Ready: every gate True, else a text for each",
        (
            f"{_CONDITIONS}[a gate that nobody has opened]",
            f"{_CONDITIONS}[a gate that is open, and is handed through]",
            f"{_WORDS}::test_spec_4_3_words_of_conditions[a gate that is closed]",
        ),
    ),
    (
        "Initialized: without init containers, all done, or a regular one was started",
        (
            f"{_CONDITIONS}[init containers done]",
            f"{_CONDITIONS}[initializing]",
            f"{_CONDITIONS}[initialized, and all over]",
        ),
    ),
    (
        "PodReadyToStartContainers: no new sandbox is needed",
        (f"{_WORDS}::test_spec_4_3_ready_to_start_is_whether_no_new_sandbox_is_needed",),
    ),
    (
        "Every condition carries the generation, which never goes back",
        (f"{_WORDS}::test_spec_4_3_every_condition_of_ours_carries_the_generation_and_it_never_goes_back",),
    ),
    (
        "The transition time changes with the status alone",
        (
            f"{_SHOWN_CONDITIONS}::test_spec_4_3_transition_time_changes_with_the_status_alone_and_the_generation_is_carried",
        ),
    ),
)

ADDRESSES: Rules = (
    (
        "The node's family first, IPv4 where it has none, one of a family",
        (f"{_ADDRESSES}::test_spec_4_4_order_of_addresses",),
    ),
    (
        "Addresses of the host; those of a pod in its network",
        (
            f"{_ADDRESSES}::test_spec_4_4_pod_ips",
            f"{_ADDRESSES}::test_spec_4_4_addresses_are_published",
        ),
    ),
    (
        "Another family than before is told",
        (f"{_FAMILY}::test_a_host_address_of_another_family_than_published_spec_4_4",),
    ),
)
