"""The shape of an object: all that decides which fields somebody owns who makes it.

    {"metadata": {"name": "a"}, "ports": [{"port": 80}]}
    ("metadata", "{", "name", True, None, "ports", "[", "80", "{", "port", True, None, None)

A shape has the names of fields, what tells the items of a list apart, and whether a value is empty. Thousands of events
have one shape.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from simulation.apiserver.fields.types import FieldType
from simulation.apiserver.status import Json

Shape: TypeAlias = tuple[object, ...]
_MAP, _LIST, _END = "{", "[", None


def shape_of(value: Json, kind: FieldType) -> Shape:
    """The shape of an object of that type."""
    parts: list[object] = []
    _add_map(value, kind, parts)
    return tuple(parts)


def _add(value: Any, kind: FieldType, parts: list[object]) -> None:
    if not kind.has_parts(value):
        parts.append(True if value else type(value))
    elif isinstance(value, dict):
        parts.append(_MAP)
        _add_map(value, kind, parts)
        parts.append(_END)
    else:
        assert kind.items is not None
        parts.append(_LIST)
        for item in value:
            known_by = [item.get(key) for key in kind.keys] if isinstance(item, dict) else item
            parts.append(repr(known_by))
            _add(item, kind.items, parts)
        parts.append(_END)


def _add_map(value: Json, kind: FieldType, parts: list[object]) -> None:
    for name, part in value.items():
        parts.append(name)
        _add(part, kind.below(name), parts)
