"""Which outcomes of a pass let another pod start."""

from __future__ import annotations

import pytest

from actors.pod.one_pass import CONTINUE, WAIT, Outcome, PassWait, Refuse, may_take_long


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (CONTINUE, False),
        (WAIT, False),
        (PassWait("the node is asked whether it takes the pod"), False),
        (PassWait("the container runtime is away: gone", retry_ns=1), False),
        (PassWait("network is not ready", reason="NetworkNotReady", retry_ns=1, warn=True), False),
        (PassWait("disk full", reason="FailedMount", long=True), True),
        (Refuse("FailedCreatePodSandBox", "no such RuntimeClass", "", 1, ""), True),
    ],
)
def test_a_pod_lets_another_start_when_it_alone_may_wait_long(outcome: Outcome, expected: bool):
    assert may_take_long(outcome) is expected
