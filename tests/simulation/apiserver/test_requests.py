"""What a path names: an object, a part of one, a collection, or nothing that is served."""

from __future__ import annotations

import pytest

from simulation.apiserver.requests.calls import target_of
from simulation.apiserver.status import StatusError


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/api/v1/pods", ("pods", "", "", "")),
        ("/api/v1/namespaces/n/pods", ("pods", "n", "", "")),
        ("/api/v1/namespaces/n/pods/", ("pods", "n", "", "")),
        ("/api/v1/namespaces/n/pods/a", ("pods", "n", "a", "")),
        ("/api/v1/namespaces/n/pods/a/", ("pods", "n", "a", "")),
        ("//api/v1/namespaces/n//pods/a", ("pods", "n", "a", "")),
        ("/api/v1/namespaces/n/pods/a/status", ("pods", "n", "a", "status")),
        ("/api/v1/namespaces/n/pods/a/binding", ("pods", "n", "a", "binding")),
        ("/api/v1/namespaces/n", ("namespaces", "", "n", "")),
        ("/api/v1/namespaces/n/status", ("namespaces", "", "n", "status")),
        ("/apis/coordination.k8s.io/v1/namespaces/n/leases/a", ("leases", "n", "a", "")),
        ("/api/v1/nodes/a/proxy/logs/x", ("nodes", "", "a", "proxy")),
    ],
)
def test_a_path_names_a_collection_an_object_or_a_part_of_one(path: str, named: tuple[str, str, str, str]):
    target = target_of(path)
    assert (target.resource.plural, target.namespace, target.name, target.subresource) == named
    assert (target.sub is None) == (target.subresource == "")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces//pods/a",
        "/api/v1/namespaces/n/status/a",
        "/api/v1/namespaces/n/status/a/b",
        "/api/v1/namespaces/n/pods/a/nothing",
        "/api/v1/namespaces/n/pods/a/status/more",
        "/api/v1/namespaces/n/nodes/a",
        "/api/v1/namespaces/n/nothing/a",
        "/api/v2/namespaces/n/pods/a",
    ],
)
def test_a_path_that_names_nothing_is_not_found(path: str):
    with pytest.raises(StatusError) as refusal:
        target_of(path)
    assert refusal.value.code == 404
