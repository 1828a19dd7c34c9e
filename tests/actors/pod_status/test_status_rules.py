"""The rules of spec 4.2 and 4.3 that are about several containers, several looks, or words."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.observed import ObservedPod
from actors.pod_status.api_status import StatusNodeView, compute_pod_status
from actors.pod_status.conditions import containers_ready, initialized
from actors.pod_status.container_statuses import STATUS_UNKNOWN, ContainerWaiting
from config.objects import (
    ContainerStatus,
    EphemeralContainer,
    Lifecycle,
    Pod,
    PodCondition,
    PodReadinessGate,
    PodStatus,
    ResourceRequirements,
    VolumeMount,
)
from runtime.cri.messages import ContainerUser, LinuxContainerResources, LinuxContainerUser
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    SECOND_NS,
    UNKNOWN,
    container,
    picture,
    pod,
    sandbox,
    seen,
    sidecar,
)

NODE = StatusNodeView(("192.0.2.1",), "containerd")
LOOP = ContainerWaiting("CrashLoopBackOff", "back-off 10s")
DELETING = {"deletion_timestamp": "2026-01-01T00:00:00Z"}


def show(the_pod: Pod, observed: ObservedPod | None, previous: PodStatus | None = None, **more: Any) -> PodStatus:
    return compute_pod_status(the_pod, observed, previous=previous, wall_ns=NOW_NS, node=NODE, **more)


def reads(status: ContainerStatus) -> str:
    """`waiting Reason, last 1` or `terminated 0 Completed` or `running`."""
    state, last = status.state, status.last_state
    assert state is not None
    if state.running is not None:
        text = "running"
    elif state.terminated is not None:
        text = f"terminated {state.terminated.exit_code} {state.terminated.reason or ''}".strip()
    else:
        text = f"waiting {state.waiting.reason or ''}".strip() if state.waiting is not None else ""
    return text if last is None or last.terminated is None else f"{text}, last {last.terminated.exit_code}"


def init_of(status: PodStatus) -> list[str]:
    return [reads(each) for each in status.init_container_statuses]


INITS = (container("i"), container("j"))
INITIALIZING = show(pod("a", init=INITS), picture(seen("i")))


@pytest.mark.parametrize(
    ("the_pod", "observed", "previous", "waiting", "expected"),
    [
        pytest.param(
            pod("a", init=INITS),
            picture(),
            None,
            {},
            ["waiting PodInitializing", "waiting PodInitializing"],
            id="nothing yet",
        ),
        pytest.param(
            pod("a", init=INITS),
            picture(seen("i", EXITED, exit_code=2)),
            None,
            {"i": LOOP},
            ["waiting CrashLoopBackOff, last 2", "waiting PodInitializing"],
            id="a failing one backs off: its end is the last state",
        ),
        pytest.param(
            pod("a", init=INITS, policy="Never"),
            picture(seen("i", EXITED, exit_code=2)),
            None,
            {"i": LOOP},
            ["terminated 2", "waiting PodInitializing"],
            id="one that is not tried again has ended",
        ),
        pytest.param(
            pod("a", init=INITS),
            picture(seen("i", EXITED)),
            None,
            {"i": LOOP},
            ["terminated 0", "waiting PodInitializing"],
            id="one that succeeded has ended",
        ),
        # (spec 4.2.6)
        pytest.param(
            pod("a", init=INITS),
            picture(seen("a")),
            None,
            {},
            ["terminated 0 Completed", "terminated 0 Completed"],
            id="a regular one exists, so what is missing has done its work",
        ),
        pytest.param(
            pod("a", init=(sidecar("s"),)),
            picture(seen("a")),
            None,
            {},
            ["waiting PodInitializing"],
            id="a sidecar that is missing has not",
        ),
        pytest.param(
            pod("a", init=INITS),
            picture(),
            INITIALIZING,
            {},
            ["waiting PodInitializing, last 137", "waiting PodInitializing"],
            id="one that was shown to run is gone",
        ),
        pytest.param(
            pod("a", init=(sidecar("s"),), policy="Never"),
            picture(seen("s", EXITED, exit_code=1), seen("a")),
            None,
            {"s": LOOP},
            ["waiting CrashLoopBackOff, last 1"],
            id="a sidecar comes again whatever the policy",
        ),
    ],
)
def test_spec_4_2_statuses_of_init_containers(
    the_pod: Pod,
    observed: ObservedPod,
    previous: PodStatus | None,
    waiting: dict[str, ContainerWaiting],
    expected: list[str],
) -> None:
    assert init_of(show(the_pod, observed, previous, waiting=waiting)) == expected


# (spec 4.2.1)
def test_spec_4_2_regular_containers_of_a_pod_with_init_containers_wait_for_them() -> None:
    assert [reads(each) for each in INITIALIZING.container_statuses] == ["waiting PodInitializing"]
    assert [reads(each) for each in show(pod("a"), picture()).container_statuses] == ["waiting ContainerCreating"]


@pytest.mark.parametrize("state", [CREATED, UNKNOWN])
# (spec 4.2.3)
def test_spec_4_2_a_created_or_unknown_container_waits_without_a_reason(state: Any) -> None:
    [status] = show(pod("a"), picture(seen("a", state))).container_statuses
    assert reads(status) == "waiting"


# (spec 4.2.2)
def test_spec_4_2_the_newest_attempt_is_the_state_and_the_one_before_it_the_last_state() -> None:
    observed = picture(
        seen("a", attempt=2), seen("a", EXITED, attempt=1, exit_code=5), seen("a", EXITED, attempt=0, exit_code=4)
    )
    [status] = show(pod("a"), observed).container_statuses
    assert (reads(status), status.restart_count) == ("running, last 5", 2)


# (spec 4.2.4)
def test_spec_4_2_a_lost_container_that_ran_has_ended_in_an_unknown_way_and_is_counted() -> None:
    ran = show(pod("a"), picture(seen("a", attempt=4)))
    [status] = show(pod("a"), picture(seen("a", UNKNOWN, attempt=4)), ran).container_statuses
    ended = status.state.terminated if status.state is not None else None
    assert ended is not None
    assert (ended.exit_code, ended.reason, status.restart_count) == (137, STATUS_UNKNOWN, 5)


@pytest.mark.parametrize(("meta", "restarts"), [({}, 5), (DELETING, 4)])
# (spec 4.2.5)
def test_spec_4_2_a_missing_container_that_ran_waits_and_is_counted_unless_its_pod_is_deleted(
    meta: dict[str, str], restarts: int
) -> None:
    ran = show(pod("a"), picture(seen("a", attempt=4)))
    [status] = show(pod("a", meta=meta), picture(), ran).container_statuses
    assert (reads(status), status.restart_count) == ("waiting ContainerCreating, last 137", restarts)
    [again] = show(pod("a", meta=meta), picture(), show(pod("a", meta=meta), picture(), ran)).container_statuses
    assert again.restart_count == restarts, "counted once"


# (spec 4.2.7)
def test_spec_4_2_a_reason_to_wait_replaces_the_default_and_goes_with_the_start() -> None:
    pulling = {"a": ContainerWaiting("ErrImagePull", "no such image")}
    before = show(pod("a"), picture(), waiting=pulling)
    assert reads(before.container_statuses[0]) == "waiting ErrImagePull"
    assert reads(show(pod("a"), picture(seen("a")), before, waiting=pulling).container_statuses[0]) == "running"


def test_spec_4_2_a_pod_that_ends_shows_ends_not_reasons() -> None:
    observed = picture(seen("a", EXITED, exit_code=1))
    [status] = show(pod("a"), observed, waiting={"a": LOOP}, ended=True).container_statuses
    assert reads(status) == "terminated 1"


# (spec 4.2.13)
def test_spec_4_2_order_of_statuses() -> None:
    ephemeral = (EphemeralContainer(name="z", image="i"), EphemeralContainer(name="y", image="i"))
    the_pod = pod("b", "a", init=(sidecar("s"), container("i")), ephemeral_containers=ephemeral)
    status = show(the_pod, picture())
    assert [each.name for each in status.init_container_statuses] == ["s", "i"]
    assert [each.name for each in status.container_statuses] == ["a", "b"]
    assert [each.name for each in status.ephemeral_container_statuses] == ["y", "z"]


def test_spec_4_2_an_ephemeral_container_changes_neither_phase_nor_readiness() -> None:
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="i"),))
    for observed in (picture(seen("a")), picture(seen("a"), seen("e", EXITED, exit_code=1))):
        status = show(the_pod, observed, waiting={"e": LOOP})
        assert status.phase == "Running"
        assert {each.type: each.status for each in status.conditions}["Ready"] == "True"
    assert reads(status.ephemeral_container_statuses[0]) == "terminated 1", "it never comes again"


# (spec 4.2.12)
def test_spec_4_2_resources_are_those_of_the_runtime_while_it_runs_and_else_those_of_the_spec() -> None:
    one = container("a", resources=ResourceRequirements(requests={"cpu": "2"}, limits={"memory": "64Mi"}))
    actual = LinuxContainerResources(cpu_shares=1024, memory_limit_in_bytes=32 * 2**20)
    [runs] = show(pod(one), picture(seen("a", resources=actual))).container_statuses
    assert runs.resources is not None
    assert (dict(runs.resources.requests), dict(runs.resources.limits)) == ({"cpu": "1"}, {"memory": "32Mi"})
    assert runs.allocated_resources == {"cpu": "2"}
    [ended] = show(pod(one), picture(seen("a", EXITED, resources=actual))).container_statuses
    assert ended.resources == one.resources


@pytest.mark.parametrize(
    ("fields", "handlers", "shown"),
    [
        ({}, ("",), None),
        ({"read_only": True}, ("",), "Disabled"),
        ({"read_only": True, "recursive_read_only": "Disabled"}, ("",), "Disabled"),
        ({"read_only": True, "recursive_read_only": "IfPossible"}, ("",), "Enabled"),
        ({"read_only": True, "recursive_read_only": "IfPossible"}, ("other",), "Disabled"),
        ({"read_only": True, "recursive_read_only": "Enabled"}, ("",), "Enabled"),
    ],
)
# (spec 4.2.10)
def test_spec_4_2_mounts_that_are_read_only_say_whether_all_below_is(
    fields: dict[str, Any], handlers: tuple[str, ...], shown: str | None
) -> None:
    one = container("a", volume_mounts=(VolumeMount(name="v", mount_path="/v", **fields),))
    node = StatusNodeView(recursive_read_only_handlers=handlers)
    shown_pod = compute_pod_status(pod(one), picture(seen("a")), previous=None, wall_ns=NOW_NS, node=node)
    [status] = shown_pod.container_statuses
    assert status.volume_mounts[0].recursive_read_only == shown


# --- 4.3: conditions ------------------------------------------------------------------------------------------------


def condition(status: PodStatus, kind: str) -> PodCondition:
    return next(each for each in status.conditions if each.type == kind)


GATE = (PodReadinessGate(condition_type="lb"),)


@pytest.mark.parametrize(
    ("the_pod", "observed", "kind", "reason", "message"),
    [
        # (spec 4.3.4)
        pytest.param(
            pod("a", "b", init=(sidecar("s"),)),
            picture(seen("s", EXITED), seen("a")),
            "ContainersReady",
            "ContainersNotReady",
            "containers with unready status: [s b]",
            id="everybody who is not ready is named, sidecars first",
        ),
        pytest.param(
            pod("a", init=(container("i"), sidecar("s"))),
            picture(seen("i")),
            "Initialized",
            "ContainersNotInitialized",
            "containers with incomplete status: [i s]",
            id="everybody who has not done his part is named",
        ),
        pytest.param(
            pod("a", readiness_gates=GATE),
            picture(seen("a")),
            "Ready",
            "ReadinessGatesNotReady",
            'corresponding condition of pod readiness gate "lb" does not exist.',
            id="a gate that nobody has heard of",
        ),
        # (spec 4.3.7)
        pytest.param(
            pod("a", readiness_gates=GATE, status=PodStatus(conditions=(PodCondition(type="lb", status="False"),))),
            picture(seen("a")),
            "Ready",
            "ReadinessGatesNotReady",
            'the status of pod readiness gate "lb" is not "True", but False',
            id="a gate that is closed",
        ),
        pytest.param(
            pod("a", readiness_gates=GATE),
            picture(seen("a", EXITED)),
            "Ready",
            "ContainersNotReady",
            "containers with unready status: [a]",
            id="gates are not asked while containers are not ready",
        ),
    ],
)
def test_spec_4_3_words_of_conditions(
    the_pod: Pod, observed: ObservedPod, kind: str, reason: str, message: str
) -> None:
    found = condition(show(the_pod, observed), kind)
    assert (found.status, found.reason, found.message) == ("False", reason, message)


# (spec 4.3.9)
def test_spec_4_3_ready_to_start_is_whether_no_new_sandbox_is_needed() -> None:
    for boxes, expected in (((sandbox(),), "True"), ((sandbox(ready=False),), "False"), ((), "False")):
        found = condition(show(pod("a"), picture(boxes=boxes)), "PodReadyToStartContainers")
        assert found.status == expected


# (spec 4.3.10)
def test_spec_4_3_every_condition_of_ours_carries_the_generation_and_it_never_goes_back() -> None:
    new = show(pod("a", meta={"generation": 7}), picture(seen("a")))
    assert {each.observed_generation for each in new.conditions} == {new.observed_generation} == {7}
    old = show(pod("a", meta={"generation": 3}), picture(seen("a")), new)
    assert {each.observed_generation for each in old.conditions} == {old.observed_generation} == {7}


# (spec 4.3.3)
def test_spec_4_3_conditions_of_others_are_kept_and_keep_their_generation() -> None:
    others = (PodCondition(type="DisruptionTarget", status="True", observed_generation=1),)
    status = show(pod("a", meta={"generation": 2}, status=PodStatus(conditions=others)), picture(seen("a")))
    assert condition(status, "DisruptionTarget") is others[0]


# (spec 4.3.6)
def test_spec_4_3_readiness_does_not_ask_for_init_containers_that_are_done() -> None:
    status = show(pod("a", init=INITS), picture(seen("a"), seen("i", EXITED), seen("j", EXITED)))
    assert condition(status, "ContainersReady").status == condition(status, "Initialized").status == "True"


# (spec 4.5.3)
def test_spec_4_5_a_start_time_that_was_shown_is_kept() -> None:
    first = show(pod("a"), picture(boxes=(sandbox(created_at_ns=NOW_NS - 60 * SECOND_NS),)))
    later = show(pod("a"), picture(boxes=(sandbox(1, created_at_ns=NOW_NS),)), first)
    assert later.start_time == first.start_time


def test_one_container_of_which_nothing_is_known_is_named() -> None:
    known = {"b": ContainerStatus(name="b", ready=True)}
    told = ("False", "ContainersNotReady", "containers with unknown status: [a]")
    assert containers_ready(pod("a", "b"), "Pending", known) == told


@pytest.mark.parametrize(
    ("statuses", "containers", "init"),
    [
        pytest.param(
            {},
            ("UnknownContainerStatuses", None),
            ("UnknownContainerStatuses", None),
            id="nothing is known",
        ),
        pytest.param(
            {"s": ContainerStatus(name="s", ready=False, started=False)},
            ("ContainersNotReady", "containers with unknown status: [a], containers with unready status: [s]"),
            ("ContainersNotInitialized", "containers with unknown status: [i], containers with incomplete status: [s]"),
            id="something is known",
        ),
    ],
)
# (spec 4.3.4)
def test_spec_4_3_containers_of_which_nothing_is_known_are_named_apart(
    statuses: dict[str, ContainerStatus], containers: tuple[str, str | None], init: tuple[str, str | None]
) -> None:
    the_pod = pod("a", init=(container("i"), sidecar("s")))
    assert containers_ready(the_pod, "Pending", statuses) == ("False", *containers)
    assert initialized(the_pod, "Pending", statuses) == ("False", *init)


# (spec 4.2.11)
def test_spec_4_2_user_and_stop_signal_are_those_that_the_runtime_knows() -> None:
    one = container("a", lifecycle=Lifecycle(stop_signal="SIGUSR1"))
    linux = LinuxContainerUser(uid=7, gid=8, supplemental_groups=(9,))
    [status] = show(
        pod(one), picture(seen("a", user=ContainerUser(linux=linux), stop_signal="SIGUSR1"))
    ).container_statuses
    assert status.stop_signal == "SIGUSR1"
    assert status.user is not None
    assert status.user.linux is not None
    assert (status.user.linux.uid, status.user.linux.gid, status.user.linux.supplemental_groups) == (7, 8, (9,))
    [plain] = show(pod("a"), picture(seen("a", stop_signal="SIGTERM"))).container_statuses
    assert (plain.stop_signal, plain.user) == (None, None), "told where the pod asks for one"
