"""What to do next to a pod: every rule of spec 3.1 to 3.5, one row each, and what holds for all pictures."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.observed import ObservedContainer, ObservedPod, ObservedSandbox
from actors.pod_action_types import NOTHING_IN_FLIGHT, InFlight, KillCause, PodActions, in_flight_of
from actors.pod_actions import compute_pod_actions
from actors.probe_results import NO_RESULTS, ProbeResults
from actors.sandbox_changes import sandbox_change
from config.objects import (
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    EphemeralContainer,
    Pod,
    Probe,
)
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    PERIODS,
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

PROBE = Probe()
DELETING = {"deletion_timestamp": "2026-01-01T00:00:00Z"}


def act(
    the_pod: Pod,
    observed: ObservedPod,
    probes: ProbeResults = NO_RESULTS,
    in_flight: InFlight = NOTHING_IN_FLIGHT,
    resized: frozenset[str] = frozenset(),
    wall_ns: int = NOW_NS,
) -> PodActions:
    return compute_pod_actions(
        the_pod, observed, wall_ns=wall_ns, crash_loop=PERIODS, probes=probes, in_flight=in_flight, resized=resized
    )


def said(actions: PodActions) -> str:
    """The actions in short: `sandbox 1; kill a; init s; start a; wait b; kill pod`."""
    parts = []
    if actions.kill_pod:
        parts.append("kill pod")
    if actions.create_sandbox:
        parts.append(f"sandbox {actions.sandbox_attempt}")
    parts += [f"kill {each.name}" for each in actions.kill]
    parts += [f"reset {each.name}" for each in actions.reset]
    parts += [f"ephemeral {each.container.name}" for each in actions.start_ephemeral]
    parts += [f"init {each.container.name}" for each in actions.start_init]
    parts += [f"start {each.container.name}" for each in actions.start]
    parts += [f"wait {each.name}" for each in actions.backing_off]
    return "; ".join(parts)


# --- 3.1: the sandbox -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("boxes", "host_network", "needed", "attempt"),
    [
        pytest.param((), False, True, 0, id="none: attempt 0"),
        pytest.param((sandbox(2),), False, False, 2, id="one that is ready will do"),
        pytest.param((sandbox(3), sandbox(2)), False, True, 4, id="two ready: another one"),
        pytest.param((sandbox(3), sandbox(2, ready=False)), False, False, 3, id="an old one that is over is no fault"),
        pytest.param((sandbox(1, ready=False),), False, True, 2, id="newest not ready"),
        pytest.param((sandbox(1, ready=False), sandbox(0)), False, True, 2, id="newest not ready, an older one is"),
        pytest.param((sandbox(0, host_network=True),), False, True, 1, id="in the host's network, not asked for"),
        pytest.param((sandbox(0, host_network=False),), True, True, 1, id="not in the host's network, asked for"),
        pytest.param((sandbox(0, ip=""),), False, True, 1, id="no address"),
        pytest.param((sandbox(0, ip="", host_network=True),), True, False, 0, id="none needed in the host's network"),
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
def test_spec_3_1_of_several_faults_the_first_is_told(boxes: tuple[ObservedSandbox, ...], why: str) -> None:
    assert why in sandbox_change(pod("a"), picture(boxes=boxes)).why


# --- 3.2: with a new sandbox ----------------------------------------------------------------------------------------

DEAD = (sandbox(0, ready=False),)


@pytest.mark.parametrize(
    ("the_pod", "observed", "expected"),
    [
        pytest.param(pod("a", "b"), picture(boxes=()), "sandbox 0; start a; start b", id="a new pod starts everything"),
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
        pytest.param(
            pod("a", policy="Never"), picture(seen("a"), boxes=DEAD), "kill pod", id="Never: no second sandbox"
        ),
        pytest.param(
            pod("a", policy="Never"),
            picture(boxes=DEAD),
            "kill pod; sandbox 1; start a",
            id="Never: unless nothing ran",
        ),
        pytest.param(
            pod("a", "b", policy="OnFailure"),
            picture(seen("a", EXITED), seen("b", EXITED, exit_code=1), boxes=DEAD),
            "kill pod; sandbox 1; start b",
            id="OnFailure: what succeeded is not started again",
        ),
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


# --- 3.2, 3.4: regular containers -----------------------------------------------------------------------------------


def rules(*codes: int, operator: str = "In", action: str = "Restart") -> tuple[ContainerRestartRule, ...]:
    on = ContainerRestartRuleOnExitCodes(operator=operator, values=codes)
    return (ContainerRestartRule(action=action, exit_codes=on),)


@pytest.mark.parametrize(
    ("the_pod", "observed", "expected"),
    [
        pytest.param(pod("a"), picture(seen("a")), "", id="what runs is kept"),
        pytest.param(pod("a"), picture(), "start a", id="what was never made is started"),
        pytest.param(pod("a"), picture(seen("a", EXITED)), "start a", id="Always: success is started again"),
        pytest.param(
            pod("a", policy="OnFailure"), picture(seen("a", EXITED)), "kill pod", id="OnFailure: success is not"
        ),
        pytest.param(
            pod("a", policy="OnFailure"), picture(seen("a", EXITED, exit_code=2)), "start a", id="OnFailure: failure is"
        ),
        pytest.param(
            pod("a", policy="Never"), picture(seen("a", EXITED, exit_code=2)), "kill pod", id="Never: nothing is"
        ),
        pytest.param(
            pod("a", "b", policy="Never"), picture(seen("a", EXITED), seen("b")), "", id="Never: the others go on"
        ),
        pytest.param(
            pod("a"), picture(seen("a", UNKNOWN)), "kill a; start a", id="what was lost is killed, then started"
        ),
        pytest.param(
            pod("a"), picture(seen("a", made_of="image:0")), "kill a; start a", id="another image: killed and started"
        ),
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
        pytest.param(
            "Always", {"liveness": {"a-0": False}}, "kill a; start a", KillCause.LIVENESS, id="liveness failed"
        ),
        pytest.param("Never", {"liveness": {"a-0": False}}, "kill a", KillCause.LIVENESS, id="liveness failed, Never"),
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
    actions = act(the_pod, picture(seen("a"), seen("b")), ProbeResults(active=True, **probes))
    assert said(actions) == expected
    assert [each.cause for each in actions.kill] == ([cause] if cause else [])


def test_spec_3_2_a_resize_that_needs_a_restart_kills_and_starts() -> None:
    actions = act(pod("a", policy="Never"), picture(seen("a")), resized=frozenset({"a"}))
    assert said(actions) == "kill a; start a"


def test_spec_3_2_what_was_made_but_not_started_is_started_not_made_again() -> None:
    [start] = act(pod("a"), picture(seen("a", CREATED, attempt=3, back_off_ns=7))).start
    assert (start.created_id, start.attempt, start.back_off_ns) == ("a-3", 3, 7)


@pytest.mark.parametrize("fault", [{"made_of": "image:0"}, {"sandbox_attempt": 7}])
def test_what_was_made_otherwise_is_made_again(fault: dict[str, object]) -> None:
    [start] = act(pod("a"), picture(seen("a", CREATED, attempt=3, **fault))).start
    assert (start.created_id, start.attempt) == ("", 4)


def test_attempts_count_over_the_life_of_the_pod() -> None:
    assert act(pod("a"), picture()).start[0].attempt is None
    assert act(pod("a"), picture(seen("a", EXITED, attempt=4))).start[0].attempt == 5


@pytest.mark.parametrize("state", [CREATED, RUNNING, EXITED, UNKNOWN])
def test_spec_3_2_an_ephemeral_container_with_a_status_is_never_started_again(state) -> None:  # type: ignore[no-untyped-def]
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="image:2"),))
    assert act(the_pod, picture(seen("a"), seen("e", state, exit_code=1))).idle


def test_spec_3_2_ephemeral_containers_do_not_wait_for_init_containers() -> None:
    the_pod = pod("a", init=(FIRST,), ephemeral_containers=(EphemeralContainer(name="e", image="i"),))
    assert said(act(the_pod, picture(seen("i")))) == "ephemeral e"


def test_spec_3_2_an_ephemeral_container_keeps_no_pod_alive() -> None:
    the_pod = pod("a", policy="Never", ephemeral_containers=(EphemeralContainer(name="e", image="i"),))
    assert said(act(the_pod, picture(seen("a", EXITED), seen("e")))) == "kill pod"


def test_spec_3_2_ephemeral_containers_are_started_once() -> None:
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="i"), EphemeralContainer(name="f")))
    assert said(act(the_pod, picture(seen("a"), seen("e", EXITED, exit_code=1)))) == "ephemeral f"


# --- in flight ------------------------------------------------------------------------------------------------------


def test_nothing_is_decided_while_a_sandbox_is_being_made() -> None:
    assert act(pod("a"), picture(boxes=()), in_flight=InFlight(sandbox=True)).idle


@pytest.mark.parametrize("state", [None, CREATED, RUNNING, EXITED, UNKNOWN])
def test_what_is_in_flight_is_neither_started_nor_killed_nor_missed(state) -> None:  # type: ignore[no-untyped-def]
    observed = picture() if state is None else picture(seen("a", state, made_of="image:0"))
    assert act(pod("a", policy="Never"), observed, in_flight=InFlight(containers=frozenset({"a"}))).idle


def test_an_init_container_in_flight_holds_back_all_others() -> None:
    the_pod = pod("a", init=(container("i"), container("j"), container("k")))
    assert act(the_pod, picture(seen("i", EXITED)), in_flight=InFlight(containers=frozenset({"j"}))).idle


def test_names_of_deeds_tell_what_is_in_flight() -> None:
    assert in_flight_of(["sandbox 1", "container web 2"], ["pull"]) == InFlight(True, frozenset({"web", "pull"}))
    assert in_flight_of([]) is NOTHING_IN_FLIGHT


# --- 3.3: init containers -------------------------------------------------------------------------------------------

FIRST, SECOND = container("i"), container("j")
SIDE = sidecar("s")


@pytest.mark.parametrize(
    ("init", "policy", "observed", "expected"),
    [
        pytest.param((FIRST, SECOND), "Always", picture(), "init i", id="no status: the first"),
        pytest.param((FIRST, SECOND), "Always", picture(seen("i")), "", id="running: wait"),
        pytest.param((FIRST, SECOND), "Always", picture(seen("i", CREATED)), "init i", id="created: start it"),
        pytest.param((FIRST, SECOND), "Always", picture(seen("i", EXITED)), "init j", id="success: the next"),
        pytest.param(
            (FIRST,), "Always", picture(seen("i", EXITED)), "start a", id="the last has succeeded: initialized"
        ),
        pytest.param((FIRST,), "Always", picture(seen("i", EXITED, exit_code=1)), "init i", id="failed, Always: again"),
        pytest.param(
            (FIRST,), "OnFailure", picture(seen("i", EXITED, exit_code=1)), "init i", id="failed, OnFailure: again"
        ),
        pytest.param(
            (FIRST,), "Never", picture(seen("i", EXITED, exit_code=1)), "kill pod", id="failed, Never: the end"
        ),
        pytest.param(
            (FIRST,), "Never", picture(seen("i", EXITED, reason="OOMKilled")), "kill pod", id="an OOM kill is failure"
        ),
        pytest.param((FIRST,), "Always", picture(seen("i", UNKNOWN)), "kill i; init i", id="lost: killed and started"),
        pytest.param((FIRST,), "Never", picture(seen("i", UNKNOWN)), "kill pod", id="lost, Never: the end"),
        pytest.param((FIRST,), "Always", picture(seen("a")), "", id="a regular one exists: initialized"),
        pytest.param((FIRST,), "Always", picture(seen("a", CREATED)), "start a", id="even if only made"),
        pytest.param(
            (FIRST, SIDE), "Always", picture(seen("a")), "init s", id="a sidecar that is missing is started late"
        ),
        pytest.param((SIDE, FIRST), "Always", picture(), "init s", id="a sidecar comes in its turn"),
        pytest.param(
            (SIDE, FIRST), "Always", picture(seen("s")), "init i", id="a sidecar that runs lets the next begin"
        ),
        pytest.param(
            (SIDE,), "Always", picture(seen("s")), "start a", id="the last is a sidecar that runs: initialized"
        ),
        pytest.param(
            (SIDE, FIRST), "Never", picture(seen("s", EXITED)), "init s", id="a sidecar is restarted, even with Never"
        ),
        pytest.param(
            (SIDE, FIRST), "Always", picture(seen("s", EXITED), seen("i")), "init s", id="also while a later one runs"
        ),
        pytest.param((SIDE,), "Always", picture(seen("s", EXITED), seen("a")), "init s", id="also when all is running"),
        pytest.param(
            (SIDE,),
            "OnFailure",
            picture(seen("s", EXITED), seen("a")),
            "init s",
            id="and with OnFailure, though it ended well",
        ),
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
        pytest.param(
            (SIDE,),
            "Always",
            picture(seen("s", made_of="old"), seen("a")),
            "kill s; init s",
            id="another image of a sidecar",
        ),
        pytest.param((SIDE,), "Always", picture(seen("s", UNKNOWN), seen("a")), "kill s; init s", id="a sidecar lost"),
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
def test_spec_3_3_init_containers(init, policy: str, observed: ObservedPod, expected: str) -> None:  # type: ignore[no-untyped-def]
    assert said(act(pod("a", init=init, policy=policy), observed)) == expected


def test_spec_3_3_an_init_container_that_lives_on_beside_a_newer_one_is_killed_first() -> None:
    observed = picture(seen("i", EXITED, attempt=1, exit_code=1), seen("i", UNKNOWN, attempt=0))
    assert said(act(pod("a", init=(FIRST,)), observed)) == "kill i; init i"


@pytest.mark.parametrize(
    ("probes", "expected"),
    [
        pytest.param({}, "", id="its startup probe has not decided: wait"),
        pytest.param({"startup": {"s-0": True}}, "start a", id="succeeded: go on"),
        pytest.param({"startup": {"s-0": False}}, "kill s; init s", id="failed: again"),
        pytest.param({"startup": {"s-0": True}, "liveness": {"s-0": False}}, "kill s; init s", id="not alive: again"),
    ],
)
def test_spec_3_3_a_sidecar_with_probes(probes: dict[str, dict[str, bool]], expected: str) -> None:
    side = sidecar("s", startup_probe=PROBE, liveness_probe=PROBE)
    actions = act(pod("a", init=(side,)), picture(seen("s")), ProbeResults(active=True, **probes))
    assert said(actions) == expected


def test_spec_3_3_where_no_prober_works_a_sidecar_is_started_when_it_runs() -> None:
    assert said(act(pod("a", init=(sidecar("s", startup_probe=PROBE),)), picture(seen("s")))) == "start a"


# --- whatever the picture -------------------------------------------------------------------------------------------

_STATES = st.sampled_from([CREATED, RUNNING, EXITED, UNKNOWN])


@st.composite
def _containers(draw: st.DrawFn) -> ObservedPod:
    everything: list[ObservedContainer] = []
    for name in draw(st.sets(st.sampled_from(["i", "s", "j", "a", "b"]))):
        for attempt in range(draw(st.integers(1, 2))):
            state = draw(_STATES)
            exit_code = draw(st.sampled_from([0, 0, 1]))
            box = draw(st.integers(0, 1))
            back_off_ns = draw(st.sampled_from([0, 10 * SECOND_NS, 300 * SECOND_NS]))
            everything.append(
                seen(
                    name,
                    state,
                    attempt,
                    exit_code,
                    sandbox_attempt=box,
                    back_off_ns=back_off_ns,
                    ended_ns=NOW_NS - draw(st.integers(0, 400)) * SECOND_NS,
                )
            )
    ready = draw(st.booleans())
    boxes = draw(st.sampled_from([(), (sandbox(0, ready),), (sandbox(1, ready), sandbox(0, False))]))
    return picture(*everything, boxes=boxes)


_POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
_BUSY = st.builds(InFlight, containers=st.frozensets(st.sampled_from(["i", "s", "j", "a", "b"]), max_size=2))


@settings(max_examples=400)  # the rare pictures are those with two of one name alive
@given(_POLICIES, _containers(), _BUSY)
def test_spec_3_2_never_two_of_one_name(policy: str, observed: ObservedPod, busy: InFlight) -> None:
    actions = act(pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy), observed, in_flight=busy)
    started = [each.container.name for each in (*actions.start_init, *actions.start)]
    assert len(started) == len(set(started))
    killed = {each.id for each in actions.kill}
    for name in started:
        assert name not in busy.containers
        if not actions.kill_pod:
            assert not [each for each in observed.by_name.get(name, ()) if each.may_run and each.id not in killed]


@given(_POLICIES, _containers(), _BUSY)
def test_spec_3_3_init_order_holds(policy: str, observed: ObservedPod, busy: InFlight) -> None:
    """No container begins before every regular init container has ended well, or the pod was initialized before."""
    actions = act(pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy), observed, in_flight=busy)
    assert not (actions.create_sandbox and actions.start)
    if not actions.start:
        return
    here = [each for each in observed.containers() if each.sandbox_attempt == actions.sandbox_attempt or each.may_run]
    initialized_before = any(each.name in ("a", "b") for each in here)
    last_init_done = any(each.name == "j" and each.exited and not each.failed for each in here)
    assert initialized_before or last_init_done


@given(_containers())
def test_spec_3_2_a_container_of_a_never_pod_is_never_restarted(observed: ObservedPod) -> None:
    actions = act(pod("a", "b", policy="Never"), observed)
    for start in actions.start:
        last = observed.newest(start.container.name)
        assert last is None or not last.exited


@given(_POLICIES, _containers())
def test_what_is_done_is_not_asked_for_again(policy: str, observed: ObservedPod) -> None:
    """With everything asked for now in flight, nothing more of the same names is asked for."""
    the_pod = pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy)
    first = act(the_pod, observed)
    names = {each.container.name for each in (*first.start_init, *first.start)} | {each.name for each in first.kill}
    again = act(the_pod, observed, in_flight=InFlight(containers=frozenset(names)))
    more = {each.container.name for each in (*again.start_init, *again.start)} | {each.name for each in again.kill}
    assert not names & more


@given(_POLICIES, _containers())
def test_the_same_picture_gives_the_same_answer(policy: str, observed: ObservedPod) -> None:
    the_pod = pod("a", "b", init=(FIRST, SIDE, SECOND), policy=policy)
    assert act(the_pod, observed) == act(the_pod, msgspec.structs.replace(observed))
