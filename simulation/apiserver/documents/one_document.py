"""The OpenAPI document of version 2: all kinds in one, made from the documents of version 3.

Version 2 has no alternatives (`anyOf` and the like) and no null. So a custom resource is shown without what version 2
cannot say, by the rules of Kubernetes 1.36 (apiextensions-apiserver, conversion of structural schemas). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

_V3, _V2 = "#/components/schemas/", "#/definitions/"
_ALTERNATIVES = ("allOf", "anyOf", "not", "oneOf")
_ANY_FIELDS = "x-kubernetes-preserve-unknown-fields"
_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
_TOKEN = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}
_JSON = ["application/json"]


def document_v2(info: Json, paths: Mapping[str, Json], schemas: Mapping[str, Json], custom: set[str]) -> Json:
    """`paths`, `schemas`: of all documents of version 3. `custom`: the names of those of custom resources."""
    return {
        "swagger": "2.0",
        "info": info,
        "paths": {path: _path(item) for path, item in paths.items()},
        "definitions": {name: _kind(schema) if name in custom else _schema(schema) for name, schema in schemas.items()},
        "securityDefinitions": _TOKEN,
        "security": [{"BearerToken": []}],
    }


def _path(item: Json) -> Json:
    return {method: _operation(one) for method, one in item.items()}


def _operation(operation: Json) -> Json:
    rest = {key: part for key, part in operation.items() if key not in ("parameters", "requestBody", "responses")}
    parameters = [_parameter(one) for one in operation.get("parameters", ())]
    consumes = ["*/*"]
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]
        consumes = list(content)
        body = next(iter(content.values()))["schema"]
        parameters.append({"name": "body", "in": "body", "required": True, "schema": _schema(body)})
    responses = {code: _response(one) for code, one in operation["responses"].items()}
    return {**rest, "consumes": consumes, "produces": _JSON, "parameters": parameters, "responses": responses}


def _parameter(parameter: Json) -> Json:
    kept = {key: part for key, part in parameter.items() if key != "schema"}
    return {**kept, **parameter["schema"]}


def _response(response: Json) -> Json:
    content = response.get("content")
    shown = {"description": response["description"]}
    return {**shown, "schema": _schema(next(iter(content.values()))["schema"])} if content else shown


def _kind(schema: Json) -> Json:
    """The schema of a custom resource."""
    if schema.get(_ANY_FIELDS):
        # kubectl takes a field that is not listed for unknown, so none is listed.
        identity = {key: part for key, part in schema.items() if key == "x-kubernetes-group-version-kind"}
        return {"type": "object", **identity}
    properties = schema.get("properties", {})
    of_every_object = {name: _schema(properties[name]) for name in _OF_EVERY_OBJECT if name in properties}
    own = {name: part for name, part in properties.items() if name not in _OF_EVERY_OBJECT}
    if not own and "properties" not in schema:
        return _structural(schema)
    shown = _structural({**schema, "properties": own})
    return {**shown, "properties": {**shown.get("properties", {}), **of_every_object}}


def _structural(schema: Json) -> Json:
    """A schema of a definition, without what version 2 cannot say."""
    shown = {key: part for key, part in schema.items() if key not in (*_ALTERNATIVES, "nullable")}
    any_fields, nullable = shown.get(_ANY_FIELDS), schema.get("nullable")
    if nullable or any_fields:
        shown.pop("items", None)
        shown.pop("properties", None)
    if nullable or ("items" not in shown and shown.get("type") == "array"):
        shown.pop("type", None)
    if any_fields and shown.get("type") == "object":
        del shown["type"]
    below = shown.get("properties", {})
    left = [name for name in shown.get("required", ()) if not below.get(name, {}).get("nullable")]
    values = shown.get("additionalProperties")
    if isinstance(values, dict) and values.get("nullable"):
        left = []
    if "required" in shown:
        shown["required"] = left
        if not left:
            del shown["required"]
    if "properties" in shown:
        shown["properties"] = {name: _structural(one) for name, one in below.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(shown.get(key), dict):
            shown[key] = _structural(shown[key])
    return shown


def _schema(schema: Json) -> Json:
    """A schema of a built-in kind, or a part of it."""
    shown: Json = {key: part for key, part in schema.items() if key not in (*_ALTERNATIVES, "nullable")}
    wrapped = schema.get("allOf")
    if wrapped:
        shown |= wrapped[0]
    if "$ref" in shown:
        shown["$ref"] = shown["$ref"].replace(_V3, _V2)
    if "oneOf" in schema and "type" not in shown:
        shown["type"] = "string"
    if "properties" in shown:
        shown["properties"] = {name: _schema(one) for name, one in shown["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(shown.get(key), dict):
            shown[key] = _schema(shown[key])
    return shown
