"""The first statuses of a pod, told within one moment, as workers of a new agent tell them."""

from __future__ import annotations

import pytest

from actors.messages.status import PodStatusChanged
from config.objects import PodStatus
from tests.actors.status.written_pods import World, api_pod, ready

RUNS = ready(pod_ip="10.0.0.7")
STARTS = PodStatus(phase="Pending", message="on its way")


@pytest.mark.parametrize("first", [RUNS, STARTS])
def test_the_last_of_the_first_statuses_is_written_even_if_unchanged(first: PodStatus):
    world = World()
    pod = world.pods["web"] = api_pod("web")
    for status in (first, ready(pod_ip="10.0.0.7")):
        world.manager.tell(PodStatusChanged(pod, status))
    world.run()
    assert world.accept()["status"]["phase"] == "Running"
    world.system.stop()
