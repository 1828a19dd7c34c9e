"""OpenAPI as far as clients read it: which fields there are, how lists merge, what the server checks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from config.objects import Pod
from config.patches import schema_for
from simulation.apiserver.documents.openapi import openapi
from simulation.apiserver.documents.openapi_schemas import schema_name
from simulation.apiserver.kinds.structs import struct_of
from simulation.apiserver.kinds.table import SERVED, find
from simulation.apiserver.server import ApiServer
from tests.simulation.apiserver.custom.made import define, defined, version

CORE = "io.k8s.api.core.v1"


def document(path: str) -> dict[str, Any]:
    found = openapi(path)
    assert found is not None
    decoded: dict[str, Any] = json.loads(found[1])
    return decoded


def core() -> dict[str, Any]:
    schemas: dict[str, Any] = document("/openapi/v3/api/v1")["components"]["schemas"]
    return schemas


def test_the_index_leads_to_a_document_for_each_group_and_version() -> None:
    paths = document("/openapi/v3")["paths"]
    assert {"api/v1", "apis/storage.k8s.io/v1"} <= set(paths)
    for root, entry in paths.items():
        url, _, digest = entry["serverRelativeURL"].partition("?hash=")
        assert url == f"/openapi/v3/{root}"
        assert len(digest) == 128
        assert document(url)["openapi"] == "3.0.0"


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v3/apis/apps/v9", "/openapi/v4", "/api/v1"])
def test_there_is_no_document_of_what_is_not_served(path: str) -> None:
    assert openapi(path) is None


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("root", sorted(document("/openapi/v3")["paths"]))
def test_every_reference_leads_to_a_schema(root: str) -> None:
    schemas = document(f"/openapi/v3/{root}")["components"]["schemas"]
    assert references(document(f"/openapi/v3/{root}")) <= {f"#/components/schemas/{name}" for name in schemas}


def test_every_kind_is_found_by_its_group_version_and_kind() -> None:
    for resource in SERVED:
        root = f"apis/{resource.api_version}" if resource.group else "api/v1"
        schema = document(f"/openapi/v3/{root}")["components"]["schemas"][schema_name(resource)]
        identity = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        assert schema["x-kubernetes-group-version-kind"] == [identity]


def test_every_stored_kind_of_the_core_group_is_told_field_by_field() -> None:
    for resource in SERVED:
        if resource.stored and resource.group == "":
            told = set(core()[schema_name(resource)]["properties"])
            assert told > {"apiVersion", "kind", "metadata"}, resource.kind


def test_a_kind_of_which_no_struct_is_here_is_told_as_an_object() -> None:
    reviews = find("authentication.k8s.io", "v1", "selfsubjectreviews")
    events = find("events.k8s.io", "v1", "events")
    assert reviews is not None
    assert events is not None
    assert struct_of(events) is None
    schemas = document("/openapi/v3/apis/events.k8s.io/v1")["components"]["schemas"]
    assert schemas["io.k8s.api.events.v1.Event"]["type"] == "object"


def test_fields_have_their_types() -> None:
    spec = core()[f"{CORE}.PodSpec"]["properties"]
    assert spec["hostNetwork"] == {"type": "boolean"}
    assert spec["activeDeadlineSeconds"]["type"] == "integer"
    assert spec["nodeSelector"] == {"type": "object", "additionalProperties": {"type": "string"}}
    assert spec["tolerations"] == {"type": "array", "items": {"$ref": f"#/components/schemas/{CORE}.Toleration"}}
    limits = core()[f"{CORE}.ResourceRequirements"]["properties"]["limits"]["additionalProperties"]
    assert limits["$ref"].endswith(".Quantity")
    port = core()[f"{CORE}.HTTPGetAction"]["properties"]["port"]
    assert port["allOf"][0]["$ref"].endswith(".IntOrString")
    assert core()[f"{CORE}.PodSpec"]["required"] == ["containers"]
    assert "required" not in core()[f"{CORE}.ConfigMap"]


def test_openapi_describes_the_patches_that_the_server_applies() -> None:
    containers = core()[f"{CORE}.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    volumes = core()[f"{CORE}.PodSpec"]["properties"]["volumes"]
    assert volumes["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    finalizers = core()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]["finalizers"]
    assert finalizers["x-kubernetes-patch-strategy"] == "merge"
    assert "x-kubernetes-patch-merge-key" not in finalizers
    rules = schema_for("v1", "Pod")["spec"].schema
    merged = {
        name
        for name, field in core()[f"{CORE}.PodSpec"]["properties"].items()
        if "x-kubernetes-patch-strategy" in field
    }
    assert merged == {name for name, rule in rules.items() if rule.merge}


def test_a_kind_is_described_in_the_words_of_its_struct() -> None:
    assert core()[f"{CORE}.Pod"]["description"] == " ".join((Pod.__doc__ or "").split())
    assert "description" in core()[f"{CORE}.Pod"]["properties"]["spec"]


def test_writes_tell_that_fields_are_checked() -> None:
    item = document("/openapi/v3/api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]
    assert {"get", "put", "patch", "delete"} == set(item)
    assert "fieldValidation" in {parameter["name"] for parameter in item["patch"]["parameters"]}
    assert "application/strategic-merge-patch+json" in item["patch"]["requestBody"]["content"]
    assert item["patch"]["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Pod"}


def test_only_the_verbs_of_a_resource_are_told_of() -> None:
    paths = document("/openapi/v3/apis/authentication.k8s.io/v1")["paths"]
    assert {path: set(item) for path, item in paths.items()} == {
        "/apis/authentication.k8s.io/v1/tokenreviews": {"post"},
        "/apis/authentication.k8s.io/v1/selfsubjectreviews": {"post"},
    }


def test_openapi_v2_in_protobuf_has_no_kinds() -> None:
    found = openapi("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert found is not None
    assert found[0].endswith("+protobuf")
    assert found[1].startswith(b"\n\x032.0")


def version_2(server: ApiServer | None = None) -> dict[str, Any]:
    found = openapi("/openapi/v2", "application/json", SERVED if server is None else server.served)
    assert found is not None
    decoded: dict[str, Any] = json.loads(found[1])
    return decoded


def test_version_2_has_every_kind_and_every_path_in_one_document() -> None:
    both = version_2()
    assert both["swagger"] == "2.0"
    assert references(both) <= {f"#/definitions/{name}" for name in both["definitions"]}
    for resource in SERVED:
        assert schema_name(resource) in both["definitions"], resource.kind
    create = both["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"]
    assert create["parameters"][-1]["in"] == "body"
    assert create["responses"]["200"]["schema"] == {"$ref": f"#/definitions/{CORE}.Pod"}


def test_version_2_shows_no_alternatives_of_a_custom_resource_and_no_fields_where_any_may_be() -> None:
    properties = {
        "spec": {
            "type": "object",
            "required": ["port", "maybe"],
            "properties": {
                "port": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
                "maybe": {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    }
    server = defined(version(schema={"type": "object", "properties": properties}), plural="engines", kind="Engine")
    free = version(schema={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    assert define(server, free, plural="frees", kind="Free").code == 201
    definitions = version_2(server.server)["definitions"]
    engine = definitions["com.example.v1.Engine"]
    assert engine["properties"]["spec"] == {
        "type": "object",
        "required": ["port"],
        "properties": {
            "port": {"x-kubernetes-int-or-string": True},
            "maybe": {},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
        },
    }
    assert set(engine["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(definitions["com.example.v1.Free"]) == {"type", "x-kubernetes-group-version-kind"}
