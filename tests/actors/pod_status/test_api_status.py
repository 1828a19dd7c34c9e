"""The published status of a pod as a whole: what stays, and the end (spec 4.1 and 4.5)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.model.observed import ObservedPod
from actors.pod.steps.deadline import DEADLINE_EXCEEDED, deadline_ns, past_deadline
from actors.pod_status.api_status import Forced
from actors.pod_status.container_statuses import STATUS_UNKNOWN, ContainerWaiting
from actors.pod_status.final import final_status
from config.objects import EphemeralContainer, PodCondition, PodStatus
from config.pods.identity import CONFIG_SOURCE
from config.values.api_time import api_time, seconds_of
from tests.actors.pod_pictures import EXITED, NOW_NS, SECOND_NS, UNKNOWN, container, picture, pod, sandbox, seen
from tests.actors.pod_status.shown_status import FULL, RAN, conditions, only, show, state_of

# --- what stays -----------------------------------------------------------------------------------------------------


def test_without_a_look_the_last_published_status_stays() -> None:
    assert show(pod("a"), None, RAN) is RAN


def test_a_status_that_says_the_same_is_the_same() -> None:
    assert show(pod("a"), picture(seen("a", attempt=2)), RAN, wall_ns=NOW_NS + 999 * SECOND_NS) is RAN


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
# (spec 4.1.14)
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


# (spec 4.1.15)
def test_spec_4_1_a_forced_status_is_shown_and_its_reason_kept() -> None:
    forced = show(pod("a"), picture(seen("a")), RAN, forced=Forced("Failed", "Evicted", "low on memory"))
    assert (forced.phase, forced.reason, forced.message) == ("Failed", "Evicted", "low on memory")
    after = show(pod("a"), picture(seen("a", EXITED)), forced)
    assert (after.phase, after.reason, after.message) == ("Failed", "Evicted", "low on memory")
    assert show(pod("a"), None, RAN, forced=Forced("Failed", "Evicted")).phase == "Failed"


# (spec 4.5.3)
def test_spec_4_5_start_time_and_class_are_set_once() -> None:
    assert (RAN.start_time, RAN.qos_class) == (api_time(NOW_NS), "BestEffort")
    again = show(pod("a"), picture(), RAN, wall_ns=NOW_NS + SECOND_NS)
    assert again.start_time == RAN.start_time


@given(st.lists(st.sampled_from(["none", "run", "ok", "bad", "lost", "blind"]), max_size=12), st.booleans())
# (spec 4.1.14, 4.5.2)
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


# --- the end --------------------------------------------------------------------------------------------------------


# (spec 2.8.3, 4.5.9)
def test_spec_4_5_the_final_status_leaves_nothing_running() -> None:
    final = final_status(pod("a"), RAN)
    ended = only(final).state
    assert ended is not None
    assert ended.terminated is not None
    assert (final.phase, ended.terminated.exit_code, ended.terminated.reason) == ("Failed", 137, STATUS_UNKNOWN)
    assert final_status(pod("a"), final) is final


# (spec 4.5.9)
def test_spec_4_5_the_final_status_of_a_static_pod_keeps_its_phase() -> None:
    assert final_status(pod("a", meta={"annotations": {CONFIG_SOURCE: "file"}}), RAN).phase == "Running"


# (spec 4.5.9)
def test_the_final_status_guesses_nothing_of_an_end_that_nobody_saw() -> None:
    the_pod = pod("a", ephemeral_containers=(EphemeralContainer(name="e", image="image:1"),))
    final = final_status(the_pod, show(the_pod, picture(seen("a"))))
    ended = only(final).state
    assert ended is not None
    assert ended.terminated is not None
    assert (ended.terminated.container_id, ended.terminated.started_at) == (None, None)
    assert [state_of(each) for each in final.ephemeral_container_statuses] == ["waiting ContainerCreating"]


# (spec 4.5.9)
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


# (spec 2.11.1)
def test_the_active_deadline_counts_from_the_start_time() -> None:
    the_pod = pod("a", active_deadline_seconds=60)
    assert deadline_ns(the_pod, RAN) == NOW_NS + 60 * SECOND_NS
    assert not past_deadline(the_pod, RAN, NOW_NS + 59 * SECOND_NS)
    assert past_deadline(the_pod, RAN, NOW_NS + 60 * SECOND_NS)
    assert not past_deadline(the_pod, None, NOW_NS * 2)
    assert not past_deadline(pod("a"), RAN, NOW_NS * 2)


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
