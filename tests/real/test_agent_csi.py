"""Volumes of a storage driver on containerd.

The driver is a process of its own; the test plays the cluster's controllers.

Claims are bound and volumes attached by hand, with the words that the real controllers use.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.volumes.claims.csi_rules import attachment_name
from config.api.resources import (
    CSI_DRIVERS,
    CSI_NODES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    SECRETS,
    VOLUME_ATTACHMENTS,
)
from config.objects import CSINode, Node, PersistentVolumeClaim
from runtime.api import PatchType, get, patch
from runtime.volumes.mounts import KernelMounts
from tests.csi_driver.process import NAME, DriverProcess
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, container, pod


class Storage:
    """The driver, and what the cluster's controllers do for its volumes."""

    def __init__(self, cluster: Cluster, agent: Agent) -> None:
        self.cluster = cluster
        self.agent = agent
        self.driver = DriverProcess(agent.directory / "d", agent.root / "plugins_registry")

    def serve(self, **spec: Any) -> None:
        """The CSIDriver object, and the driver itself."""
        fields = {"volumeLifecycleModes": ["Persistent", "Ephemeral"], "podInfoOnMount": True, **spec}
        self.cluster.create(CSI_DRIVERS, NAME, spec=fields)
        self.driver.start()

    def claim(self, name: str, *, mode: str = "Filesystem", **source: Any) -> None:
        """A claim that is bound to a volume of a mebibyte."""
        size = {"storage": "1Mi"}
        spec = {"accessModes": ["ReadWriteOnce"], "volumeMode": mode, "resources": {"requests": size}}
        self.cluster.create(PERSISTENT_VOLUME_CLAIMS, name, spec={**spec, "volumeName": f"pv-{name}"})
        self._patch(PERSISTENT_VOLUME_CLAIMS, name, {"status": {"phase": "Bound", "capacity": size}}, "status")
        uid = self.claimed(name).metadata.uid
        self.cluster.create(
            PERSISTENT_VOLUMES,
            f"pv-{name}",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "volumeMode": mode,
                "capacity": size,
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": uid},
                "csi": {"driver": NAME, "volumeHandle": f"disk-{name}", **source},
            },
        )

    def claimed(self, name: str) -> PersistentVolumeClaim:
        found: PersistentVolumeClaim = self._ask(get(PERSISTENT_VOLUME_CLAIMS, "default", name))
        return found

    def attach(self, name: str) -> None:
        """When the node says that it is in use, and not before."""
        unique = f"kubernetes.io/csi/{NAME}^disk-{name}"
        self.agent.await_that(lambda: unique in self.in_use(), f"{unique} is not in use")
        spec = {"attacher": NAME, "nodeName": NODE, "source": {"persistentVolumeName": f"pv-{name}"}}
        attachment = attachment_name(NAME, f"disk-{name}", NODE)
        self.cluster.create(VOLUME_ATTACHMENTS, attachment, spec=spec)
        said = {"status": {"attached": True, "attachmentMetadata": {"path": "/dev/made-up"}}}
        self._patch(VOLUME_ATTACHMENTS, attachment, said, "status")
        self._patch(NODES, NODE, {"status": {"volumesAttached": [{"name": unique, "devicePath": ""}]}}, "status")

    def grow(self, name: str, size: str) -> None:
        self._patch(PERSISTENT_VOLUMES, f"pv-{name}", {"spec": {"capacity": {"storage": size}}})

    def in_use(self) -> tuple[str, ...]:
        status = self.node().status
        return status.volumes_in_use if status is not None else ()

    def node(self) -> Node:
        found: Node = self._ask(get(NODES, "", NODE))
        return found

    def csi_node(self) -> CSINode:
        found: CSINode = self._ask(get(CSI_NODES, "", NODE))
        return found

    def _patch(self, resource: Any, name: str, body: dict[str, Any], subresource: str = "") -> None:
        namespace = "default" if resource.namespaced else ""
        self._ask(patch(resource, namespace, name, body, patch_type=PatchType.MERGE, subresource=subresource))

    def _ask(self, call: Any) -> Any:
        return self.cluster.lines.main.call(call).result(120)

    def left(self) -> list[str]:
        """Mounts and notes of volumes on the node."""
        root = self.agent.root
        notes = [str(path) for path in root.rglob("vol_data.json")]
        return notes + [each for each in KernelMounts().below(str(root)) if "csi" in each]


@pytest.fixture
def storage(agent: Agent, cluster: Cluster) -> Iterator[Storage]:
    agent.configure(syncFrequency="2s")
    storage = Storage(cluster, agent)
    try:
        yield storage
    finally:
        storage.driver.order()
        storage.driver.take_down()


def claiming(name: str, claim: str, script: str = "", **fields: Any) -> dict[str, Any]:
    """A pod with a claim at /data."""
    main = container(volumeMounts=[{"name": "data", "mountPath": "/data"}], **({"script": script} if script else {}))
    return pod(name, main, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}], **fields)


def test_a_volume_is_attached_staged_shared_by_two_pods_and_outlives_agent_and_driver(
    agent: Agent, storage: Storage, cluster: Cluster, truth: Truth
) -> None:
    cluster.create(SECRETS, "access", stringData={"password": "secret"})
    storage.claim("shared", fsType="ext4", nodeStageSecretRef={"namespace": "default", "name": "access"})
    cluster.run(claiming("one", "shared", securityContext={"fsGroup": 777}))
    cluster.join()
    storage.serve()
    agent.await_that(lambda: storage.csi_node().spec.drivers, "the driver is not registered")
    (driver,) = storage.csi_node().spec.drivers
    assert (driver.name, driver.node_id) == (NAME, "the-node")
    storage.attach("shared")
    cluster.await_phase("Running", "one")
    (stage,), (publish,) = storage.driver.calls("NodeStageVolume"), storage.driver.calls("NodePublishVolume")
    assert stage["secrets"] == {"password": "secret"}
    assert stage["publish_context"] == {"path": "/dev/made-up"}
    assert publish["volume_context"]["csi.storage.k8s.io/pod.name"] == f"one-{NODE}"
    inside = truth.running("one")
    assert truth.run(inside, "stat", "-c", "%a %g", "/data") == "2775 777\n"
    truth.run(inside, "sh", "-c", "echo from one >/data/file")
    before = truth.life("one").key

    # The agent dies, and so does the driver; who runs notices nothing.
    agent.kill()
    storage.driver.kill()
    storage.driver.start()
    cluster.join()
    cluster.run(claiming("two", "shared"))
    cluster.await_phase("Running", "one", "two")
    assert truth.life("one").key == before
    assert truth.run(truth.running("two"), "cat", "/data/file") == "from one\n"
    assert storage.driver.methods().count("NodeUnpublishVolume") == 0

    cluster.delete("one", 0)
    cluster.await_gone("one")
    agent.await_that(lambda: storage.driver.calls("NodeUnpublishVolume"), "it is not given back")
    assert storage.driver.calls("NodeUnstageVolume") == []
    assert truth.run(truth.running("two"), "cat", "/data/file") == "from one\n"
    cluster.delete("two", 1)
    cluster.await_gone("two")
    agent.await_that(lambda: storage.driver.calls("NodeUnstageVolume"), "it is not unstaged")
    agent.await_that(lambda: not storage.left(), f"something is left: {storage.left()}")
    agent.await_that(lambda: not storage.in_use(), "it is still said to be in use")


def test_a_device_and_a_file_system_grow_while_their_pod_runs(
    agent: Agent, storage: Storage, cluster: Cluster, truth: Truth
) -> None:
    storage.serve(attachRequired=False)
    for name, mode in (("files", "Filesystem"), ("disk", "Block")):
        storage.claim(name, mode=mode)
    main = container(
        volumeMounts=[{"name": "files", "mountPath": "/data"}],
        volumeDevices=[{"name": "disk", "devicePath": "/dev/own"}],
    )
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in ("files", "disk")]
    cluster.run(pod("web", main, volumes=volumes))
    cluster.join()
    cluster.await_phase("Running", "web")
    inside = truth.running("web")
    script = (
        "echo on the device | dd of=/dev/own conv=notrunc 2>/dev/null; head -c 13 /dev/own; test -b /dev/own && echo +"
    )
    assert truth.run(inside, "sh", "-c", script) == "on the device+\n"
    for name in ("files", "disk"):
        storage.grow(name, "32Mi")

    def sizes() -> list[str | None]:
        found = [storage.claimed(name).status for name in ("files", "disk")]
        return [status.capacity.get("storage") if status is not None else None for status in found]

    agent.await_that(lambda: sizes() == ["32Mi", "32Mi"], "the claims have not grown")
    assert "FileSystemResizeSuccessful" in {each.event.reason for each in agent.events()}
    assert truth.run(inside, "blockdev", "--getsize64", "/dev/own").strip() == str(32 * 2**20)
    cluster.delete("web", 1)
    cluster.await_gone("web")
    agent.await_that(lambda: not storage.left(), f"something is left: {storage.left()}")


def test_an_inline_volume_and_a_driver_that_hangs_dies_and_comes_back_while_the_agent_restarts(
    agent: Agent, storage: Storage, cluster: Cluster, truth: Truth
) -> None:
    storage.serve(attachRequired=False, requiresRepublish=True, tokenRequests=[{"audience": "vault"}])
    storage.driver.order(NodePublishVolume={"hang": True})
    scratch = {"name": "scratch", "csi": {"driver": NAME, "volumeAttributes": {"size": "1Gi"}}}
    main = container(volumeMounts=[{"name": "scratch", "mountPath": "/scratch"}])
    cluster.run(pod("web", main, volumes=[scratch]))
    cluster.join()
    agent.await_that(lambda: storage.driver.calls("NodePublishVolume"), "the driver is not asked")
    os.kill(agent.pid, signal.SIGKILL)
    agent.kill()
    cluster.join()
    agent.await_that(lambda: len(storage.driver.calls("NodePublishVolume")) > 1, "the driver is not asked again")
    storage.driver.kill()
    storage.driver.order()
    storage.driver.start()
    cluster.await_phase("Running", "web")
    assert truth.run(truth.running("web"), "cat", "/scratch/who") == f"web-{NODE}"
    call = storage.driver.calls("NodePublishVolume")[-1]
    assert call["volume_context"]["size"] == "1Gi"
    assert '"vault":{"token":' in call["volume_context"]["csi.storage.k8s.io/serviceAccount.tokens"]
    so_far = len(storage.driver.calls("NodePublishVolume"))
    agent.await_that(
        lambda: len(storage.driver.calls("NodePublishVolume")) > so_far, "it is not published again now and then"
    )
    storage.driver.stop()
    agent.await_that(lambda: not storage.csi_node().spec.drivers, "a driver that has gone is still shown")
    cluster.delete("web", 1)
    agent.await_that(
        lambda: "not found in the list of registered CSI drivers" in agent.said(), "it is given back without a driver"
    )
    storage.driver.start()
    cluster.await_gone("web")
    agent.await_that(lambda: not storage.left(), f"something is left: {storage.left()}")
    assert not Path(agent.root / "pods").exists() or not list((agent.root / "pods").iterdir())
