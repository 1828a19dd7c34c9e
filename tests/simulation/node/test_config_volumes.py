"""Volumes that are made of objects, on whole nodes in virtual time."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from cli.inspect.local_views import explanation
from tests.simulation.node.worlds import SECOND, World, container, manifest

LABELS = {"name": "down", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}
NAME = {
    "name": "all",
    "projected": {
        "sources": [{"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}}]
    },
}
CPU = {
    "name": "cpu",
    "downwardAPI": {"items": [{"path": "cpu", "resourceFieldRef": {"containerName": "app", "resource": "limits.cpu"}}]},
}


def web(*mounts: dict[str, Any], **fields: Any) -> str:
    volumes = [LABELS, NAME, CPU]
    return manifest("web", [container(volumeMounts=list(mounts), **fields)], volumes=volumes)


def mounted(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "mountPath": f"/{name}", **fields}


def read(world: World, inside: str) -> str:
    """What the container of `web` finds at a path."""
    [record] = world.running_records()
    mount = max(
        (each for each in record.config.mounts if inside.startswith(each.container_path)),
        key=lambda each: len(each.container_path),
    )
    assert mount.readonly
    return world.node.host.tree.read(mount.host_path + inside[len(mount.container_path) :]).decode()


def test_a_static_pod_finds_out_about_itself():
    limits = {"limits": {"cpu": "1500m"}}
    pod = web(mounted("down"), mounted("all"), mounted("cpu", subPath="cpu"), resources=limits)
    world = World({"web": pod}).start()
    world.until(world.settled)
    assert read(world, "/all/name") == "web-node"
    assert read(world, "/cpu") == "2"
    assert read(world, "/down/labels") == ""
    assert not [text for text in world.said("web") if text.startswith("FailedMount")]


def test_a_restarted_agent_leaves_files_and_containers_as_they_are():
    world = World({"web": web(mounted("all"))}).start()
    world.until(world.settled)
    [record] = world.running_records()
    [mount] = [each for each in record.config.mounts if each.container_path == "/all"]
    world.node.restart_agent()
    world.run(60 * SECOND)
    assert read(world, "/all/name") == "web-node"
    assert [each.id for each in world.running_records()] == [record.id]
    world.node.remove_manifest("web")
    world.run(120 * SECOND)
    assert not world.node.host.tree.exists(mount.host_path)
    assert world.node.volumes.list_uids() == ()


# (spec 8.1.3)
def test_a_volume_that_cannot_be_had_holds_up_its_pod_alone_and_says_why():
    share = {"name": "share", "gitRepo": {"repository": "https://example.com/a.git"}}
    bad = manifest("bad", [container(volumeMounts=[mounted("share"), mounted("all")])], volumes=[share, NAME])
    world = World({"bad": bad, "web": web(mounted("all"))}).start()
    world.run(30 * SECOND)
    assert world.running() == ["web/app"]
    text = 'FailedMount: MountVolume.SetUp failed for volume "share" : volumes of type gitRepo are not supported yet'
    assert text in world.said("bad")


def test_a_pod_that_shows_too_much_does_not_start_and_says_where_how_much_and_the_limit():
    items = [{"path": f"f{number}", "fieldRef": {"fieldPath": "metadata.annotations"}} for number in range(20)]
    volume = {"name": "down", "downwardAPI": {"items": items}}
    document = json.loads(manifest("web", [container(volumeMounts=[mounted("down")])], volumes=[volume]))
    document["metadata"]["annotations"] = {"large": "x" * 100_000}
    world = World().start()
    world.node.plan = replace(world.node.plan, pod_volume_content_bytes=2**20)
    world.node.restart_agent()
    world.node.put_manifest("web", json.dumps(document))
    world.run(20 * SECOND)
    assert world.running() == []
    (wait,) = explanation(world.node.node, "web").waits
    for words in (
        "spec.volumes[0].downwardAPI.items[10]: with 'f10' the agent writes ",
        "bytes for the volumes of this pod, and the limit is 1048576;",
        "start the agent with a larger --pod-volume-content-bytes",
    ):
        assert words in wait.text
        assert any(words in text for text in world.said("web"))
    world.node.plan = replace(world.node.plan, pod_volume_content_bytes=2**21)
    world.node.restart_agent()
    world.until(world.settled)
    assert world.running() == ["web/app"]
