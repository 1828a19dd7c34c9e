"""Hints for unknown fields and faults of a scenario: the nearest known one at that place. Pure.

Refuses to know what else is wrong with a scenario.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec.inspect as types

from config.values.nearest import did_you_mean

_FIELD = re.compile(r"Object contains unknown field `(?P<word>[^`]*)`(?: - at `(?P<path>\$[^`]*)`)?")
_TAG = re.compile(r"Invalid value '(?P<word>[^']*)' - at `(?P<path>\$[^`]*)\.(?P<tag>\w+)`")
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]")


def with_hint(refusal: str, kind: Any, document: object) -> str:
    """The `refusal` with which msgspec did not convert `document` to `kind`.

    With a hint where one is near.
    """
    hint = ""
    if found := _FIELD.fullmatch(refusal):
        places = _places(kind, document, found["path"] or "$")
        hint = did_you_mean(found["word"], {name for place in places for name in _fields_of(place)})
    elif found := _TAG.fullmatch(refusal):
        places = _places(kind, document, found["path"], of_tag=False)
        hint = did_you_mean(found["word"], {str(place.tag) for place in places if place.tag_field == found["tag"]})
    return f"{refusal}; {hint}" if hint else refusal


def _fields_of(place: types.StructType) -> Iterator[str]:
    yield from (field.encode_name for field in place.fields)
    if place.tag_field is not None:
        yield place.tag_field


def _places(kind: Any, document: object, path: str, *, of_tag: bool = True) -> list[types.StructType]:
    """The structs that may stand at `path`. `of_tag`: only the one whose tag the document has there."""
    found: list[types.Type] = [types.type_info(kind)]
    value: Any = document
    for step in _STEP.finditer(path):
        name, index = step["field"], step["index"]
        structs = _structs_in(found, value)
        if name is not None:
            found = [field.type for each in structs for field in each.fields if field.encode_name == name]
            value = value.get(name) if isinstance(value, dict) else None
        else:
            found = [each.item_type for each in _in(found) if isinstance(each, types.VarTupleType)]
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
    return _structs_in(found, value if of_tag else None)


def _structs_in(found: list[types.Type], value: object) -> list[types.StructType]:
    structs = [each for each in _in(found) if isinstance(each, types.StructType)]
    tagged = [
        each
        for each in structs
        if each.tag_field is not None and isinstance(value, dict) and value.get(each.tag_field) == each.tag
    ]
    return tagged or structs


def _in(found: list[types.Type]) -> Iterator[types.Type]:
    """The parts of unions, without what only annotates them."""
    for each in found:
        if isinstance(each, types.Metadata):
            yield from _in([each.type])
        elif isinstance(each, types.UnionType):
            yield from _in(list(each.types))
        else:
            yield each
