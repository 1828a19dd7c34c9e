"""What is done to a pod next: its sandbox, its containers, what is started again (3.1 to 3.4).

See the package.
"""

from __future__ import annotations

from tests.conformance.rules.shape import Rules

_ACTIONS = "tests/actors/pod_rules/test_actions.py"
_INIT_ACTIONS = "tests/actors/pod_rules/test_init_actions.py"
_ANY = "tests/actors/pod_rules/test_any_actions.py"
_RESTART = "tests/actors/pod_rules/test_restart_rules.py"
_RESTART_ALL = "tests/actors/pod_rules/test_restart_all.py"
_LIVES = "tests/simulation/node/test_lives.py"
_NEW_SANDBOX = f"{_ACTIONS}::test_spec_3_2_with_a_new_sandbox"
_REGULAR = f"{_ACTIONS}::test_spec_3_2_and_3_4_regular_containers"
_PROBED = f"{_ACTIONS}::test_spec_3_2_failed_probes"
_INIT = f"{_INIT_ACTIONS}::test_spec_3_3_init_containers"
_SIDECAR = f"{_INIT_ACTIONS}::test_spec_3_3_a_sidecar_with_probes"
_CHANGES = f"{_ACTIONS}::test_spec_3_1_sandbox_changes"
_STATES = f"{_RESTART}::test_spec_3_4_states_and_policies_of_the_pod"
_OWN = f"{_RESTART}::test_spec_3_4_rules_and_policies_of_the_container"

SANDBOX: Rules = (
    ("No sandbox: the first", (f"{_CHANGES}[none: attempt 0]",)),
    ("More than one ready: another", (f"{_CHANGES}[two ready: another one]",)),
    (
        "The newest not ready: another",
        (f"{_CHANGES}[newest not ready]", f"{_CHANGES}[newest not ready, an older one is]"),
    ),
    (
        "Another network namespace than asked for",
        (
            f"{_CHANGES}[in the host's network, not asked for]",
            f"{_CHANGES}[not in the host's network, asked for]",
        ),
    ),
    ("A network without an address", (f"{_CHANGES}[no address]", f"{_CHANGES}[a runtime that says no address]")),
    (
        "The first fault in this order is told",
        (f"{_ACTIONS}::test_spec_3_1_only_the_first_of_several_sandbox_faults_is_reported",),
    ),
)

ACTIONS: Rules = (
    (
        "RestartAllContainers: who is a source",
        (f"{_RESTART_ALL}::test_spec_3_2_an_exit_code_may_restart_all_containers",),
    ),
    (
        "Its order: others before sources, regular before init containers",
        (f"{_RESTART_ALL}::test_spec_3_2_targets_go_before_sources_regular_before_init_containers_and_old_before_new",),
    ),
    (
        "What runs is killed without a grace",
        ("tests/simulation/node/test_restart_all.py::test_the_others_are_killed_without_a_grace",),
    ),
    (
        "Logs stay",
        (
            "tests/simulation/node/test_restart_all.py::test_all_containers_are_made_anew_in_their_sandbox_init_containers_first",
        ),
    ),
    (
        "Never: no second sandbox once something ran",
        (
            f"{_NEW_SANDBOX}[Never: no second sandbox]",
            f"{_NEW_SANDBOX}[Never: unless nothing ran]",
        ),
    ),
    (
        "In a new sandbox all begin but those that succeeded with OnFailure",
        (
            f"{_NEW_SANDBOX}[a new pod starts everything]",
            f"{_NEW_SANDBOX}[OnFailure: what succeeded is not started again]",
        ),
    ),
    ("Nothing to start and something ran: no sandbox", (f"{_NEW_SANDBOX}[OnFailure: all done, no sandbox]",)),
    (
        "With init containers only the first begins",
        (f"{_NEW_SANDBOX}[with init containers only the first starts]",),
    ),
    (
        "Ephemeral containers are started once",
        (
            f"{_ACTIONS}::test_spec_3_2_ephemeral_containers_are_started_once",
            f"{_ACTIONS}::test_spec_3_2_an_ephemeral_container_with_a_status_is_never_started_again",
        ),
    ),
    ("Regular ones wait until the pod is initialized", (f"{_ANY}::test_spec_3_3_init_order_holds",)),
    (
        "What does not run is started if it is restarted",
        (
            f"{_REGULAR}[what was never made is started]",
            f"{_REGULAR}[Always: success is started again]",
        ),
    ),
    ("What is lost is killed first", (f"{_REGULAR}[what was lost is killed, then started]",)),
    (
        "Another definition: killed and started, whatever the policy",
        (
            f"{_REGULAR}[another image: killed and started]",
            f"{_REGULAR}[another image, even with Never]",
        ),
    ),
    ("A failed liveness probe kills", (f"{_PROBED}[liveness failed]",)),
    ("So does a failed startup probe", (f"{_PROBED}[startup failed]",)),
    (
        "After such a kill the policy decides",
        (
            f"{_PROBED}[liveness failed, Never]",
            f"{_RESTART}::test_spec_3_2_restart_after_a_kill_follows_the_policy",
        ),
    ),
    (
        "A resize that needs it: killed and started",
        (f"{_ACTIONS}::test_spec_3_2_a_resize_that_needs_a_restart_kills_and_starts",),
    ),
    ("Everything else is kept", (f"{_REGULAR}[what runs is kept]",)),
    (
        "Nothing kept and nothing to start: the pod is killed",
        (
            f"{_REGULAR}[Never: nothing is]",
            f"{_ACTIONS}::test_spec_3_2_a_failed_probe_of_the_last_container_ends_a_pod_of_never",
        ),
    ),
    (
        "What follows from them, and is ours",
        (
            f"{_ACTIONS}::test_spec_3_2_a_created_container_is_started_and_not_created_again",
            f"{_ACTIONS}::test_spec_3_2_ephemeral_containers_do_not_wait_for_init_containers",
            f"{_ACTIONS}::test_spec_3_2_an_ephemeral_container_keeps_no_pod_alive",
            f"{_ANY}::test_spec_3_2_never_two_of_one_name",
            f"{_ANY}::test_spec_3_2_a_container_of_a_never_pod_is_never_restarted",
        ),
    ),
)

INIT_CONTAINERS: Rules = (
    (
        "A regular container exists: the pod is initialized",
        (
            f"{_INIT}[a regular one exists: initialized]",
            f"{_INIT}[even if only made]",
        ),
    ),
    ("The last one with a status decides", (f"{_INIT}[the last with a status decides, not those before it]",)),
    ("Created: started", (f"{_INIT}[created: start it]",)),
    ("Running and regular: waited for", (f"{_INIT}[running: wait]",)),
    (
        "A sidecar's startup probe must have succeeded; absent: wait; failed: killed and started",
        (
            f"{_SIDECAR}[its startup probe has not decided: wait]",
            f"{_SIDECAR}[succeeded: go on]",
            f"{_SIDECAR}[failed: again]",
        ),
    ),
    (
        "A sidecar that has started lets the next begin, or initializes the pod",
        (
            f"{_INIT}[a sidecar that runs lets the next begin]",
            f"{_INIT}[the last is a sidecar that runs: initialized]",
        ),
    ),
    ("Another image of a sidecar: killed and started", (f"{_INIT}[another image of a sidecar]",)),
    ("A sidecar that is not alive: killed and started", (f"{_SIDECAR}[not alive: again]",)),
    (
        "A sidecar that ended is started, whatever the policy",
        (
            f"{_INIT}[a sidecar is restarted, even with Never]",
            f"{_INIT}[and with OnFailure, though it ended well]",
        ),
    ),
    (
        "A regular one that failed, or was killed for memory, is tried again if the policy allows it",
        (
            f"{_INIT}[failed, Always: again]",
            f"{_INIT}[failed, Never: the end]",
            f"{_INIT}[an OOM kill is failure]",
            f"{_RESTART}::test_spec_3_3_an_init_container_that_failed",
        ),
    ),
    (
        "One that succeeded lets the next begin, or initializes the pod",
        (
            f"{_INIT}[success: the next]",
            f"{_INIT}[the last has succeeded: initialized]",
        ),
    ),
    (
        "One that is lost is killed and started, or ends the pod",
        (
            f"{_INIT}[lost: killed and started]",
            f"{_INIT}[lost, Never: the end]",
        ),
    ),
    (
        "Missing sidecars of an initialized pod are started",
        (f"{_INIT}[a sidecar that is missing is started late]",),
    ),
    ("No status at all: the first", (f"{_INIT}[no status: the first]",)),
    ("They begin in the order of the spec", (f"{_INIT}[sidecars start in the order of the spec]",)),
    (
        "A sidecar that cannot start holds up no other",
        (f"{_LIVES}::test_spec_3_3_a_sidecar_that_cannot_be_started_holds_up_no_other_that_is_to_start",),
    ),
    (
        "What follows from them, and is ours",
        (
            f"{_INIT_ACTIONS}::test_spec_3_3_an_init_container_that_lives_on_beside_a_newer_one_is_killed_first",
            f"{_INIT_ACTIONS}::test_spec_3_3_where_no_prober_works_a_sidecar_is_started_when_it_runs",
        ),
    ),
)

RESTARTS: Rules = (
    (
        "A pod that is deleted restarts nothing",
        (
            f"{_STATES}[deleted: not even without a status]",
            f"{_STATES}[deleted: ended]",
        ),
    ),
    ("No status: yes", (f"{_STATES}[no status]",)),
    ("Running: no", (f"{_STATES}[running]",)),
    ("Lost or only made: yes", (f"{_STATES}[lost, whatever the policy]", f"{_STATES}[made, whatever the policy]")),
    ("Rules need a policy of the container", (f"{_OWN}[rules need a policy of the container]",)),
    ("In and NotIn", (f"{_OWN}[In]", f"{_OWN}[In, another code]", f"{_OWN}[NotIn]", f"{_OWN}[NotIn, that code]")),
    ("The first that matches decides", (f"{_OWN}[the first that is about the code]",)),
    ("RestartAllContainers restarts too", (f"{_OWN}[RestartAllContainers restarts]",)),
    (
        "Else its own policy",
        (
            f"{_OWN}[its own policy goes before the pod's]",
            f"{_OWN}[without a match the policy decides]",
        ),
    ),
    (
        "Else the pod's",
        (
            f"{_STATES}[Always, success]",
            f"{_STATES}[OnFailure, success]",
            f"{_STATES}[OnFailure, failure]",
            f"{_STATES}[Never]",
        ),
    ),
    ("Which is Always by default", (f"{_STATES}[none is Always]",)),
)
