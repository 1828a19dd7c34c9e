"""Pods with claims on a whole node of a cluster, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.api import ApiCall
from tests.simulation.node.storage_cluster import CLAIMS, DRIVER, STORAGE, StorageCluster, api_object
from tests.simulation.node.worlds import MS, SECOND, container

ELSEWHERE = {"key": "topology.example.com/zone", "operator": "In", "values": ["z9"]}


@pytest.mark.parametrize("seed", range(3))
def test_a_pod_waits_for_its_claim_its_volume_and_its_attachment_and_then_runs(seed: int):
    cluster = StorageCluster(seed)
    cluster.make()
    cluster.run(5 * SECOND)
    assert cluster.node.containers() == ()
    assert any('persistentvolumeclaim "claim" not found' in text for text in cluster.said("web"))
    cluster.claim()
    cluster.run(12 * SECOND)
    assert any("PVC default/claim is not bound" in text for text in cluster.said("web"))
    assert cluster.in_use() == []
    cluster.bind()
    cluster.until(lambda: cluster.in_use() == [f"kubernetes.io/csi/{DRIVER}^disk-claim"], 15 * SECOND)
    before = len(cluster.said("web"))
    cluster.run(3 * SECOND)
    assert cluster.node.containers() == ()
    assert len(cluster.said("web")) == before, "that it takes a while to attach is nothing to warn of"
    cluster.attach()
    took = cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    assert took <= 3 * SECOND
    (path,) = [path for path in cluster.node.volumes.mounted if "/pods/" in path]
    assert path.endswith("/volumes/kubernetes.io~csi/pv-claim/mount")


def test_two_pods_share_a_volume_which_goes_with_the_last():
    cluster = StorageCluster(attach=False)
    cluster.claim()
    cluster.bind()
    for name in ("one", "two"):
        cluster.make(name)
    cluster.until(lambda: cluster.all_are("Running", 2), 10 * SECOND)
    assert len([path for path in cluster.node.volumes.mounted if "globalmount" in path]) == 1
    cluster.delete("one")
    cluster.until(lambda: set(cluster.phases()) == {"two"}, 20 * SECOND)
    assert any("globalmount" in path for path in cluster.node.volumes.mounted)
    cluster.delete("two")
    cluster.until(lambda: cluster.phases() == {} and not cluster.node.volumes.mounted, 30 * SECOND)


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        (
            {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [ELSEWHERE]}]}}},
            "NodeSelectorTerms",
        ),
        ({"volumeMode": "Block"}, "has volumeMode Block, but is specified in volumeMounts"),
        ({"claimRef": {"namespace": "default", "name": "x", "uid": "another"}}, "is bound to another claim"),
        ({"csi": None, "cephfs": {"monitors": ["192.0.2.7"]}}, "cephfs"),
        ({"csi": None, "hostPath": {"path": "/x"}, "mountOptions": ["ro"]}, "Mount options are not supported"),
    ],
)
def test_a_volume_that_cannot_be_used_here_says_why(volume: dict[str, Any], text: str):
    cluster = StorageCluster(attach=False)
    cluster.claim()
    cluster.bind(**volume)
    cluster.make()
    cluster.run(10 * SECOND)
    assert any(text in message for message in cluster.said("web")), cluster.said("web")
    assert cluster.node.containers() == ()


IS_LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
ON_ANY_LINUX = {"required": {"nodeSelectorTerms": [{"matchExpressions": [IS_LINUX]}]}}


@pytest.mark.parametrize(
    "source",
    [
        {"local": {"path": "/mnt/disk"}, "nodeAffinity": ON_ANY_LINUX},
        {"nfs": {"server": "files.example.com", "path": "/export"}},
        {"hostPath": {"path": "/srv/data"}},
        {"gcePersistentDisk": {"pdName": "disk"}},
    ],
)
def test_a_claim_may_stand_for_a_volume_of_another_kind(source: dict[str, Any]):
    cluster = StorageCluster(attach=False)
    spec = {"attachRequired": False}
    disk = api_object("CSIDriver", "pd.csi.storage.gke.io", spec, "storage.k8s.io/v1")
    cluster.ask("POST", f"{STORAGE}/csidrivers", disk)
    cluster.claim()
    cluster.bind(csi=None, **source)
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)


# (spec 8.3.3)
def test_an_ephemeral_claim_must_be_the_pods_own():
    cluster = StorageCluster(attach=False)
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    cluster.create(
        "web",
        containers=[container(volumeMounts=[{"name": "scratch", "mountPath": "/s"}])],
        volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}],
    )
    cluster.claim("web-scratch")
    cluster.bind("web-scratch")
    cluster.run(5 * SECOND)
    assert any("was not created for pod web" in text for text in cluster.said("web"))
    claim = cluster.ask("GET", f"{CLAIMS}/web-scratch")
    uid = cluster.pods()["web"]["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid, "controller": True}
    claim["metadata"]["ownerReferences"] = [owner]
    cluster.ask("PUT", f"{CLAIMS}/web-scratch", claim)
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)


def test_an_inline_volume_needs_a_driver_that_says_it_makes_such():
    cluster = StorageCluster(driver=False)
    cluster.create(
        "web",
        containers=[container(volumeMounts=[{"name": "scratch", "mountPath": "/s"}])],
        volumes=[{"name": "scratch", "csi": {"driver": DRIVER}}],
    )
    cluster.run(5 * SECOND)
    assert any("no CSIDriver object" in text for text in cluster.said("web"))
    spec = {"volumeLifecycleModes": ["Ephemeral"]}
    cluster.ask("POST", f"{STORAGE}/csidrivers", api_object("CSIDriver", DRIVER, spec, "storage.k8s.io/v1"))
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 5 * SECOND)


# (spec 8.3.7)
def test_a_volume_brings_its_group_to_the_processes_of_its_pods():
    cluster = StorageCluster(attach=False)
    cluster.claim()
    cluster.bind()
    volume = cluster.ask("GET", "/api/v1/persistentvolumes/pv-claim")
    volume["metadata"]["annotations"] = {"pv.beta.kubernetes.io/gid": "4711"}
    cluster.ask("PUT", "/api/v1/persistentvolumes/pv-claim", volume)
    cluster.make(securityContext={"supplementalGroups": [5]})
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)
    (record,) = cluster.node.containers()
    for linux in (record.config.linux, record.sandbox.config.linux):
        assert linux is not None
        assert linux.security_context is not None
        assert linux.security_context.supplemental_groups == (5, 4711)


@pytest.mark.parametrize("priority_class", ["", "system-node-critical"])
def test_each_call_for_a_claim_is_made_in_its_pods_turn(priority_class: str, monkeypatch: pytest.MonkeyPatch):
    cluster = StorageCluster(attach=True)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "disk"}, "data": {}}
    cluster.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    cluster.claim()
    reference = {"name": "disk", "namespace": "default"}
    cluster.bind(csi={"driver": DRIVER, "volumeHandle": "disk-claim", "nodePublishSecretRef": reference})
    cluster.grow_volume(monkeypatch)
    turns: dict[str, set[tuple[str, bool]]] = {}

    def note(call: ApiCall[Any]) -> ApiCall[Any]:
        turns.setdefault(call.what, set()).add((call.turn_of, call.urgent))
        return call

    cluster.api.rewrite = note
    cluster.make(priorityClassName=priority_class)
    cluster.until(lambda: bool(cluster.in_use()))
    cluster.attach()
    cluster.until(lambda: "patch persistentvolumeclaims/status" in turns)
    uid = cluster.pods()["web"]["metadata"]["uid"]
    read = ("persistentvolumeclaims", "persistentvolumes", "volumeattachments", "secrets")
    for what in (*(f"get {each}" for each in read), "patch persistentvolumeclaims/status"):
        assert turns[what] == {(uid, bool(priority_class))}, what


def test_pods_without_claims_cost_no_reading_of_any():
    cluster = StorageCluster()
    cluster.create("web")
    cluster.until(lambda: cluster.phases() == {"web": "Running"})
    cluster.run(20 * SECOND)
    reads = {what: count for what, count in cluster.api.calls.items() if what.startswith("get persistent")}
    assert reads == {}


@pytest.mark.parametrize("after_ms", [0, 30, 120, 400, 1100])
@pytest.mark.parametrize("seed", range(3))
def test_an_agent_killed_anywhere_on_the_way_of_a_claimed_volume_leaves_nothing(seed: int, after_ms: int):
    cluster = StorageCluster(seed)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.run(after_ms * MS)
    cluster.node.restart_agent()
    cluster.until(lambda: bool(cluster.in_use()), 30 * SECOND)
    cluster.attach()
    cluster.run(after_ms * MS)
    cluster.node.restart_agent()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 40 * SECOND)
    cluster.delete("web", 1)
    cluster.run(after_ms * MS)
    cluster.node.restart_agent()
    cluster.until(lambda: cluster.phases() == {} and not cluster.node.volumes.mounted, 60 * SECOND)
    cluster.until(lambda: cluster.in_use() == [], 10 * SECOND)


def test_an_api_server_that_is_away_keeps_no_container_of_a_pod_from_being_restarted():
    cluster = StorageCluster(attach=False)
    cluster.claim()
    cluster.bind()
    behaviour = {"simulated.actorlet.dev/run-for": "30s", "simulated.actorlet.dev/exit-code": "1"}
    cluster.make(annotations=behaviour)
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)
    cluster.api.go_down()
    cluster.run(60 * SECOND)
    attempts = [record.config.metadata.attempt for record in cluster.node.containers() if record.config.metadata]
    assert max(attempts) >= 1
