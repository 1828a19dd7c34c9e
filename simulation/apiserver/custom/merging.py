"""How server-side apply merges the lists of a custom resource: as `x-kubernetes-list-type` says.

A `set` is merged value by value, a `map` by its key, everything else is taken whole. A map with more than one key is
taken whole, too: the rules of `config.patches` know one. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from config.patches import Schema, schema_for
from config.patches.strategic_schema import FieldRule
from simulation.apiserver.custom.structural import MAP_TYPE
from simulation.apiserver.custom.validation import LIST_KEYS, LIST_TYPE
from simulation.apiserver.resources import CustomVersion


@lru_cache(maxsize=256)
def merged_lists(custom: CustomVersion) -> Schema:
    """The rules of one version of a resource."""
    return {**_fields(custom.schema), **schema_for("", "")}


def _fields(schema: Mapping[str, Any]) -> dict[str, FieldRule]:
    return {name: _rule(below) for name, below in (schema.get("properties") or {}).items()}


def _rule(schema: Mapping[str, Any]) -> FieldRule:
    kind, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    if kind == "set":
        return FieldRule(merge=True)
    if kind == "map" and len(keys) == 1:
        return FieldRule(_fields(schema.get("items") or {}), merge=True, key=str(keys[0]))
    return FieldRule(_fields(schema), replace=schema.get(MAP_TYPE) == "atomic")
