"""What of an object its schema does not know, and the object without that.

A field is known when `properties` or `additionalProperties` speak of it. Of a map with
`x-kubernetes-preserve-unknown-fields` all others stay as they are, too, with all that is in them. At the root, and of a
resource within (`x-kubernetes-embedded-resource`), type and metadata are always known. Pure; what is pruned is a copy,
which shares what stayed the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

import msgspec

from config.objects import ObjectMeta

Schema = Mapping[str, Any]

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
OF_ANY_RESOURCE = ("apiVersion", "kind", "metadata")
_METADATA = frozenset(field.encode_name for field in msgspec.structs.fields(ObjectMeta))
_NOTHING: Schema = {}


def pruned(value: Any, schema: Schema, unknown: list[str]) -> Any:
    """The object without what is not known at any depth; the paths of that go into `unknown`."""
    return _pruned(value, schema, "", unknown, is_resource=True, preserves=False)


def _pruned(value: Any, schema: Schema, path: str, unknown: list[str], *, is_resource: bool, preserves: bool) -> Any:
    preserves = preserves or bool(schema.get(PRESERVE))
    if isinstance(value, dict):
        return _pruned_map(value, schema, path, unknown, is_resource=is_resource, preserves=preserves)
    if isinstance(value, list):
        of_items: Schema = schema.get("items") or _NOTHING
        items = [_below(item, of_items, f"{path}[{at}]", unknown, preserves) for at, item in enumerate(value)]
        return value if all(map(is_, items, value)) else items
    return value


def _pruned_map(
    value: dict[str, Any], schema: Schema, path: str, unknown: list[str], *, is_resource: bool, preserves: bool
) -> Any:
    properties: Schema = schema.get("properties") or _NOTHING
    others = schema.get("additionalProperties")
    kept: dict[str, Any] = {}
    for name, item in value.items():
        below = f"{path}.{name}" if path else name
        if is_resource and name == "metadata":
            kept[name] = _metadata(item, below, unknown)
        elif name in properties:
            kept[name] = _below(item, properties[name], below, unknown, False)
        elif isinstance(others, dict) and others:
            kept[name] = _below(item, others, below, unknown, False)
        elif preserves or others is True or others == {} or (is_resource and name in OF_ANY_RESOURCE):
            kept[name] = item
        else:
            unknown.append(below)
    return value if len(kept) == len(value) and all(map(is_, kept.values(), value.values())) else kept


def _below(item: Any, schema: Schema, path: str, unknown: list[str], preserves: bool) -> Any:
    embedded = bool(schema.get(EMBEDDED))
    return _pruned(item, schema, path, unknown, is_resource=embedded, preserves=preserves)


def _metadata(value: Any, path: str, unknown: list[str]) -> Any:
    if not isinstance(value, dict) or value.keys() <= _METADATA:
        return value
    unknown.extend(f"{path}.{name}" for name in value if name not in _METADATA)
    return {name: item for name, item in value.items() if name in _METADATA}
