"""A cluster with a storage driver, and whole nodes in it. The tests play the controllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from actors.volumes.claims.csi_rules import attachment_name
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.csi.capability import NodeInfo
from runtime.volumes.csi_material import CsiMaterial, Expansion
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import container

DRIVER = "disks.example.com"
STORAGE = "/apis/storage.k8s.io/v1"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
NO_MORE_RULES: Mapping[str, Any] = {}
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
            self.ask("POST", f"{STORAGE}/csidrivers", api_object("CSIDriver", DRIVER, spec, "storage.k8s.io/v1"))
        self.node.plugins.add(DRIVER, NodeInfo("node-1", 3, FrozenMap({"topology.example.com/zone": "z1"})))
        self.until(lambda: self.csi_drivers() == [DRIVER])

    def csi_drivers(self) -> list[str]:
        node = self.csi_node()
        return [each["name"] for each in node["spec"].get("drivers") or []] if node else []

    def csi_node(self) -> dict[str, Any] | None:
        items = self.ask("GET", f"{STORAGE}/csinodes")["items"]
        return items[0] if items else None

    # --- claims

    def claim(self, name: str = "claim", **meta: Any) -> dict[str, Any]:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return dict(self.ask("POST", CLAIMS, api_object("PersistentVolumeClaim", name, spec, **meta)))

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
        self.ask("POST", "/api/v1/persistentvolumes", api_object("PersistentVolume", f"pv-{name}", volume))
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
        attachment = api_object("VolumeAttachment", attachment_name(DRIVER, handle, "node"), spec, "storage.k8s.io/v1")
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
        made = self.ask(
            "POST", f"{STORAGE}/volumeattachments", api_object("VolumeAttachment", called, spec, STORAGE[6:])
        )
        made["status"] = {"attached": False, "attachError": dict(error)}
        self.ask("PUT", f"{STORAGE}/volumeattachments/{called}/status", made)

    # --- looking

    def grow_volume(self, patch: pytest.MonkeyPatch) -> None:
        """Let the volume of the claim have 2Gi, which its file system has once it is mounted."""
        path = "/api/v1/persistentvolumes/pv-claim"
        volume = self.ask("GET", path)
        volume["spec"]["capacity"] = {"storage": "2Gi"}
        self.ask("PUT", path, volume)
        prepare = self.node.volumes.prepare

        def grown(pod: Pod, spec: Any, say: Any) -> str:
            if isinstance(spec.material, CsiMaterial) and spec.material.expanded is not None:
                spec.material.expanded(Expansion(2 * 2**30))
            return prepare(pod, spec, say)

        patch.setattr(self.node.volumes, "prepare", grown)

    def make(self, name: str = "web", **spec: Any) -> None:
        mounts = [{"name": "data", "mountPath": "/data"}]
        self.create(name, containers=[container(volumeMounts=mounts)], volumes=CLAIMED, **spec)

    def said(self, name: str) -> list[str]:
        found = self.ask("GET", "/api/v1/events")["items"]
        return [event["message"] for event in found if event["involvedObject"]["name"] == name]


def api_object(kind: str, name: str, spec: dict[str, Any], version: str = "v1", **meta: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}
