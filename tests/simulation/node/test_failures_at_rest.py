"""An actor fails while nothing happens.

Nobody notices, and the next work is done as if nothing had been.

It loses what it was told once. So whoever told it must tell it again.
"""

from __future__ import annotations

import pytest

from actors.cluster.object_cache import ObjectCacheActor
from actors.kernel import Actor
from actors.messages.plugins import PublishDriver
from actors.node.status.actor import NodeStatusActor
from actors.resources.manager import ResourceManagerActor
from actors.sources.mirror_pods import MirrorPodActor
from actors.sources.storage import StorageActor
from actors.status.manager import StatusManagerActor
from actors.sync.loop import SyncLoopActor
from actors.volumes.plugins.csi_node import CsiNodeActor
from actors.volumes.plugins.watcher import PluginWatcherActor
from actors.volumes.reconciler import VolumeReconcilerActor
from simulation.cri.behaviour import PREFIX
from tests.simulation.node.storage_cluster import DRIVER, STORAGE, StorageCluster
from tests.simulation.node.worlds import SECOND, Fail, let_fail, manifest, replace_handler

LIVES = {"run-for": "90s,forever"}
FAILING: dict[str, type[Actor]] = {
    "csi-node": CsiNodeActor,
    "mirror-pods": MirrorPodActor,
    "node-status": NodeStatusActor,
    "object-cache": ObjectCacheActor,
    "plugins": PluginWatcherActor,
    "resources": ResourceManagerActor,
    "status-manager": StatusManagerActor,
    "storage": StorageActor,
    "sync-loop": SyncLoopActor,
    "volume-reconciler": VolumeReconcilerActor,
}


def at_rest() -> StorageCluster:
    """A node with a static pod, one of the API, and one with a claimed volume."""
    cluster = StorageCluster(manifests={"static": manifest("static", behaviour=LIVES)})
    cluster.claim()
    cluster.bind()
    cluster.make("claimed")
    cluster.create("web", annotations={PREFIX + knob: value for knob, value in LIVES.items()})
    cluster.until(lambda: bool(cluster.in_use()), 20 * SECOND)
    cluster.attach()
    cluster.until(lambda: cluster.all_are("Running", 3), 30 * SECOND)
    cluster.run(20 * SECOND)
    return cluster


def restarts(cluster: StorageCluster, name: str) -> int:
    return int(cluster.pods()[name]["status"]["containerStatuses"][0]["restartCount"])


@pytest.mark.parametrize("names", [*[(name,) for name in FAILING], tuple(FAILING)], ids=lambda names: "+".join(names))
def test_a_new_pod_starts_after_a_failure_of_an_actor_at_rest(names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch):
    for name in names:
        let_fail(monkeypatch, FAILING[name])
    cluster = at_rest()
    for name in names:
        failing = cluster.node.node.system.find(f"/node/{name}")
        assert failing is not None
        failing.tell(Fail())
    cluster.run(100 * SECOND)
    assert (restarts(cluster, "static-node"), restarts(cluster, "web")) == (1, 1)
    cluster.create("late")
    cluster.until(lambda: cluster.phases()["late"] == "Running", 20 * SECOND)
    cluster.delete("claimed", 1)
    cluster.until(lambda: "claimed" not in cluster.phases() and not cluster.in_use(), 30 * SECOND)
    cluster.node.remove_manifest("static")
    cluster.until(lambda: set(cluster.phases()) == {"web", "late"}, 30 * SECOND)
    cluster.ask("DELETE", "/api/v1/nodes/node")
    cluster.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}})
    cluster.run(20 * SECOND)
    node, of_storage = (cluster.ask("GET", path) for path in ("/api/v1/nodes/node", f"{STORAGE}/csinodes/node"))
    assert of_storage["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
    assert [each["name"] for each in of_storage["spec"]["drivers"]] == [DRIVER]
    assert node["metadata"]["labels"]["topology.example.com/zone"] == "z1"


def test_a_driver_that_was_just_being_published_is_published_all_the_same(monkeypatch: pytest.MonkeyPatch):
    """Nobody answers the earlier request, so the driver would stay in registration for ever."""
    lost: list[PublishDriver] = []

    def fails_once(actor: CsiNodeActor, message: PublishDriver) -> None:
        if not lost:
            lost.append(message)
            raise RuntimeError("as the test wants it")
        actor.publish_driver(message)

    replace_handler(monkeypatch, CsiNodeActor, PublishDriver, fails_once)
    cluster = StorageCluster()
    cluster.run(2 * SECOND)
    assert len(lost) == 1
    assert cluster.node.plugins.told == [(DRIVER, "")]
