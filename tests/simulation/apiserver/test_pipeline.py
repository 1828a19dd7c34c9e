"""The one way of every write: what changes nothing, what a part may change, and what is refused.

A kube-apiserver 1.36.2 answers the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.kinds.table import SERVED
from simulation.apiserver.requests.bodies import APPLY, JSON
from tests.simulation.apiserver.worlds import MERGE, PODS, STRATEGIC, Server, pod

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"
LABELS = {"app": "same"}
CONTAINER: dict[str, Any] = {
    "name": "main",
    "image": "nginx:1",
    "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, {"name": "EMPTY"}],
    "resources": {"limits": {"cpu": 1, "memory": "1024Mi"}},
    "ports": [{"containerPort": 80}],
    "volumeMounts": [],
}
TOKEN = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [CONTAINER], "volumes": [TOKEN], "tolerations": []},
}
WORKLOAD: dict[str, Any] = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
ENDING = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
OBJECTS = {
    f"{APPS}/deployments": {"spec": WORKLOAD},
    f"{APPS}/daemonsets": {"spec": {**WORKLOAD, "updateStrategy": {}}},
    f"{APPS}/statefulsets": {"spec": {**WORKLOAD, "serviceName": "s", "volumeClaimTemplates": [CLAIM]}},
    f"{APPS}/replicasets": {"spec": WORKLOAD},
    f"{BATCH}/cronjobs": {"spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": ENDING}}}},
    "/api/v1/namespaces/default/services": {"spec": {"ports": [{"port": 80}], "selector": LABELS}},
    MAPS: {"data": {"key": "value"}},
    SECRETS: {"stringData": {"key": "value"}},
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": {"spec": {"podSelector": {}}},
}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.mark.parametrize("media", [JSON, APPLY, MERGE])
@pytest.mark.parametrize("path", OBJECTS)
def test_the_same_manifest_again_writes_nothing(server: Server, path: str, media: str) -> None:
    manifest = {"metadata": {"name": "same", "labels": LABELS}, **OBJECTS[path]}
    first = server.ask("POST", path, manifest).value
    if media == APPLY:
        manifest = {"apiVersion": first["apiVersion"], "kind": first["kind"], **manifest}
        first = server.ask("PATCH", f"{path}/same", manifest, content_type=media, fieldManager="m", force="true").value
    method = "PUT" if media == JSON else "PATCH"
    for _ in range(2):
        again = server.ask(method, f"{path}/same", manifest, content_type=media, fieldManager="m")
        assert (again.code, again.value) == (200, first)


def test_a_job_that_is_applied_again_stays_as_it_is(server: Server) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": ENDING}}
    first = server.ask("PATCH", f"{BATCH}/jobs/once", job, content_type=APPLY, fieldManager="m")
    again = server.ask("PATCH", f"{BATCH}/jobs/once", job, content_type=APPLY, fieldManager="m")
    assert (first.code, again.code) == (201, 200)
    assert again.value == first.value


@pytest.mark.parametrize(
    ("path", "change", "counts"),
    [
        (f"{APPS}/deployments", {"spec": {"replicas": 3}}, True),
        (f"{APPS}/deployments", {"metadata": {"annotations": {"a": "b"}}}, True),
        (f"{APPS}/deployments", {"metadata": {"labels": {"a": "b"}}}, False),
        (f"{APPS}/statefulsets", {"metadata": {"annotations": {"a": "b"}}}, False),
        (f"{APPS}/statefulsets", {"spec": {"replicas": 3}}, True),
        ("/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", {"spec": {"ingress": [{}]}}, True),
    ],
)
def test_a_generation_counts_what_upstream_counts(server: Server, path: str, change: Any, counts: bool) -> None:
    made = server.ask("POST", path, {"metadata": {"name": "same"}, **OBJECTS[path]}).value
    assert made["metadata"]["generation"] == 1
    changed = server.ask("PATCH", f"{path}/same", change, content_type=MERGE).value
    assert changed["metadata"]["generation"] == (2 if counts else 1)


def test_kinds_without_generations_have_none(server: Server) -> None:
    assert "generation" not in server.ask("POST", MAPS, {"metadata": {"name": "a"}}).value["metadata"]
    counted = {one.kind for one in SERVED if one.first_generation}
    assert counted.isdisjoint(
        {"HorizontalPodAutoscaler", "Service", "PersistentVolumeClaim", "ClusterRole", "CSIDriver"}
    )


def test_apply_of_a_status_leaves_the_metadata_that_the_manager_applied(server: Server) -> None:
    metadata = {"name": "hold", "finalizers": ["example.com/hold"], "labels": LABELS}
    whole = {**pod("hold"), "metadata": metadata}
    assert server.ask("PATCH", f"{PODS}/hold", whole, content_type=APPLY, fieldManager="m").code == 201
    status = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hold"}, "status": {"message": "held"}}
    applied = server.ask("PATCH", f"{PODS}/hold/status", status, content_type=APPLY, fieldManager="m").value
    assert applied["status"]["message"] == "held"
    assert (applied["metadata"]["finalizers"], applied["metadata"]["labels"]) == (["example.com/hold"], LABELS)


@pytest.mark.parametrize("conditions", [{"uid": "other"}, {"resourceVersion": "1"}])
def test_a_precondition_that_fails_deletes_nothing_of_a_collection(server: Server, conditions: Any) -> None:
    for name in "ab":
        server.ask("POST", MAPS, {"metadata": {"name": name, "labels": LABELS}})
    refused = server.ask("DELETE", MAPS, {"preconditions": conditions}, labelSelector="app=same")
    assert (refused.code, refused.value["reason"]) == (409, "Conflict")
    assert len(server.get(MAPS, labelSelector="app=same").value["items"]) == 2


def test_a_null_in_a_map_of_texts_is_an_empty_text(server: Server) -> None:
    metadata = {"name": "nulls", "annotations": {"a": None}, "labels": {"b": None}}
    made = server.ask("POST", MAPS, {"metadata": metadata, "data": {"k": None}, "binaryData": {"z": None}})
    assert made.code == 201, made.value
    assert (made.value["data"], made.value["binaryData"]) == ({"k": ""}, {"z": ""})
    assert (made.value["metadata"]["annotations"], made.value["metadata"]["labels"]) == ({"a": ""}, {"b": ""})
    secret = server.ask("POST", SECRETS, {"metadata": metadata, "data": {"k": None}, "stringData": {"s": None}})
    assert secret.value["data"] == {"k": "", "s": ""}


def test_a_mirror_pod_gets_no_ephemeral_container(server: Server) -> None:
    mirror = {**pod(nodeName="n1"), "metadata": {"name": "web", "annotations": {"kubernetes.io/config.mirror": "h"}}}
    server.ask("POST", PODS, mirror)
    debug = {"spec": {"ephemeralContainers": [{"name": "sh", "image": "busybox"}]}}
    refused = server.ask("PATCH", f"{PODS}/web/ephemeralcontainers", debug, content_type=STRATEGIC)
    assert refused.code == 422
    assert refused.message == 'Pod "web" is invalid: []: Forbidden: static pods do not support ephemeral containers'


def test_the_status_of_a_new_object_is_up_to_the_server(server: Server) -> None:
    made = server.ask(
        "POST", f"{APPS}/deployments", {"metadata": {"name": "x"}, "spec": WORKLOAD, "status": {"replicas": 3}}
    )
    assert made.value["status"] == {}
    node = server.ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"phase": "Running"}})
    assert node.value["status"]["phase"] == "Running"
