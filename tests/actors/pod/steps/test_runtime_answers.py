"""No pod goes on while the runtime is away."""

from __future__ import annotations

import pytest

from actors.messages.pods import RuntimeStateObserved
from actors.pod.one_pass import CONTINUE, Outcome, PassWait
from actors.pod.steps.look import RUNTIME_RETRY_NS, runtime_answers
from tests.actors.pod.steps.bench import Bench
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
