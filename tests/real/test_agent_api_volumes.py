"""Volumes made of API objects, from inside a container: content, modes, owners, updates."""

from __future__ import annotations

import base64
from typing import Any

from config.api.resources import CONFIG_MAPS, SECRETS
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until

PATIENCE_S = 120
VOLUMES: list[dict[str, Any]] = [
    {"name": "map", "configMap": {"name": "settings", "items": [{"key": "a", "path": "deep/a", "mode": 0o440}]}},
    {"name": "hidden", "secret": {"secretName": "hidden", "defaultMode": 0o400}},
    {"name": "absent", "configMap": {"name": "nowhere", "optional": True}},
    {
        "name": "all",
        "projected": {
            "sources": [
                {"configMap": {"name": "settings"}},
                {"secret": {"name": "hidden", "items": [{"key": "key", "path": "secret/key"}]}},
                {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 600}},
            ]
        },
    },
]
MOUNTS = [
    *({"name": each["name"], "mountPath": f"/{each['name']}"} for each in VOLUMES),
    {"name": "map", "mountPath": "/one", "subPath": "deep/a"},
]


def text(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


def test_8_7_config_maps_secrets_and_tokens_are_files_and_follow_their_objects(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    cluster.create(CONFIG_MAPS, "settings", data={"a": "1", "b": "2"})
    cluster.create(SECRETS, "hidden", data={"key": text("old")})
    user = {"runAsUser": 1000, "fsGroup": 777}
    cluster.run(pod("reads", container(volumeMounts=MOUNTS), volumes=VOLUMES, securityContext=user))
    cluster.join()
    cluster.await_phase("Running", "reads")
    inside = truth.running("reads")

    def cat(path: str) -> str:
        return truth.run(inside, "sh", "-c", f"cat {path} 2>/dev/null || true")

    assert cat("/map/deep/a") == "1"
    assert cat("/map/b") == "", "what is not listed in items is not there"
    assert truth.run(inside, "stat", "-L", "-c", "%a %g", "/map/deep/a", "/hidden/key") == "440 777\n440 777\n"
    assert "tmpfs" in truth.run(inside, "grep", " /hidden ", "/proc/mounts")
    assert "tmpfs" in truth.run(inside, "grep", " /all ", "/proc/mounts")
    assert truth.run(inside, "sh", "-c", "touch /map/x 2>&1 || true").endswith("Read-only file system\n")
    assert truth.run(inside, "ls", "/absent") == ""
    assert (cat("/all/a"), cat("/all/secret/key"), cat("/all/name")) == ("1", "old", f"reads-{NODE}")
    assert truth.run(inside, "stat", "-L", "-c", "%a %g", "/all/token") in ("600 777\n", "640 777\n", "440 777\n")
    header, claims, _ = cat("/all/token").split(".")
    assert '"aud":["vault"]' in base64.urlsafe_b64decode(claims + "==").decode().replace(" ", "")
    assert header
    assert cat("/one") == "1"

    cluster.change(CONFIG_MAPS, "settings", data={"a": "changed"})
    cluster.change(SECRETS, "hidden", data={"key": text("new")})

    def arrived() -> tuple[str, ...]:
        return tuple(map(cat, ("/map/deep/a", "/all/a", "/hidden/key", "/all/secret/key")))

    until(lambda: arrived() == ("changed", "changed", "new", "new"), PATIENCE_S, lambda: f"it stays at {arrived()}")
    assert cat("/one") == "1", "a part of a volume stays as it was when its container started"
    assert truth.running("reads") == inside

    cluster.create(CONFIG_MAPS, "nowhere", data={"late": "x"})
    until(lambda: cat("/absent/late") == "x", 60, "what was optional and has come is not there")


def test_8_7_a_volume_without_its_object_is_waited_for_by_its_pod_alone(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    def reading(name: str, source: str) -> dict[str, Any]:
        volume = {"name": "v", "configMap": {"name": source}}
        mount = {"name": "v", "mountPath": "/v"}
        return pod(name, container(volumeMounts=[mount]), volumes=[volume])

    cluster.create(CONFIG_MAPS, "there", data={"a": "1"})
    cluster.run(reading("waits", "later"))
    cluster.run(reading("goes-on", "there"))
    cluster.join()
    cluster.await_phase("Running", "goes-on")
    said = 'MountVolume.SetUp failed for volume "v" : configmap "later" not found'
    agent.await_that(lambda: said in [each.event.message for each in agent.events()], "nobody says why")
    assert cluster.status("waits").phase == "Pending"
    cluster.create(CONFIG_MAPS, "later", data={"a": "2"})
    cluster.await_phase("Running", "waits")
    assert truth.run(truth.running("waits"), "cat", "/v/a") == "2"
