"""What the server says of itself, as clients of both generations ask."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.documents.discovery import AGGREGATED, discovery, wants_aggregated
from simulation.apiserver.kinds.table import SERVED
from tests.simulation.apiserver.custom.made import DEFINITIONS, definition
from tests.simulation.apiserver.worlds import Server

KUBECTL = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


def document(path: str, accept: str = "application/json") -> dict[str, Any]:
    found = discovery(path, accept, "127.0.0.1:6443")
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (KUBECTL, True),
        ("application/json; g=apidiscovery.k8s.io; v=v2; as=APIGroupDiscoveryList", True),
        ("application/json", False),
        ("*/*", False),
        ("", False),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", False),
    ],
)
def test_the_accept_header_decides_on_the_form(accept: str, expected: bool) -> None:
    assert wants_aggregated(accept) is expected


def test_the_version_is_the_one_whose_behaviour_is_followed() -> None:
    told = document("/version")
    assert (told["major"], told["minor"]) == ("1", "36")
    assert told["gitVersion"].startswith("v1.36.")


def test_both_forms_tell_of_every_resource_and_every_part_of_it() -> None:
    expected = {
        (resource.api_version, name, verbs)
        for resource in SERVED
        for name, verbs in [
            (resource.plural, resource.verbs),
            *((f"{resource.plural}/{sub}", what.verbs) for sub, what in resource.subresources.items()),
        ]
    } | {("metrics.k8s.io/v1beta1", name, ("get", "list")) for name in ("nodes", "pods")}
    groups = document("/apis")["groups"]
    versions = ["v1"] + [version["groupVersion"] for group in groups for version in group["versions"]]
    plain = {
        (version, resource["name"], tuple(resource["verbs"]))
        for version in versions
        for resource in document(f"/api/{version}" if version == "v1" else f"/apis/{version}")["resources"]
    }
    assert plain == expected
    aggregated = set()
    for path in ("/api", "/apis"):
        for group in document(path, KUBECTL)["items"]:
            for version in group["versions"]:
                name = "/".join(filter(None, [group["metadata"].get("name"), version["version"]]))
                for resource in version["resources"]:
                    aggregated.add((name, resource["resource"], tuple(resource["verbs"])))
                    for sub in resource.get("subresources", ()):
                        aggregated.add((name, f"{resource['resource']}/{sub['subresource']}", tuple(sub["verbs"])))
    assert aggregated == expected


def test_groups_come_by_their_priorities_so_that_kubectl_takes_the_same_kind_for_a_name() -> None:
    server = Server()
    assert server.ask("POST", DEFINITIONS, definition()).code == 201
    found = discovery("/apis", served=server.server.served)
    assert found is not None
    names = [group["name"] for group in found[1]["groups"]]
    assert names[:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]
    assert names[-3:] == ["flowcontrol.apiserver.k8s.io", "example.com", "metrics.k8s.io"]


def test_the_newest_version_of_a_group_is_preferred() -> None:
    group = document("/apis/autoscaling")
    assert [one["version"] for one in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"]["version"] == "v2"


def test_a_part_of_an_object_has_its_version() -> None:
    for path, name in (("autoscaling/v1", "horizontalpodautoscalers"), ("autoscaling/v2", "horizontalpodautoscalers")):
        parts = {resource["name"]: resource for resource in document(f"/apis/{path}")["resources"]}
        assert "version" not in parts[f"{name}/status"]


def test_a_part_of_another_kind_says_of_which_group_that_is() -> None:
    parts = {resource["name"]: resource for resource in document("/api/v1")["resources"]}
    assert (parts["pods/eviction"]["group"], parts["pods/eviction"]["kind"]) == ("policy", "Eviction")
    assert "group" not in parts["pods/status"]
    assert parts["pods"]["shortNames"] == ["po"]
    assert parts["pods"]["categories"] == ["all"]


def test_the_aggregated_form_is_called_so() -> None:
    found = discovery("/api", KUBECTL)
    assert found is not None
    assert found[0] == AGGREGATED
    assert found[1]["kind"] == "APIGroupDiscoveryList"


def test_one_group_and_the_plain_list_of_versions() -> None:
    assert document("/api")["versions"] == ["v1"]
    assert document("/api")["serverAddressByClientCIDRs"][0]["serverAddress"] == "127.0.0.1:6443"
    assert document("/apis/storage.k8s.io")["preferredVersion"]["groupVersion"] == "storage.k8s.io/v1"


@pytest.mark.parametrize("path", ["/", "/api/v2", "/apis/example.com", "/apis/apps/v2", "/api/v1/pods", "/healthz"])
def test_discovery_lists_nothing_that_is_not_served(path: str) -> None:
    assert discovery(path) is None
