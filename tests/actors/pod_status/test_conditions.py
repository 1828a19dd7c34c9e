"""The published conditions of a pod (spec 4.3)."""

from __future__ import annotations

import pytest

from actors.model.observed import ObservedPod
from config.objects import Pod, PodCondition, PodReadinessGate, PodStatus
from config.values.api_time import api_time
from tests.actors.pod_pictures import EXITED, NOW_NS, SECOND_NS, container, picture, pod, seen, sidecar
from tests.actors.pod_status.shown_status import conditions, show

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
        # (spec 4.3.5)
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
        # (spec 4.3.5)
        pytest.param(
            pod("a", policy="Never"),
            picture(seen("a", EXITED, exit_code=1)),
            {"Ready": ("False", "PodFailed")},
            id="failed",
        ),
        # (spec 4.3.8)
        pytest.param(
            pod("a", init=(container("i"),)),
            picture(seen("i")),
            {"Initialized": ("False", "ContainersNotInitialized")},
            id="initializing",
        ),
        # (spec 4.3.8)
        pytest.param(
            pod("a", init=(container("i"),)),
            picture(seen("i", EXITED)),
            {"Initialized": YES},
            id="init containers done",
        ),
        # (spec 4.3.6)
        pytest.param(
            pod("a", init=(sidecar("s"),)),
            picture(seen("s", EXITED), seen("a")),
            {"Initialized": YES, "ContainersReady": ("False", "ContainersNotReady")},
            id="a sidecar counts for readiness, not for what is begun",
        ),
        # (spec 4.3.8)
        pytest.param(
            pod("a", policy="Never", init=(container("i"),)),
            picture(seen("i", EXITED), seen("a", EXITED)),
            {"Initialized": ("True", "PodCompleted")},
            id="initialized, and all over",
        ),
        # (spec 4.3.7)
        pytest.param(
            pod("a", readiness_gates=(PodReadinessGate(condition_type="lb"),)),
            picture(seen("a")),
            {"Ready": ("False", "ReadinessGatesNotReady"), "ContainersReady": YES},
            id="a gate that nobody has opened",
        ),
        # (spec 4.3.7)
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
        # (spec 4.3.1)
        pytest.param(pod("a"), picture(), {"PodScheduled": YES}, id="whoever is here is scheduled"),
    ],
)
def test_spec_4_3_conditions(the_pod: Pod, observed: ObservedPod, expected: dict[str, tuple[str, str | None]]) -> None:
    found = conditions(show(the_pod, observed))
    assert {kind: found.get(kind) for kind in expected} == expected


# (spec 4.3.11)
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
