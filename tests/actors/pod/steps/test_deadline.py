"""A pod that was active for too long is failed, and that is said once."""

from __future__ import annotations

import pytest

from actors.messages.events import RecordEvent
from actors.pod.one_pass import CONTINUE
from actors.pod.steps.deadline import DEADLINE_EXCEEDED, PodDeadline
from actors.pod_status.api_status import NOT_FORCED, Forced
from config.objects import PodStatus
from config.values.api_time import api_time
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import SECOND_NS, pod


@pytest.mark.parametrize(
    ("allowed_s", "active_s", "forced"),
    [
        pytest.param(None, 1000, NOT_FORCED, id="no deadline"),
        pytest.param(60, None, NOT_FORCED, id="not begun"),
        pytest.param(60, 59, NOT_FORCED, id="not yet"),
        pytest.param(60, 60, DEADLINE_EXCEEDED, id="at its deadline"),
    ],
)
# (spec 2.11.1)
def test_the_deadline_forces_the_status_and_lets_the_pass_go_on(
    allowed_s: int | None, active_s: int | None, forced: Forced
):
    bench = Bench(RecordEvent)
    if active_s is not None:
        began_ns = bench.dispatcher.wall_ns() - active_s * SECOND_NS
        bench.parts.view.published = PodStatus(start_time=api_time(began_ns))
    web = pod("app", active_deadline_seconds=allowed_s)
    step = bench.step_of(PodDeadline)
    assert [bench.outcome(step, web) for _ in range(2)] == [CONTINUE, CONTINUE]
    assert bench.parts.view.forced == forced
    assert len(bench.asked) == (1 if forced is DEADLINE_EXCEEDED else 0)
