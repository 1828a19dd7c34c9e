"""Which changes of a status alone matter to a pod's worker."""

from __future__ import annotations

import pytest

from actors.sources.pod_changes import concerns_worker
from config.objects import Pod, PodCondition, PodReadinessGate, PodSpec, PodStatus

OURS = PodCondition(type="Ready", status="True")
THEIRS = PodCondition(type="example.com/checked", status="True")


def pod(phase: str = "Running", *conditions: PodCondition, gates: tuple[str, ...] = ()) -> Pod:
    asked = tuple(PodReadinessGate(condition_type=each) for each in gates)
    return Pod(spec=PodSpec(readiness_gates=asked), status=PodStatus(phase=phase, conditions=conditions))


@pytest.mark.parametrize(
    ("before", "now", "concerns"),
    [
        (pod("Pending"), pod("Running", OURS), False),
        (pod("Running", OURS, THEIRS), pod("Running", THEIRS), False),
        (pod(), pod("Running", THEIRS), True),
        (pod("Running", THEIRS), pod(), True),
        (pod(), pod("Failed"), True),
        (pod(), pod("Succeeded", OURS), True),
        (pod(gates=("x",)), pod("Running", OURS, gates=("x",)), True),
        (Pod(), Pod(), False),
        (None, pod("Running", THEIRS), True),
    ],
)
def test_the_worker_ignores_the_echo_of_its_own_status(before: Pod | None, now: Pod, concerns: bool):
    assert concerns_worker(before, now) is concerns
