"""Spec 3.4: whether a container that is not running is started again, one row for each rule."""

from __future__ import annotations

import pytest

from actors.model.observed import ObservedContainer
from actors.pod_rules.action_types import KillCause
from actors.pod_rules.restart_rules import (
    effective_policy,
    restarts_after,
    should_restart,
    should_restart_failed_init,
)
from config.objects import Container, ContainerRestartRule, ContainerRestartRuleOnExitCodes, Pod
from tests.actors.pod_pictures import CREATED, EXITED, RUNNING, UNKNOWN, container, pod, seen, sidecar

DELETING = {"deletion_timestamp": "2026-01-01T00:00:00Z"}


def rule(operator: str, *codes: int, action: str = "Restart") -> ContainerRestartRule:
    return ContainerRestartRule(
        action=action, exit_codes=ContainerRestartRuleOnExitCodes(operator=operator, values=codes)
    )


def ruled(policy: str | None, *rules: ContainerRestartRule) -> Container:
    return container("a", restart_policy=policy, restart_policy_rules=rules)


@pytest.mark.parametrize(
    ("the_pod", "last", "expected"),
    [
        # (spec 3.4.2)
        pytest.param(pod("a"), None, True, id="no status"),
        # (spec 3.4.1)
        pytest.param(pod("a", meta=DELETING), None, False, id="deleted: not even without a status"),
        # (spec 3.4.1)
        pytest.param(pod("a", meta=DELETING), seen("a", EXITED), False, id="deleted: ended"),
        pytest.param(pod("a", meta=DELETING), seen("a", UNKNOWN), False, id="deleted: lost"),
        # (spec 3.4.3)
        pytest.param(pod("a"), seen("a", RUNNING), False, id="running"),
        # (spec 3.4.4)
        pytest.param(pod("a", policy="Never"), seen("a", UNKNOWN), True, id="lost, whatever the policy"),
        # (spec 3.4.4)
        pytest.param(pod("a", policy="Never"), seen("a", CREATED), True, id="made, whatever the policy"),
        # (spec 3.4.10)
        pytest.param(pod("a"), seen("a", EXITED), True, id="Always, success"),
        pytest.param(pod("a"), seen("a", EXITED, exit_code=1), True, id="Always, failure"),
        # (spec 3.4.10)
        pytest.param(pod("a", policy="OnFailure"), seen("a", EXITED), False, id="OnFailure, success"),
        # (spec 3.4.10)
        pytest.param(pod("a", policy="OnFailure"), seen("a", EXITED, exit_code=1), True, id="OnFailure, failure"),
        # (spec 3.4.10)
        pytest.param(pod("a", policy="Never"), seen("a", EXITED, exit_code=1), False, id="Never"),
        # (spec 3.4.11)
        pytest.param(pod("a", policy=""), seen("a", EXITED), True, id="none is Always"),
    ],
)
def test_spec_3_4_states_and_policies_of_the_pod(the_pod: Pod, last: ObservedContainer | None, expected: bool) -> None:
    assert should_restart(the_pod, the_pod.spec.containers[0], last) is expected


@pytest.mark.parametrize(
    ("one", "code", "expected"),
    [
        # (spec 3.4.9)
        pytest.param(ruled("Never"), 1, False, id="its own policy goes before the pod's"),
        pytest.param(ruled("OnFailure"), 0, False, id="its own OnFailure, success"),
        pytest.param(ruled("OnFailure"), 1, True, id="its own OnFailure, failure"),
        # (spec 3.4.6)
        pytest.param(ruled("Never", rule("In", 1, 42)), 42, True, id="In"),
        # (spec 3.4.6)
        pytest.param(ruled("Never", rule("In", 1, 42)), 2, False, id="In, another code"),
        # (spec 3.4.6)
        pytest.param(ruled("Never", rule("NotIn", 0)), 2, True, id="NotIn"),
        # (spec 3.4.6)
        pytest.param(ruled("Never", rule("NotIn", 0)), 0, False, id="NotIn, that code"),
        # (spec 3.4.7)
        pytest.param(ruled("Never", rule("In", 1), rule("In", 2)), 2, True, id="the first that is about the code"),
        pytest.param(ruled("Never", rule("In", 0)), 0, True, id="success may have a rule too"),
        # (spec 3.4.9)
        pytest.param(ruled("OnFailure", rule("In", 0)), 3, True, id="without a match the policy decides"),
        # (spec 3.4.8)
        pytest.param(
            ruled("Never", rule("In", 3, action="RestartAllContainers")), 3, True, id="RestartAllContainers restarts"
        ),
        # (spec 3.4.5)
        pytest.param(ruled(None, rule("In", 1)), 1, False, id="rules need a policy of the container"),
        pytest.param(ruled("Never", ContainerRestartRule(action="Restart")), 1, False, id="a rule about nothing"),
    ],
)
def test_spec_3_4_rules_and_policies_of_the_container(one: Container, code: int, expected: bool) -> None:
    the_pod = pod(one, policy="Always" if one.restart_policy else "Never")
    assert should_restart(the_pod, one, seen("a", EXITED, exit_code=code)) is expected


@pytest.mark.parametrize(
    ("one", "policy", "expected"),
    [
        (container("i"), "Always", True),
        (container("i"), "OnFailure", True),
        (container("i"), "Never", False),
        (sidecar("i"), "Never", True),
        (container("i", restart_policy="Never"), "Always", False),
        (container("i", restart_policy="OnFailure"), "Never", True),
        (container("i", restart_policy="Never", restart_policy_rules=(rule("In", 1),)), "Never", True),
        (container("i", restart_policy="Never", restart_policy_rules=(rule("In", 2),)), "Always", False),
    ],
)
# (spec 3.3.10)
def test_spec_3_3_an_init_container_that_failed(one: Container, policy: str, expected: bool) -> None:
    assert should_restart_failed_init(pod("a", init=(one,), policy=policy), one, 1) is expected


@pytest.mark.parametrize(
    ("own", "of_pod", "expected"),
    [
        (None, "Always", True),
        (None, "OnFailure", True),
        (None, "Never", False),
        ("Always", "Never", True),
        ("Never", "Always", False),
    ],
)
# (spec 3.2.16)
def test_spec_3_2_restart_after_a_kill_follows_the_policy(own: str | None, of_pod: str, expected: bool) -> None:
    one = container("a", restart_policy=own)
    assert restarts_after(pod(one, policy=of_pod), one, KillCause.LIVENESS) is expected
    assert effective_policy(pod(one, policy=of_pod), one) == (own or of_pod)
