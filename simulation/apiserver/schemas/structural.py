"""Checks that the schemas in a definition are structural.

A structural schema says the types and fields of all values outside of `allOf`, `anyOf`, `oneOf` and `not`. These four
only add conditions. So pruning and defaults are well-defined. `definition.yaml` has the keywords, their types and their
allowed places. This module compares one keyword with another. Pure; faults are returned, not raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from simulation.apiserver.schemas.formats import compiled
from simulation.apiserver.schemas.shapes import INT_OR_STRING, LIST_KEYS, PRESERVE, with_defaults
from simulation.apiserver.schemas.validation import At, faults_of, invalid_at
from simulation.apiserver.status import forbidden_field, required
from simulation.validations.rules import CEL

Schema = Mapping[str, Any]
Cause = tuple[str, str, str]

_DOCUMENTS: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "definition.yaml").read_text())
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
    """The places of patterns in the schema that Python cannot compile."""
    return [
        f"{at}.pattern" for below, at, _ in everywhere(schema, path) if compiled(below.get("pattern") or "") is None
    ]


def faults_of_schema(schema: Schema, path: str) -> list[Cause]:
    """The faults of the schema of one version, whose keywords match `definition.yaml`."""
    metadata = f"{path}.properties[metadata]"
    parts = [part for part in everywhere(schema, path) if not part[1].startswith(metadata)]
    return [cause for part, at, level in parts for cause in _faults(part, at, level)]


def _faults(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    kind, properties, others = schema.get("type"), schema.get("properties"), schema.get("additionalProperties")
    if not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(f"{path}.type", f"must not be empty {level}")
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
