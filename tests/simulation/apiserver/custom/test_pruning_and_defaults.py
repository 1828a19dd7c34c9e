"""Pruning removes unknown fields, defaults add missing ones, and everything else stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.schemas.shapes import pruned, with_defaults

TEXT = {"type": "string"}


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}


@pytest.mark.parametrize(
    ("of_spec", "spec", "left", "unknown"),
    [
        pytest.param(object_of(a=TEXT), {"a": "1", "b": 2}, {"a": "1"}, ["spec.b"], id="a field"),
        pytest.param(object_of(a=object_of(b=TEXT)), {"a": {"c": 1}}, {"a": {}}, ["spec.a.c"], id="deeper"),
        pytest.param(
            object_of(a={"type": "array", "items": object_of(b=TEXT)}),
            {"a": [{"b": "1"}, {"b": "2", "c": 3}]},
            {"a": [{"b": "1"}, {"b": "2"}]},
            ["spec.a[1].c"],
            id="in a list",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": object_of(b=TEXT)},
            {"any": {"b": "1", "c": 2}},
            {"any": {"b": "1"}},
            ["spec.any.c"],
            id="in a map",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True}, {"a": {"b": 1}}, {"a": {"b": 1}}, [], id="any map"
        ),
        pytest.param({"type": "object", **PRESERVE}, {"a": {"b": 1}}, {"a": {"b": 1}}, [], id="kept"),
        pytest.param(
            {**object_of(a=object_of(b=TEXT)), **PRESERVE},
            {"a": {"b": "1", "c": 2}, "d": 3},
            {"a": {"b": "1"}, "d": 3},
            ["spec.a.c"],
            id="kept beside what is said",
        ),
        pytest.param(
            {**EMBEDDED, **object_of(data=TEXT)},
            {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "color": 1}, "data": "1", "more": 2},
            {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "data": "1"},
            ["spec.metadata.color", "spec.more"],
            id="a resource within",
        ),
        pytest.param(
            {**EMBEDDED, **PRESERVE}, {"kind": "X", "more": {"a": 1}}, {"kind": "X", "more": {"a": 1}}, [], id="raw"
        ),
        pytest.param(TEXT, {"a": 1}, {}, ["spec.a"], id="of another type"),
    ],
)
def test_unknown_fields_are_pruned_and_listed(of_spec: Any, spec: Any, left: Any, unknown: list[str]) -> None:
    told: list[str] = []
    value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec}
    assert pruned(value, object_of(spec=of_spec), told) == {**value, "spec": left}
    assert told == unknown


def test_type_and_metadata_need_no_schema_and_metadata_has_its_own() -> None:
    told: list[str] = []
    value = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "labels": {"x": "y"}, "color": "red"}, "x": 1}
    left = pruned(value, {"type": "object"}, told)
    assert left == {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "labels": {"x": "y"}}}
    assert told == ["metadata.color", "x"]


def test_a_value_without_changes_stays_the_same_object() -> None:
    value = {"spec": {"list": [{"b": "1"}]}}
    schema = object_of(spec=object_of(list={"type": "array", "items": object_of(b=TEXT)}))
    assert pruned(value, schema, []) is value
    assert with_defaults(value, schema) is value


ONE = {"type": "integer", "default": 1}


@pytest.mark.parametrize(
    ("schema", "before", "after"),
    [
        pytest.param(object_of(a=ONE), {}, {"a": 1}, id="absent"),
        pytest.param(object_of(a=ONE), {"a": 2}, {"a": 2}, id="there"),
        pytest.param(object_of(a=ONE), {"a": None}, {"a": 1}, id="null counts as absent"),
        pytest.param(object_of(a={**ONE, "nullable": True}), {"a": None}, {"a": None}, id="null that may be"),
        pytest.param(object_of(a=TEXT), {"a": None}, {}, id="null without a default goes"),
        pytest.param(object_of(a=object_of(b=ONE)), {}, {}, id="not in a map that is absent"),
        pytest.param(
            object_of(a={**object_of(b=ONE), "default": {}}), {}, {"a": {"b": 1}}, id="in what a default brings"
        ),
        pytest.param(
            object_of(a={"type": "array", "items": object_of(b=ONE)}),
            {"a": [{}, {"b": 2}]},
            {"a": [{"b": 1}, {"b": 2}]},
            id="list",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": object_of(b=ONE)}, {"x": {}}, {"x": {"b": 1}}, id="map"
        ),
        pytest.param(object_of(a={"type": "boolean", "default": False}), {}, {"a": False}, id="false is a default"),
    ],
)
def test_missing_fields_get_their_defaults(schema: Any, before: Any, after: Any) -> None:
    assert with_defaults(before, schema) == after


def test_a_default_is_not_written_into_the_object_that_was_given() -> None:
    before: dict[str, Any] = {"spec": {}}
    with_defaults(before, object_of(spec=object_of(a=ONE)))
    assert before == {"spec": {}}
