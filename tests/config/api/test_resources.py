"""The constants name the paths of the API."""

import pytest

from config.api import resources as api_resources
from config.api.resources import (
    CERTIFICATE_SIGNING_REQUESTS,
    LEASES,
    NODES,
    PODS,
    SERVICE_ACCOUNTS,
    TOKEN_REVIEWS,
    Resource,
)
from config.documents.codec import DocumentError
from config.objects import ObjectMeta, Pod


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("ns", "web", "status"), "/api/v1/namespaces/ns/pods/web/status"),
        (NODES.path("", "n1"), "/api/v1/nodes/n1"),
        (NODES.path("ignored", "n1"), "/api/v1/nodes/n1"),
        (
            LEASES.path("kube-node-lease", "n1"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1",
        ),
        (SERVICE_ACCOUNTS.path("ns", "default", "token"), "/api/v1/namespaces/ns/serviceaccounts/default/token"),
        (TOKEN_REVIEWS.path(), "/apis/authentication.k8s.io/v1/tokenreviews"),
        (CERTIFICATE_SIGNING_REQUESTS.path(), "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


def test_every_kind_calls_its_group_as_its_resource_does() -> None:
    for resource in (each for each in vars(api_resources).values() if isinstance(each, Resource)):
        assert resource.kind().api_version == resource.api_version, resource
        assert resource.plural.startswith(resource.kind.__name__.lower().rstrip("s")), resource


def test_an_object_of_another_kind_is_refused() -> None:
    assert PODS.decode(b'{"metadata": {"name": "a"}}') == Pod(metadata=ObjectMeta(name="a"))
    with pytest.raises(DocumentError):
        PODS.decode(b'{"kind": "Node"}')
