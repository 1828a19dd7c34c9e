"""What is to be done is decided from what was seen."""

from __future__ import annotations

import pytest

from actors.model.observed import ObservedPod
from actors.pod.one_pass import CONTINUE, Outcome, PodPass
from actors.pod.sync import PodSync
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import picture, pod, seen


@pytest.mark.parametrize(
    ("observed", "creates", "starts"),
    [
        pytest.param(picture(boxes=()), True, ["app"], id="nothing is there"),
        pytest.param(picture(), False, ["app"], id="a sandbox is there"),
        pytest.param(picture(seen("app")), False, [], id="all of it runs"),
    ],
)
def test_the_decide_step_creates_missing_sandbox_and_containers(
    observed: ObservedPod, creates: bool, starts: list[str]
):
    bench = Bench()

    async def decide(this: PodPass) -> Outcome:
        PodSync(bench.parts).decide(this)
        return CONTINUE

    this = bench.passing(pod("app"), observed=observed)
    bench.take(decide, this)
    assert this.decided
    assert this.actions.create_sandbox is creates
    assert [start.container.name for start in this.actions.starts] == starts
