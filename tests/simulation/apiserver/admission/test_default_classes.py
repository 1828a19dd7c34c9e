"""A claim or an ingress without a class gets the default one; a claim grows only if its class lets it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.apiserver.worlds import MERGE, SECOND_NS, Server

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def storage_class(name: str, annotations: Any = None, **more: Any) -> Any:
    return {"metadata": {"name": name, "annotations": annotations or {}}, "provisioner": "example.com/p", **more}


def claim(server: Server, name: str = "data", **spec: Any) -> Any:
    whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    made = server.ask("POST", CLAIMS, {"metadata": {"name": name}, "spec": whole})
    assert made.code == 201, made.value
    return made.value


def test_a_claim_without_a_class_gets_the_newest_default_class() -> None:
    server = Server()
    assert "storageClassName" not in claim(server, "early")["spec"]
    server.ask("POST", CLASSES, storage_class("old", DEFAULT))
    server.world.run_for(SECOND_NS)
    for name in ("new-b", "new-a"):
        server.ask("POST", CLASSES, storage_class(name, DEFAULT))
    assert claim(server, "late")["spec"]["storageClassName"] == "new-a"


def test_a_claim_that_names_a_class_or_says_none_keeps_that() -> None:
    server = Server()
    server.ask("POST", CLASSES, storage_class("default", DEFAULT))
    assert claim(server, "none", storageClassName="")["spec"]["storageClassName"] == ""
    assert claim(server, "own", storageClassName="own")["spec"]["storageClassName"] == "own"


def test_an_ingress_gets_the_default_class() -> None:
    server = Server()
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    mine = {"metadata": {"name": "mine", "annotations": annotations}, "spec": {"controller": "example.com/c"}}
    assert server.ask("POST", "/apis/networking.k8s.io/v1/ingressclasses", mine).code == 201
    spec = {"defaultBackend": {"service": {"name": "one", "port": {"number": 80}}}}
    made = server.ask("POST", INGRESSES, {"metadata": {"name": "web"}, "spec": spec})
    assert made.value["spec"]["ingressClassName"] == "mine"


def test_a_bound_claim_grows_if_its_class_lets_it() -> None:
    server = Server()
    server.ask("POST", CLASSES, storage_class("fixed"))
    server.ask("POST", CLASSES, storage_class("grows", allowVolumeExpansion=True))
    more = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    for name in ("fixed", "grows"):
        claim(server, name, storageClassName=name)
        bound = {"status": {"phase": "Bound"}}
        server.ask("PATCH", f"{CLAIMS}/{name}/status", bound, content_type=MERGE)
    assert server.ask("PATCH", f"{CLAIMS}/grows", more, content_type=MERGE).code == 200
    refused = server.ask("PATCH", f"{CLAIMS}/fixed", more, content_type=MERGE)
    assert (refused.code, "only dynamically provisioned pvc can be resized" in refused.message) == (403, True)


@pytest.mark.parametrize(("size", "code"), [("3Gi", 200), ("1500Mi", 200), ("1Gi", 422), ("512Mi", 422)])
def test_a_claim_that_grows_shrinks_to_more_than_it_has_only(size: str, code: int) -> None:
    server = Server()
    server.ask("POST", CLASSES, storage_class("grows", allowVolumeExpansion=True))
    claim(server, "data", storageClassName="grows")
    bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
    server.ask("PATCH", f"{CLAIMS}/data/status", bound, content_type=MERGE)
    for wanted, expected in (("2Gi", 200), (size, code)):
        more = {"spec": {"resources": {"requests": {"storage": wanted}}}}
        answer = server.ask("PATCH", f"{CLAIMS}/data", more, content_type=MERGE)
        assert answer.code == expected, answer.value
    if code == 422:
        assert answer.message.endswith(
            "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
        )
