"""The published status of a pod (spec 4.1 to 4.4).

Container statuses, conditions, addresses, and what stays.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.model.observed import ObservedPod, ProbeResults
from actors.pod.steps.deadline import DEADLINE_EXCEEDED, deadline_ns, past_deadline
from actors.pod_status.api_status import Forced, StatusNodeView, compute_pod_status, order_ips, pod_ips
from actors.pod_status.conditions import RESIZE_IN_PROGRESS, ResizeCondition
from actors.pod_status.container_statuses import STATUS_UNKNOWN, ContainerWaiting
from actors.pod_status.final import final_status
from actors.pod_status.whole_resources import MEMORY_UNLIMITED_V1
from config.frozen_map import FrozenMap
from config.objects import (
    ContainerStatus,
    EphemeralContainer,
    Pod,
    PodCondition,
    PodReadinessGate,
    PodStatus,
    Probe,
    ResourceRequirements,
)
from config.pods.identity import CONFIG_SOURCE
from config.values.api_time import api_time, seconds_of
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
LOOP = {"a": ContainerWaiting("CrashLoopBackOff", "back-off 10s")}


def show(the_pod: Pod, observed: ObservedPod | None, previous: PodStatus | None = None, **more: Any) -> PodStatus:
    more.setdefault("wall_ns", NOW_NS)
    more.setdefault("node", NODE)
    return compute_pod_status(the_pod, observed, previous=previous, **more)


def only(status: PodStatus) -> ContainerStatus:
    [container_status] = status.container_statuses
    return container_status


def state_of(status: ContainerStatus) -> str:
    """`running`, `waiting Reason` or `terminated 1`."""
    state = status.state
    assert state is not None
    if state.running is not None:
        return "running"
    if state.terminated is not None:
        return f"terminated {state.terminated.exit_code}"
    assert state.waiting is not None
    return f"waiting {state.waiting.reason or ''}".strip()


def last_of(status: ContainerStatus) -> int | None:
    last = status.last_state
    return last.terminated.exit_code if last is not None and last.terminated is not None else None


RAN = show(pod("a"), picture(seen("a", attempt=2)))
SHOWN_ENDED = show(pod("a"), picture(seen("a", EXITED, attempt=2, exit_code=3)))


@pytest.mark.parametrize(
    ("observed", "previous", "waiting", "state", "last", "restarts"),
    [
        pytest.param(picture(), None, {}, "waiting ContainerCreating", None, 0, id="nothing yet"),
        pytest.param(picture(seen("a")), None, {}, "running", None, 0, id="runs"),
        pytest.param(picture(seen("a", CREATED)), None, {}, "waiting", None, 0, id="made"),
        pytest.param(picture(seen("a", UNKNOWN)), None, {}, "waiting", None, 0, id="lost, never shown to run"),
        pytest.param(picture(seen("a", EXITED, exit_code=3)), None, {}, "terminated 3", None, 0, id="ended"),
        pytest.param(
            picture(seen("a", attempt=1), seen("a", EXITED, exit_code=3)), None, {}, "running", 3, 1, id="runs again"
        ),
        pytest.param(
            picture(seen("a", attempt=3)),
            SHOWN_ENDED,
            {},
            "running",
            3,
            3,
            id="the last end is kept from what was shown",
        ),
        pytest.param(
            picture(seen("a", UNKNOWN, attempt=2)),
            RAN,
            {},
            "terminated 137",
            None,
            3,
            id="lost while it was shown to run",
        ),
        pytest.param(picture(), RAN, {}, "waiting ContainerCreating", 137, 3, id="gone while it was shown to run"),
        pytest.param(picture(), SHOWN_ENDED, {}, "terminated 3", None, 2, id="gone after its end was shown"),
        pytest.param(
            picture(seen("a", EXITED, exit_code=3)), None, LOOP, "waiting CrashLoopBackOff", 3, 0, id="ended, backs off"
        ),
        pytest.param(picture(), None, LOOP, "waiting CrashLoopBackOff", None, 0, id="never made, for a reason"),
        pytest.param(picture(seen("a")), None, LOOP, "running", None, 0, id="an old reason says nothing of what runs"),
    ],
)
def test_spec_4_2_container_status(
    observed: ObservedPod, previous: PodStatus | None, waiting, state: str, last: int | None, restarts: int
) -> None:
    status = only(show(pod("a"), observed, previous, waiting=waiting))
    assert (state_of(status), last_of(status), status.restart_count) == (state, last, restarts)


def test_spec_4_2_a_lost_container_counts_as_one_restart() -> None:
    lost = picture(seen("a", UNKNOWN, attempt=2))
    first = show(pod("a"), lost, RAN)
    assert show(pod("a"), lost, first) is first


def test_spec_4_2_a_container_gone_while_its_pod_is_deleted_is_no_restart() -> None:
    deleted = pod("a", meta={"deletion_timestamp": "2026-01-01T00:00:00Z"})
    assert only(show(deleted, picture(), RAN)).restart_count == 2


def test_spec_4_2_a_reason_is_not_shown_for_what_does_not_come_again() -> None:
    status = show(pod("a", policy="Never"), picture(seen("a", EXITED, exit_code=3)), waiting=LOOP)
    assert state_of(only(status)) == "terminated 3"


def test_spec_4_2_fields_of_a_container_status() -> None:
    observed = picture(seen("a", EXITED, exit_code=1, reason="Error", message="bye", image_ref="sha256:1"))
    status = only(show(pod("a"), observed))
    assert (status.container_id, status.image, status.image_id) == ("containerd://a-0", "image:1", "sha256:1")
    assert status.state is not None
    ended = status.state.terminated
    assert ended is not None
    assert (ended.reason, ended.message, ended.container_id) == ("Error", "bye", "containerd://a-0")
    assert (ended.started_at, ended.finished_at) == (
        api_time(NOW_NS - 501 * SECOND_NS),
        api_time(NOW_NS - 500 * SECOND_NS),
    )


def test_spec_4_2_init_containers_are_in_the_order_of_the_spec_and_others_by_name() -> None:
    the_pod = pod("z", "b", init=(container("y"), container("c")))
    status = show(the_pod, picture())
    assert [each.name for each in status.init_container_statuses] == ["y", "c"]
    assert [each.name for each in status.container_statuses] == ["b", "z"]
    assert state_of(status.container_statuses[0]) == "waiting PodInitializing"


def test_spec_4_2_an_init_container_whose_trace_is_gone_has_done_its_work() -> None:
    status = show(pod("a", init=(container("i"),)), picture(seen("a")))
    [init] = status.init_container_statuses
    assert (state_of(init), init.ready) == ("terminated 0", True)


# --- readiness ------------------------------------------------------------------------------------------------------

PROBED = container("a", startup_probe=Probe(), readiness_probe=Probe())


@pytest.mark.parametrize(
    ("results", "started", "ready"),
    [
        pytest.param(ProbeResults(), True, True, id="no prober works"),
        pytest.param(ProbeResults(active=True), False, False, id="not decided"),
        pytest.param(
            ProbeResults(active=True, readiness=FrozenMap({"a-0": True})), False, False, id="ready, not started"
        ),
        pytest.param(
            ProbeResults(active=True, startup=FrozenMap({"a-0": True})),
            True,
            False,
            id="started, readiness not decided",
        ),
        pytest.param(
            ProbeResults(active=True, startup=FrozenMap({"a-0": True}), readiness=FrozenMap({"a-0": True})),
            True,
            True,
            id="both succeeded",
        ),
        pytest.param(
            ProbeResults(active=True, startup=FrozenMap({"a-9": True}), readiness=FrozenMap({"a-9": True})),
            False,
            False,
            id="of another one",
        ),
    ],
)
def test_spec_5_ready_and_started(results: ProbeResults, started: bool, ready: bool) -> None:
    status = only(show(pod(PROBED), picture(seen("a")), probes=results))
    assert (status.started, status.ready) == (started, ready)


def test_an_init_container_is_started_while_it_runs_and_nothing_is_said_of_ephemeral_ones() -> None:
    the_pod = pod(
        "a",
        init=(container("i"), container("j")),
        ephemeral_containers=tuple(EphemeralContainer(name=each, image="image:1") for each in "ef"),
    )
    first = show(the_pod, picture(seen("i")))
    assert [(each.started, each.ready) for each in first.init_container_statuses] == [(True, False), (False, False)]
    done = show(the_pod, picture(seen("j"), seen("i", EXITED), seen("e")), waiting={"f": ContainerWaiting("Why")})
    assert [(each.started, each.ready) for each in done.init_container_statuses] == [(False, True), (True, False)]
    assert [each.started for each in done.ephemeral_container_statuses] == [None, None]


def conditions(status: PodStatus) -> dict[str, tuple[str, str | None]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}


YES, NO = ("True", None), ("False", None)


@pytest.mark.parametrize(
    ("the_pod", "observed", "expected"),
    [
        pytest.param(
            pod("a"),
            picture(seen("a")),
            {"Initialized": YES, "Ready": YES, "ContainersReady": YES, "PodReadyToStartContainers": YES},
            id="running",
        ),
        pytest.param(pod("a"), picture(boxes=()), {"PodReadyToStartContainers": NO}, id="no sandbox"),
        pytest.param(
            pod("a", "b"),
            picture(seen("a")),
            {"ContainersReady": ("False", "ContainersNotReady")},
            id="one is not ready",
        ),
        pytest.param(
            pod("a", policy="Never"),
            picture(seen("a", EXITED)),
            {
                "Initialized": ("True", "PodCompleted"),
                "Ready": ("False", "PodCompleted"),
                "ContainersReady": ("False", "PodCompleted"),
            },
            id="succeeded",
        ),
        pytest.param(
            pod("a", policy="Never"),
            picture(seen("a", EXITED, exit_code=1)),
            {"Ready": ("False", "PodFailed")},
            id="failed",
        ),
        pytest.param(
            pod("a", init=(container("i"),)),
            picture(seen("i")),
            {"Initialized": ("False", "ContainersNotInitialized")},
            id="initializing",
        ),
        pytest.param(
            pod("a", init=(container("i"),)),
            picture(seen("i", EXITED)),
            {"Initialized": YES},
            id="init containers done",
        ),
        pytest.param(
            pod("a", init=(sidecar("s"),)),
            picture(seen("s", EXITED), seen("a")),
            {"Initialized": YES, "ContainersReady": ("False", "ContainersNotReady")},
            id="a sidecar counts for readiness, not for what is begun",
        ),
        pytest.param(
            pod("a", policy="Never", init=(container("i"),)),
            picture(seen("i", EXITED), seen("a", EXITED)),
            {"Initialized": ("True", "PodCompleted")},
            id="initialized, and all over",
        ),
        pytest.param(
            pod("a", readiness_gates=(PodReadinessGate(condition_type="lb"),)),
            picture(seen("a")),
            {"Ready": ("False", "ReadinessGatesNotReady"), "ContainersReady": YES},
            id="a gate that nobody has opened",
        ),
        pytest.param(
            pod(
                "a",
                readiness_gates=(PodReadinessGate(condition_type="lb"),),
                status=PodStatus(conditions=(PodCondition(type="lb", status="True"),)),
            ),
            picture(seen("a")),
            {"Ready": YES, "lb": YES},
            id="a gate that is open, and is handed through",
        ),
        pytest.param(pod("a"), picture(), {"PodScheduled": YES}, id="whoever is here is scheduled"),
    ],
)
def test_spec_4_3_conditions(the_pod: Pod, observed: ObservedPod, expected: dict[str, tuple[str, str | None]]) -> None:
    found = conditions(show(the_pod, observed))
    assert {kind: found.get(kind) for kind in expected} == expected


def test_spec_4_3_transition_time_changes_with_the_status_alone_and_the_generation_is_carried() -> None:
    first = show(pod("a", "b"), picture(), wall_ns=NOW_NS)
    later = show(pod("a", "b", meta={"generation": 2}), picture(seen("a")), first, wall_ns=NOW_NS + 60 * SECOND_NS)
    before, after = ({each.type: each for each in status.conditions} for status in (first, later))
    assert after["Ready"].message != before["Ready"].message
    assert after["Ready"].last_transition_time == before["Ready"].last_transition_time == api_time(NOW_NS)
    assert after["Ready"].observed_generation == later.observed_generation == 2
    ready = show(pod("a", "b"), picture(seen("a"), seen("b")), later, wall_ns=NOW_NS + 90 * SECOND_NS)
    changed = {each.type: each for each in ready.conditions}["Ready"]
    assert changed.last_transition_time == api_time(NOW_NS + 90 * SECOND_NS)
    assert ready.observed_generation == 2, "an old object does not turn the generation back"


# --- what stays -----------------------------------------------------------------------------------------------------


def test_without_a_look_the_last_published_status_stays() -> None:
    assert show(pod("a"), None, RAN) is RAN


def test_a_status_that_says_the_same_is_the_same() -> None:
    assert show(pod("a"), picture(seen("a", attempt=2)), RAN, wall_ns=NOW_NS + 999 * SECOND_NS) is RAN


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_spec_4_1_a_terminal_phase_is_kept_whoever_said_it(phase: str) -> None:
    over = msgspec.structs.replace(RAN, phase=phase)
    assert show(pod("a"), picture(seen("a")), over).phase == phase
    assert show(pod("a", status=PodStatus(phase=phase)), picture(seen("a")), RAN).phase == phase
    assert show(pod("a"), picture(seen("a")), over, forced=Forced("Running")).phase == phase


def test_a_pod_that_is_being_evicted_is_ready_until_its_containers_have_ended() -> None:
    """One past its deadline is not."""
    evicted = Forced("Failed", "Evicted", "low on memory")
    told = RAN
    for _ in range(2):
        told = show(pod("a"), picture(seen("a")), told, forced=evicted)
        assert (told.phase, conditions(told)["Ready"]) == ("Failed", ("True", None))
    ended = show(pod("a"), picture(seen("a", EXITED)), told, forced=evicted)
    assert conditions(ended)["Ready"] == ("False", "PodFailed")
    late = show(pod("a"), picture(seen("a")), RAN, forced=DEADLINE_EXCEEDED)
    assert conditions(late)["Ready"] == ("False", "PodFailed")


def test_spec_4_1_a_forced_status_is_shown_and_its_reason_kept() -> None:
    forced = show(pod("a"), picture(seen("a")), RAN, forced=Forced("Failed", "Evicted", "low on memory"))
    assert (forced.phase, forced.reason, forced.message) == ("Failed", "Evicted", "low on memory")
    after = show(pod("a"), picture(seen("a", EXITED)), forced)
    assert (after.phase, after.reason, after.message) == ("Failed", "Evicted", "low on memory")
    assert show(pod("a"), None, RAN, forced=Forced("Failed", "Evicted")).phase == "Failed"


def test_spec_4_5_start_time_and_class_are_set_once() -> None:
    assert (RAN.start_time, RAN.qos_class) == (api_time(NOW_NS), "BestEffort")
    again = show(pod("a"), picture(), RAN, wall_ns=NOW_NS + SECOND_NS)
    assert again.start_time == RAN.start_time


@given(st.lists(st.sampled_from(["none", "run", "ok", "bad", "lost", "blind"]), max_size=12), st.booleans())
def test_spec_4_1_the_phase_never_leaves_a_terminal_one(looks: list[str], ended: bool) -> None:
    the_pod = pod("a", policy="Never")
    pictures: dict[str, ObservedPod | None] = {
        "none": picture(boxes=()),
        "run": picture(seen("a")),
        "ok": picture(seen("a", EXITED)),
        "bad": picture(seen("a", EXITED, exit_code=1)),
        "lost": picture(seen("a", UNKNOWN)),
        "blind": None,
    }
    status: PodStatus | None = None
    for look in looks:
        after = show(the_pod, pictures[look], status, ended=ended)
        if status is not None and status.phase in ("Failed", "Succeeded"):
            assert after.phase == status.phase
        if status is not None:
            counts = [sum(each.restart_count for each in shown.container_statuses) for shown in (status, after)]
            assert look != "blind" or counts[0] == counts[1]
        status = after


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ips", "node", "expected"),
    [
        pytest.param(("fd00::1", "10.0.0.1"), ("192.0.2.1",), ("10.0.0.1", "fd00::1"), id="the node's family first"),
        pytest.param(("10.0.0.1", "fd00::1"), ("fd00::9",), ("fd00::1", "10.0.0.1"), id="be it IPv6"),
        pytest.param(("fd00::1", "10.0.0.1"), (), ("10.0.0.1", "fd00::1"), id="IPv4 where the node has none"),
        pytest.param(("10.0.0.1", "10.0.0.2", "fd00::1"), (), ("10.0.0.1", "fd00::1"), id="one of a family"),
        pytest.param((), ("192.0.2.1",), (), id="none"),
    ],
)
def test_spec_4_4_order_of_addresses(ips: tuple[str, ...], node: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert order_ips(ips, node) == expected


@pytest.mark.parametrize(
    ("host", "observed", "previous", "ready", "expected"),
    [
        pytest.param(False, ("10.0.0.1",), (), True, ("10.0.0.1",), id="the sandbox's"),
        pytest.param(True, (), (), True, ("192.0.2.1",), id="the host's in its network"),
        pytest.param(False, (), ("10.0.0.1",), False, ("10.0.0.1",), id="an ended pod keeps its own"),
        pytest.param(False, (), ("10.0.0.1",), True, (), id="a new sandbox without one has none"),
    ],
)
def test_spec_4_4_pod_ips(
    host: bool, observed: tuple[str, ...], previous: tuple[str, ...], ready: bool, expected
) -> None:
    assert pod_ips(host, observed, previous, ("192.0.2.1",), ready) == expected


def test_spec_4_4_addresses_are_published() -> None:
    status = show(pod("a"), picture(seen("a")))
    assert (status.pod_ip, status.host_ip) == ("10.0.0.7", "192.0.2.1")
    ended = show(pod("a"), picture(seen("a", EXITED), boxes=(sandbox(0, ready=False),)), status)
    assert [each.ip for each in ended.pod_ips] == ["10.0.0.7"]


# --- the end --------------------------------------------------------------------------------------------------------


def test_spec_4_5_the_final_status_leaves_nothing_running() -> None:
    final = final_status(pod("a"), RAN)
    ended = only(final).state
    assert ended is not None
    assert ended.terminated is not None
    assert (final.phase, ended.terminated.exit_code, ended.terminated.reason) == ("Failed", 137, STATUS_UNKNOWN)
    assert final_status(pod("a"), final) is final


def test_spec_4_5_the_final_status_of_a_static_pod_keeps_its_phase() -> None:
    assert final_status(pod("a", meta={"annotations": {CONFIG_SOURCE: "file"}}), RAN).phase == "Running"


def test_the_final_status_guesses_nothing_of_an_end_that_nobody_saw() -> None:
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="image:1"),))
    final = final_status(the_pod, show(the_pod, picture(seen("a"))))
    ended = only(final).state
    assert ended is not None
    assert ended.terminated is not None
    assert (ended.terminated.container_id, ended.terminated.started_at) == (None, None)
    assert [state_of(each) for each in final.ephemeral_container_statuses] == ["waiting ContainerCreating"]


def test_spec_4_5_a_container_that_never_started_is_not_shown_as_terminated() -> None:
    the_pod = pod("a", init=(container("i"), container("j")))
    final = final_status(the_pod, show(the_pod, picture(seen("i"))))
    assert [state_of(each) for each in final.init_container_statuses] == ["terminated 137", "waiting PodInitializing"]
    assert state_of(only(final)) == "waiting PodInitializing"


@pytest.mark.parametrize(
    ("wall_ns", "text"),
    [(0, None), (-1, None), (1, "1970-01-01T00:00:00Z"), (1_700_000_000_999_999_999, "2023-11-14T22:13:20Z")],
)
def test_times(wall_ns: int, text: str | None) -> None:
    assert api_time(wall_ns) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2023-11-14T22:13:20Z", 1_700_000_000), ("2023-11-14T23:13:20+01:00", 1_700_000_000), ("", None), ("soon", None)],
)
def test_times_of_objects(text: str, seconds: int | None) -> None:
    assert seconds_of(text) == seconds


def test_the_active_deadline_counts_from_the_start_time() -> None:
    the_pod = pod("a", active_deadline_seconds=60)
    assert deadline_ns(the_pod, RAN) == NOW_NS + 60 * SECOND_NS
    assert not past_deadline(the_pod, RAN, NOW_NS + 59 * SECOND_NS)
    assert past_deadline(the_pod, RAN, NOW_NS + 60 * SECOND_NS)
    assert not past_deadline(the_pod, None, NOW_NS * 2)
    assert not past_deadline(pod("a"), RAN, NOW_NS * 2)


def test_a_start_that_failed_is_shown_as_upstream_shows_it() -> None:
    """containerd says 0 for the start of such a container, and a kubelet takes that for a time."""
    failed = msgspec.structs.replace(seen("a", EXITED, exit_code=128, reason="StartError"), started_at_ns=0)
    state = only(show(pod("a"), picture(failed))).state
    assert state is not None
    assert state.terminated is not None
    assert (state.terminated.reason, state.terminated.started_at) == ("StartError", "1970-01-01T00:00:00Z")


def test_resources_are_shown_of_containers_that_exist_and_of_no_others() -> None:
    asks = ResourceRequirements(requests={"cpu": "100m"})
    the_pod = pod(container("a", resources=asks), container("b", resources=asks), "c")
    a, b, c = show(the_pod, picture(seen("a"), seen("c"))).container_statuses
    assert (a.resources, a.allocated_resources) == (asks, {"cpu": "100m"})
    assert (b.resources, b.allocated_resources) == (None, {}), "it has not been made"
    assert (c.resources, c.allocated_resources) == (ResourceRequirements(), {}), "as a kubelet writes it: {}"


FULL = ResourceRequirements(limits={"cpu": "1", "memory": "64Mi"}, requests={"cpu": "100m", "memory": "32Mi"})
BOTH = ResourceRequirements(limits={"cpu": "2", "memory": "128Mi"}, requests={"cpu": "200m", "memory": "64Mi"})
DISK = ResourceRequirements(limits={"memory": "1Gi"}, requests={"ephemeral-storage": "1Gi"})


@pytest.mark.parametrize(
    ("containers", "whole", "allocated", "pending", "running"),
    [
        ((None,), None, {}, ResourceRequirements(), ResourceRequirements()),
        (
            (FULL, FULL),
            None,
            {"cpu": "200m", "memory": "64Mi"},
            BOTH,
            BOTH,
        ),
        (
            (FULL, DISK),
            None,
            {"cpu": "100m", "memory": "32Mi", "ephemeral-storage": "1Gi"},
            ResourceRequirements(limits={"cpu": "1", "memory": "1088Mi"}, requests={**FULL.requests, **DISK.requests}),
            ResourceRequirements(limits={"memory": "1088Mi"}, requests=FULL.requests),
        ),
        ((FULL, None), FULL, FULL.requests, FULL, FULL),
    ],
)
def test_a_pod_shows_what_it_was_given_as_a_whole(
    containers: tuple[ResourceRequirements | None, ...],
    whole: ResourceRequirements | None,
    allocated: dict[str, str],
    pending: ResourceRequirements,
    running: ResourceRequirements,
) -> None:
    """As a kubelet: sums until it runs, and then what its cgroup enforces."""
    named = [container(name, resources=each) for name, each in zip("ab", containers, strict=False)]
    the_pod = pod(*named, resources=whole)
    waits = show(the_pod, picture())
    assert (waits.allocated_resources, waits.resources) == (allocated, pending)
    runs = show(the_pod, picture(*(seen(each.name) for each in named)))
    assert (runs.allocated_resources, runs.resources) == (allocated, running)


def test_while_a_resize_is_carried_out_the_pod_shows_what_it_had() -> None:
    before = show(pod(container("a", resources=FULL)), picture(seen("a")))
    more = pod(container("a", resources=msgspec.structs.replace(FULL, requests={"cpu": "200m", "memory": "32Mi"})))
    under_way = (ResizeCondition(RESIZE_IN_PROGRESS, 2),)
    while_it_lasts = show(more, picture(seen("a")), previous=before, resizes=under_way)
    assert (while_it_lasts.allocated_resources["cpu"], while_it_lasts.resources) == ("200m", before.resources)
    unsaid = show(more, picture(seen("a")), previous=while_it_lasts, resizes=None)
    assert unsaid.resources == before.resources
    done = show(more, picture(seen("a")), previous=while_it_lasts).resources
    assert done is not None
    assert done.requests["cpu"] == "200m"


def test_a_pod_that_runs_goes_on_to_show_its_first_memory_request_as_no_cgroup_has_it() -> None:
    before = show(pod(container("a", resources=FULL)), picture(seen("a")))
    larger = ResourceRequirements(limits={"cpu": "2", "memory": "256Mi"}, requests={"cpu": "200m", "memory": "48Mi"})
    resized = show(pod(container("a", resources=larger)), picture(seen("a")), previous=before)
    assert resized.allocated_resources == larger.requests
    assert resized.resources == ResourceRequirements(
        limits=larger.limits, requests={"cpu": "200m", "memory": FULL.requests["memory"]}
    )
    again = show(pod(container("a", resources=larger)), picture(seen("a", EXITED)), previous=resized)
    assert again.phase != "Running" or again.resources == resized.resources


@pytest.mark.parametrize(("asked", "shown"), [(None, MEMORY_UNLIMITED_V1), (FULL, FULL.limits["memory"])])
def test_with_cgroup_v1_a_running_pod_without_a_memory_limit_shows_what_the_kernel_reports(
    asked: ResourceRequirements | None, shown: str
) -> None:
    node = msgspec.structs.replace(NODE, memory_unlimited=MEMORY_UNLIMITED_V1)
    runs = show(pod(container("a", resources=asked)), picture(seen("a")), node=node)
    assert runs.resources is not None
    assert runs.resources.limits["memory"] == shown
    assert show(pod(container("a")), picture(), node=node).resources == ResourceRequirements()


def test_a_rejected_pod_shows_no_address_and_only_the_conditions_of_others() -> None:
    gate = PodCondition(type="example.com/gate", status="True")
    scheduled = PodCondition(type="PodScheduled", status="True")
    before = PodStatus(
        phase="Pending",
        host_ip="192.0.2.1",
        conditions=(scheduled, gate),
        allocated_resources={"cpu": "1"},
        resources=FULL,
    )
    rejected = Forced("Failed", "OutOfcpu", "Pod was rejected: no CPU", rejected=True)
    told = show(pod("a"), None, before, forced=rejected)
    assert (told.phase, told.reason, told.message) == ("Failed", "OutOfcpu", "Pod was rejected: no CPU")
    assert (told.conditions, told.container_statuses) == ((gate,), ())
    assert (told.host_ip, told.host_ips, told.pod_ip, told.pod_ips) == (None, (), None, ())
    assert (told.allocated_resources, told.resources) == ({}, None), "it was given nothing"
    assert told.start_time == api_time(NOW_NS)
    assert told.qos_class == "BestEffort"


def test_the_phase_while_init_containers_run_again_in_a_new_sandbox() -> None:
    """A pod whose containers have run is Pending only while an init container runs or has not been made."""
    the_pod = pod("a", init=(container("i"),))
    ran = show(the_pod, picture(seen("i", EXITED), seen("a")))
    ended = seen("a", EXITED, exit_code=137)
    runs = show(the_pod, picture(seen("i"), ended, boxes=(sandbox(1), sandbox(0, ready=False))), ran)
    assert runs.phase == "Pending"
    failed = picture(seen("i", EXITED, exit_code=1), ended, boxes=(sandbox(1), sandbox(0, ready=False)))
    assert show(the_pod, failed, runs).phase == "Running"
    waits = {"i": ContainerWaiting("CrashLoopBackOff", "back-off 10s")}
    assert show(the_pod, failed, runs, waiting=waits).phase == "Running"
