"""The files of a pod: whose calls go first."""

from __future__ import annotations

import pytest

from actors.kernel import Promise
from actors.model.disk_lane import DISK_LANE_SIZE
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod

CRITICAL = 2_000_000_000


@pytest.mark.parametrize(("priority", "order"), [(0, ["other", "mine"]), (CRITICAL, ["mine", "other"])])
def test_a_critical_pod_uses_the_disk_before_others(priority: int, order: list[str]):
    bench, ran, busy = Bench(), list[str](), Promise[None]()
    lane = bench.dispatcher.lane("disk", size=DISK_LANE_SIZE, per_key=2)
    for number in range(DISK_LANE_SIZE):
        lane.submit(f"busy {number}", lambda: busy)
    bench.dispatcher.run_for(0)
    lane.submit("other", ran.append, "other")
    bench.passing(pod("app", priority=priority))
    bench.parts.view.on_disk(ran.append, "mine")
    bench.dispatcher.run_for(0)
    assert ran == []
    busy.set_result(None)
    bench.dispatcher.run_for(0)
    assert ran == order
