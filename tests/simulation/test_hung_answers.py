"""Calls to the API that get no answer, and hooks and probes of containers that give none.

Each hangs alone.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.simulation.hung_plays import SECOND_NS, Played, bounded, names, of_the_api, undisturbed

OF_THE_SICK_POD = {
    "create events": "events cannot be sent now: create events default/sick-0",
    "delete pods": "delete pods default/sick-0: no answer within 15 s",
    "get persistentvolumeclaims": "get persistentvolumeclaims default/sick-disk: no answer within 10 s",
    "patch pods/status": "patch pods/status default/sick-0: no answer within 15 s",
}
"""What hangs for the sick pod -> the words that name it.

In an event, the log or the explanation of the pod.
"""
OF_THE_NODE = {
    "get persistentvolumes": 0,
    "list configmaps": 4,
    "list secrets": 4,
    "patch nodes/status": 0,
    "update leases": 0,
}
"""What hangs once -> for how many seconds it may hold up a pod: until it is asked again."""
SILENT = "hang"
GET = {"httpGet": {"path": "/", "port": 80}}
NOTHING: dict[str, Any] = {}


def test_every_call_of_the_api_has_a_row():
    assert undisturbed().api_calls == {*OF_THE_SICK_POD, *OF_THE_NODE}


@pytest.mark.parametrize("what", sorted(OF_THE_SICK_POD))
def test_an_api_call_that_hangs_for_one_pod_holds_up_no_other_and_is_named(what: str):
    played = Played(bounded(), of_the_api(what))
    assert played.broken == []
    assert played.hung[what] >= 1
    assert names(played.said, OF_THE_SICK_POD[what]) or names(played.node_said, OF_THE_SICK_POD[what])


@pytest.mark.parametrize("what", sorted(OF_THE_NODE))
def test_an_api_call_that_hangs_once_is_made_again_and_named(what: str):
    # A lease is asked for 10 s, as by kubelets: a quarter of the time for which it holds.
    wanted = bounded(patience_ns=OF_THE_NODE[what] * SECOND_NS, leases_every="21s")
    played = Played(wanted, of_the_api(what, times=1))
    assert played.broken == []
    assert played.hung[what] == 1
    assert names(played.node_said, f"{what} ")


@pytest.mark.parametrize(
    ("behaviour", "spec", "word"),
    [
        ({"readiness-probe": SILENT}, {"readinessProbe": {**GET, "periodSeconds": 2}}, "Unhealthy: Readiness probe"),
        ({"liveness-probe": SILENT}, NOTHING, "Unhealthy: Liveness probe"),
        ({"startup-probe": SILENT}, {"startupProbe": {**GET, "periodSeconds": 2}}, "Unhealthy: Startup probe"),
        ({"hook-call": SILENT}, {"lifecycle": {"postStart": GET}}, "its postStart hook is running"),
        ({"hook-call": SILENT}, {"lifecycle": {"preStop": GET}}, "FailedPreStopHook"),
    ],
    ids=["readiness", "liveness", "startup", "post-start", "pre-stop"],
)
def test_a_container_that_answers_nobody_holds_up_no_other_pod_and_is_named(
    behaviour: dict[str, str], spec: dict[str, Any], word: str
):
    wanted = bounded(sick_stays="lifecycle" in spec and "postStart" in spec["lifecycle"])
    sick, other = wanted.pods
    (app,) = sick.containers
    app = msgspec.structs.replace(app, behaviour=behaviour, spec={**app.spec, **spec})
    sick = msgspec.structs.replace(sick, containers=(app,))
    played = Played(msgspec.structs.replace(wanted, pods=(sick, other)), lambda play: None)
    assert played.broken == []
    assert names(played.said, word), played.said
