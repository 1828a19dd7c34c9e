"""The phase of a pod: spec 4.1, one row for each rule."""

from __future__ import annotations

import pytest

from actors.pod_status.conditions import pod_phase
from config.objects import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
)
from config.pods.identity import CONFIG_SOURCE
from tests.actors.pod_pictures import container, pod, sidecar

INIT = container("i")
SIDE = sidecar("s")


def ended(code: int) -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exit_code=code))


RUNS = ContainerState(running=ContainerStateRunning())
WAITS = ContainerState(waiting=ContainerStateWaiting())
OK, BAD = ended(0), ended(1)


def status(name: str, state: ContainerState | None, last: ContainerState | None = None, started: bool = True):
    return ContainerStatus(name=name, state=state, last_state=last, started=started)


def statuses(**states: ContainerState | ContainerStatus):
    return {name: each if isinstance(each, ContainerStatus) else status(name, each) for name, each in states.items()}


STATIC = {"annotations": {CONFIG_SOURCE: "file"}}


@pytest.mark.parametrize(
    ("the_pod", "init", "regular", "ended_pod", "started_here", "expected"),
    [
        pytest.param(pod("a"), {}, {}, False, False, "Pending", id="no status at all"),
        pytest.param(pod("a"), {}, {"a": WAITS}, False, False, "Pending", id="waiting"),
        pytest.param(pod("a"), {}, {"a": RUNS}, False, False, "Running", id="running"),
        # (spec 4.1.7)
        pytest.param(
            pod("a", "b"), {}, {"a": RUNS, "b": WAITS}, False, False, "Pending", id="one waits for the first time"
        ),
        # (spec 4.1.8)
        pytest.param(pod("a", "b"), {}, {"a": RUNS}, False, False, "Pending", id="one is unknown"),
        # (spec 4.1.8)
        pytest.param(
            pod("a", "b"), {}, {"a": RUNS, "b": status("b", WAITS, BAD)}, False, False, "Running", id="one backs off"
        ),
        pytest.param(
            pod("a"), {}, {"a": status("a", WAITS, BAD)}, False, False, "Running", id="Always: ended, comes again"
        ),
        pytest.param(pod("a"), {}, {"a": OK}, False, False, "Running", id="Always: succeeded, comes again"),
        # (spec 4.1.10)
        pytest.param(
            pod("a", policy="OnFailure"), {}, {"a": BAD}, False, False, "Running", id="OnFailure: comes again"
        ),
        pytest.param(pod("a", policy="OnFailure"), {}, {"a": OK}, False, False, "Succeeded", id="OnFailure: done"),
        # (spec 4.1.11)
        pytest.param(
            pod("a", "b", policy="Never"), {}, {"a": OK, "b": OK}, False, False, "Succeeded", id="Never: all good"
        ),
        # (spec 4.1.12)
        pytest.param(
            pod("a", "b", policy="Never"), {}, {"a": OK, "b": BAD}, False, False, "Failed", id="Never: one bad"
        ),
        # (spec 4.1.8)
        pytest.param(
            pod("a", "b", policy="Never"), {}, {"a": OK, "b": RUNS}, False, False, "Running", id="Never: one runs"
        ),
        # (spec 4.1.9)
        pytest.param(pod("a"), {}, {"a": OK}, True, False, "Succeeded", id="ended for good: succeeded"),
        # (spec 4.1.9)
        pytest.param(pod("a"), {}, {"a": BAD}, True, False, "Failed", id="ended for good: failed"),
        # (spec 4.1.9)
        pytest.param(pod("a", meta=STATIC), {}, {"a": OK}, True, False, "Running", id="ended but static: not terminal"),
        # (spec 4.1.1)
        pytest.param(pod("a", init=(INIT,)), {}, {}, False, False, "Pending", id="init: no status"),
        # (spec 4.1.1)
        pytest.param(pod("a", init=(INIT,)), {"i": RUNS}, {"a": WAITS}, False, False, "Pending", id="init: runs"),
        # (spec 4.1.1)
        pytest.param(pod("a", init=(INIT,)), {"i": WAITS}, {"a": WAITS}, False, False, "Pending", id="init: waits"),
        # (spec 4.1.3)
        pytest.param(
            pod("a", init=(INIT,)), {"i": BAD}, {"a": WAITS}, False, False, "Pending", id="init: failed, again"
        ),
        # (spec 4.1.2)
        pytest.param(
            pod("a", init=(INIT,), policy="Never"), {"i": BAD}, {"a": WAITS}, False, False, "Failed", id="init: failed"
        ),
        # (spec 4.1.2)
        pytest.param(
            pod("a", init=(INIT,), policy="Never"),
            {"i": status("i", WAITS, BAD)},
            {"a": WAITS},
            False,
            False,
            "Failed",
            id="init: had failed",
        ),
        pytest.param(pod("a", init=(INIT,)), {"i": OK}, {"a": RUNS}, False, False, "Running", id="init: done"),
        # (spec 4.1.4)
        pytest.param(
            pod("a", init=(SIDE,)),
            {"s": status("s", RUNS, started=False)},
            {"a": WAITS},
            False,
            False,
            "Pending",
            id="sidecar starts",
        ),
        # (spec 4.1.4)
        pytest.param(
            pod("a", init=(SIDE,)),
            {"s": status("s", RUNS, started=False)},
            {"a": RUNS},
            False,
            True,
            "Running",
            id="sidecar starts again beside what was started",
        ),
        # (spec 4.1.5)
        pytest.param(
            pod("a", init=(SIDE,)), {"s": WAITS}, {"a": RUNS}, False, True, "Pending", id="sidecar never started"
        ),
        pytest.param(
            pod("a", init=(SIDE,)),
            {"s": status("s", WAITS, BAD)},
            {"a": RUNS},
            False,
            True,
            "Running",
            id="sidecar backs off",
        ),
        # (spec 4.1.6)
        pytest.param(
            pod("a", init=(SIDE,)), {}, {"a": RUNS}, False, True, "Pending", id="a sidecar without a status is unknown"
        ),
        # (spec 4.1.13)
        pytest.param(
            pod("a", "b", policy="Never"), {}, {"a": OK}, False, False, "Pending", id="one stopped, one unknown"
        ),
        # (spec 4.1.7)
        pytest.param(
            pod("a", "b", policy="Never"),
            {},
            {"a": BAD, "b": WAITS},
            False,
            False,
            "Pending",
            id="waiting goes before failed",
        ),
        # (spec 4.1.2)
        pytest.param(
            pod("a", init=(INIT,), policy="Never"),
            {"i": BAD},
            {"a": RUNS},
            False,
            True,
            "Failed",
            id="a failed init container goes before all",
        ),
        # (spec 4.1.10)
        pytest.param(
            pod("a", container("b", restart_policy="Never")),
            {},
            {"a": BAD, "b": OK},
            False,
            False,
            "Running",
            id="one of them comes again",
        ),
        pytest.param(
            pod("a", container("b", restart_policy="Never")),
            {},
            {"a": OK, "b": BAD},
            True,
            False,
            "Failed",
            id="ended for good: one bad",
        ),
        pytest.param(
            pod("a", policy="Never"),
            {},
            {"a": status("a", WAITS, BAD)},
            False,
            False,
            "Failed",
            id="Never: waits and had ended",
        ),
        pytest.param(
            pod("a", init=(SIDE,), policy="Never"),
            {"s": RUNS},
            {"a": OK},
            False,
            True,
            "Running",
            id="a sidecar still runs",
        ),
        pytest.param(
            pod("a", init=(SIDE,), policy="Never"),
            {"s": BAD},
            {"a": OK},
            False,
            True,
            "Succeeded",
            id="a sidecar's code counts not",
        ),
    ],
)
def test_spec_4_1_phase(the_pod: Pod, init, regular, ended_pod: bool, started_here: bool, expected: str) -> None:
    assert pod_phase(the_pod, statuses(**init, **regular), ended=ended_pod, started_here=started_here) == expected
