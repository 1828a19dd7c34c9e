"""The types of built-in kinds, from `types.json`.

    {"kinds": {"v1/Service": "core.v1.Service"},
     "types": {"core.v1.ServiceSpec": {"ports": "[port,protocol]core.v1.ServicePort", "selector": ""}}}

| text of a field | its values |
|---|---|
| empty | are owned as a whole |
| `-` | are owned as a whole; Go leaves out the zero of its type |
| `NAME` | are of that type |
| `{}TEXT` | are maps; each value has an owner of its own |
| `{!}` | are maps, which are owned as a whole |
| `[]` | are lists, which are owned as a whole |
| `[=]` | are lists; each item has an owner of its own |
| `[a,b]TEXT` | are lists of objects, which `a` and `b` tell apart |
| `?` | are anything |
| `=JSON` | are owned as a whole; that is the default, which is there if it is the zero of its type |
| `+TEXT` | are there, and empty, if nobody sets them |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from simulation.apiserver.fields.types import ANYTHING, FieldType


class _Data(msgspec.Struct, frozen=True):
    kinds: dict[str, str]
    types: dict[str, dict[str, str]]


@cache
def _data() -> _Data:
    return msgspec.json.decode(Path(__file__).with_name("types.json").read_bytes(), type=_Data)


def published_type(api_version: str, kind: str) -> FieldType | None:
    """The type of a built-in kind; None for any other."""
    name = _data().kinds.get(f"{api_version}/{kind}")
    return None if name is None else _types()[name]


def metadata_type() -> FieldType:
    """The type of the metadata of every object."""
    return _types()["meta.v1.ObjectMeta"]


_NULL = (type(None),)
_ZERO = (bool, int, float, str, *_NULL)
_LIST, _MAP = (list, *_NULL), (dict, *_NULL)
"""Null, an empty list and an empty map are nothing to Go; an empty struct is something."""


@cache
def _types() -> Mapping[str, FieldType]:
    """All types by their names. Some refer to themselves."""
    data = _data().types
    types = {name: FieldType(is_map=True, left_out=_NULL) for name in data}
    of_texts: dict[str, FieldType] = {}
    for name, fields in data.items():
        made = types[name]
        for field, text in fields.items():
            if text.startswith("="):
                made.defaults[field] = default = msgspec.json.decode(text[1:])
                if not default:
                    made.there[field] = default
            elif text.startswith("+"):
                made.there[field] = None if text[1] in "[{" else {}
            below = "" if text.startswith("=") else text.removeprefix("+")
            if below not in of_texts:
                of_texts[below] = _type_of(below, types)
            made.fields[field] = of_texts[below]
    return types


def _type_of(text: str, types: Mapping[str, FieldType]) -> FieldType:
    if text == "":
        return FieldType(left_out=_NULL)
    if text == "-":
        return FieldType(left_out=_ZERO)
    if text == "?":
        return ANYTHING
    if text == "{!}":
        return FieldType(left_out=_MAP)
    if text == "[]":
        return FieldType(left_out=_LIST)
    if text.startswith("{}"):
        return FieldType(is_map=True, others=_type_of(text[2:], types), left_out=_MAP)
    if text.startswith("["):
        keys, _, item = text[1:].partition("]")
        of_items = _type_of(item, types)
        return FieldType(items=of_items, keys=() if keys == "=" else keys.split(","), left_out=_LIST)
    return types[text]
