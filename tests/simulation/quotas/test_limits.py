"""LimitRanges: defaults and bounds, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.quotas.limits import completed, faults_of_claim, faults_of_pod, with_defaults

PLAIN = {"name": "main"}


def asking(requests: Any = None, limits: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


@pytest.mark.parametrize(
    ("item", "default", "request_"),
    [
        ({"max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"max": {"cpu": "2"}, "default": {"cpu": "1"}}, {"cpu": "1"}, {"cpu": "1"}),
        ({"min": {"cpu": "1"}}, None, {"cpu": "1"}),
        ({"min": {"cpu": "1"}, "max": {"cpu": "2"}}, {"cpu": "2"}, {"cpu": "2"}),
        ({"default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}, {"cpu": "2"}, {"cpu": "1"}),
    ],
    ids=["max", "default", "min", "both", "request"],
)
def test_a_container_limit_completes_itself(item: Any, default: Any, request_: Any) -> None:
    made = completed({"type": "Container", **item})
    assert (made.get("default"), made.get("defaultRequest")) == (default, request_)
    assert completed({"type": "Pod", **item}) == {"type": "Pod", **item}


def test_containers_get_what_they_leave_out_and_the_rest_is_shared() -> None:
    items = [{"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m", "memory": "1Mi"}}]
    spec = {"initContainers": [{"name": "first"}], "containers": [asking({"cpu": "2"}, {"cpu": "3"})]}
    made, said = with_defaults(items, spec)
    assert said == (
        "memory request for container main; "
        "cpu, memory request for init container first; cpu limit for init container first"
    )
    assert made["containers"][0]["resources"] == {
        "requests": {"cpu": "2", "memory": "1Mi"},
        "limits": {"cpu": "3"},
    }
    assert with_defaults([{"type": "Pod", "default": {"cpu": "1"}}], spec) == (spec, "")


@pytest.mark.parametrize(
    ("item", "container", "fault"),
    [
        ({"min": {"cpu": "1"}}, PLAIN, "minimum cpu usage per Container is 1.  No request is specified"),
        ({"min": {"cpu": "1"}}, asking({"cpu": "1m"}), "minimum cpu usage per Container is 1, but request is 1m"),
        (
            {"min": {"cpu": "1"}},
            asking({"cpu": "1"}, {"cpu": "999m"}),
            "minimum cpu usage per Container is 1, but limit is 999m",
        ),
        ({"max": {"memory": "1Gi"}}, PLAIN, "maximum memory usage per Container is 1Gi.  No limit is specified"),
        (
            {"max": {"memory": "1Gi"}},
            asking(limits={"memory": "1025Mi"}),
            "maximum memory usage per Container is 1Gi, but limit is 1025Mi",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "1500m"}},
            asking({"cpu": "1"}, {"cpu": "2"}),
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            asking({"cpu": "1"}),
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        ({"maxLimitRequestRatio": {"cpu": "2"}}, asking({"cpu": "1"}, {"cpu": "2"}), ""),
    ],
)
def test_a_container_breaks_a_limit(item: Any, container: Any, fault: str) -> None:
    faults = faults_of_pod([{"type": "Container", **item}], {"containers": [container, container]})
    assert faults == ([fault] if fault else [])


def test_a_limit_of_pods_bounds_all_containers_together() -> None:
    item = {"type": "Pod", "max": {"cpu": "1"}}
    half = asking(limits={"cpu": "500m"})
    sidecar = {**half, "restartPolicy": "Always"}
    one_more = ["maximum cpu usage per Pod is 1, but limit is 1500m"]
    assert faults_of_pod([item], {"containers": [half, half]}) == []
    assert faults_of_pod([item], {"containers": [half, half, half]}) == one_more
    assert faults_of_pod([item], {"containers": [half, half], "initContainers": [half]}) == []
    assert faults_of_pod([item], {"containers": [half, half], "initContainers": [sidecar]}) == one_more
    whole = {"containers": [PLAIN], "resources": {"limits": {"cpu": "1500m"}}}
    assert faults_of_pod([item], whole) == one_more


def test_a_claim_is_bounded_by_what_it_requests() -> None:
    item = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}

    def faults(size: str) -> list[str]:
        return faults_of_claim([item], {"resources": {"requests": {"storage": size}}})

    assert faults("1Gi") == faults("2Gi") == []
    assert faults("3Gi") == ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"]
    assert faults("1Mi") == ["minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"]
