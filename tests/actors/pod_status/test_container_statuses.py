"""The published statuses of containers (spec 4.2), and when one is started and ready (spec 5)."""

from __future__ import annotations

import msgspec
import pytest

from actors.model.observed import ObservedPod, ProbeResults
from actors.pod_status.container_statuses import ContainerWaiting
from config.frozen_map import FrozenMap
from config.objects import EphemeralContainer, PodStatus, Probe
from config.values.api_time import api_time
from tests.actors.pod_pictures import CREATED, EXITED, NOW_NS, SECOND_NS, UNKNOWN, container, picture, pod, seen
from tests.actors.pod_status.shown_status import LOOP, RAN, SHOWN_ENDED, last_of, only, show, state_of


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
        # (spec 4.2.7)
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


# (spec 4.2.4)
def test_spec_4_2_a_lost_container_counts_as_one_restart() -> None:
    lost = picture(seen("a", UNKNOWN, attempt=2))
    first = show(pod("a"), lost, RAN)
    assert show(pod("a"), lost, first) is first


# (spec 4.2.5)
def test_spec_4_2_a_container_gone_while_its_pod_is_deleted_is_no_restart() -> None:
    deleted = pod("a", meta={"deletion_timestamp": "2026-01-01T00:00:00Z"})
    assert only(show(deleted, picture(), RAN)).restart_count == 2


# (spec 4.2.7)
def test_spec_4_2_a_reason_is_not_shown_for_what_does_not_come_again() -> None:
    status = show(pod("a", policy="Never"), picture(seen("a", EXITED, exit_code=3)), waiting=LOOP)
    assert state_of(only(status)) == "terminated 3"


# (spec 3.14.1, 4.2.9)
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


# (spec 4.2.6)
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
        # (spec 5.18)
        pytest.param(ProbeResults(active=True), False, False, id="not decided"),
        # (spec 5.19)
        pytest.param(
            ProbeResults(active=True, readiness=FrozenMap({"a-0": True})), False, False, id="ready, not started"
        ),
        # (spec 5.18)
        pytest.param(
            ProbeResults(active=True, startup=FrozenMap({"a-0": True})),
            True,
            False,
            id="started, readiness not decided",
        ),
        # (spec 5.19)
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


def test_a_start_that_failed_is_shown_as_upstream_shows_it() -> None:
    """containerd says 0 for the start of such a container, and a kubelet takes that for a time."""
    failed = msgspec.structs.replace(seen("a", EXITED, exit_code=128, reason="StartError"), started_at_ns=0)
    state = only(show(pod("a"), picture(failed))).state
    assert state is not None
    assert state.terminated is not None
    assert (state.terminated.reason, state.terminated.started_at) == ("StartError", "1970-01-01T00:00:00Z")
