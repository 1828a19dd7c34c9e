"""Pods with claims on a whole node of a cluster, in virtual time.

The test is the controllers of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from actors.node.numbers import NodeNumbers
from actors.volumes.claims.csi_rules import attachment_name
from config.frozen_map import FrozenMap
from config.kubelet import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from runtime.api.calls import ApiCall
from runtime.csi.capability import NodeInfo
from runtime.host.selinux import FileLabel
from runtime.volumes.capability import VolumeCondition
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import MS, SECOND, container

DRIVER = "disks.example.com"
STORAGE = "/apis/storage.k8s.io/v1"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
ELSEWHERE = {"key": "topology.example.com/zone", "operator": "In", "values": ["z9"]}
NO_MORE_RULES: Mapping[str, Any] = {}
LIMIT_CHANGES = {"nodeAllocatableUpdatePeriodSeconds": 60}
EXHAUSTED = {"message": "ResourceExhausted: the node has too many volumes", "errorCode": 8}
NOBODY_ATTACHES = KubeletConfiguration(enable_controller_attach_detach=False)
CLAIMED = [{"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}]


class StorageCluster(Cluster):
    """A cluster with a storage driver whose controllers are the methods here."""

    def __init__(
        self,
        seed: int = 1,
        *,
        attach: bool = True,
        driver: bool = True,
        rules: Mapping[str, Any] = NO_MORE_RULES,
        **options: Any,
    ) -> None:
        super().__init__(seed, **options)
        if driver:
            spec = {"attachRequired": attach, "volumeLifecycleModes": ["Persistent", "Ephemeral"], **rules}
            self.ask("POST", f"{STORAGE}/csidrivers", _object("CSIDriver", DRIVER, spec, "storage.k8s.io/v1"))
        self.node.plugins.add(DRIVER, NodeInfo("node-1", 3, FrozenMap({"topology.example.com/zone": "z1"})))
        self.until(lambda: self.csi_drivers() == [DRIVER])

    def csi_drivers(self) -> list[str]:
        node = self.csi_node()
        return [each["name"] for each in node["spec"].get("drivers", [])] if node else []

    def csi_node(self) -> dict[str, Any] | None:
        items = self.ask("GET", f"{STORAGE}/csinodes")["items"]
        return items[0] if items else None

    # --- claims

    def claim(self, name: str = "claim", **meta: Any) -> dict[str, Any]:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return dict(self.ask("POST", CLAIMS, _object("PersistentVolumeClaim", name, spec, **meta)))

    def bind(self, name: str = "claim", size: str = "1Gi", **spec: Any) -> None:
        """Provision a volume for a claim, and say that it is bound."""
        claim = self.ask("GET", f"{CLAIMS}/{name}")
        volume = {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "csi": {"driver": DRIVER, "volumeHandle": f"disk-{name}", "fsType": "ext4"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
            | {"uid": claim["metadata"]["uid"]},
            **spec,
        }
        self.ask("POST", "/api/v1/persistentvolumes", _object("PersistentVolume", f"pv-{name}", volume))
        claim["spec"]["volumeName"] = f"pv-{name}"
        claim = self.ask("PUT", f"{CLAIMS}/{name}", claim)
        claim["status"] = {"phase": "Bound", "capacity": {"storage": size}}
        self.ask("PUT", f"{CLAIMS}/{name}/status", claim)

    # --- attachments

    def in_use(self) -> list[str]:
        return list(self.ask("GET", "/api/v1/nodes/node")["status"].get("volumesInUse") or [])

    def attach(self, name: str = "claim") -> None:
        """What the attach/detach controller and the driver's attacher do."""
        handle = f"disk-{name}"
        unique = f"kubernetes.io/csi/{DRIVER}^{handle}"
        spec = {"attacher": DRIVER, "nodeName": "node", "source": {"persistentVolumeName": f"pv-{name}"}}
        attachment = _object("VolumeAttachment", attachment_name(DRIVER, handle, "node"), spec, "storage.k8s.io/v1")
        made = self.ask("POST", f"{STORAGE}/volumeattachments", attachment)
        made["status"] = {"attached": True, "attachmentMetadata": {"devicePath": "/dev/sdb"}}
        self.ask("PUT", f"{STORAGE}/volumeattachments/{made['metadata']['name']}/status", made)
        node = self.ask("GET", "/api/v1/nodes/node")
        node["status"]["volumesAttached"] = [{"name": unique, "devicePath": ""}]
        self.ask("PUT", "/api/v1/nodes/node/status", node)

    def fail_to_attach(self, error: Mapping[str, Any], name: str = "claim") -> None:
        """What the driver's attacher does: the node's status never says that the volume is attached."""
        spec = {"attacher": DRIVER, "nodeName": "node", "source": {"persistentVolumeName": f"pv-{name}"}}
        called = attachment_name(DRIVER, f"disk-{name}", "node")
        made = self.ask("POST", f"{STORAGE}/volumeattachments", _object("VolumeAttachment", called, spec, STORAGE[6:]))
        made["status"] = {"attached": False, "attachError": dict(error)}
        self.ask("PUT", f"{STORAGE}/volumeattachments/{called}/status", made)

    # --- looking

    def make(self, name: str = "web", **spec: Any) -> None:
        mounts = [{"name": "data", "mountPath": "/data"}]
        self.create(name, containers=[container(volumeMounts=mounts)], volumes=CLAIMED, **spec)

    def said(self, name: str) -> list[str]:
        found = self.ask("GET", "/api/v1/events")["items"]
        return [event["message"] for event in found if event["involvedObject"]["name"] == name]


def _object(kind: str, name: str, spec: dict[str, Any], version: str = "v1", **meta: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


def test_a_driver_that_registers_is_seen_by_the_cluster_and_one_that_ends_is_not():
    cluster = StorageCluster()
    node = cluster.csi_node()
    assert node is not None
    (driver,) = node["spec"]["drivers"]
    assert (driver["nodeID"], driver["topologyKeys"], driver["allocatable"]) == (
        "node-1",
        ["topology.example.com/zone"],
        {"count": 3},
    )
    (owner,) = node["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", "node")
    assert "kubernetes.io/gce-pd" in node["metadata"]["annotations"]["storage.alpha.kubernetes.io/migrated-plugins"]
    cluster.run(2 * SECOND)
    meta = cluster.ask("GET", "/api/v1/nodes/node")["metadata"]
    assert meta["annotations"]["csi.volume.kubernetes.io/nodeid"] == f'{{"{DRIVER}":"node-1"}}'
    assert meta["labels"]["topology.example.com/zone"] == "z1"
    assert cluster.node.plugins.told == [(DRIVER, "")]
    cluster.node.plugins.remove(DRIVER)
    cluster.until(lambda: cluster.csi_drivers() == [])
    cluster.run(2 * SECOND)
    meta = cluster.ask("GET", "/api/v1/nodes/node")["metadata"]
    assert "csi.volume.kubernetes.io/nodeid" not in meta["annotations"]


def test_a_restarted_agent_takes_no_driver_away_that_is_still_there():
    cluster = StorageCluster()
    version = cluster.csi_node()["metadata"]["resourceVersion"]  # type: ignore[index]
    cluster.node.restart_agent()
    cluster.run(20 * SECOND)
    assert cluster.csi_drivers() == [DRIVER]
    assert cluster.csi_node()["metadata"]["resourceVersion"] == version  # type: ignore[index]
    assert cluster.node.plugins.told == [(DRIVER, ""), (DRIVER, "")]


def test_plugins_of_other_types_are_told_that_nobody_serves_them():
    cluster = StorageCluster()
    cluster.node.plugins.add("gpu.example.com", NodeInfo(""), kind="DevicePlugin")
    cluster.node.plugins.add("odd.example.com", NodeInfo("n"), versions=("2.0.0",))
    cluster.run(5 * SECOND)
    told = dict(cluster.node.plugins.told)
    assert "DevicePlugin are not served" in told["gpu.example.com"]
    assert "speaks no version of csi.v1" in told["odd.example.com"]
    assert cluster.csi_drivers() == [DRIVER]
    assert len(cluster.node.plugins.told) == 3, "they are not told again and again"


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


def test_an_attachment_that_takes_long_is_said():
    cluster = StorageCluster()
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.run(60 * SECOND)
    assert "FailedAttachVolume" in cluster.events("web")
    assert any("is not attached yet" in text for text in cluster.said("web"))


def test_a_pod_whose_volume_is_one_too_many_for_the_node_is_refused_after_a_while():
    cluster = StorageCluster(rules=LIMIT_CHANGES)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.fail_to_attach(EXHAUSTED)
    cluster.run(110 * SECOND)
    assert cluster.phases() == {"web": "Pending"}, "another volume may be on its way off the node"
    cluster.until(lambda: cluster.phases() == {"web": "Failed"}, 40 * SECOND)
    status = cluster.pods()["web"]["status"]
    text = (
        "Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[data], "
        "unattached volumes=[data], failed to process volumes=[]: context deadline exceeded"
    )
    assert status["reason"] == "VolumeAttachmentLimitExceeded"
    assert status["message"] == f"Pod was rejected: {text}"
    assert not status.get("containerStatuses")
    assert "VolumeAttachmentLimitExceeded" in cluster.events("web")
    assert text in cluster.said("web")
    rejected = 'kubelet_admission_rejections_total{reason="VolumeAttachmentLimitExceeded"} 1'
    assert rejected in NodeNumbers(cluster.node.node, "1").metrics().decode()
    cluster.until(lambda: cluster.in_use() == [], 40 * SECOND)
    assert cluster.node.containers() == ()


@pytest.mark.parametrize(
    ("rules", "error"),
    [(NO_MORE_RULES, EXHAUSTED), (LIMIT_CHANGES, {"message": "the disk is broken", "errorCode": 13})],
    ids=["the limit never changes", "another error"],
)
def test_a_volume_that_cannot_be_attached_for_another_reason_is_waited_for(
    rules: Mapping[str, Any], error: Mapping[str, Any]
):
    cluster = StorageCluster(rules=rules)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.fail_to_attach(error)
    cluster.run(200 * SECOND)
    assert cluster.phases() == {"web": "Pending"}
    assert "FailedAttachVolume" in cluster.events("web")
    assert any(error["message"] in text for text in cluster.said("web"))


def test_a_driver_that_attaches_nothing_is_not_waited_for():
    cluster = StorageCluster(attach=False)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)
    assert cluster.in_use() == []


def test_without_a_controller_that_attaches_a_volume_that_needs_it_is_refused():
    cluster = StorageCluster(configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.attach()
    text = 'AttachVolume.Attach failed for volume "data" : attaching volumes from the kubelet is not supported'
    cluster.until(lambda: any(text in each for each in cluster.said("web")), 15 * SECOND)
    assert "FailedAttachVolume" in cluster.events("web")
    cluster.run(60 * SECOND)
    assert cluster.node.containers() == ()
    assert not cluster.node.volumes.mounted
    cluster.delete("web")
    cluster.until(lambda: cluster.phases() == {}, 30 * SECOND)
    assert len(cluster.ask("GET", f"{STORAGE}/volumeattachments")["items"]) == 1, "it is not the agent's to remove"


def test_without_a_controller_that_attaches_other_drivers_are_used_as_ever():
    cluster = StorageCluster(attach=False, configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind()
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)


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


def test_volumes_in_use_are_listed_until_released_and_across_a_restart():
    cluster = StorageCluster()
    cluster.claim()
    cluster.bind()
    cluster.make()
    name = f"kubernetes.io/csi/{DRIVER}^disk-claim"
    cluster.until(lambda: cluster.in_use() == [name], 15 * SECOND)
    cluster.attach()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    before = {record.id for record in cluster.node.containers()}
    cluster.node.restart_agent()
    for _ in range(30):
        cluster.run(SECOND)
        assert cluster.in_use() == [name]
    assert {record.id for record in cluster.node.containers()} == before
    cluster.delete("web")
    cluster.until(lambda: cluster.phases() == {} and cluster.in_use() == [], 40 * SECOND)


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


@pytest.mark.parametrize(
    "source",
    [
        {"local": {"path": "/mnt/disk"}},
        {"nfs": {"server": "files.example.com", "path": "/export"}},
        {"hostPath": {"path": "/srv/data"}},
        {"gcePersistentDisk": {"pdName": "disk"}},
    ],
)
def test_a_claim_may_stand_for_a_volume_of_another_kind(source: dict[str, Any]):
    cluster = StorageCluster(attach=False)
    spec = {"attachRequired": False}
    disk = _object("CSIDriver", "pd.csi.storage.gke.io", spec, "storage.k8s.io/v1")
    cluster.ask("POST", f"{STORAGE}/csidrivers", disk)
    cluster.claim()
    cluster.bind(csi=None, **source)
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)


TARGET = {"targetPortal": "192.0.2.7", "iqn": "iqn.2001-04.com.example:x", "lun": 0}
CHAP = {**TARGET, "chapAuthSession": True, "secretRef": {"name": "chap"}}
FIBRE = {"wwids": ["3600508b400105e21"]}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ({"iscsi": TARGET}, "kubernetes.io/iscsi/192.0.2.7:iqn.2001-04.com.example:x:0"),
        ({"iscsi": CHAP}, "kubernetes.io/iscsi/192.0.2.7:iqn.2001-04.com.example:x:0"),
        ({"fc": FIBRE}, "kubernetes.io/fc/[3600508b400105e21]"),
    ],
    ids=["iscsi", "iscsi with passwords", "fc"],
)
@pytest.mark.parametrize("own", [False, True], ids=["claimed", "of the pod"])
def test_a_disk_of_the_nodes_own_tools_is_had_by_one_node_at_a_time(source: dict[str, Any], name: str, own: bool):
    """The attach/detach controller does nothing to it but keep it from other nodes."""
    cluster = StorageCluster()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "chap"}, "type": "kubernetes.io/iscsi-chap"}
    secret["data"] = {"node.session.auth.password": "c2VjcmV0"}
    cluster.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    if own:
        mounts = [{"name": "data", "mountPath": "/data"}]
        cluster.create("web", containers=[container(volumeMounts=mounts)], volumes=[{"name": "data", **source}])
    else:
        cluster.claim()
        cluster.bind(csi=None, **source)
        cluster.make()
    cluster.until(lambda: cluster.in_use() == [name], 15 * SECOND)
    cluster.run(3 * SECOND)
    assert cluster.node.containers() == (), "another node may still have it"
    node = cluster.ask("GET", "/api/v1/nodes/node")
    node["status"]["volumesAttached"] = [{"name": name, "devicePath": ""}]
    cluster.ask("PUT", "/api/v1/nodes/node/status", node)
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    assert cluster.in_use() == [name]
    cluster.delete("web")
    cluster.until(lambda: cluster.phases() == {} and cluster.in_use() == [], 40 * SECOND)


def test_without_a_controller_that_attaches_a_disk_of_the_nodes_own_tools_is_had_at_once():
    cluster = StorageCluster(configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind(csi=None, iscsi=TARGET)
    cluster.make()
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 10 * SECOND)


def test_a_disk_whose_passwords_are_missing_is_waited_for():
    cluster = StorageCluster(configuration=NOBODY_ATTACHES)
    cluster.claim()
    cluster.bind(csi=None, iscsi=CHAP)
    cluster.make()
    cluster.run(10 * SECOND)
    assert any('secret "default/chap" not found' in text for text in cluster.said("web"))


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
    cluster.ask("POST", f"{STORAGE}/csidrivers", _object("CSIDriver", DRIVER, spec, "storage.k8s.io/v1"))
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 5 * SECOND)


def test_a_csi_node_of_an_earlier_node_of_the_name_is_made_anew():
    cluster = Cluster()
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "of-another-life"}
    spec: dict[str, Any] = {"drivers": [{"name": "old.example.com", "nodeID": "x", "topologyKeys": []}]}
    old = _object("CSINode", "node", spec, "storage.k8s.io/v1", ownerReferences=[owner])
    uid = cluster.ask("POST", f"{STORAGE}/csinodes", old)["metadata"]["uid"]
    cluster.until(lambda: _csi_node(cluster)["metadata"]["uid"] != uid)
    node = _csi_node(cluster)
    assert node["metadata"]["ownerReferences"][0]["uid"] == cluster.ask("GET", "/api/v1/nodes/node")["metadata"]["uid"]
    assert not node["spec"].get("drivers")


def _csi_node(cluster: Cluster) -> dict[str, Any]:
    return dict(cluster.ask("GET", f"{STORAGE}/csinodes/node"))


def test_while_the_csi_node_cannot_be_written_the_node_is_not_ready():
    cluster = Cluster()
    broken = True

    def misdirect(asked: ApiCall[Any]) -> ApiCall[Any]:
        if broken and "csinodes" in asked.path:
            return msgspec.structs.replace(asked, method="POST", path="/apis/storage.k8s.io/v1/nothing")
        return asked

    cluster.api.rewrite = misdirect
    cluster.run(15 * SECOND)
    ready = _ready(cluster)
    assert (ready["status"], "CSINode is not yet initialized" in ready["message"]) == ("False", True)
    broken = False
    cluster.until(lambda: _ready(cluster)["status"] == "True", 15 * SECOND)


def test_a_new_node_is_registered_before_it_is_ready_and_an_event_says_when_it_is():
    cluster = Cluster()
    made: list[tuple[str, str]] = []

    def note(asked: ApiCall[Any]) -> ApiCall[Any]:
        if asked.method == "POST" and asked.path.endswith("/nodes"):
            ready = [each for each in json.loads(asked.body or b"")["status"]["conditions"] if each["type"] == "Ready"]
            made.extend((each["status"], each["message"]) for each in ready)
        return asked

    cluster.api.rewrite = note
    cluster.until(lambda: "NodeReady" in [each.event.reason for each in cluster.node.node.events()], 15 * SECOND)
    assert made == [("False", "CSINode is not yet initialized")]
    assert _ready(cluster)["status"] == "True"


def _ready(cluster: Cluster) -> dict[str, Any]:
    conditions = cluster.ask("GET", "/api/v1/nodes/node")["status"]["conditions"]
    return next(dict(each) for each in conditions if each["type"] == "Ready")


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


# --- SELinux ----------------------------------------------------------------------------------------------------------

FILE_LABEL = FileLabel("system_u", "object_r", "container_file_t", "s0")
MOUNTS_LABELS = {"seLinuxMount": True}
ONE_POD: dict[str, Any] = {"accessModes": ["ReadWriteOncePod"]}
LEVEL = {"seLinuxOptions": {"level": "s0:c1,c2"}}


def label_metrics(cluster: Cluster) -> list[str]:
    page = NodeNumbers(cluster.node.node, "1").metrics().decode()
    return [line for line in page.splitlines() if line.startswith("volume_manager_selinux") and not line.endswith(" 0")]


@pytest.mark.parametrize(
    ("modes", "gate", "label", "mounted"),
    [
        (["ReadWriteOncePod"], False, FILE_LABEL, True),
        (["ReadWriteOnce"], False, FILE_LABEL, False),
        (["ReadWriteOnce"], True, FILE_LABEL, True),
        (["ReadWriteOncePod"], False, None, False),
    ],
    ids=["ReadWriteOncePod", "another mode", "another mode and the gate SELinuxMount", "no SELinux"],
)
def test_a_volume_is_mounted_with_the_label_of_its_pod(
    modes: list[str], gate: bool, label: FileLabel | None, mounted: bool
):
    """Its files are not labelled again by the runtime then."""
    gates = FeatureGates({"SELinuxMount": gate})
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=label, gates=gates)
    cluster.claim()
    cluster.bind(accessModes=modes)
    cluster.make(securityContext=LEVEL)
    cluster.until(lambda: cluster.phases() == {"web": "Running"}, 20 * SECOND)
    (record,) = cluster.node.containers()
    (mount,) = [mount for mount in record.config.mounts if mount.container_path == "/data"]
    assert mount.selinux_relabel is not mounted
    word = "RWOP" if modes == ["ReadWriteOncePod"] else "RWO"
    admitted = "volume_manager_selinux_volumes_admitted_total"
    line = f'{admitted}{{volume_plugin="kubernetes.io/csi",access_mode="{word}"}} 1'
    assert label_metrics(cluster) == ([line] if label is not None else [])


def test_a_pod_whose_containers_give_a_volume_two_labels_is_refused_it():
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=FILE_LABEL)
    cluster.claim()
    cluster.bind(**ONE_POD)
    mounts = [{"name": "data", "mountPath": "/data"}]
    other = container("other", volumeMounts=mounts, securityContext={"seLinuxOptions": {"level": "s0:c3,c4"}})
    both = [container(volumeMounts=mounts), other]
    cluster.create("web", containers=both, volumes=CLAIMED, securityContext=LEVEL)
    cluster.until(lambda: any("multiple SELinux labels found" in text for text in cluster.said("web")), 20 * SECOND)
    assert cluster.node.containers() == ()
    errors = "volume_manager_selinux_pod_context_mismatch_errors_total"
    assert label_metrics(cluster) == [f'{errors}{{access_mode="RWOP"}} 1']


def test_a_volume_is_mounted_anew_for_a_pod_with_another_label():
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=FILE_LABEL)
    cluster.claim()
    cluster.bind(**ONE_POD)
    operations: list[str] = []
    cluster.node.volumes.before = operations.append
    cluster.make("one", securityContext=LEVEL)
    cluster.until(lambda: cluster.phases() == {"one": "Running"}, 20 * SECOND)
    cluster.make("two", securityContext={"seLinuxOptions": {"level": "s0:c3,c4"}})
    cluster.run(5 * SECOND)
    cluster.delete("one")
    cluster.until(lambda: cluster.phases() == {"two": "Running"}, 60 * SECOND)
    words = [each.partition(" ") for each in operations]
    staged = [verb for verb, _, path in words if path.endswith("globalmount") and verb in ("mount", "unmount")]
    assert staged == ["mount", "unmount", "mount"]


def test_a_volume_that_another_pod_has_with_another_label_is_waited_for():
    gates = FeatureGates({"SELinuxMount": True})
    cluster = StorageCluster(attach=False, rules=MOUNTS_LABELS, file_label=FILE_LABEL, gates=gates)
    cluster.claim()
    cluster.bind()
    cluster.make("one", securityContext=LEVEL)
    cluster.until(lambda: cluster.phases() == {"one": "Running"}, 20 * SECOND)
    cluster.make("two", securityContext={"seLinuxOptions": {"level": "s0:c3,c4"}})
    cluster.until(lambda: any("conflicting SELinux labels" in text for text in cluster.said("two")), 20 * SECOND)
    assert cluster.phases() == {"one": "Running", "two": "Pending"}
    errors = "volume_manager_selinux_volume_context_mismatch_errors_total"
    assert f'{errors}{{volume_plugin="kubernetes.io/csi",access_mode="RWO"}} 1' in label_metrics(cluster)
    cluster.delete("one")
    cluster.until(lambda: cluster.phases() == {"two": "Running"}, 200 * SECOND)


# --- health -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gate", [True, False])
def test_a_volume_that_is_not_well_is_said_by_event_metric_and_summary(gate: bool):
    cluster = StorageCluster(attach=False, gates=FeatureGates({"CSIVolumeHealth": gate}))
    for name in ("claim", "other"):
        cluster.claim(name)
        cluster.bind(name)
    cluster.make()
    mounts = [{"name": "data", "mountPath": "/data"}]
    other = [{"name": "data", "persistentVolumeClaim": {"claimName": "other"}}]
    cluster.create("well", containers=[container(volumeMounts=mounts)], volumes=other)
    cluster.node.volumes.conditions = {
        "pv-claim": VolumeCondition(True, "the disk reports errors"),
        "pv-other": VolumeCondition(False),
    }
    cluster.until(lambda: cluster.all_are("Running", 2), 20 * SECOND)
    cluster.run(130 * SECOND)
    said = "Volume data: the disk reports errors"
    assert (said in cluster.said("web")) is gate
    assert ("VolumeConditionAbnormal" in cluster.events("web")) is gate
    assert "VolumeConditionAbnormal" not in cluster.events("well")
    numbers = NodeNumbers(cluster.node.node, "1")
    name = "kubelet_volume_stats_health_status_abnormal"
    lines = [line for line in numbers.metrics().decode().splitlines() if line.startswith(name)]
    told = [f'{name}{{namespace="default",persistentvolumeclaim="{each}"}}' for each in ("claim", "other")]
    assert lines == ([f"{told[0]} 1", f"{told[1]} 0"] if gate else [])
    summary = json.loads(numbers.summary() or b"{}")
    volumes = [volume for pod in summary["pods"] for volume in pod["volume"]]
    healths = {each["pvcRef"]["name"]: each.get("volumeHealthStats") for each in volumes}
    assert healths == ({"claim": {"abnormal": True}, "other": {"abnormal": False}} if gate else dict.fromkeys(healths))
    cluster.node.volumes.conditions = {}
    cluster.run(130 * SECOND)
    assert name not in [line.partition("{")[0] for line in numbers.metrics().decode().splitlines()]
