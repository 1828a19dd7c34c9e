"""What clients are told of a custom resource: discovery, OpenAPI, tables.

And that nothing old is told again.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulation.apiserver.documents.discovery import discovery
from simulation.apiserver.documents.openapi import openapi
from simulation.apiserver.documents.tables import table_of
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.schemas.kind_schema import KindSchema
from tests.simulation.apiserver.custom.made import DEFINITIONS, NAME, SCHEMA, SPEC, define, defined, version
from tests.simulation.apiserver.worlds import MERGE, Server

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KIND = "com.example.v1.Widget"


def discovered(server: Server, path: str, accept: str = "") -> dict[str, Any]:
    found = discovery(path, accept, "127.0.0.1:6443", server.server.served)
    assert found is not None
    return found[1]


def document(server: Server, path: str) -> dict[str, Any]:
    found = openapi(path, "", server.server.served)
    assert found is not None
    decoded: dict[str, Any] = json.loads(found[1])
    return decoded


def test_both_forms_of_discovery_tell_of_it() -> None:
    server = defined(version(storage=False), version("v2"), names={"shortNames": ["wd"], "categories": ["all"]})
    group = discovered(server, "/apis/example.com")
    assert [each["version"] for each in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"]["groupVersion"] == "example.com/v2"
    assert "example.com" in [each["name"] for each in discovered(server, "/apis")["groups"]]
    widgets, scale, status = discovered(server, "/apis/example.com/v1")["resources"]
    assert (widgets["name"], widgets["singularName"], widgets["kind"]) == ("widgets", "widget", "Widget")
    assert (widgets["shortNames"], widgets["categories"], widgets["namespaced"]) == (["wd"], ["all"], True)
    assert (scale["name"], scale["group"], scale["kind"]) == ("widgets/scale", "autoscaling", "Scale")
    assert (status["name"], status["kind"]) == ("widgets/status", "Widget")
    (aggregated,) = (
        each for each in discovered(server, "/apis", AGGREGATED)["items"] if each["metadata"]["name"] == "example.com"
    )
    assert [each["version"] for each in aggregated["versions"]] == ["v2", "v1"]
    assert [each["subresource"] for each in aggregated["versions"][0]["resources"][0]["subresources"]] == [
        "scale",
        "status",
    ]


def test_a_version_that_is_not_served_is_not_told_of() -> None:
    server = defined(version(), version("v2", storage=False, served=False))
    assert [each["version"] for each in discovered(server, "/apis/example.com")["versions"]] == ["v1"]
    assert server.get("/apis/example.com/v2/widgets").code == 404


def test_openapi_has_the_schema_and_the_fields_that_every_object_has() -> None:
    server = defined()
    schemas = document(server, "/openapi/v3/apis/example.com/v1")["components"]["schemas"]
    widget = schemas[KIND]
    assert widget["properties"]["spec"] == SPEC
    assert {"apiVersion", "kind", "metadata", "status"} <= set(widget["properties"])
    reference = widget["properties"]["metadata"]["allOf"][0]["$ref"]
    assert reference.removeprefix("#/components/schemas/") in schemas
    identity = {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert widget["x-kubernetes-group-version-kind"] == [identity]


def test_kubectl_is_told_that_a_strategic_merge_patch_is_not_for_it() -> None:
    paths = document(defined(), "/openapi/v3/apis/example.com/v1")["paths"]
    patch = paths["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert "application/merge-patch+json" in patch["requestBody"]["content"]
    assert "fieldValidation" in [each["name"] for each in patch["parameters"]]


def test_a_definition_that_changes_is_told_of_anew_and_one_that_is_gone_no_more() -> None:
    server = defined()
    root = "apis/example.com/v1"
    before = document(server, "/openapi/v3")["paths"]
    spec = {"type": "object", "properties": {"other": {"type": "string"}}}
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "spec": spec}}
    changed = {"spec": {"names": {"shortNames": ["wd"]}, "versions": [version(schema=schema)]}}
    server.ask("PATCH", f"{DEFINITIONS}/{NAME}", changed, content_type=MERGE)
    after = document(server, "/openapi/v3")["paths"]
    assert {path for path in before if before[path] != after[path]} == {root}
    assert document(server, f"/openapi/v3/{root}")["components"]["schemas"][KIND]["properties"]["spec"] == spec
    assert discovered(server, f"/{root}")["resources"][0]["shortNames"] == ["wd"]
    server.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    assert root not in document(server, "/openapi/v3")["paths"]
    assert discovery(f"/{root}", "", "", server.server.served) is None


def test_servers_tell_of_their_own() -> None:
    one, other = defined(), Server()
    define(other, plural="gadgets", kind="Gadget")
    for server, name in ((one, "widgets"), (other, "gadgets"), (one, "widgets")):
        assert discovered(server, "/apis/example.com/v1")["resources"][0]["name"] == name


WALL_NS = 1_767_225_600 * 10**9
OBJECT = {
    "metadata": {"name": "lamp", "creationTimestamp": "2025-12-31T23:00:00Z", "labels": {"room": "hall"}},
    "spec": {"size": 3, "ratio": 2.5, "on": True, "tags": ["a", "b"], "text": "x", "map": {"k": 1}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


@pytest.mark.parametrize(
    ("kind", "path", "cell"),
    [
        ("string", ".spec.text", "x"),
        ("string", ".spec.size", "3"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.map", '{"k":1}'),
        ("string", ".spec.tags", '["a","b"]'),
        ("string", ".spec.tags[*]", "a"),
        ("string", ".spec.nothing", None),
        ("string", ".metadata.labels.room", "hall"),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("integer", ".spec.size", 3),
        ("integer", ".spec.ratio", 2),
        ("integer", ".spec.text", None),
        ("integer", ".spec.on", None),
        ("number", ".spec.ratio", 2.5),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.text", None),
        ("date", ".metadata.creationTimestamp", "60m"),
        ("date", ".spec.text", "<invalid>"),
        ("date", ".spec.size", None),
    ],
)
def test_a_printer_column_shows_its_value(kind: str, path: str, cell: Any) -> None:
    column = {"name": "C", "type": kind, "jsonPath": path, "priority": 1, "description": "Words."}
    table = table_of(resource(column), [OBJECT], wall_ns=WALL_NS)
    assert [(each["name"], each["type"], each["priority"]) for each in table["columnDefinitions"]] == [
        ("Name", "string", 0),
        ("C", kind, 1),
    ]
    assert table["rows"][0]["cells"] == ["lamp", cell]


def test_without_columns_there_are_name_and_age() -> None:
    table = table_of(resource(), [OBJECT], wall_ns=WALL_NS)
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Age"]
    assert table["rows"][0]["cells"] == ["lamp", "60m"]


def resource(*columns: dict[str, Any]) -> ServedResource:
    described = KindSchema(schema=SCHEMA, columns=columns)
    return ServedResource("example.com", "v1", "widgets", "widget", "Widget", True, described=described)
