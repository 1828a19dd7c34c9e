"""Claims, volumes and classes of attributes are protected for as long as somebody uses them."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.core import Options
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, Server, pod

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
SIZE = {"storage": "1Gi"}


def claim(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}, **spec},
    }


def volume() -> dict[str, Any]:
    source = {"nfs": {"server": "nfs.example", "path": "/data"}}
    return {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "capacity": SIZE, **source}}


CLASS = {"metadata": {"name": "data"}, "driverName": "disks.example", "parameters": {"speed": "high"}}


@pytest.mark.parametrize(
    ("path", "body", "finalizer"),
    [
        (CLAIMS, claim(), "kubernetes.io/pvc-protection"),
        (VOLUMES, volume(), "kubernetes.io/pv-protection"),
        (CLASSES, CLASS, "kubernetes.io/vac-protection"),
    ],
)
def test_what_nobody_uses_is_gone_a_moment_after_its_deletion(path: str, body: Any, finalizer: str) -> None:
    server = Server()
    assert server.ask("POST", path, body).value["metadata"]["finalizers"] == [finalizer]
    assert "deletionTimestamp" in server.ask("DELETE", f"{path}/data").value["metadata"]
    server.world.run_for(SECOND_NS)
    assert server.get(f"{path}/data").code == 404


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]},
        {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": claim()["spec"]}}}]},
    ],
    ids=["named", "ephemeral"],
)
def test_a_claim_that_a_scheduled_pod_uses_stays_until_the_pod_is_gone(spec: dict[str, Any]) -> None:
    server = Server()
    name = "data" if "persistentVolumeClaim" in spec["volumes"][0] else "web-v"
    server.ask("POST", CLAIMS, {**claim(), "metadata": {"name": name}})
    server.ask("POST", PODS, pod(nodeName="n1", **spec))
    server.ask("DELETE", f"{CLAIMS}/{name}")
    server.world.run_for(60 * SECOND_NS)
    assert "deletionTimestamp" in server.get(f"{CLAIMS}/{name}").value["metadata"]
    server.ask("DELETE", f"{PODS}/web", gracePeriodSeconds="0")
    server.world.run_for(2 * SECOND_NS)
    assert server.get(f"{CLAIMS}/{name}").code == 404


def test_a_bound_volume_stays_until_it_is_released() -> None:
    server = Server()
    server.ask("POST", VOLUMES, volume())
    status = {"status": {"phase": "Bound"}}
    assert server.ask("PATCH", f"{VOLUMES}/data/status", status, content_type=MERGE).code == 200
    server.ask("DELETE", f"{VOLUMES}/data")
    server.world.run_for(60 * SECOND_NS)
    assert server.get(f"{VOLUMES}/data").code == 200
    server.ask("PATCH", f"{VOLUMES}/data/status", {"status": {"phase": "Released"}}, content_type=MERGE)
    server.world.run_for(2 * SECOND_NS)
    assert server.get(f"{VOLUMES}/data").code == 404


def test_a_class_stays_until_no_claim_names_it() -> None:
    server = Server()
    server.ask("POST", CLASSES, CLASS)
    server.ask("POST", CLAIMS, claim(volumeAttributesClassName="data"))
    server.ask("DELETE", f"{CLASSES}/data")
    server.world.run_for(60 * SECOND_NS)
    assert server.get(f"{CLASSES}/data").code == 200
    server.ask("DELETE", f"{CLAIMS}/data")
    server.world.run_for(3 * SECOND_NS)
    assert server.get(f"{CLASSES}/data").code == 404


def test_a_finalizer_of_others_is_waited_for() -> None:
    server = Server()
    server.ask("POST", CLAIMS, {**claim(), "metadata": {"name": "data", "finalizers": ["example.com/mine"]}})
    server.ask("DELETE", f"{CLAIMS}/data")
    server.world.run_for(2 * SECOND_NS)
    assert server.get(f"{CLAIMS}/data").value["metadata"]["finalizers"] == ["example.com/mine"]


def test_beside_a_controller_manager_the_server_leaves_it_to_that() -> None:
    server = Server(Options(storage_protection=False))
    server.ask("POST", CLAIMS, claim())
    server.ask("DELETE", f"{CLAIMS}/data")
    server.world.run_for(60 * SECOND_NS)
    assert server.get(f"{CLAIMS}/data").value["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
