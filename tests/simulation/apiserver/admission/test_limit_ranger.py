"""LimitRanges of a namespace give its pods defaults, and bound its pods and claims."""

from __future__ import annotations

from typing import Any

from tests.simulation.apiserver.worlds import MERGE, PODS, Server, pod

RANGES = "/api/v1/namespaces/default/limitranges"


def limited(*items: Any) -> Server:
    server = Server()
    made = server.ask("POST", RANGES, {"metadata": {"name": "all"}, "spec": {"limits": items}})
    assert made.code == 201, made.value
    return server


def test_a_pod_gets_the_defaults_and_an_annotation_that_says_so() -> None:
    made = limited({"type": "Container", "max": {"cpu": "1"}}).make_pod()
    both = {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert made["spec"]["containers"][0]["resources"] == both
    said = "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
    assert made["metadata"]["annotations"] == {"kubernetes.io/limit-ranger": said}
    assert made["status"]["qosClass"] == "Burstable"


def test_a_pod_beyond_the_limits_is_refused_with_all_faults() -> None:
    server = limited({"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}})
    asked = {"requests": {"cpu": "2", "memory": "1k"}, "limits": {"cpu": "2"}}
    refused = server.ask("POST", PODS, pod(containers=[{"name": "main", "image": "i", "resources": asked}]))
    assert (refused.code, refused.message) == (
        403,
        'pods "web" is forbidden: [minimum memory usage per Container is 1Mi, but request is 1k, '
        "maximum cpu usage per Container is 1, but limit is 2]",
    )


def test_a_pod_that_is_there_stays_as_it_is() -> None:
    server = Server()
    server.make_pod()
    limits = [{"type": "Pod", "max": {"cpu": "1"}}]
    server.ask("POST", RANGES, {"metadata": {"name": "all"}, "spec": {"limits": limits}})
    change = {"metadata": {"labels": {"a": "b"}}}
    assert server.ask("PATCH", f"{PODS}/web", change, content_type=MERGE).code == 200
    assert server.ask("POST", PODS, pod("other")).code == 403


def test_limits_of_another_namespace_do_not_count() -> None:
    server = limited({"type": "Pod", "max": {"cpu": "1"}})
    assert server.ask("POST", "/api/v1/namespaces/kube-public/pods", pod()).code == 201


def test_a_resize_beyond_the_limits_is_refused() -> None:
    server = limited({"type": "Container", "max": {"cpu": "1"}})
    server.make_pod()
    wanted = {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    change = {"spec": {"containers": [{"name": "main", "image": "nginx:1", "resources": wanted}]}}
    refused = server.ask("PATCH", f"{PODS}/web/resize", change, content_type=MERGE)
    assert (refused.code, "maximum cpu usage per Container is 1, but limit is 2" in refused.message) == (403, True)
