"""Pods get the priority of their class, or of the default one."""

from __future__ import annotations

from typing import Any

from tests.simulation.apiserver.worlds import MERGE, PODS, Server, pod

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def made(name: str, value: int, **more: Any) -> Any:
    return {"metadata": {"name": name}, "value": value, **more}


def with_default() -> Server:
    server = Server()
    assert server.ask("POST", CLASSES, made("low", 7, globalDefault=True, preemptionPolicy="Never")).code == 201
    return server


def test_a_pod_without_a_class_gets_the_default_class() -> None:
    spec = with_default().make_pod()["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("low", 7, "Never")


def test_without_a_default_class_the_priority_is_zero_and_no_class_is_named() -> None:
    spec = Server().make_pod()["spec"]
    assert (spec.get("priorityClassName"), spec["priority"]) == (None, 0)


def test_there_is_one_default_class_only() -> None:
    server = with_default()
    why = "PriorityClass low is already marked as default. Only one default can exist"
    refused = server.ask("POST", CLASSES, made("other", 9, globalDefault=True))
    assert (refused.code, refused.message) == (403, f'priorityclasses.scheduling.k8s.io "other" is forbidden: {why}')
    assert server.ask("POST", CLASSES, made("other", 9)).code == 201
    change = {"globalDefault": True}
    assert server.ask("PATCH", f"{CLASSES}/other", change, content_type=MERGE).code == 403
    assert server.ask("PATCH", f"{CLASSES}/low", {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE).code == 200


def test_a_pod_may_not_say_another_priority_or_policy_than_its_class() -> None:
    server = with_default()
    assert server.ask("POST", PODS, pod(priority=8)).message == (
        'pods "web" is forbidden: the integer value of priority (8) must not be provided in pod spec; '
        "priority admission controller computed 7 from the given PriorityClass name"
    )
    assert "the string value of PreemptionPolicy (PreemptLowerPriority)" in (
        server.ask("POST", PODS, pod(preemptionPolicy="PreemptLowerPriority")).message
    )
    assert server.ask("POST", PODS, pod(priority=7, preemptionPolicy="Never")).code == 201


def test_a_refused_pod_without_a_name_goes_by_its_generate_name() -> None:
    body = {**pod(priorityClassName="missing"), "metadata": {"generateName": "web-"}}
    refused = Server().ask("POST", PODS, body)
    assert refused.message == 'pods "web-" is forbidden: no PriorityClass with name missing was found'


def test_an_update_that_leaves_the_priority_out_keeps_it() -> None:
    server = with_default()
    before = server.make_pod()
    change = {"spec": {"priority": None, "preemptionPolicy": None}}
    after = server.ask("PATCH", f"{PODS}/web", change, content_type=MERGE)
    assert (after.code, after.value["spec"]) == (200, before["spec"])


def test_every_cluster_has_the_classes_of_the_system() -> None:
    names = {each["metadata"]["name"]: each["value"] for each in Server().get(CLASSES).value["items"]}
    assert names == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
