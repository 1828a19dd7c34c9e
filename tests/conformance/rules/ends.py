"""How containers are ended (3.10). See the package."""

from __future__ import annotations

from tests.conformance.rules.shape import Rules

_ENDS = "tests/simulation/node/test_pod_ends.py"
_END = "tests/actors/pod_rules/test_termination.py"
_HOOKS = "tests/simulation/node/test_hooks.py"
_WHICH_GRACE = f"{_END}::test_spec_3_10_which_grace_counts"
_SHARED = f"{_END}::test_spec_3_10_hook_and_stop_share_one_grace"

ENDS: Rules = (
    (
        "The deletion's grace, if there is one",
        (f"{_WHICH_GRACE}[3.10: a deletion's]", f"{_WHICH_GRACE}[3.10: deleted now]"),
    ),
    (
        "Else the spec's",
        (f"{_END}::test_spec_3_10_grace[the spec's]", f"{_WHICH_GRACE}[3.10: a grace of 0 is one]"),
    ),
    (
        "Which a failed probe's own replaces",
        (
            f"{_END}::test_spec_3_10_grace[the probe's]",
            f"{_END}::test_spec_3_10_grace[startup probe's]",
            f"{_WHICH_GRACE}[3.10: a probe that names none]",
            f"{_WHICH_GRACE}[3.10: not the probe's]",
        ),
    ),
    ("Else 2 s", (f"{_END}::test_spec_3_10_grace[nothing said: the minimum]",)),
    (
        "The killing is told, in the words of who ordered it",
        (
            f"{_END}::test_spec_3_10_words_of_the_killing",
            f"{_ENDS}::test_spec_3_10_each_end_is_told_once_however_often_it_is_looked_at",
        ),
    ),
    ("An override replaces every grace", (f"{_END}::test_spec_3_10_grace[an override beats all]",)),
    (
        "preStop runs where there is a grace",
        (
            f"{_END}::test_spec_3_10_the_pre_stop_hook_runs_unless_there_is_no_grace",
            f"{_HOOKS}::test_a_pre_stop_command_runs_before_the_stop_signal",
        ),
    ),
    (
        "It has the grace and no more",
        (
            f"{_END}::test_spec_3_10_a_hook_has_what_is_left_of_the_grace",
            f"{_SHARED}[3.10: the hook has all of it]",
            f"{_SHARED}[3.10: no hook once the grace is over]",
        ),
    ),
    (
        "The whole seconds that it took are taken off",
        (
            f"{_END}::test_spec_3_10_only_whole_seconds_are_taken_off_down_to_a_floor",
            f"{_SHARED}[3.10: what was spent is taken off both]",
        ),
    ),
    (
        "Its failure is an event and nothing more",
        (f"{_HOOKS}::test_a_failing_hook_is_an_event_and_holds_nothing_up",),
    ),
    (
        "Without sidecars nobody waits for anybody",
        (f"{_END}::test_spec_3_10_without_sidecars_all_are_stopped_at_once",),
    ),
    (
        "A sidecar waits for all regular ones and for the sidecar started after it",
        (
            f"{_END}::test_spec_3_10_sidecars_wait_for_all_regular_ones_and_for_those_started_after_them",
            f"{_END}::test_spec_3_10_a_sidecar_waits_only_for_what_still_runs",
        ),
    ),
    (
        "Within the grace, of which that is taken off",
        (
            f"{_END}::test_spec_3_10_a_sidecar_goes_when_its_grace_is_used_up",
            f"{_ENDS}::test_spec_3_10_a_sidecar_waits_no_longer_than_the_grace_and_has_its_two_seconds_after_it",
        ),
    ),
    (
        "The stop itself has 2 s at least",
        (
            f"{_SHARED}[3.10: the stop has 2 s at least]",
            f"{_SHARED}[3.10: a grace of 1 s is 2 s for the container]",
        ),
    ),
    (
        "Containers are ended side by side, then every sandbox is stopped",
        (
            f"{_ENDS}::test_spec_3_10_containers_are_ended_side_by_side_and_the_sandbox_is_stopped_after_them",
            f"{_END}::test_spec_3_10_every_sandbox_is_stopped_ready_or_not",
        ),
    ),
    (
        "A sandbox that is gone is stopped",
        ("tests/actors/pod/test_calls.py::test_spec_3_10_a_sandbox_that_is_gone_is_stopped",),
    ),
    (
        "Where the spec is lost the container's own notes have it",
        (
            f"{_END}::test_spec_3_10_an_orphan_is_ended_by_what_it_carries",
            f"{_END}::test_spec_3_10_an_orphan_that_carries_nothing_sensible_gets_the_minimum",
        ),
    ),
    (
        "What follows from them, and is ours",
        (
            "tests/actors/pod/test_calls.py::test_spec_3_10_a_sandbox_that_cannot_be_stopped_is_a_failure",
            f"{_END}::test_spec_3_10_a_container_has_the_hook_of_its_own_definition_only",
        ),
    ),
)
