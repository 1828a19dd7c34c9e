"""What to do next to a pod: every rule of spec 3.1, 3.2, 3.4 and 3.5, one row each."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.observed import ObservedPod, ObservedSandbox, ProbeResults, sandbox_change
from actors.pod_rules.action_types import NOTHING_IN_FLIGHT, InFlight, Kill, KillCause
from actors.pod_rules.actions import in_flight_of
from config.frozen_map import FrozenMap
from config.objects import (
    EphemeralContainer,
    Pod,
)
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    RUNNING,
    SECOND_NS,
    UNKNOWN,
    container,
    picture,
    pod,
    sandbox,
    seen,
    sidecar,
)
from tests.actors.pod_rules.pod_decisions import DELETING, FIRST, PROBE, act, rules, said

# --- 3.1: the sandbox -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("boxes", "host_network", "needed", "attempt"),
    [
        # (spec 3.1.1)
        pytest.param((), False, True, 0, id="none: attempt 0"),
        pytest.param((sandbox(2),), False, False, 2, id="one that is ready will do"),
        # (spec 3.1.2)
        pytest.param((sandbox(3), sandbox(2)), False, True, 4, id="two ready: another one"),
        pytest.param((sandbox(3), sandbox(2, ready=False)), False, False, 3, id="an old one that is over is no fault"),
        # (spec 3.1.3)
        pytest.param((sandbox(1, ready=False),), False, True, 2, id="newest not ready"),
        # (spec 3.1.3)
        pytest.param((sandbox(1, ready=False), sandbox(0)), False, True, 2, id="newest not ready, an older one is"),
        # (spec 3.1.4)
        pytest.param((sandbox(0, host_network=True),), False, True, 1, id="in the host's network, not asked for"),
        # (spec 3.1.4)
        pytest.param((sandbox(0, host_network=False),), True, True, 1, id="not in the host's network, asked for"),
        # (spec 3.1.5)
        pytest.param((sandbox(0, ip=""),), False, True, 1, id="no address"),
        pytest.param((sandbox(0, ip="", host_network=True),), True, False, 0, id="none needed in the host's network"),
        # (spec 3.1.5)
        pytest.param((sandbox(0, ip="", networked=False),), False, False, 0, id="a runtime that says no address"),
    ],
)
def test_spec_3_1_sandbox_changes(
    boxes: tuple[ObservedSandbox, ...], host_network: bool, needed: bool, attempt: int
) -> None:
    change = sandbox_change(pod("a", host_network=host_network), picture(boxes=boxes))
    assert (change.needed, change.attempt) == (needed, attempt)


@pytest.mark.parametrize(
    ("boxes", "why"),
    [
        ((), "no sandbox"),
        ((sandbox(1, ip=""), sandbox(0)), "2 sandboxes are ready"),
        ((sandbox(1, ready=False, ip="", host_network=True),), "not ready"),
        ((sandbox(1, ip="", host_network=True),), "another network namespace"),
        ((sandbox(1, ip=""),), "no address"),
    ],
)
# (spec 3.1.6)
def test_spec_3_1_only_the_first_of_several_sandbox_faults_is_reported(
    boxes: tuple[ObservedSandbox, ...], why: str
) -> None:
    assert why in sandbox_change(pod("a"), picture(boxes=boxes)).why


# --- 3.2: with a new sandbox ------------------------------------------------------------------------------------------

DEAD = (sandbox(0, ready=False),)


@pytest.mark.parametrize(
    ("the_pod", "observed", "expected"),
    [
        # (spec 3.2.6)
        pytest.param(pod("a", "b"), picture(boxes=()), "sandbox 0; start a; start b", id="a new pod starts everything"),
        # (spec 3.2.8)
        pytest.param(
            pod("a", init=(container("i"), container("j"))),
            picture(boxes=()),
            "sandbox 0; init i",
            id="with init containers only the first starts",
        ),
        pytest.param(
            pod("a", init=(container("i"),)),
            picture(seen("i", EXITED), seen("a"), boxes=DEAD),
            "kill pod; sandbox 1; init i",
            id="a new sandbox initializes the pod anew",
        ),
        pytest.param(
            pod("a"),
            picture(seen("a"), boxes=DEAD),
            "kill pod; sandbox 1; start a",
            id="what is left over is ended first",
        ),
        # (spec 3.2.5)
        pytest.param(
            pod("a", policy="Never"), picture(seen("a"), boxes=DEAD), "kill pod", id="Never: no second sandbox"
        ),
        # (spec 3.2.5)
        pytest.param(
            pod("a", policy="Never"),
            picture(boxes=DEAD),
            "kill pod; sandbox 1; start a",
            id="Never: unless nothing ran",
        ),
        # (spec 3.2.6)
        pytest.param(
            pod("a", "b", policy="OnFailure"),
            picture(seen("a", EXITED), seen("b", EXITED, exit_code=1), boxes=DEAD),
            "kill pod; sandbox 1; start b",
            id="OnFailure: what succeeded is not started again",
        ),
        # (spec 3.2.7)
        pytest.param(
            pod("a", policy="OnFailure"),
            picture(seen("a", EXITED), boxes=DEAD),
            "",
            id="OnFailure: all done, no sandbox",
        ),
        pytest.param(
            pod("a", container("b", restart_policy="Never")),
            picture(seen("a", EXITED), seen("b", EXITED, exit_code=3), boxes=DEAD),
            "kill pod; sandbox 1; start a",
            id="a container of its own policy Never stays ended",
        ),
        pytest.param(
            pod("a"),
            picture(seen("a", EXITED, ended_ns=NOW_NS - SECOND_NS, back_off_ns=10 * SECOND_NS), boxes=DEAD),
            "kill pod; sandbox 1; wait a",
            id="back-off outlives the sandbox",
        ),
        pytest.param(pod("a", meta=DELETING), picture(boxes=()), "", id="a pod that is deleted gets no sandbox"),
        pytest.param(
            pod("a", policy="Never"), picture(seen("a", EXITED), boxes=()), "", id="Never: not even when it is removed"
        ),
        pytest.param(
            pod("a", init=(container("i"),), policy="Never"),
            picture(seen("i", EXITED), boxes=DEAD),
            "",
            id="Never: an init container that ran counts too",
        ),
        pytest.param(
            pod("a", init=(container("i"),), policy="OnFailure"),
            picture(seen("i", EXITED), seen("a", EXITED), boxes=DEAD),
            "",
            id="all done: no sandbox for init containers alone",
        ),
        pytest.param(
            pod("a", init=(sidecar("s"), container("i"))),
            picture(seen("s"), seen("a"), boxes=DEAD),
            "kill pod; sandbox 1; init s",
            id="sidecars begin anew in their turn",
        ),
    ],
)
def test_spec_3_2_with_a_new_sandbox(the_pod: Pod, observed: ObservedPod, expected: str) -> None:
    assert said(act(the_pod, observed)) == expected


# --- 3.2, 3.4: regular containers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("the_pod", "observed", "expected"),
    [
        # (spec 3.2.18)
        pytest.param(pod("a"), picture(seen("a")), "", id="what runs is kept"),
        # (spec 3.2.11)
        pytest.param(pod("a"), picture(), "start a", id="what was never made is started"),
        # (spec 3.2.11)
        pytest.param(pod("a"), picture(seen("a", EXITED)), "start a", id="Always: success is started again"),
        pytest.param(
            pod("a", policy="OnFailure"), picture(seen("a", EXITED)), "kill pod", id="OnFailure: success is not"
        ),
        pytest.param(
            pod("a", policy="OnFailure"), picture(seen("a", EXITED, exit_code=2)), "start a", id="OnFailure: failure is"
        ),
        # (spec 3.2.19)
        pytest.param(
            pod("a", policy="Never"), picture(seen("a", EXITED, exit_code=2)), "kill pod", id="Never: nothing is"
        ),
        pytest.param(
            pod("a", "b", policy="Never"), picture(seen("a", EXITED), seen("b")), "", id="Never: the others go on"
        ),
        # (spec 3.2.12)
        pytest.param(
            pod("a"), picture(seen("a", UNKNOWN)), "kill a; start a", id="what was lost is killed, then started"
        ),
        # (spec 3.2.13)
        pytest.param(
            pod("a"), picture(seen("a", made_of="image:0")), "kill a; start a", id="another image: killed and started"
        ),
        # (spec 3.2.13)
        pytest.param(
            pod("a", policy="Never"),
            picture(seen("a", made_of="old")),
            "kill a; start a",
            id="another image, even with Never",
        ),
        pytest.param(
            pod(container("a", restart_policy="Never", restart_policy_rules=rules(42))),
            picture(seen("a", EXITED, exit_code=42)),
            "start a",
            id="a restart rule beats the policy",
        ),
        pytest.param(
            pod(container("a", restart_policy="Never", restart_policy_rules=rules(42))),
            picture(seen("a", EXITED, exit_code=41)),
            "kill pod",
            id="a rule about another code does not",
        ),
        pytest.param(
            pod(container("a", restart_policy="Never", restart_policy_rules=rules(42, operator="NotIn"))),
            picture(seen("a", EXITED, exit_code=41)),
            "start a",
            id="a NotIn rule holds for the other codes",
        ),
        pytest.param(
            pod(container("a", restart_policy="Never", restart_policy_rules=rules(42, action="RestartAllContainers"))),
            picture(seen("a", EXITED, exit_code=42)),
            "reset a",
            id="RestartAllContainers removes it first",
        ),
        pytest.param(
            pod(container("a", restart_policy="OnFailure")),
            picture(seen("a", EXITED)),
            "kill pod",
            id="own policy first",
        ),
        pytest.param(pod("a", meta=DELETING), picture(seen("a", EXITED)), "kill pod", id="deleted: nothing is started"),
        pytest.param(
            pod("a"),
            picture(seen("a", attempt=1), seen("a", attempt=0, id="old")),
            "kill a",
            id="of two the older is killed",
        ),
    ],
)
def test_spec_3_2_and_3_4_regular_containers(the_pod: Pod, observed: ObservedPod, expected: str) -> None:
    assert said(act(the_pod, observed)) == expected


@pytest.mark.parametrize(
    ("policy", "probes", "expected", "cause"),
    [
        # (spec 3.2.14)
        pytest.param(
            "Always", {"liveness": {"a-0": False}}, "kill a; start a", KillCause.LIVENESS, id="liveness failed"
        ),
        # (spec 3.2.16)
        pytest.param("Never", {"liveness": {"a-0": False}}, "kill a", KillCause.LIVENESS, id="liveness failed, Never"),
        # (spec 3.2.15)
        pytest.param("Always", {"startup": {"a-0": False}}, "kill a; start a", KillCause.STARTUP, id="startup failed"),
        pytest.param("Never", {"startup": {"a-0": False}}, "kill a", KillCause.STARTUP, id="startup failed, Never"),
        pytest.param(
            "OnFailure", {"liveness": {"a-0": False}}, "kill a; start a", KillCause.LIVENESS, id="liveness, OnFailure"
        ),
        pytest.param("Always", {"liveness": {"a-9": False}}, "", None, id="a result of an earlier container"),
        pytest.param("Always", {"liveness": {"a-0": True}}, "", None, id="alive"),
        pytest.param("Always", {}, "", None, id="not decided yet"),
    ],
)
def test_spec_3_2_failed_probes(
    policy: str, probes: dict[str, dict[str, bool]], expected: str, cause: KillCause | None
) -> None:
    the_pod = pod(container("a", liveness_probe=PROBE, startup_probe=PROBE), "b", policy=policy)
    actions = act(
        the_pod,
        picture(seen("a"), seen("b")),
        ProbeResults(active=True, **{kind: FrozenMap(found) for kind, found in probes.items()}),
    )
    assert said(actions) == expected
    assert [each.cause for each in actions.kill] == ([cause] if cause else [])


@pytest.mark.parametrize("kind", ["liveness", "startup"])
# (spec 3.2.19)
def test_spec_3_2_a_failed_probe_of_the_last_container_ends_a_pod_of_never(kind: str) -> None:
    the_pod = pod(container("a", liveness_probe=PROBE, startup_probe=PROBE), "b", policy="Never")
    failed = ProbeResults(active=True, **{kind: FrozenMap({"a-0": False})})
    assert said(act(the_pod, picture(seen("a"), seen("b", EXITED)), failed)) == "kill pod"


@pytest.mark.parametrize(
    ("cause", "fields", "message"),
    [
        (KillCause.CHANGED, {}, "Container a definition changed, will be restarted"),
        (KillCause.CHANGED, {"init": True}, "Init container a definition changed"),
        (KillCause.LIVENESS, {}, "Container a failed liveness probe, will be restarted"),
        (KillCause.LIVENESS, {"comes_again": False}, "Container a failed liveness probe"),
        (KillCause.STARTUP, {"init": True}, "Init container a failed startup probe"),
        (KillCause.LOST, {}, 'Container is in "unknown" state, try killing it before restart'),
        (KillCause.RESIZED, {}, "Container a resize requires restart"),
        (KillCause.RESIZED, {"init": True}, "Container a resize requires restart"),
        (KillCause.DUPLICATE, {}, "Stopping container a: a newer container of the same name exists"),
    ],
)
def test_why_a_container_is_killed_is_told_in_the_words_of_a_kubelet(
    cause: KillCause, fields: dict[str, bool], message: str
) -> None:
    assert Kill("id", "a", cause, container("a"), **fields).message == message


# (spec 3.2.17)
def test_spec_3_2_a_resize_that_needs_a_restart_kills_and_starts() -> None:
    actions = act(pod("a", policy="Never"), picture(seen("a")), resized=frozenset({"a"}))
    assert said(actions) == "kill a; start a"


def test_spec_3_2_a_created_container_is_started_and_not_created_again() -> None:
    [start] = act(pod("a"), picture(seen("a", CREATED, attempt=3, back_off_ns=7))).start
    assert (start.created_id, start.attempt, start.back_off_ns) == ("a-3", 3, 7)


@pytest.mark.parametrize("fault", [{"made_of": "image:0"}, {"sandbox_attempt": 7}])
def test_a_created_container_with_another_spec_is_created_again(fault: dict[str, Any]) -> None:
    [start] = act(pod("a"), picture(seen("a", CREATED, attempt=3, **fault))).start
    assert (start.created_id, start.attempt) == ("", 4)


# (spec 3.7.2)
def test_attempts_count_over_the_life_of_the_pod() -> None:
    assert act(pod("a"), picture()).start[0].attempt is None
    assert act(pod("a"), picture(seen("a", EXITED, attempt=4))).start[0].attempt == 5


@pytest.mark.parametrize("state", [CREATED, RUNNING, EXITED, UNKNOWN])
# (spec 3.2.9)
def test_spec_3_2_an_ephemeral_container_with_a_status_is_never_started_again(state) -> None:
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="image:2"),))
    assert act(the_pod, picture(seen("a"), seen("e", state, exit_code=1))).idle


def test_spec_3_2_ephemeral_containers_do_not_wait_for_init_containers() -> None:
    the_pod = pod("a", init=(FIRST,), ephemeral_containers=(EphemeralContainer(name="e", image="i"),))
    assert said(act(the_pod, picture(seen("i")))) == "ephemeral e"


def test_spec_3_2_an_ephemeral_container_keeps_no_pod_alive() -> None:
    the_pod = pod("a", policy="Never", ephemeral_containers=(EphemeralContainer(name="e", image="i"),))
    assert said(act(the_pod, picture(seen("a", EXITED), seen("e")))) == "kill pod"


# (spec 3.2.9)
def test_spec_3_2_ephemeral_containers_are_started_once() -> None:
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="i"), EphemeralContainer(name="f")))
    assert said(act(the_pod, picture(seen("a"), seen("e", EXITED, exit_code=1)))) == "ephemeral f"


# --- in flight --------------------------------------------------------------------------------------------------------


def test_nothing_is_decided_while_a_sandbox_is_being_made() -> None:
    assert act(pod("a"), picture(boxes=()), in_flight=InFlight(sandbox=True)).idle


@pytest.mark.parametrize("state", [None, CREATED, RUNNING, EXITED, UNKNOWN])
def test_a_container_with_a_call_in_flight_is_neither_started_nor_killed(state) -> None:
    observed = picture() if state is None else picture(seen("a", state, made_of="image:0"))
    assert act(pod("a", policy="Never"), observed, in_flight=InFlight(containers=frozenset({"a"}))).idle


def test_an_init_container_in_flight_holds_back_all_others() -> None:
    the_pod = pod("a", init=(container("i"), container("j"), container("k")))
    assert act(the_pod, picture(seen("i", EXITED)), in_flight=InFlight(containers=frozenset({"j"}))).idle


def test_names_of_operations_tell_what_is_in_flight() -> None:
    assert in_flight_of(["sandbox 1", "container web 2"], ["pull"]) == InFlight(True, frozenset({"web", "pull"}))
    assert in_flight_of([]) is NOTHING_IN_FLIGHT
