"""No pod goes on while the runtime is away."""

from __future__ import annotations

import pytest

from actors.messages.pods import Operation, RuntimeStateObserved, SyncPod
from actors.pod.one_pass import CONTINUE, Outcome, PassWait
from actors.pod.steps.look import RUNTIME_RETRY_NS, runtime_answers
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod.test_worker_volumes import DOWN, World, web
from tests.actors.pod_pictures import pod

AWAY = PassWait("the container runtime is away: gone", "it goes on when the runtime is back", retry_ns=RUNTIME_RETRY_NS)


@pytest.mark.parametrize(
    ("error", "network_error", "expected"),
    [
        pytest.param("", "", CONTINUE, id="it answers"),
        pytest.param("", "no plugin", CONTINUE, id="the network is a matter of the next gate"),
        pytest.param("gone", "", AWAY, id="it is away"),
        pytest.param("gone", "no plugin", AWAY, id="nothing is known of the network either"),
    ],
)
def test_a_pod_waits_for_the_runtime(error: str, network_error: str, expected: Outcome):
    bench = Bench()
    bench.parts.view.runtime_observed(RuntimeStateObserved(error, network_error))
    assert bench.outcome(runtime_answers, pod("app")) == expected


@pytest.mark.parametrize(
    ("since_ns", "asks_for_volumes"),
    [pytest.param(6, False, id="it went away after that"), pytest.param(4, True, id="it is back since then")],
)
def test_of_two_reports_the_later_one_counts_though_the_other_is_taken_last(since_ns: int, asks_for_volumes: bool):
    """A report takes the place of one that waits in the mailbox.

    So it may be taken before a pod that came with an older one.
    """
    world = World()
    world.tell(RuntimeStateObserved("", "", "simulated", since_ns=5))
    world.tell(SyncPod(web(DOWN), Operation.ADD, RuntimeStateObserved("gone", "not known", since_ns=since_ns)))
    assert bool(world.asked) is asks_for_volumes
    world.system.stop()
