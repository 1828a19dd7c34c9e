"""Manifests that are handed to a whole node: what runs, what stays, what survives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.messages.manifests import ManifestChange, ManifestsRefused, ManifestsTaken
from config.pods.identity import source_of
from simulation.node.simulated_node import ROOT
from tests.simulation.node.worlds import IMAGE, SECOND, World, container, manifest

PLACE = f"{ROOT}/pushed-manifests"


def listed(*names: str, kind: str = "PodList") -> str:
    items = [json.loads(manifest(name)) for name in names]
    if kind == "PodList":
        for each in items:
            del each["kind"], each["apiVersion"]
    return json.dumps({"apiVersion": "v1", "kind": kind, "items": items})


def world(**options: Any) -> World:
    made = World(accept_manifests=True, **options).start()
    made.run(SECOND)
    return made


def take(to: World, text: str) -> ManifestsTaken:
    answer = to.node.node.take_manifests(text.encode())
    assert isinstance(answer, ManifestsTaken), answer
    return answer


def refused(to: World, text: str) -> ManifestsRefused:
    answer = to.node.node.take_manifests(text.encode())
    assert isinstance(answer, ManifestsRefused), answer
    return answer


def held(of: World) -> list[str]:
    found = of.node.node.held_manifests()
    assert found is not None
    return [f"{each.namespace}/{each.name}" for each in found]


@pytest.mark.parametrize("kind", ["PodList", "List"])
def test_pods_that_are_handed_over_run_and_are_static_pods(kind: str) -> None:
    node = world()
    assert [pod.change for pod in take(node, manifest("web")).pods] == [ManifestChange.CREATED]
    (one, two) = take(node, listed("one", "two", kind=kind)).pods
    assert (one.namespace, one.name, one.pod, two.name) == ("default", "one", "one-node", "two")
    node.until(lambda: node.running() == ["one/app", "two/app", "web/app"])
    pod = node.pod("one")
    assert pod.metadata.uid == one.uid
    assert source_of(pod) == "http-push"
    assert held(node) == ["default/one", "default/two", "default/web"]


def test_the_same_again_changes_nothing_and_another_replaces() -> None:
    node = world()
    (first,) = take(node, manifest("web")).pods
    node.until(lambda: node.running() == ["web/app"])
    (again,) = take(node, manifest("web")).pods
    assert (again.change, again.uid) == (ManifestChange.UNCHANGED, first.uid)
    node.run(60 * SECOND)
    assert len(node.starts_of("web")) == 1
    (other,) = take(node, manifest("web", [container("other")])).pods
    assert other.change is ManifestChange.CHANGED
    node.until(lambda: node.running() == ["web/other"])
    assert held(node) == ["default/web"]


def test_withdrawing_a_manifest_ends_its_pod() -> None:
    node = world()
    take(node, listed("one", "two"))
    node.until(lambda: node.running() == ["one/app", "two/app"])
    answer = node.node.node.withdraw_manifest("default", "one")
    assert isinstance(answer, ManifestsTaken)
    assert [(pod.pod, pod.change) for pod in answer.pods] == [("one-node", ManifestChange.WITHDRAWN)]
    node.until(lambda: node.running() == ["two/app"])
    assert node.node.node.withdraw_manifest("default", "one") == ManifestsTaken(())
    assert held(node) == ["default/two"]


def test_pushed_manifests_survive_a_restart_without_restarting_containers() -> None:
    node = world()
    take(node, listed("one", "two"))
    node.until(lambda: node.running() == ["one/app", "two/app"])
    uid = node.pod("one").metadata.uid
    node.node.restart_agent()
    node.until(lambda: node.phases() == {"one": "Running", "two": "Running"})
    node.run(60 * SECOND)
    assert node.pod("one").metadata.uid == uid
    assert len(node.starts_of("one")) == len(node.starts_of("two")) == 1
    assert held(node) == ["default/one", "default/two"]


def test_a_bad_manifest_is_refused_with_path_and_reason_and_loses_nothing() -> None:
    node = world()
    take(node, manifest("web"))
    node.until(lambda: node.running() == ["web/app"])
    bad = json.loads(listed("good", "bad"))
    bad["items"][1]["spec"]["containers"][0]["name"] = "Not A Name"
    (problem,) = refused(node, json.dumps(bad)).problems
    assert problem.path == "$.items[1].spec.containers[0].name"
    assert problem.reason
    assert refused(node, "kind: [").problems
    assert refused(node, f"apiVersion: v1\nkind: Pod\nmetadata: {{name: x}}\nspec: {{image: {IMAGE}}}\n").problems
    node.run(60 * SECOND)
    assert node.running() == ["web/app"]
    assert len(node.starts_of("web")) == 1
    assert held(node) == ["default/web"]


def test_a_disk_that_is_full_takes_all_of_a_manifest_or_nothing() -> None:
    node = world()
    take(node, manifest("one"))
    tree = node.node.host.tree
    tree.fail(f"{PLACE}/default_two.json")
    answer = refused(node, listed("zero", "two"))
    assert answer.unable
    assert "cannot be kept" in answer.problems[0].reason
    assert held(node) == ["default/one"]
    tree.heal(f"{PLACE}/default_two.json")
    take(node, listed("zero", "two"))
    assert held(node) == ["default/one", "default/two", "default/zero"]


def test_a_file_that_was_damaged_is_named_and_the_others_go_on() -> None:
    node = world()
    take(node, listed("one", "two"))
    node.until(lambda: node.running() == ["one/app", "two/app"])
    node.node.host.tree.write(f"{PLACE}/default_one.json", b"{")
    node.run(30 * SECOND)
    assert node.running() == ["one/app", "two/app"]
    (problem,) = node.node.node.problems()
    assert problem.origin.startswith(f"{PLACE}/default_one.json")
    take(node, manifest("one"))
    assert node.node.node.problems() == ()


def test_a_node_that_takes_none_says_so() -> None:
    node = World().start()
    node.run(SECOND)
    assert node.node.node.take_manifests(manifest("web").encode()) is None
    assert node.node.node.held_manifests() is None
