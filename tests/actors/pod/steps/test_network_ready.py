"""A pod with a network of its own waits for that of the node."""

from __future__ import annotations

import pytest

from actors.messages.pods import RuntimeStateObserved
from actors.pod.one_pass import CONTINUE, Outcome, PassWait
from actors.pod.steps.look import NETWORK_RETRY_NS, network_ready
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod

NOT_READY = PassWait(
    "network is not ready: no plugin",
    "its sandbox is made when it is ready",
    "NetworkNotReady",
    NETWORK_RETRY_NS,
    warn=True,
)


@pytest.mark.parametrize(
    ("network_error", "host_network", "expected"),
    [
        pytest.param("", None, CONTINUE, id="ready"),
        pytest.param("no plugin", None, NOT_READY, id="not ready"),
        pytest.param("no plugin", False, NOT_READY, id="not ready, said outright"),
        pytest.param("no plugin", True, CONTINUE, id="the host's network is there"),
    ],
)
# (spec 2.7.2)
def test_a_pod_waits_for_the_network(network_error: str, host_network: bool | None, expected: Outcome):
    bench = Bench()
    bench.parts.view.runtime_observed(RuntimeStateObserved("", network_error))
    assert bench.outcome(network_ready, pod("app", host_network=host_network)) == expected
