"""Pods get what their RuntimeClass says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.apiserver.worlds import PODS, Server, pod

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
OVERHEAD = {"cpu": "250m", "memory": "120Mi"}
GPU = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}


def with_class(**more: Any) -> Server:
    server = Server()
    assert server.ask("POST", CLASSES, {"metadata": {"name": "own"}, "handler": "runc", **more}).code == 201
    return server


def test_a_pod_has_the_overhead_of_its_class() -> None:
    server = with_class(overhead={"podFixed": OVERHEAD})
    assert server.make_pod(runtimeClassName="own")["spec"]["overhead"] == OVERHEAD
    same = {"cpu": "0.25", "memory": "120Mi"}
    assert server.ask("POST", PODS, pod("same", runtimeClassName="own", overhead=same)).code == 201


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"runtimeClassName": "own", "overhead": {"cpu": "1"}},
            "Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        ({"overhead": {"cpu": "1"}}, "Pod Overhead set without corresponding RuntimeClass defined Overhead"),
        ({"runtimeClassName": "missing"}, 'RuntimeClass "missing" not found'),
    ],
)
def test_a_pod_that_does_not_fit_its_class_is_refused(spec: Any, why: str) -> None:
    refused = with_class(overhead={"podFixed": OVERHEAD}).ask("POST", PODS, pod(**spec))
    assert (refused.code, refused.message) == (403, f'pods "web" is forbidden: pod rejected: {why}')


def test_a_pod_is_placed_as_its_class_says() -> None:
    server = with_class(scheduling={"nodeSelector": {"disk": "ssd"}, "tolerations": [GPU]})
    narrow = {"key": "gpu", "operator": "Equal", "value": "1", "effect": "NoSchedule"}
    spec = server.make_pod(runtimeClassName="own", nodeSelector={"zone": "a"}, tolerations=[narrow])["spec"]
    assert spec["nodeSelector"] == {"zone": "a", "disk": "ssd"}
    assert [each for each in spec["tolerations"] if each["key"] == "gpu"] == [GPU]
    refused = server.ask("POST", PODS, pod("other", runtimeClassName="own", nodeSelector={"disk": "hdd"}))
    assert "conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = hdd" in (
        refused.message
    )
