"""Checks that the schemas in a definition are structural.

A structural schema says the types and fields of all values outside of `allOf`, `anyOf`, `oneOf` and `not`. These four
only add conditions. So pruning and defaults are well-defined. `definition.yaml` has the keywords, their types and their
allowed places. This module compares one keyword with another. Pure; faults are returned, not raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from simulation.apiserver.schemas.formats import compiled
from simulation.apiserver.schemas.shapes import EMBEDDED, INT_OR_STRING, LIST_KEYS, PRESERVE, with_defaults
from simulation.apiserver.schemas.validation import At, faults_of, invalid_at
from simulation.apiserver.status import forbidden_field, required
from simulation.validations.rules import CEL

Schema = Mapping[str, Any]
Cause = tuple[str, str, str]

_DOCUMENTS: dict[str, dict[str, Any]] = msgspec.yaml.decode((Path(__file__).parent / "definition.yaml").read_bytes())
DEFINITION, SCHEMA = _DOCUMENTS["definition"], _DOCUMENTS["root"]

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"


def causes_of(value: Any, schema: Schema, path: str = "") -> list[Cause]:
    """The faults of a definition, or of the schema in it at that path."""
    return [(fault.reason, fault.message, _place(fault.at, path)) for fault in faults_of(value, schema)]


def _place(at: At, path: str) -> str:
    above: str | int = ""
    for step in at:
        is_bracketed = isinstance(step, int) or above == "properties"
        path += f"[{step}]" if is_bracketed else f".{step}" if path else str(step)
        above = step
    return path or "<nil>"


def everywhere(schema: Schema, path: str, level: str = _ROOT) -> Iterator[tuple[Schema, str, str]]:
    """The schema and all that describe a part of its value, each with its path and level."""
    yield schema, path, level
    for name, below in (schema.get("properties") or {}).items():
        yield from everywhere(below, f"{path}.properties[{name}]", _FIELD)
    if schema.get("items"):
        yield from everywhere(schema["items"], f"{path}.items", _ITEM)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from everywhere(schema["additionalProperties"], f"{path}.additionalProperties", _FIELD)


def places_of_cel(schema: Schema, path: str) -> list[tuple[str, Any]]:
    """The parts of the schema with rules in CEL: path, rules."""
    return [(at, below[CEL]) for below, at, _ in everywhere(schema, path) if below.get(CEL)]


def places_not_read(schema: Schema, path: str) -> list[str]:
    """The places of patterns in the schema, if there is no RE2 to match them."""
    return [
        f"{at}.pattern"
        for below, at, _ in everywhere(schema, path)
        if below.get("pattern") and compiled(below["pattern"]) is None
    ]


def faults_of_schema(schema: Schema, path: str) -> list[Cause]:
    """The faults of the schema of one version, whose keywords match `definition.yaml`."""
    metadata = f"{path}.properties[metadata]"
    parts = [part for part in everywhere(schema, path) if not part[1].startswith(metadata)]
    causes = [cause for part, at, level in parts for cause in _faults(part, at, level)]
    return sorted(
        [*causes, *_unknown_in_conditions(schema, schema, path, path)], key=lambda cause: (cause[2], cause[1])
    )


def _unknown_in_conditions(condition: Schema, schema: Schema | None, at: str, place: str) -> Iterator[Cause]:
    """The fields of conditions on the root that the schema itself does not have.

    `at`: of the schema; `place`: of the condition.
    """
    for keyword in ("allOf", "anyOf", "oneOf"):
        for number, each in enumerate(condition.get(keyword) or ()):
            yield from _unknown_in_condition(each, schema, at, f"{place}.{keyword}[{number}]")
    if condition.get("not"):
        yield from _unknown_in_condition(condition["not"], schema, at, f"{place}.not")


def _unknown_in_condition(condition: Schema, schema: Schema | None, at: str, place: str) -> Iterator[Cause]:
    if schema is None:
        yield required(at, f"because it is defined in {place}")
        return
    yield from _unknown_in_conditions(condition, schema, at, place)
    if condition.get("items"):
        yield from _unknown_in_condition(condition["items"], schema.get("items"), f"{at}.items", f"{place}.items")
    properties = schema.get("properties") or {}
    for name, each in (condition.get("properties") or {}).items():
        step = f"properties[{name}]"
        yield from _unknown_in_condition(each, properties.get(name), f"{at}.{step}", f"{place}.{step}")


def _faults(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    kind, properties, others = schema.get("type"), schema.get("properties"), schema.get("additionalProperties")
    if not kind and not any(schema.get(other) for other in (INT_OR_STRING, PRESERVE, EMBEDDED)):
        yield required(f"{path}.type", f"must not be empty {level}")
    if schema.get(EMBEDDED):
        yield from _faults_of_embedded(schema, path)
    for name in ("kind", "apiVersion", "metadata") if level == _ROOT or schema.get(EMBEDDED) else ():
        wanted, found = "object" if name == "metadata" else "string", (properties or {}).get(name)
        if found is not None and found.get("type") != wanted:
            yield invalid_at(f"{path}.properties[{name}].type", found.get("type", ""), f"must be {wanted}")
    if level == _ROOT and not _says_names_alone((properties or {}).get("metadata") or {}):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden_field(f"{path}.properties[metadata]", why)
    for other in (PRESERVE, EMBEDDED):
        if schema.get(INT_OR_STRING) and schema.get(other):
            yield invalid_at(f"{path}.{other}", True, f"must be false if {INT_OR_STRING} is true")
    if kind == "array" and not schema.get("items"):
        yield required(f"{path}.items", "must be specified")
    if properties and others not in (None, True):
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden_field(f"{path}.additionalProperties", why)
    if schema.get("default") is not None:
        yield from causes_of(with_defaults(schema["default"], schema), schema, f"{path}.default")
    for at, key in enumerate(schema.get(LIST_KEYS) or ()):
        if key not in ((schema.get("items") or {}).get("properties") or {}):
            yield invalid_at(f"{path}.{LIST_KEYS}[{at}]", key, "entries must all be names of item properties")


def _faults_of_embedded(schema: Schema, path: str) -> Iterator[Cause]:
    kind = schema.get("type")
    if kind and kind != "object":
        yield invalid_at(f"{path}.type", kind, f"must be object if {EMBEDDED} is true")
    elif not kind:
        yield required(f"{path}.type", f"must be object if {EMBEDDED} is true")
    if schema.get("additionalProperties"):
        yield forbidden_field(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if not schema.get(PRESERVE) and not schema.get("properties"):
        yield required(f"{path}.properties", f"must not be empty if {EMBEDDED} is true without {PRESERVE}")


def _says_names_alone(metadata: Schema) -> bool:
    """Whether the schema of the metadata speaks of the object's name alone."""
    names = set(metadata.get("properties") or ())
    others = {key for key, value in metadata.items() if key not in ("type", "properties", "default") and value}
    return names <= {"name", "generateName"} and not others
