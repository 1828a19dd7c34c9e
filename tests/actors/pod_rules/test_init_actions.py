"""What to do next to init containers and sidecars: every rule of spec 3.3, one row each."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.observed import ObservedPod, ProbeResults
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    SECOND_NS,
    UNKNOWN,
    container,
    picture,
    pod,
    seen,
    sidecar,
)
from tests.actors.pod_rules.pod_decisions import FIRST, PROBE, SECOND, SIDE, act, rules, said


@pytest.mark.parametrize(
    ("init", "policy", "observed", "expected"),
    [
        # (spec 3.3.14)
        pytest.param((FIRST, SECOND), "Always", picture(), "init i", id="no status: the first"),
        # (spec 3.3.4)
        pytest.param((FIRST, SECOND), "Always", picture(seen("i")), "", id="running: wait"),
        # (spec 3.3.3)
        pytest.param((FIRST, SECOND), "Always", picture(seen("i", CREATED)), "init i", id="created: start it"),
        # (spec 3.3.11)
        pytest.param((FIRST, SECOND), "Always", picture(seen("i", EXITED)), "init j", id="success: the next"),
        # (spec 3.3.11)
        pytest.param(
            (FIRST,), "Always", picture(seen("i", EXITED)), "start a", id="the last has succeeded: initialized"
        ),
        # (spec 3.3.10)
        pytest.param((FIRST,), "Always", picture(seen("i", EXITED, exit_code=1)), "init i", id="failed, Always: again"),
        pytest.param(
            (FIRST,), "OnFailure", picture(seen("i", EXITED, exit_code=1)), "init i", id="failed, OnFailure: again"
        ),
        # (spec 3.3.10)
        pytest.param(
            (FIRST,), "Never", picture(seen("i", EXITED, exit_code=1)), "kill pod", id="failed, Never: the end"
        ),
        # (spec 3.3.10)
        pytest.param(
            (FIRST,), "Never", picture(seen("i", EXITED, reason="OOMKilled")), "kill pod", id="an OOM kill is failure"
        ),
        # (spec 3.3.12)
        pytest.param((FIRST,), "Always", picture(seen("i", UNKNOWN)), "kill i; init i", id="lost: killed and started"),
        # (spec 3.3.12)
        pytest.param((FIRST,), "Never", picture(seen("i", UNKNOWN)), "kill pod", id="lost, Never: the end"),
        # (spec 3.3.1)
        pytest.param((FIRST,), "Always", picture(seen("a")), "", id="a regular one exists: initialized"),
        # (spec 3.3.1)
        pytest.param((FIRST,), "Always", picture(seen("a", CREATED)), "start a", id="even if only made"),
        # (spec 3.3.13)
        pytest.param(
            (FIRST, SIDE), "Always", picture(seen("a")), "init s", id="a sidecar that is missing is started late"
        ),
        pytest.param((SIDE, FIRST), "Always", picture(), "init s", id="a sidecar comes in its turn"),
        # (spec 3.3.6)
        pytest.param(
            (SIDE, FIRST), "Always", picture(seen("s")), "init i", id="a sidecar that runs lets the next begin"
        ),
        # (spec 3.3.6)
        pytest.param(
            (SIDE,), "Always", picture(seen("s")), "start a", id="the last is a sidecar that runs: initialized"
        ),
        # (spec 3.3.9)
        pytest.param(
            (SIDE, FIRST), "Never", picture(seen("s", EXITED)), "init s", id="a sidecar is restarted, even with Never"
        ),
        pytest.param(
            (SIDE, FIRST), "Always", picture(seen("s", EXITED), seen("i")), "init s", id="also while a later one runs"
        ),
        pytest.param((SIDE,), "Always", picture(seen("s", EXITED), seen("a")), "init s", id="also when all is running"),
        # (spec 3.3.9)
        pytest.param(
            (SIDE,),
            "OnFailure",
            picture(seen("s", EXITED), seen("a")),
            "init s",
            id="and with OnFailure, though it ended well",
        ),
        # (spec 3.3.2)
        pytest.param(
            (FIRST, SECOND),
            "Always",
            picture(seen("i", EXITED, exit_code=1), seen("j", EXITED)),
            "start a",
            id="the last with a status decides, not those before it",
        ),
        pytest.param(
            (SIDE, FIRST),
            "Always",
            picture(seen("s", EXITED, ended_ns=NOW_NS - SECOND_NS, back_off_ns=10 * SECOND_NS), seen("i")),
            "wait s",
            id="a sidecar that keeps ending backs off",
        ),
        pytest.param(
            (FIRST, SIDE), "Always", picture(seen("i", EXITED)), "init s", id="a sidecar follows one that succeeded"
        ),
        pytest.param(
            (SIDE, sidecar("t"), FIRST), "Always", picture(seen("s")), "init t", id="sidecars begin one after another"
        ),
        pytest.param(
            (SIDE, FIRST),
            "Never",
            picture(seen("s"), seen("i", EXITED, exit_code=1)),
            "kill pod",
            id="a failed one ends the pod with its sidecars",
        ),
        pytest.param(
            (container("i", restart_policy="Never", restart_policy_rules=rules(7)),),
            "Always",
            picture(seen("i", EXITED, exit_code=7)),
            "init i",
            id="a rule of its own has it tried again",
        ),
        pytest.param(
            (container("i", restart_policy="Never", restart_policy_rules=rules(7)),),
            "Always",
            picture(seen("i", EXITED, exit_code=8)),
            "kill pod",
            id="its own policy Never fails the pod",
        ),
        pytest.param(
            (FIRST,), "Always", picture(seen("i", made_of="old")), "", id="one that runs goes on, changed or not"
        ),
        # (spec 3.3.7)
        pytest.param(
            (SIDE,),
            "Always",
            picture(seen("s", made_of="old"), seen("a")),
            "kill s; init s",
            id="another image of a sidecar",
        ),
        pytest.param((SIDE,), "Always", picture(seen("s", UNKNOWN), seen("a")), "kill s; init s", id="a sidecar lost"),
        # (spec 3.3.15)
        pytest.param(
            (SIDE, sidecar("t")),
            "Always",
            picture(seen("s", EXITED), seen("t", EXITED), seen("a")),
            "init s; init t",
            id="sidecars start in the order of the spec",
        ),
        pytest.param(
            (SIDE,), "Never", picture(seen("s"), seen("a", EXITED)), "kill pod", id="sidecars alone keep no pod alive"
        ),
        pytest.param(
            (FIRST, SECOND),
            "Always",
            picture(seen("i", EXITED), seen("j", EXITED, sandbox_attempt=9)),
            "init j",
            id="of this sandbox only",
        ),
        pytest.param(
            (FIRST, SECOND),
            "Always",
            picture(seen("i", EXITED, exit_code=1, ended_ns=NOW_NS - SECOND_NS, back_off_ns=10 * SECOND_NS)),
            "wait i",
            id="a failing one backs off",
        ),
    ],
)
def test_spec_3_3_init_containers(init, policy: str, observed: ObservedPod, expected: str) -> None:
    assert said(act(pod("a", init=init, policy=policy), observed)) == expected


def test_spec_3_3_an_init_container_that_lives_on_beside_a_newer_one_is_killed_first() -> None:
    observed = picture(seen("i", EXITED, attempt=1, exit_code=1), seen("i", UNKNOWN, attempt=0))
    assert said(act(pod("a", init=(FIRST,)), observed)) == "kill i; init i"


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        # (spec 3.3.5)
        pytest.param({}, "", id="its startup probe has not decided: wait"),
        # (spec 3.3.5)
        pytest.param({"startup": {"s-0": True}}, "start a", id="succeeded: go on"),
        # (spec 3.3.5)
        pytest.param({"startup": {"s-0": False}}, "kill s; init s", id="failed: again"),
        # (spec 3.3.8)
        pytest.param({"startup": {"s-0": True}, "liveness": {"s-0": False}}, "kill s; init s", id="not alive: again"),
    ],
)
def test_spec_3_3_a_sidecar_with_probes(probes: dict[str, Any], expected: str) -> None:
    side = sidecar("s", startup_probe=PROBE, liveness_probe=PROBE)
    actions = act(pod("a", init=(side,)), picture(seen("s")), ProbeResults(active=True, **probes))
    assert said(actions) == expected


def test_spec_3_3_where_no_prober_works_a_sidecar_is_started_when_it_runs() -> None:
    assert said(act(pod("a", init=(sidecar("s", startup_probe=PROBE),)), picture(seen("s")))) == "start a"
