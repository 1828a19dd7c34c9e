"""The published schemas of built-in kinds, in two forms.

As OpenAPI shows them, and as definitions of custom resources would say it.

`published.json` has them with references to each other. Amounts, int-or-string and metadata are described here. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Schema = Mapping[str, Any]

REFERENCE = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_TEXT = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_IDENTITY = "x-kubernetes-group-version-kind"
_ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_TEXT_OR_NUMBER: Schema = {"x-kubernetes-int-or-string": True}
_OF_ANY_OBJECT = ("apiVersion", "kind", "metadata")
_OWN_WORDS: Mapping[str, Schema] = {
    f"{META}.ObjectMeta": {"type": "object", **_ANY},
    QUANTITY: {"type": ["integer", "number", "string"]},
    INT_OR_TEXT: _TEXT_OR_NUMBER,
}

_SCHEMAS: Mapping[str, dict[str, Any]] = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
_NAMES = {tuple(kind.values()): name for name, schema in _SCHEMAS.items() for kind in schema.get(_IDENTITY, ())}


def schema_name(group: str, version: str, kind: str) -> str:
    """The name of the schema of a kind: `io.k8s.api.apps.v1.Deployment`."""
    return _NAMES[group, version, kind]


def components(name: str) -> dict[str, Schema]:
    """Name -> published schema of a type and of all that it is made of.

    Types that `config` describes are left out.
    """
    found: dict[str, Schema] = {}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one not in found and one in _SCHEMAS:
            found[one] = _SCHEMAS[one]
            waiting += _references(_SCHEMAS[one])
    return found


@cache
def resolved(name: str) -> Schema:
    """The schema of an object of that kind, without references, as a definition has it.

    Metadata is not among it.
    """
    schema = _resolved({"$ref": f"{REFERENCE}{name}"})
    properties = {field: one for field, one in schema["properties"].items() if field not in _OF_ANY_OBJECT}
    # Without its spec an object lacks all that the spec must say.
    must = [*schema.get("required", ()), *(["spec"] if properties.get("spec", {}).get("required") else [])]
    return {**schema, "properties": properties, "required": [field for field in must if field not in _OF_ANY_OBJECT]}


@cache
def _type(name: str) -> Schema:
    return _OWN_WORDS.get(name) or _resolved(_SCHEMAS[name])


def _resolved(schema: Schema) -> Schema:
    found = {key: part for key, part in schema.items() if key not in ("$ref", "properties", _IDENTITY)}
    if "$ref" in schema:
        found = {**_type(schema["$ref"].removeprefix(REFERENCE)), **found}
    if "properties" in schema:
        found["properties"] = {name: _resolved(below) for name, below in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in schema:
            found[key] = _resolved(schema[key])
    if found.get("type") == "object" and not found.keys() & {"properties", "additionalProperties"}:
        return {**found, **_ANY}
    return found or _ANY


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(REFERENCE)
        for below in value.values():
            yield from _references(below)
