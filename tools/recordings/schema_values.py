"""Values of the fields that an OpenAPI document describes: usual ones, others, and wrong ones. Pure.

A value is usual by its type alone. The server may refuse it all the same; that refusal is recorded, too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str | int, ...]

REFERENCE = "#/components/schemas/"
_PLAIN: Mapping[str, tuple[Json, Json, Json]] = {
    # type: (usual, another, wrong)
    "string": ("one", "two", "Not Valid/"),
    "integer": (1, 2, -1),
    "number": (1, 2, -1),
    "boolean": (True, False, "yes"),
}
_FORMATS: Mapping[str, tuple[Json, Json, Json]] = {
    "date-time": ("2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z", "yesterday"),
    "byte": ("b25l", "dHdv", "%"),
    "int-or-string": (1, "50%", "Not Valid/"),
}
_QUANTITY = ("1", "2", "one")


class Schemas:
    """The schemas of one OpenAPI document (version 3)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._named: Mapping[str, Schema] = document["components"]["schemas"]

    def of_kind(self, group: str, version: str, kind: str) -> Schema:
        """Raises KeyError when the document does not describe that kind."""
        wanted = {"group": group, "version": version, "kind": kind}
        for schema in self._named.values():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()):
                return schema
        raise KeyError(f"{group}/{version} {kind}")

    def resolved(self, schema: Schema) -> Schema:
        """The schema that a reference stands for."""
        while True:
            if "$ref" in schema:
                schema = {**self._named[schema["$ref"].removeprefix(REFERENCE)], "$name": schema["$ref"]}
            elif len(schema.get("allOf", ())) == 1:
                schema = schema["allOf"][0]
            else:
                return schema

    def values(self, schema: Schema) -> tuple[Json, Json, Json]:
        """A usual value, another one, and one that is wrong by type or form."""
        schema = self.resolved(schema)
        if str(schema.get("$name", "")).endswith(".Quantity"):
            return _QUANTITY
        if words := schema.get("enum"):
            return words[0], words[-1], "Odd"
        for form in (str(schema.get("format")), "int-or-string" if "oneOf" in schema else ""):
            if form in _FORMATS:
                return _FORMATS[form]
        kind = schema.get("type", "object")
        if kind == "array":
            usual, other, _ = self.values(schema["items"])
            return [usual], [other], [usual, usual]
        if kind != "object":
            return _PLAIN[kind]
        if "additionalProperties" in schema:
            usual, other, _ = self.values(schema["additionalProperties"])
            return {"one": usual}, {"two": other}, {"Not Valid/": usual}
        required = schema.get("required", ())
        usual = {name: self.values(schema["properties"][name])[0] for name in required}
        return usual, copy.deepcopy(usual), "text"

    def paths(self, schema: Schema, deepest: int, left_out: frozenset[str]) -> Iterator[tuple[Path, Schema]]:
        """Every field down to that depth. The first item stands for all of a list.

        `left_out`: names to pass over.
        """
        yield from self._paths(schema, (), deepest, left_out)

    def _paths(self, schema: Schema, at: Path, deepest: int, left_out: frozenset[str]) -> Iterator[tuple[Path, Schema]]:
        schema = self.resolved(schema)
        if schema.get("type") == "array":
            yield from self._paths(schema["items"], (*at, 0), deepest, left_out)
            return
        for name, inner in schema.get("properties", {}).items():
            if name in left_out:
                continue
            yield (*at, name), inner
            if deepest > 1:
                yield from self._paths(inner, (*at, name), deepest - 1, left_out)

    def with_value(self, schema: Schema, value: Json, path: Path, new: Json) -> Json:
        """A copy of `value` with `new` at the path. What is missing on the way is made of usual values."""
        if not path:
            return copy.deepcopy(new)
        schema, step = self.resolved(schema), path[0]
        if isinstance(step, int):
            items = list(value) if isinstance(value, list) and value else [self.values(schema["items"])[0]]
            items[step] = self.with_value(schema["items"], items[step], path[1:], new)
            return items
        fields = dict(value) if isinstance(value, dict) else dict(self.values(schema)[0])
        inner = schema["properties"][step]
        fields[step] = self.with_value(inner, fields.get(step), path[1:], new)
        return fields
