"""Volumes that are made of objects of the API server that a whole node has joined, in virtual time."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from runtime.cri.messages import ContainerState
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import SECOND, container

TOKEN_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"
SETTINGS = "/api/v1/namespaces/default/configmaps"
CFG = {"name": "cfg", "configMap": {"name": "settings"}}
LABELS = {"name": "down", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}


def mounts(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "mountPath": f"/{name}"} for name in names]


def using(*volumes: dict[str, Any]) -> dict[str, Any]:
    """The spec of a pod that mounts each volume at its name."""
    names = [volume["name"] for volume in volumes]
    return {"containers": [container(volumeMounts=mounts(*names))], "volumes": list(volumes)}


def settings(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}


def files(cluster: Cluster, pod: str, inside: str) -> dict[str, str]:
    """What the container of a pod finds in a directory."""
    tree = cluster.node.host.tree
    uid = cluster.pods()[pod]["metadata"]["uid"]
    for record in cluster.node.containers():
        if record.sandbox.pod_uid == uid and record.state is ContainerState.CONTAINER_RUNNING:
            [mount] = [each for each in record.config.mounts if each.container_path == inside]
            assert mount.readonly
            return {name: tree.read(f"{mount.host_path}/{name}").decode() for name in tree.names_in(mount.host_path)}
    raise AssertionError(f"{pod} does not run")


def test_every_pod_of_a_cluster_finds_its_token():
    cluster = Cluster()
    cluster.run(5 * SECOND)
    cluster.create("web", automountServiceAccountToken=True)
    assert cluster.until(lambda: cluster.all_are("Running", 1)) <= SECOND
    found = files(cluster, "web", TOKEN_DIRECTORY)
    assert sorted(found) == ["ca.crt", "namespace", "token"]
    assert found["namespace"] == "default"
    assert found["token"]
    first = found["token"]
    cluster.run(55 * MINUTE)
    assert files(cluster, "web", TOKEN_DIRECTORY)["token"] != first, "renewed before its hour is over"
    assert cluster.calls("create serviceaccounts/token") == 2


def test_pods_of_one_namespace_share_what_they_read():
    cluster = Cluster()
    cluster.run(5 * SECOND)
    for number in range(50):
        cluster.create(f"web-{number}", automountServiceAccountToken=True)
    cluster.until(lambda: cluster.all_are("Running", 50))
    cluster.run(30 * MINUTE)
    reads = {verb: count for verb, count in cluster.api.calls.items() if "configmaps" in verb}
    assert reads.pop("watch configmaps") <= 8, "a watch begins anew every 5 to 10 minutes"
    assert sum(reads.values()) == 1


def test_a_pod_waits_for_its_config_map_says_so_and_starts_when_it_comes():
    cluster = Cluster()
    cluster.create("web", **using(CFG))
    cluster.run(5 * MINUTE)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedMount" in cluster.events("web")
    cluster.ask("POST", SETTINGS, settings(a="1"))
    assert cluster.until(lambda: cluster.all_are("Running", 1)) <= 2 * SECOND
    assert files(cluster, "web", "/cfg") == {"a": "1"}


def test_a_pod_that_waits_for_its_volumes_is_ended_by_its_deadline_all_the_same():
    cluster = Cluster()
    cluster.create("job", **using(CFG), activeDeadlineSeconds=20)
    cluster.until(lambda: cluster.phases() == {"job": "Failed"}, 25 * SECOND)
    assert cluster.pods()["job"]["status"]["reason"] == "DeadlineExceeded"


# (spec 8.3.5)
def test_files_follow_their_object_and_outlive_it_and_go_with_their_pod():
    cluster = Cluster()
    cluster.ask("POST", SETTINGS, settings(a="1"))
    cluster.create("web", **using(CFG))
    cluster.until(lambda: cluster.all_are("Running", 1))
    cluster.ask("PUT", f"{SETTINGS}/settings", settings(b="2"))
    assert cluster.until(lambda: files(cluster, "web", "/cfg") == {"b": "2"}) <= SECOND
    cluster.ask("DELETE", f"{SETTINGS}/settings")
    cluster.run(10 * MINUTE)
    assert files(cluster, "web", "/cfg") == {"b": "2"}
    assert cluster.phases() == {"web": "Running"}
    cluster.delete("web")
    cluster.until(lambda: not cluster.pods())
    cluster.run(MINUTE)
    assert cluster.node.volumes.list_uids() == ()


def test_labels_are_seen_inside_soon_after_they_change():
    cluster = Cluster()
    pod = cluster.create("web", **using(LABELS))
    cluster.until(lambda: cluster.all_are("Running", 1))
    assert files(cluster, "web", "/down") == {"labels": ""}
    pod = cluster.pods()["web"]
    pod["metadata"]["labels"] = {"app": "web"}
    cluster.ask("PUT", "/api/v1/namespaces/default/pods/web", pod)
    assert cluster.until(lambda: files(cluster, "web", "/down") == {"labels": 'app="web"'}) <= 2 * SECOND


def test_an_api_server_that_is_away_takes_no_file_and_no_container():
    cluster = Cluster()
    cluster.ask("POST", SETTINGS, settings(a="1"))
    cluster.create("web", automountServiceAccountToken=True, **using(CFG))
    cluster.until(lambda: cluster.all_are("Running", 1))
    token = files(cluster, "web", TOKEN_DIRECTORY)["token"]
    cluster.api.go_down()
    cluster.run(30 * MINUTE)
    assert files(cluster, "web", "/cfg") == {"a": "1"}
    assert files(cluster, "web", TOKEN_DIRECTORY)["token"] == token
    cluster.ask("PUT", f"{SETTINGS}/settings", settings(a="2"))
    cluster.api.come_back()
    cluster.until(lambda: files(cluster, "web", "/cfg") == {"a": "2"})
    assert cluster.pods()["web"]["status"]["containerStatuses"][0]["restartCount"] == 0


@pytest.mark.parametrize("seed", range(6))
def test_an_agent_that_is_killed_at_any_moment_ends_with_the_newest_files(seed: int):
    chance = Random(seed)
    cluster = Cluster(seed)
    for number in range(6):
        cluster.create(f"web-{number}", automountServiceAccountToken=True, **using(CFG, LABELS))
    versions = 0

    def write(text: str) -> None:
        nonlocal versions
        if versions:
            cluster.ask("PUT", f"{SETTINGS}/settings", settings(n=text))
        else:
            cluster.ask("POST", SETTINGS, settings(n=text))
        versions += 1

    for _ in range(12):
        cluster.run(chance.randrange(3 * SECOND))
        if chance.random() < 0.5:
            cluster.node.restart_agent()
        else:
            write(str(versions))
    cluster.delete("web-0")
    cluster.run(chance.randrange(SECOND))
    cluster.node.restart_agent()
    write("last")
    cluster.until(lambda: set(cluster.phases().values()) == {"Running"}, 5 * MINUTE)
    cluster.run(MINUTE)
    assert sorted(cluster.pods()) == [f"web-{number}" for number in range(1, 6)]
    for name in cluster.pods():
        assert files(cluster, name, "/cfg") == {"n": "last"}
        assert files(cluster, name, TOKEN_DIRECTORY)["namespace"] == "default"
    assert len(cluster.node.volumes.list_uids()) == len(cluster.pods())
    restarts = [pod["status"]["containerStatuses"][0]["restartCount"] for pod in cluster.pods().values()]
    assert set(restarts) == {0}
