"""What an object gets where it says nothing: the `default` of a field of its schema.

A default is given to a field that is absent from a map that is there, at any depth, and in what a default has brought.
A null where the schema allows none counts as absent. Pure; what is made is a copy, which shares what stayed the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

Schema = Mapping[str, Any]
_NOTHING: Schema = {}


def with_defaults(value: Any, schema: Schema) -> Any:
    """The value with what is missing in it."""
    if isinstance(value, dict):
        return _map(value, schema)
    of_items = schema.get("items")
    if isinstance(value, list) and of_items:
        items = [_item(item, of_items) for item in value]
        return value if all(map(is_, items, value)) else items
    return value


def _map(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    properties: Schema = schema.get("properties") or _NOTHING
    others = schema.get("additionalProperties")
    made: dict[str, Any] = {}
    for name, item in value.items():
        below = properties.get(name, others if isinstance(others, dict) else _NOTHING)
        if item is not None or below.get("nullable") or name not in properties:
            made[name] = with_defaults(item, below)
    for name, below in properties.items():
        if name not in made and below.get("default") is not None:
            made[name] = with_defaults(below["default"], below)
    # Whatever has gone or come, something stands at another place then.
    return value if len(made) == len(value) and all(map(is_, made.values(), value.values())) else made


def _item(item: Any, schema: Schema) -> Any:
    """A list keeps its places, so a null goes only where there is something to put there."""
    if item is None and not schema.get("nullable") and schema.get("default") is not None:
        item = schema["default"]
    return with_defaults(item, schema)
