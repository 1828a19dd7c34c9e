"""Which schemas a definition may have: each fault with its path, and none in what people write."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.schemas.shapes import pruned
from simulation.apiserver.schemas.structural import SCHEMA, causes_of, faults_of_schema, places_of_cel

TEXT: dict[str, Any] = {"type": "string"}


def faults(schema: Any) -> list[tuple[str, str, str]]:
    return causes_of(schema, SCHEMA, "s") or faults_of_schema(schema, "s")


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "of_a",
    [
        TEXT,
        {"x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]},
        {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}},
        {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        {**root(b=TEXT, c=TEXT), "oneOf": [{"required": ["b"]}, {"required": ["c"]}]},
        {**root(b=TEXT), "anyOf": [{"properties": {"b": {"enum": ["x"]}}}], "not": {"required": ["d"]}},
        {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        {"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": TEXT}}}},
        {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
        {"type": "string", "anyOf": [{"pattern": "^a"}, {"maxLength": 3}], "not": {"enum": ["b"]}},
        {"x-kubernetes-int-or-string": True, "pattern": "^a", "anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "integer", "default": 0, "maximum": 2.5, "format": "int32", "nullable": True},
    ],
)
def test_a_structural_schema_has_no_faults(of_a: Any) -> None:
    assert faults(root(a=of_a)) == []


LIST_OF_MAPS = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}


@pytest.mark.parametrize(
    ("of_a", "field", "message"),
    [
        ({}, ".type", "Required value: must not be empty for specified object fields"),
        ({"type": "text"}, ".type", 'Unsupported value: "text": supported values: "array", "boolean"'),
        ({"type": "array"}, ".items", "Required value: must be specified"),
        ({"type": "array", "items": {}}, ".items", "Required value: must be specified"),
        ({"type": "array", "items": [TEXT]}, ".items", "must be of type object"),
        ({"type": "array", "items": {"nullable": True}}, ".items.type", "must not be empty for specified array items"),
        ({"$ref": "#/definitions/x"}, ".$ref", "Forbidden: $ref is not supported"),
        ({**TEXT, "uniqueItems": True}, ".uniqueItems", "Forbidden: uniqueItems cannot be set to true"),
        ({**TEXT, "pattern": "["}, ".pattern", "must be a valid regular expression, but isn't"),
        ({**TEXT, "maxLength": "9"}, ".maxLength", "must be of type integer"),
        ({**root(b=TEXT), "additionalProperties": TEXT}, ".additionalProperties", "are mutual exclusive"),
        ({**TEXT, "default": 1}, ".default", "must be of type string"),
        ({**root(b=TEXT), "default": {"b": 1}}, ".default.b", "must be of type string"),
        ({**TEXT, "anyOf": [{"type": "string"}]}, ".anyOf[0].type", "Forbidden: must be empty to be structural"),
        ({**TEXT, "allOf": [{"default": "a"}]}, ".allOf[0].default", "Forbidden: must be undefined to be structural"),
        ({**TEXT, "anyOf": [{"format": "a", "nullable": True}]}, ".anyOf[0].nullable", "Forbidden: must be false"),
        ({"x-kubernetes-embedded-resource": True}, ".type", "Required value: must be object if"),
        (
            {"type": "object", "x-kubernetes-embedded-resource": True},
            ".properties",
            "Required value: must not be empty",
        ),
        (
            {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
            ".x-kubernetes-preserve-unknown-fields",
            "Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            {**LIST_OF_MAPS, "items": root(other=TEXT)},
            ".x-kubernetes-list-map-keys[0]",
            "entries must all be names of item properties",
        ),
    ],
)
def test_a_schema_that_is_not_structural_is_refused(of_a: Any, field: str, message: str) -> None:
    found = {where: text for _, text, where in faults(root(a=of_a))}
    assert message in found[f"s.properties[a]{field}"]


@pytest.mark.parametrize(
    ("schema", "field", "message"),
    [
        ({}, "s.type", "Required value: must not be empty at the root"),
        ({"type": "string"}, "s.type", "must be object at the root"),
        ({"type": "object", "additionalProperties": TEXT}, "s.additionalProperties", "must not be used at the root"),
        ({**root(a=TEXT), "default": {}}, "s.default", "must not be set at the root"),
        ("text", "s", "must be of type object"),
        (root(kind={"type": "integer"}), "s.properties[kind].type", 'Invalid value: "integer": must be string'),
        (root(metadata=TEXT), "s.properties[metadata].type", 'Invalid value: "string": must be object'),
        (
            root(metadata={**root(labels={"type": "object"})}),
            "s.properties[metadata]",
            "Forbidden: must not specify anything other than name and generateName",
        ),
        (
            {**root(a=TEXT), "anyOf": [{"required": ["a"]}, {"properties": {"b": {"maxLength": 1}}}]},
            "s.properties[b]",
            "Required value: because it is defined in s.anyOf[1].properties[b]",
        ),
        ({**root(a=TEXT), "not": {"items": {"maxLength": 1}}}, "s.items", "because it is defined in s.not.items"),
    ],
)
def test_the_root_of_a_schema_has_rules_of_its_own(schema: Any, field: str, message: str) -> None:
    found = {where: text for _, text, where in faults(schema)}
    assert message in found[field]


def test_unknown_keywords_and_unevaluated_rules_are_named_with_their_places() -> None:
    rules = [{"rule": "self.a > 1"}]
    schema = {**root(a={**TEXT, "maxlength": 3, "x-kubernetes-validations": rules}), "x-kubernetes-validations": rules}
    unknown: list[str] = []
    pruned(schema, SCHEMA, unknown, "s", is_resource=False)
    assert unknown == ["s.properties.a.maxlength"]
    assert places_of_cel(schema, "s") == [
        ("s", rules),
        ("s.properties[a]", rules),
    ]
