"""The types of custom kinds, from the schema of their definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from config.caches import with_its_object
from simulation.apiserver.fields.published import metadata_type
from simulation.apiserver.fields.types import ANYTHING, ONE_VALUE, FieldType
from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.schemas.shapes import EMBEDDED, INT_OR_STRING, LIST_KEYS, LIST_TYPE, MAP_TYPE, PRESERVE

Schema = Mapping[str, Any]
_OF_EVERY_OBJECT = ("apiVersion", "kind")


@with_its_object
def custom_type(described: KindSchema) -> FieldType:
    """The type of the objects of a definition."""
    return _type_of(described.schema, preserves=False, is_resource=True)


def _type_of(schema: Schema, *, preserves: bool, is_resource: bool = False) -> FieldType:
    """`preserves`: whether a schema around this one keeps unknown fields."""
    preserves = preserves or bool(schema.get(PRESERVE))
    kind = schema.get("type", "")
    if schema.get(INT_OR_STRING) or kind in ("boolean", "integer", "number", "string"):
        return ONE_VALUE
    if kind == "array":
        return _list_of(schema, preserves=preserves)
    if kind == "" and not schema.get("properties") and "additionalProperties" not in schema:
        return ANYTHING
    return _map_of(schema, preserves=preserves, is_resource=is_resource or bool(schema.get(EMBEDDED)))


def _list_of(schema: Schema, *, preserves: bool) -> FieldType:
    kind = schema.get(LIST_TYPE)
    if kind not in ("map", "set"):
        return ONE_VALUE
    items = _type_of(schema.get("items") or {}, preserves=preserves)
    return FieldType(items=items, keys=sorted(schema.get(LIST_KEYS) or ()) if kind == "map" else ())


def _map_of(schema: Schema, *, preserves: bool, is_resource: bool) -> FieldType:
    if schema.get(MAP_TYPE) == "atomic":
        return ONE_VALUE
    properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
    made = FieldType(is_map=True)
    if isinstance(others, Mapping):
        made.others = _type_of(others, preserves=preserves)
    elif others is True or (others is None and (preserves or not (properties or is_resource))):
        made.others = ANYTHING
    for name, below in properties.items():
        made.fields[name] = _type_of(below, preserves=preserves)
        if "default" in below:
            made.defaults[name] = below["default"]
    if is_resource:
        made.fields |= {**dict.fromkeys(_OF_EVERY_OBJECT, ONE_VALUE), "metadata": metadata_type()}
    return made
