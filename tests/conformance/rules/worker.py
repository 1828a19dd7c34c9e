"""The worker of a pod: which states it goes through, what moves it, how much time an end has (2.6).

See the package.
"""

from __future__ import annotations

from tests.conformance.rules.shape import Rules

_LIFE = "tests/actors/pod_rules/test_lifecycle.py"
_LOOP = "tests/actors/sync/test_workers.py"
_RENEWED = "tests/actors/sync/test_failures.py"
_STATIC = "tests/actors/sync/test_static_pods.py"
_ENDS = "tests/simulation/node/test_pod_ends.py"
_END = "tests/actors/pod_rules/test_termination.py"
_STAGE = f"{_LIFE}::test_spec_2_6_stage"
_GRACE = f"{_LIFE}::test_spec_2_6_grace"
_CANCEL = f"{_LIFE}::test_spec_2_6_cancelling_the_pass"

WORKER: Rules = (
    (
        "One worker per UID",
        (f"{_LOOP}::test_spec_2_6_a_desired_pod_has_one_worker_that_is_told_of_the_runtime_and_of_each_form",),
    ),
    (
        "Updates that wait are one, in the newest form",
        (f"{_RENEWED}::test_spec_2_6_updates_that_wait_are_one_in_the_newest_form",),
    ),
    (
        "A life only goes on: sync, terminating, terminated, finished",
        (
            f"{_LIFE}::test_spec_2_6_whatever_happens_a_life_only_goes_on_and_the_grace_only_shrinks",
            f"{_STAGE}[an update does not bring it back]",
            f"{_STAGE}[nor an addition]",
        ),
    ),
    (
        "What was marked stays marked, and each time is set once",
        (f"{_LIFE}::test_spec_2_6_marks_are_kept_and_times_are_set_once",),
    ),
    (
        "A pod that only the runtime knows ends",
        (
            f"{_STAGE}[a pod that only the runtime knows is terminating from the start]",
            f"{_STATIC}::test_spec_2_6_an_orphan_is_ended_once_every_source_has_spoken",
        ),
    ),
    (
        "A deletion timestamp ends it",
        (
            f"{_STAGE}[a deletion timestamp makes it terminating]",
            f"{_STAGE}[a pod first seen deleting is ended, whatever ran before]",
        ),
    ),
    ("A final phase in its object ends it", (f"{_STAGE}[a final phase in its object makes it terminating]",)),
    ("An order to kill ends it", (f"{_STAGE}[a kill makes it terminating]",)),
    (
        "An eviction marks it as evicted",
        (
            f"{_LIFE}::test_spec_2_6_marks_are_kept_and_times_are_set_once",
            f"{_ENDS}::test_spec_2_6_an_eviction_that_takes_too_long_is_reported",
        ),
    ),
    (
        "First seen with a final phase and nothing running it is only cleaned up",
        (
            f"{_STAGE}[first seen over with nothing running: cleaned up]",
            f"{_STAGE}[first seen over while something may run: ended first]",
            f"{_ENDS}::test_spec_2_6_a_pod_that_had_ended_is_cleaned_up_by_the_next_agent_and_nothing_of_it_is_killed_or_begun",
        ),
    ),
    (
        "A UID that comes again while it ends starts anew after that",
        (
            f"{_LIFE}::test_spec_2_6_a_pod_brought_anew_while_it_ends_asks_for_a_restart",
            f"{_LOOP}::test_spec_2_6_a_uid_that_comes_back_while_its_worker_ends_starts_anew_after_that",
        ),
    ),
    (
        "The grace is the least of all that were asked for",
        (
            f"{_GRACE}[the least of override and deletion]",
            f"{_GRACE}[an override wins over the spec]",
            f"{_GRACE}[the deletion's]",
        ),
    ),
    ("Where nobody asks it is the spec's", (f"{_GRACE}[the spec's when nobody asks]",)),
    (
        "It is one second at least",
        (
            f"{_GRACE}[never less than a second]",
            f"{_ENDS}::test_spec_2_6_a_pod_that_is_deleted_without_a_grace_is_killed_within_the_floor",
        ),
    ),
    ("It can only shrink", (f"{_GRACE}[it never grows]", f"{_GRACE}[it shrinks]")),
    (
        "Beginning to end cancels the pass under way",
        (
            f"{_CANCEL}[becoming terminating cancels the sync]",
            f"{_CANCEL}[so does a deletion]",
        ),
    ),
    (
        "So does less grace",
        (f"{_CANCEL}[less grace cancels]", f"{_CANCEL}[more does not]", f"{_CANCEL}[nor does the same]"),
    ),
    (
        "Of static pods of one name one is started at a time, first come first served",
        (
            f"{_STATIC}::test_spec_2_6_static_pods_of_one_name_run_one_after_another_in_the_order_of_their_coming",
            f"{_STAGE}[a static pod waits while its name is taken]",
            f"{_STAGE}[a static pod starts when its name is free]",
        ),
    ),
    (
        "One that is ended before its turn never runs",
        (
            f"{_STAGE}[a static pod ended before its turn is finished]",
            f"{_LOOP}::test_spec_2_6_a_pod_that_comes_back_and_goes_again_before_its_worker_ended_does_not_start",
        ),
    ),
    (
        "A pass that fails is told, and made again after 10 s and up to half of it more",
        (
            f"{_ENDS}::test_spec_2_6_a_call_that_fails_is_told_by_one_event",
            f"{_ENDS}::test_spec_2_6_a_pass_that_fails_is_made_again_after_10_s_and_up_to_half_of_it_more",
            f"{_ENDS}::test_spec_2_6_a_status_that_cannot_be_had_is_told_once_in_upstream_s_words",
        ),
    ),
    (
        "A pass whose phase is final makes the pod terminating at once",
        (
            f"{_STAGE}[a final phase makes it terminating at once]",
            f"{_ENDS}::test_spec_2_6_a_final_phase_ends_what_is_left_of_the_pod_at_once",
        ),
    ),
    ("Nothing runs: it is terminated at once", (f"{_STAGE}[stopped containers make it terminated]",)),
    ("What only the runtime knew is over then", (f"{_STAGE}[an orphan is finished when it has stopped]",)),
    ("Cleaned up: it is finished", (f"{_STAGE}[clean means finished]",)),
    (
        "A cancelled pass is no failure",
        (
            f"{_ENDS}::test_spec_2_6_a_pass_that_the_end_of_its_pod_has_cancelled_is_no_failure",
            f"{_CANCEL}[a sync that ended need not be cancelled]",
        ),
    ),
    ("What others may ask of a pod that is known", (f"{_LIFE}::test_spec_2_6_truth_table_of_queries",)),
    (
        "And of one that is not",
        (
            f"{_LIFE}::test_spec_2_6_queries_about_an_unknown_pod_depend_on_the_sources",
            f"{_LIFE}::test_spec_2_6_an_unknown_pod_is_not_known_to_end",
        ),
    ),
    (
        "An end that was ordered for the node's sake and takes half as long again, 10 s at least, is told",
        (
            f"{_END}::test_spec_2_6_an_end_takes_too_long_after_half_as_much_again_and_10_s_at_least",
            f"{_ENDS}::test_spec_2_6_an_eviction_that_takes_too_long_is_reported",
            f"{_ENDS}::test_spec_2_6_an_eviction_that_ends_in_time_is_not_complained_of",
        ),
    ),
    (
        "What follows from them, and is ours",
        (
            f"{_LIFE}::test_spec_2_6_an_orphan_that_is_desired_after_all_gets_a_life_of_its_own_later",
            f"{_LIFE}::test_spec_2_6_an_illegal_event_is_refused_with_the_legal_ones",
            f"{_LIFE}::test_spec_2_6_every_stage_hears_of_desire_and_of_the_order_to_end",
            f"{_LIFE}::test_spec_2_6_events_are_made_from_the_pod",
            f"{_STATIC}::test_spec_2_6_a_pod_that_waits_for_its_name_keeps_waiting_while_the_one_before_ends",
            f"{_STATIC}::test_spec_2_6_a_pod_that_the_runtime_still_runs_under_the_name_ends_first",
        ),
    ),
)
