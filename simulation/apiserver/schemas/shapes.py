"""The uses of a schema besides checking. Pure.

It prunes, sets defaults and merges lists.

A result is a copy that shares the unchanged parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

import msgspec

from config.caches import with_its_object
from config.objects import ObjectMeta
from config.patches import Schema as MergeSchema
from config.patches import schema_for
from config.patches.strategic_schema import FieldRule
from simulation.apiserver.schemas.kind_schema import KindSchema

Schema = Mapping[str, Any]
Json = dict[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE, LIST_KEYS, MAP_TYPE = "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"
KNOWN_ITEMS = "x-items"
"""Only in `definition.yaml`: what prunes the items, and checks nothing."""
STRATEGY, MERGE_KEY = "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"
"""Only in published schemas; they take precedence over the type of a list."""
_NOTHING: Schema = {}
_OF_ANY_RESOURCE = ("apiVersion", "kind", "metadata")
_METADATA: Schema = {
    "properties": {field.encode_name: {PRESERVE: True} for field in msgspec.structs.fields(ObjectMeta)}
}


# --- pruning --------------------------------------------------------------------------------------------------------


def pruned(value: Any, schema: Schema, unknown: list[str], path: str = "", *, is_resource: bool = True) -> Any:
    """The object without the fields that the schema does not know; their paths are added to `unknown`.

    The type and metadata of a resource are always known.
    """
    return _pruned(value, schema, path, unknown, is_resource=is_resource, preserves=False)


def _pruned(value: Any, schema: Schema, path: str, unknown: list[str], *, is_resource: bool, preserves: bool) -> Any:
    preserves = preserves or bool(schema.get(PRESERVE))
    if isinstance(value, list):
        of_items: Schema = schema.get("items") or schema.get(KNOWN_ITEMS) or _NOTHING
        items = [_below(item, of_items, f"{path}[{at}]", unknown, preserves) for at, item in enumerate(value)]
        return value if all(map(is_, items, value)) else items
    if not isinstance(value, dict):
        return value
    properties: Schema = schema.get("properties") or _NOTHING
    others = schema.get("additionalProperties")
    kept: Json = {}
    for name, item in value.items():
        below = f"{path}.{name}" if path else name
        if is_resource and name == "metadata":
            kept[name] = _pruned(item, _METADATA, below, unknown, is_resource=False, preserves=False)
        elif name in properties:
            kept[name] = _below(item, properties[name], below, unknown)
        elif isinstance(others, dict) and others:
            kept[name] = _below(item, others, below, unknown)
        elif preserves or others is True or others == {} or (is_resource and name in _OF_ANY_RESOURCE):
            kept[name] = item
        else:
            unknown.append(below)
    return value if len(kept) == len(value) and all(map(is_, kept.values(), value.values())) else kept


def _below(item: Any, schema: Schema, path: str, unknown: list[str], preserves: bool = False) -> Any:
    return _pruned(item, schema, path, unknown, is_resource=bool(schema.get(EMBEDDED)), preserves=preserves)


# --- defaults -------------------------------------------------------------------------------------------------------


def with_defaults(value: Any, schema: Schema) -> Any:
    """The value with the default of each absent field.

    A null counts as absent unless the schema allows it.
    """
    of_items = schema.get("items")
    if isinstance(value, list) and of_items:
        items = [
            with_defaults(of_items.get("default") if _is_absent(item, of_items) else item, of_items) for item in value
        ]
        return value if all(map(is_, items, value)) else items
    if not isinstance(value, dict):
        return value
    properties: Schema = schema.get("properties") or _NOTHING
    others = schema.get("additionalProperties")
    made: Json = {}
    for name, item in value.items():
        below = properties.get(name, others if isinstance(others, dict) else _NOTHING)
        if name not in properties or not _is_absent(item, below):
            made[name] = with_defaults(item, below)
    for name, below in properties.items():
        if name not in made and below.get("default") is not None:
            made[name] = with_defaults(below["default"], below)
    return value if len(made) == len(value) and all(map(is_, made.values(), value.values())) else made


def _is_absent(item: Any, schema: Schema) -> bool:
    return item is None and not schema.get("nullable")


# --- for other parts of the server ----------------------------------------------------------------------------------


@with_its_object
def merged_lists(described: KindSchema) -> MergeSchema:
    """How patches merge lists: as the published strategy says.

    Without one a `set` by value, a `map` by its key.

    A map with several keys is replaced.
    """
    return {**_merged_fields(described.schema), **schema_for("", "")}


def _merged_fields(schema: Schema) -> dict[str, FieldRule]:
    return {name: _rule(below) for name, below in (schema.get("properties") or {}).items()}


def _rule(schema: Schema) -> FieldRule:
    strategy = schema.get(STRATEGY, "")
    if strategy and schema.get("type") == "array":
        below = _merged_fields(schema.get("items") or {})
        return FieldRule(below, "merge" in strategy, schema.get(MERGE_KEY), "retainKeys" in strategy)
    if strategy:
        return FieldRule(_merged_fields(schema), retain_keys="retainKeys" in strategy, replace=strategy == "replace")
    kind, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    if kind == "set":
        return FieldRule(merge=True)
    if kind == "map" and len(keys) == 1:
        return FieldRule(_merged_fields(schema.get("items") or {}), merge=True, key=str(keys[0]))
    return FieldRule(_merged_fields(schema), replace=schema.get(MAP_TYPE) == "atomic")
