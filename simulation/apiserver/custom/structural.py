"""What a definition demands of the schemas in it: that they are structural.

A structural schema says the types and fields of all values outside of `allOf`, `anyOf`, `oneOf` and `not`, which only
add conditions: then it is clear what is pruned and what gets a default. `definition.yaml` has the keywords and their
types; here is what goes beyond them. Pure; faults are returned, not raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from simulation.apiserver.custom.shapes import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    pruned,
    with_defaults,
)
from simulation.apiserver.custom.validation import compiled, faults_of, shown
from simulation.apiserver.status import forbidden_field, required

Schema = Mapping[str, Any]
Cause = tuple[str, str, str]

_DOCUMENTS: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "definition.yaml").read_text())
DEFINITION, SCHEMA = _DOCUMENTS["definition"], _DOCUMENTS["schema"]
SCHEMA["properties"]["additionalProperties"] = {**SCHEMA, "type": ["object", "boolean"]}

CEL = "x-kubernetes-validations"
_JUNCTIONS = ("allOf", "anyOf", "oneOf")
_FORBIDDEN = {
    **dict.fromkeys(("$ref", "$schema", "id", "additionalItems", "patternProperties", "definitions", "dependencies")),
    "uniqueItems": "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
}
_STRUCTURE = ("type", "title", "description", "additionalProperties", "default", "nullable", "externalDocs")
_NOT_IN_CONDITIONS = (*_STRUCTURE, PRESERVE, EMBEDDED, INT_OR_STRING, LIST_TYPE, LIST_KEYS, MAP_TYPE, CEL)
_EMPTY = ("type", "title", "description", LIST_KEYS, CEL)
_FALSE = ("nullable", PRESERVE, EMBEDDED, INT_OR_STRING)
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_EITHER = [{"type": "integer"}, {"type": "string"}]


def faults_of_schema(schema: Any, path: str) -> list[Cause]:
    """What is wrong with the schema of one version."""
    wrong = [(fault.reason, fault.message, f"{path}{_place(fault.at)}") for fault in faults_of(schema, SCHEMA)]
    # What follows relies on the types of the keywords.
    return wrong or list(_faults(schema, path, _ROOT))


def unknown_keywords(schema: Any, path: str) -> list[str]:
    """The paths of what is no keyword of a schema."""
    unknown: list[str] = []
    pruned(schema, SCHEMA, unknown, path, is_resource=False)
    return [each for each in unknown if each.rpartition(".")[2] not in _FORBIDDEN]


def places_of_cel(schema: Any, path: str) -> Iterator[str]:
    """Where the schema has rules in CEL."""
    return (f"{at}.{CEL}" for below, at, _ in _everywhere(schema, path) if below.get(CEL))


def places_not_read(schema: Any, path: str) -> Iterator[str]:
    """Where the schema has a pattern that Python cannot read."""
    return (
        f"{at}.pattern" for below, at, _ in _everywhere(schema, path) if compiled(below.get("pattern") or "") is None
    )


def _place(at: tuple[str | int, ...]) -> str:
    before = (None, *at)
    return "".join(
        f"[{step}]" if isinstance(step, int) or above == "properties" else f".{step}"
        for above, step in zip(before, at, strict=False)
    )


def _below(schema: Schema, path: str) -> Iterator[tuple[Schema, str, str]]:
    """Every schema that describes a part of the value, with its path and its level."""
    for name, below in (schema.get("properties") or {}).items():
        yield below, f"{path}.properties[{name}]", _FIELD
    if schema.get("items"):
        yield schema["items"], f"{path}.items", _ITEM
    if isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"], f"{path}.additionalProperties", _FIELD


def _everywhere(schema: Schema, path: str) -> Iterator[tuple[Schema, str, str]]:
    yield schema, path, _ROOT
    for below, at, level in _below(schema, path):
        for each, its_path, its_level in _everywhere(below, at):
            yield each, its_path, level if its_level == _ROOT else its_level


def _faults(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(f"{path}.type", f"must not be empty {level}")
    if kind == "array" and not schema.get("items"):
        yield required(f"{path}.items", "must be specified")
    if level == _ROOT:
        yield from _root(schema, path)
    elif schema.get("default") is not None:
        for fault in faults_of(with_defaults(schema["default"], schema), schema):
            yield (fault.reason, fault.message, f"{path}.default{_place(fault.at)}")
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield forbidden_field(
            f"{path}.additionalProperties", "additionalProperties and properties are mutual exclusive"
        )
    yield from _keywords(schema, path)
    for at, key in enumerate(schema.get(LIST_KEYS) or ()):
        if key not in ((schema.get("items") or {}).get("properties") or {}):
            yield _bad(f"{path}.{LIST_KEYS}[{at}]", key, "entries must all be names of item properties")
    yield from _conditions(schema, path, either=bool(schema.get(INT_OR_STRING)))
    for below, under, its_level in _below(schema, path):
        if not (level == _ROOT and under == f"{path}.properties[metadata]"):
            yield from _faults(below, under, its_level)


def _root(schema: Schema, path: str) -> Iterator[Cause]:
    if schema.get("type", "object") != "object":
        yield _bad(f"{path}.type", schema["type"], "must be object at the root")
    if schema.get("additionalProperties") is not None:
        yield forbidden_field(f"{path}.additionalProperties", "must not be used at the root")
    if schema.get("default") is not None:
        yield forbidden_field(f"{path}.default", "must not be set at the root")


def _keywords(schema: Schema, path: str) -> Iterator[Cause]:
    for name, why in _FORBIDDEN.items():
        if schema.get(name):
            yield forbidden_field(f"{path}.{name}", why or f"{name} is not supported")
    try:
        compiled(schema.get("pattern") or "")
    except re.error as error:
        yield _bad(f"{path}.pattern", schema["pattern"], f"must be a valid regular expression, but isn't: {error}")


def _conditions(schema: Schema, path: str, *, either: bool = False) -> Iterator[Cause]:
    """Conditions say nothing of the structure. `either`: the usual way to write int-or-string is allowed."""
    below = [(one, f"{path}.{name}[{at}]") for name in _JUNCTIONS for at, one in enumerate(schema.get(name) or ())]
    below += [(schema["not"], f"{path}.not")] if schema.get("not") else []
    for condition, at in below:
        if either and at.startswith(f"{path}.anyOf") and schema["anyOf"] == _EITHER:
            continue
        for name in _NOT_IN_CONDITIONS:
            if condition.get(name):
                need = "empty" if name in _EMPTY else "false" if name in _FALSE else "undefined"
                yield forbidden_field(f"{at}.{name}", f"must be {need} to be structural")
        yield from _keywords(condition, at)
        yield from _conditions(condition, at, either=either and at == f"{path}.allOf[0]")
        for part, its_path, _ in _below(condition, at):
            yield from _conditions({"allOf": [part]}, its_path)


def _bad(path: str, value: Any, why: str) -> Cause:
    return ("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)
