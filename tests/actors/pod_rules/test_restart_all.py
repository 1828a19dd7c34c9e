"""RestartAllContainers as rules: who restarts all, what goes first, when it is over (spec 3.2, 4.3)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.observed import ObservedPod
from actors.pod_rules.action_types import KillCause
from actors.pod_rules.restart_all import ALL_RESTARTING, RESTARTING_ALL, in_progress, resets, sources, without_rules
from actors.pod_rules.restart_rules import coming_again
from actors.pod_status.api_status import StatusNodeView, compute_pod_status
from config.objects import (
    Container,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    Pod,
    PodCondition,
    PodStatus,
)
from tests.actors.pod_pictures import EXITED, NOW_NS, container, picture, pod, seen, sidecar


def ruled(name: str, action: str = "RestartAllContainers", code: int = 42, **fields: Any) -> Container:
    codes = ContainerRestartRuleOnExitCodes(operator="In", values=(code,))
    fields.setdefault("restart_policy", "Never")
    return container(name, restart_policy_rules=(ContainerRestartRule(action=action, exit_codes=codes),), **fields)


@pytest.mark.parametrize(
    ("the_pod", "exit_code", "expected"),
    [
        pytest.param(pod(ruled("a")), 42, {"a"}, id="its rule matches"),
        pytest.param(pod(ruled("a")), 41, set(), id="another code"),
        pytest.param(pod(ruled("a", action="Restart")), 42, set(), id="a rule that restarts it alone"),
        pytest.param(pod(ruled("a", restart_policy=None)), 42, set(), id="without a policy of its own rules are none"),
        pytest.param(pod(ruled("a"), meta={"deletion_timestamp": "t"}), 42, set(), id="a pod that is to be deleted"),
        pytest.param(without_rules(pod(ruled("a"))), 42, set(), id="the gate is off"),
    ],
)
# (spec 3.2.1)
def test_spec_3_2_an_exit_code_may_restart_all_containers(the_pod: Pod, exit_code: int, expected: set[str]) -> None:
    assert sources(the_pod, picture(seen("a", EXITED, exit_code=exit_code))) == expected


# (spec 3.2.2)
def test_spec_3_2_targets_go_before_sources_regular_before_init_containers_and_old_before_new() -> None:
    the_pod = pod(ruled("a"), "b", init=(ruled("i"), sidecar("s")))
    observed = picture(
        seen("a", EXITED, exit_code=42, attempt=1),
        seen("a", EXITED, exit_code=1, id="a-old"),
        seen("b"),
        seen("i", EXITED, exit_code=42),
        seen("s"),
        seen("debug"),
    )
    found = resets(the_pod, observed)
    assert [each.id for each in found] == ["b-0", "s-0", "a-old", "a-1", "i-0"]
    assert [each.name for each in found if each.may_run] == ["b", "s"]


# (spec 4.3.2)
def test_spec_4_3_it_goes_on_until_something_is_made_anew() -> None:
    the_pod = pod(ruled("a"), "b")
    was = PodStatus(conditions=(PodCondition(type=ALL_RESTARTING, status="True"),))
    assert in_progress(the_pod, picture(seen("a", EXITED, exit_code=42)), None)
    assert in_progress(the_pod, picture(), was)
    assert not in_progress(the_pod, picture(), PodStatus())
    assert not in_progress(the_pod, picture(seen("a", attempt=1)), was)


@pytest.mark.parametrize(
    ("policy", "cause", "comes"),
    [
        ("Never", KillCause.CHANGED, True),
        ("Never", KillCause.RESIZED, True),
        ("Never", KillCause.LOST, True),
        ("Never", KillCause.LIVENESS, False),
        ("Never", KillCause.SANDBOX, False),
        ("OnFailure", KillCause.LIVENESS, True),
        ("OnFailure", KillCause.SANDBOX, True),
    ],
)
def test_a_container_that_the_agent_ended_restarts_whatever_its_exit_code(
    policy: str, cause: KillCause, comes: bool
) -> None:
    observed = picture(seen("a", EXITED))
    assert coming_again(pod("a", policy=policy), observed, {"a-0": cause}) == ({"a"} if comes else set())


@pytest.mark.parametrize(
    ("the_pod", "expected"),
    [
        pytest.param(pod("a"), None, id="nobody has such a rule: no condition"),
        pytest.param(pod(ruled("a", action="Restart")), None, id="nor a rule that restarts one alone"),
        pytest.param(pod(ruled("a")), "False", id="it has one, and nothing goes on"),
    ],
)
# (spec 4.3.2)
def test_spec_4_3_only_a_pod_that_may_restart_all_has_the_condition(the_pod: Pod, expected: str | None) -> None:
    status = compute_pod_status(the_pod, picture(seen("a")), previous=None, wall_ns=NOW_NS, node=StatusNodeView())
    assert {each.type: each.status for each in status.conditions}.get(ALL_RESTARTING) == expected


# (spec 4.2.8)
def test_spec_4_2_a_container_removed_for_a_restart_of_all_waits_and_counts_a_restart() -> None:
    the_pod = pod(ruled("a"), "b")

    def show(observed: ObservedPod, previous: PodStatus | None) -> PodStatus:
        return compute_pod_status(the_pod, observed, previous=previous, wall_ns=NOW_NS, node=StatusNodeView())

    ran = show(picture(seen("a"), seen("b")), None)
    removed = show(picture(seen("a", EXITED, exit_code=42)), ran)
    [b] = [each for each in removed.container_statuses if each.name == "b"]
    assert b.state is not None
    assert b.state.waiting is not None
    assert b.last_state is not None
    assert b.last_state.terminated is not None
    found = (b.state.waiting.reason, b.last_state.terminated.exit_code, b.restart_count)
    assert found == (RESTARTING_ALL, 137, 1)
    assert {each.type: each.status for each in removed.conditions}[ALL_RESTARTING] == "True"
