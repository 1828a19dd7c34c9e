"""The zeros of a CustomResourceDefinition that Go leaves out.

A kube-apiserver shows a definition as its structs write it: `nullable: false` is not there, `served: false` is. The
structs are those of `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1`. What a schema says of values
(`default`, `example`, the items of `enum`) stays as it is. A value of a wrong type stays, too: checks find it. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Fields: TypeAlias = Mapping[str, Callable[[Any], Any]]
"""Field -> what makes it."""


def without_zeros(spec: Any) -> Any:
    """The spec of a definition as Go writes it. Empty texts go also where they are wrong."""
    below = {"names": _names, "versions": _each(_version), "conversion": _conversion}
    return _struct(spec, {"group": "", "scope": "", "preserveUnknownFields": False}, below)


def _names(names: Any) -> Any:
    return _struct(names, {**_texts("plural", "singular", "kind", "listKind"), "shortNames": [], "categories": []})


def _conversion(conversion: Any) -> Any:
    return _struct(conversion, _texts("strategy"), {"webhook": _webhook})


def _webhook(webhook: Any) -> Any:
    return _struct(webhook, {}, {"clientConfig": _client})


def _client(client: Any) -> Any:
    return _struct(client, _texts("caBundle"), {"service": _struct})


def _version(version: Any) -> Any:
    zeros = {"name": "", "deprecated": False, "additionalPrinterColumns": [], "selectableFields": []}
    below = {
        "schema": _validation,
        "subresources": _subresources,
        "additionalPrinterColumns": _each(_column),
        "selectableFields": _each(_selectable),
    }
    return _struct(version, zeros, below)


def _validation(validation: Any) -> Any:
    return _struct(validation, {}, {"openAPIV3Schema": _schema})


def _subresources(parts: Any) -> Any:
    return _struct(parts, {}, {"scale": _scale})


def _scale(scale: Any) -> Any:
    return _struct(scale, _texts("specReplicasPath", "statusReplicasPath", "labelSelectorPath"))


def _column(column: Any) -> Any:
    return _struct(column, {**_texts("name", "type", "jsonPath", "format", "description"), "priority": 0})


def _selectable(field: Any) -> Any:
    return _struct(field, _texts("jsonPath"))


def _rule(rule: Any) -> Any:
    return _struct(rule, _texts("message", "messageExpression", "fieldPath"))


def _schema(schema: Any) -> Any:
    return _struct(schema, _OF_SCHEMAS, _BELOW_SCHEMAS)


def _texts(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, "")


def _struct(value: Any, zeros: Mapping[str, Any] | None = None, below: Fields | None = None) -> Any:
    """The struct without nulls, and without the fields that have their zero."""
    if not isinstance(value, dict):
        return value
    known, made = zeros or {}, below or {}
    return {
        name: made[name](item) if name in made else item
        for name, item in value.items()
        if item is not None and not (name in known and _is(item, known[name]))
    }


def _is(item: Any, zero: Any) -> bool:
    return type(item) is type(zero) and bool(item == zero)


def _each(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda items: [make(item) for item in items] if isinstance(items, list) else items


def _values(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda items: {name: make(item) for name, item in items.items()} if isinstance(items, dict) else items


_FLAGS = (
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)
_LISTS = ("enum", "required", "allOf", "oneOf", "anyOf", "x-kubernetes-list-map-keys", "x-kubernetes-validations")
_OF_SCHEMAS: Mapping[str, Any] = {
    **_texts("id", "$schema", "description", "type", "format", "title", "pattern"),
    **dict.fromkeys(_FLAGS, False),
    **{name: [] for name in _LISTS},
    **{name: {} for name in ("properties", "patternProperties", "dependencies", "definitions")},
}
_BELOW_SCHEMAS: Fields = {
    **dict.fromkeys(("items", "additionalProperties", "not"), _schema),
    **dict.fromkeys(("allOf", "oneOf", "anyOf"), _each(_schema)),
    "properties": _values(_schema),
    "x-kubernetes-validations": _each(_rule),
}
