"""What a path names: an object, a part of one, a collection, or nothing that is served."""

from __future__ import annotations

import pytest

from simulation.apiserver.requests import target_of
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
        ("/api/v1/namespaces//pods/a", None),
        ("/api/v1/namespaces/n/status/a", None),
        ("/api/v1/namespaces/n/status/a/b", None),
        ("/api/v1/namespaces/n/pods/a/nothing", None),
        ("/api/v1/namespaces/n/pods/a/status/more", None),
        ("/api/v1/namespaces/n/nodes/a", None),
        ("/api/v1/namespaces/n/nothing/a", None),
        ("/api/v2/namespaces/n/pods/a", None),
        ("/apis/coordination.k8s.io/v1/namespaces/n/leases/a", ("leases", "n", "a", "")),
        ("/api/v1/nodes/a/proxy/logs/x", ("nodes", "", "a", "proxy")),
    ],
)
def test_a_path_names_one_thing_or_nothing(path: str, named: tuple[str, str, str, str] | None):
    try:
        target = target_of(path)
    except StatusError as refusal:
        assert (named, refusal.code) == (None, 404)
    else:
        assert (target.resource.plural, target.namespace, target.name, target.subresource) == named
        assert (target.sub is None) == (target.subresource == "")
