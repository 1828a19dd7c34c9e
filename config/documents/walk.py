"""The slow path of the codec: it walks a document along the types of its kind.

Owns which faults a document of the wrong form has, each with its path and a hint. Owns what is forgiven because the API
forgives it: null for an absent field, a plain number for a quantity. Owns the setting aside of unknown fields. Pure.
Refuses to know JSON, YAML and what the values mean.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from config.documents.limits import FAULTS_AT_MOST, STEP_CHARACTERS_AT_MOST, shortened
from config.objects import ApiObject, ApiStruct, UnknownFields
from config.objects.base import UNKNOWN_KEY

Step = str | tuple[int, str | None]
"""One step of a path: the name of a field, or (index, name of the item) in a list."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class FieldFault(NamedTuple):
    path: str
    reason: str
    hint: str


def path_text(path: tuple[Step, ...]) -> str:
    """`$.spec.containers[0].image`; keys that are no plain words are quoted: `$.metadata.labels["a/b"]`."""
    text = "$"
    for step in path:
        if not isinstance(step, str):
            text += f"[{step[0]}]"
            continue
        step = shortened(step, STEP_CHARACTERS_AT_MOST)
        if step and _PLAIN.issuperset(step):
            text += f".{step}"
        else:
            text += f"[{msgspec.json.encode(step).decode()}]"
    return text


def walk(value: object, kind: type[ApiStruct]) -> tuple[Any, list[FieldFault]]:
    """(`value` as the struct accepts it, its faults up to the limit).

    Without any, the first converts to `kind`.
    """
    walker = _Walker()
    return _shape(kind)(walker, value), walker.faults


class _Walker:
    """Where the walk is, and what it found on the way."""

    def __init__(self) -> None:
        self.path: list[Step] = []
        self.faults: list[FieldFault] = []
        # Unknown fields of the innermost kind around, and how deep in the path that kind is.
        self.record: list[tuple[tuple[Step, ...], bytes]] | None = None
        self.depth_of_kind = 0

    def fault(self, reason: str, hint: str = "") -> None:
        if len(self.faults) < FAULTS_AT_MOST:
            self.faults.append(FieldFault(path_text(tuple(self.path)), reason, hint))

    def note_unknown(self, key: str, value: object) -> None:
        if self.record is not None:
            path = (*self.path[self.depth_of_kind :], key)
            self.record.append((path, msgspec.json.encode(value)))

    def go(self, step: Step, value: object, shape: _Shape) -> Any:
        self.path.append(step)
        try:
            return shape(self, value)
        finally:
            self.path.pop()


# A shape takes the value at the walker's place and gives it as the struct accepts it, having told every fault.
_Shape = Callable[[_Walker, Any], Any]


def named(value: object) -> str:
    """A description of a value for a sentence, such as `the number 3` or `a list`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value if len(value) <= 40 else value[:40] + '...'!r}"
    return "a list" if isinstance(value, list) else "a map" if isinstance(value, dict) else f"a {type(value).__name__}"


def _text(walker: _Walker, value: Any) -> Any:
    if not isinstance(value, str):
        scalar = isinstance(value, (int, float))
        walker.fault(
            f"must be text, not {named(value)}", 'put it in quotes, such as "8080" or "true"' if scalar else ""
        )
    return value


def _quantity(walker: _Walker, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        walker.fault(f"must be a quantity, not {named(value)}", "write a number, or text such as 500m or 1Gi")
    return value if isinstance(value, str) else str(value)


def _integer(walker: _Walker, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        quoted = isinstance(value, str) and value.lstrip("-").isdecimal()
        walker.fault(f"must be a whole number, not {named(value)}", "remove the quotes" if quoted else "")
    return value


def _whole(least: int, most: int) -> _Shape:
    """A whole number that fits the type of the API."""

    def whole(walker: _Walker, value: Any) -> Any:
        _integer(walker, value)
        _check_range(walker, value, least, most)
        return value

    return whole


def _whole_or_text(least: int, most: int) -> _Shape:
    def whole_or_text(walker: _Walker, value: Any) -> Any:
        _integer_or_text(walker, value)
        _check_range(walker, value, least, most)
        return value

    return whole_or_text


def _check_range(walker: _Walker, value: object, least: int, most: int) -> None:
    if isinstance(value, int) and not isinstance(value, bool) and not least <= value <= most:
        walker.fault(f"must lie between {least} and {most}", "write a smaller number" if value > most else "")


def _number(walker: _Walker, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        walker.fault(f"must be a number, not {named(value)}")
    return value


def _boolean(walker: _Walker, value: Any) -> Any:
    if not isinstance(value, bool):
        quoted = value in ("true", "false")
        walker.fault(f"must be true or false, not {named(value)}", "remove the quotes" if quoted else "")
    return value


def _integer_or_text(walker: _Walker, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        walker.fault(f"must be a number or a name, not {named(value)}")
    return value


def _anything(walker: _Walker, value: Any) -> Any:
    return value


_SCALARS: dict[Any, _Shape] = {
    str: _text,
    int: _integer,
    bool: _boolean,
    float: _number,
    Any: _anything,
    object: _anything,
}


def _one_of(choices: tuple[Any, ...]) -> _Shape:
    expected = " or ".join(str(choice) for choice in choices)

    def one_of(walker: _Walker, value: Any) -> Any:
        if value not in choices:
            walker.fault(f"must be {expected}, not {named(value)}")
        return value

    return one_of


def _list_of(shape: _Shape) -> _Shape:
    def list_of(walker: _Walker, value: Any) -> Any:
        if not isinstance(value, list):
            walker.fault(f"must be a list, not {named(value)}", "start each item with a dash, or write it in [ ]")
            return value
        items = []
        for index, item in enumerate(value):
            name = item.get("name") if isinstance(item, dict) else None
            items.append(walker.go((index, name if isinstance(name, str) else None), item, shape))
        return items

    return list_of


def _map_of(shape: _Shape) -> _Shape:
    def map_of(walker: _Walker, value: Any) -> Any:
        if not isinstance(value, dict):
            walker.fault(f"must be a map, not {named(value)}", "write key: value lines below it")
            return value
        if shape is _text:
            # The API reads a key without a value as one with an empty text.
            value = {key: "" if item is None else item for key, item in value.items()}
        return {key: walker.go(key, item, shape) for key, item in value.items()}

    return map_of


@lru_cache(maxsize=1024)
def _shape(kind: type[ApiStruct]) -> _Shape:
    """The shape of a struct. Built once per type, on first need."""
    hints = get_type_hints(kind, include_extras=True)
    lazily: dict[str, _Shape | None] = {}
    types_by_name = {
        field.encode_name: hints[field.name]
        for field in msgspec.structs.fields(kind)
        if field.encode_name != UNKNOWN_KEY
    }
    remembers = issubclass(kind, ApiObject)

    def struct(walker: _Walker, value: Any) -> Any:
        if not isinstance(value, dict):
            walker.fault(f"must be a map, not {named(value)}", "write its fields as key: value lines below it")
            return value
        outer = walker.record, walker.depth_of_kind
        record: list[tuple[tuple[Step, ...], bytes]] = []
        if remembers:
            walker.record, walker.depth_of_kind = record, len(walker.path)
        known: dict[str, Any] = {}
        for key, item in value.items():
            if key not in types_by_name:
                walker.note_unknown(key, item)
            elif item is not None:
                shape = lazily.get(key)
                if shape is None:
                    shape = lazily[key] = _shape_of(types_by_name[key])
                known[key] = walker.go(key, item, shape)
        if remembers:
            walker.record, walker.depth_of_kind = outer
            if record:
                known[UNKNOWN_KEY] = UnknownFields(tuple(record))
        return known

    return struct


def _shape_of(hint: Any) -> _Shape:
    """The shape of what a field's type hint says."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        meta = next((extra for extra in arguments[1:] if isinstance(extra, msgspec.Meta)), None)
        if meta is not None and (meta.extra or {}).get("quantity"):
            return _quantity
        bounds = _bounds(hint)
        return _shape_of(arguments[0]) if bounds is None else _whole(*bounds)
    if origin in (Union, types.UnionType):
        options = [option for option in arguments if option is not type(None)]
        if len(options) == 2:
            (bounds,) = filter(None, map(_bounds, options))
            return _whole_or_text(*bounds)
        return _shape_of(options[0])
    if origin is Literal:
        return _one_of(arguments)
    if origin in (tuple, list):
        return _list_of(_shape_of(arguments[0]))
    if origin in (Mapping, dict):
        return _map_of(_shape_of(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, ApiStruct):
        return _shape(hint)
    return _SCALARS[hint]


def known_fields(kind: type[ApiStruct], path: Sequence[Step]) -> tuple[str, ...]:
    """The known fields of the struct that has the last step of `path`, a path in a document of `kind`.

    Empty when the path leads through something unknown.
    """
    hint: Any = kind
    for step in path[:-1]:
        hint = _below(_plain(hint), step)
    hint = _plain(hint)
    if not (isinstance(hint, type) and issubclass(hint, ApiStruct)):
        return ()
    return tuple(name for name in hint.__struct_encode_fields__ if name != UNKNOWN_KEY)


def _below(hint: Any, step: Step) -> Any:
    """The type at `step` below `hint`, or None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if not isinstance(step, str):
        return arguments[0] if origin in (tuple, list) else None
    if origin in (Mapping, dict):
        return arguments[1]
    if not (isinstance(hint, type) and issubclass(hint, ApiStruct)):
        return None
    names = dict(zip(hint.__struct_encode_fields__, hint.__struct_fields__, strict=True))
    return get_type_hints(hint, include_extras=True)[names[step]] if step in names else None


def _plain(hint: Any) -> Any:
    """The type without `Annotated` and `None`."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _plain(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return _plain(next(option for option in get_args(hint) if option is not type(None)))
    return hint


def _bounds(hint: object) -> tuple[int, int] | None:
    """Least and most of a whole number with limits."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, msgspec.Meta) and isinstance(extra.ge, int) and isinstance(extra.le, int):
            return extra.ge, extra.le
    return None
