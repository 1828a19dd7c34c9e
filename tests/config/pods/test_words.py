"""A pod in one line: the STATUS column and its neighbours, by table."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from config.objects import PodReadinessGate
from config.pods.words import has_arrived, pod_line, status_word, trouble
from tests.config.pods_made import START, START_NS, ended, pod, running, waiting

INIT = [{"name": "first", "image": "i"}, {"name": "second", "image": "i"}]
SIDECAR = [{"name": "proxy", "image": "i", "restartPolicy": "Always"}]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "Pending"),
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Pending", "containerStatuses": [waiting("c0", "ContainerCreating")]}, "ContainerCreating"),
        ({"phase": "Pending", "containerStatuses": [waiting("c0", "ImagePullBackOff")]}, "ImagePullBackOff"),
        ({"phase": "Running", "containerStatuses": [running("c0")]}, "Running"),
        ({"phase": "Running", "containerStatuses": [running("c0", ready=False)]}, "Running"),
        ({"phase": "Running", "containerStatuses": [waiting("c0", "CrashLoopBackOff")]}, "CrashLoopBackOff"),
        ({"phase": "Succeeded", "containerStatuses": [ended("c0", 0, "Completed")]}, "Completed"),
        ({"phase": "Failed", "containerStatuses": [ended("c0", 3, "Error")]}, "Error"),
        ({"phase": "Failed", "containerStatuses": [ended("c0", 3)]}, "ExitCode:3"),
    ],
)
def test_status_is_the_most_telling_reason(status: dict[str, Any], expected: str) -> None:
    assert status_word(pod(status)) == expected


@pytest.mark.parametrize(
    ("init", "statuses", "expected"),
    [
        (INIT, [running("first", ready=False), waiting("second", "PodInitializing")], "Init:0/2"),
        (INIT, [ended("first"), running("second", ready=False)], "Init:1/2"),
        (INIT, [ended("first", 1, "Error"), waiting("second", "PodInitializing")], "Init:Error"),
        (INIT, [waiting("first", "CrashLoopBackOff"), waiting("second", "PodInitializing")], "Init:CrashLoopBackOff"),
        (INIT, [ended("first"), ended("second")], "PodInitializing"),
        (SIDECAR, [waiting("proxy", "PodInitializing")], "Init:0/1"),
        (SIDECAR, [running("proxy")], "PodInitializing"),
    ],
)
def test_status_tells_how_far_init_containers_are(init: Any, statuses: list[Any], expected: str) -> None:
    status = {
        "phase": "Pending",
        "initContainerStatuses": statuses,
        "containerStatuses": [waiting("c0", "PodInitializing")],
    }
    assert status_word(pod(status, init=init)) == expected


def test_a_pod_of_which_one_container_has_completed_runs_on_if_it_is_ready() -> None:
    statuses = [ended("c0", 0, "Completed"), running("c1")]
    for ready, word in (("True", "Running"), ("False", "NotReady")):
        conditions = [{"type": "Ready", "status": ready}]
        status = {"phase": "Running", "containerStatuses": statuses, "conditions": conditions}
        assert status_word(pod(status, containers=2)) == word


def test_a_pod_that_is_being_deleted_says_so_before_all_else() -> None:
    status = {"phase": "Running", "containerStatuses": [running("c0")]}
    assert status_word(pod(status, deletionTimestamp=START)) == "Terminating"


def test_a_finished_pod_keeps_its_word_while_it_is_deleted() -> None:
    status = {"phase": "Succeeded", "containerStatuses": [ended("c0", 0, "Completed")]}
    assert status_word(pod(status, deletionTimestamp=START)) == "Completed"


def test_a_pod_to_be_deleted_on_a_lost_node_is_in_an_unknown_state() -> None:
    assert status_word(pod({"phase": "Running", "reason": "NodeLost"}, deletionTimestamp=START)) == "Unknown"
    assert status_word(pod({"phase": "Running", "reason": "NodeLost"})) == "NodeLost"


def test_a_pod_that_may_not_be_scheduled_yet_says_so() -> None:
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert status_word(pod({"phase": "Pending", "conditions": [gated]})) == "SchedulingGated"


def test_a_line_counts_the_readiness_gates_that_are_fulfilled() -> None:
    made = pod({"conditions": [{"type": "a/b", "status": "True"}, {"type": "a/c", "status": "False"}]})
    gates = tuple(PodReadinessGate(condition_type=name) for name in ("a/b", "a/c"))
    gated = replace(made, spec=replace(made.spec, readiness_gates=gates))
    assert pod_line(gated, START_NS).readiness_gates == "1/2"
    assert pod_line(made, START_NS).readiness_gates == ""


def test_a_line_counts_sidecars_and_restarts() -> None:
    last: dict[str, Any] = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": START}}}
    status = {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "initContainerStatuses": [running("proxy", restartCount=1)],
        "containerStatuses": [running("c0", restartCount=2, **last), running("c1", ready=False)],
    }
    line = pod_line(pod(status, containers=2, init=SIDECAR), START_NS + 65 * 10**9)
    assert (line.namespace, line.name, line.ready) == ("default", "web", "2/3")
    assert (line.restarts, line.age, line.ip) == ("3 (65s ago)", "65s", "10.0.0.7")


def test_a_pod_of_which_nothing_is_known_yet_is_a_line_too() -> None:
    line = pod_line(pod({}, creationTimestamp=None), START_NS)
    assert (line.ready, line.status, line.restarts, line.age, line.ip) == ("0/1", "Pending", "0", "", "")


@pytest.mark.parametrize(
    ("phase", "expected"), [("Pending", False), ("Running", True), ("Succeeded", True), ("Failed", False), ("", False)]
)
def test_a_pod_has_arrived_when_it_runs_or_has_succeeded(phase: str, expected: bool) -> None:
    assert has_arrived(pod({"phase": phase})) is expected


def test_trouble_is_told_with_the_messages_of_the_containers_concerned() -> None:
    statuses = [waiting("c0", "ErrImagePull", "no such host"), ended("c1", 3, "Error"), running("c2")]
    told = trouble(pod({"phase": "Pending", "message": "sad", "containerStatuses": statuses}, containers=3))
    assert told == (
        "ErrImagePull: container c0: its image i cannot be pulled: the registry docker.io cannot be reached "
        "(no such host); "
        "container c1: it ended with exit code 3"
    )
