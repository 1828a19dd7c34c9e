"""The types of built-in kinds, from `types.json`.

    {"kinds": {"v1/Service": "core.v1.Service"},
     "types": {"core.v1.ServiceSpec": {"ports": "[port,protocol]core.v1.ServicePort", "selector": ""}}}

| text of a field | its values |
|---|---|
| empty | are owned as a whole |
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
    return None if name is None else _named(name)


def metadata_type() -> FieldType:
    """The type of the metadata of every object."""
    return _named("meta.v1.ObjectMeta")


_made: dict[str, FieldType] = {}
"""At most one for each type in `types.json`; some refer to themselves."""


def _named(name: str) -> FieldType:
    found = _made.get(name)
    if found is None:
        found = _made[name] = FieldType(is_map=True, left_out=_NULL)
        _fill(found, _data().types[name])
    return found


def _fill(made: FieldType, fields: dict[str, str]) -> None:
    for name, text in fields.items():
        if text.startswith("="):
            made.defaults[name] = default = msgspec.json.decode(text[1:])
            if not default:
                made.there[name] = default
        elif text.startswith("+"):
            made.there[name] = None if text[1] in "[{" else {}
        made.fields[name] = _type_of(text.removeprefix("+"))


_NULL = (type(None),)
_LIST, _MAP = (list, *_NULL), (dict, *_NULL)
"""Null, an empty list and an empty map are nothing to Go; an empty struct is something."""
_ONE_VALUE = FieldType(left_out=_NULL)


@cache
def _type_of(text: str) -> FieldType:
    if text == "" or text.startswith("="):
        return _ONE_VALUE
    if text == "[]":
        return FieldType(left_out=_LIST)
    if text == "?":
        return ANYTHING
    if text == "{!}":
        return FieldType(left_out=_MAP)
    if text.startswith("{}"):
        return FieldType(is_map=True, others=_type_of(text[2:]), left_out=_MAP)
    if text.startswith("["):
        keys, _, item = text[1:].partition("]")
        return FieldType(items=_type_of(item), keys=() if keys == "=" else keys.split(","), left_out=_LIST)
    return _named(text)
