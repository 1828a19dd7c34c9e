"""Every mistake in the form of a document: its place, what is allowed there, and the nearest name.

The document is dicts and lists; its form is a type of msgspec structs. msgspec itself stops at the first mistake, so
this walk comes after it has refused. Pure. Refuses to know what scenarios mean.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from config.documents.codec import Faults
from config.documents.places import DocumentPlace
from config.documents.walk import named
from config.values.nearest import did_you_mean, nearest


def mistakes(kind: Any, document: object) -> Faults:
    """All mistakes, up to the limit of faults; none if and only if the document converts to `kind`."""
    root = DocumentPlace()
    _look(kind, document, root)
    if not root.faults:
        _convert(kind, document, root)
    return root.faults


def _look(hint: Any, value: object, place: DocumentPlace) -> None:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated and get_origin(arguments[0]) is not None:
        found = len(place.faults)
        _look(arguments[0], value, place)
        if len(place.faults) == found:
            _convert(hint, value, place)  # such as a list that is too short
    elif origin in (Union, types.UnionType):
        _option(arguments, value, place)
    elif origin is tuple:
        _list(arguments, value, place)
    elif origin is Mapping:
        _map(arguments[1], value, place)
    elif origin is Literal:
        if value not in arguments:
            _none_of(value, map(str, arguments), place)
    elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        _struct((hint,), value, place)
    else:
        _scalar(hint, value, place)


def _option(options: tuple[Any, ...], value: object, place: DocumentPlace) -> None:
    """Check a value of several types: null or another type, or structs with different tags."""
    left = [each for each in options if each is not type(None)]
    if value is None and len(left) < len(options):
        return
    if all(isinstance(each, type) and issubclass(each, msgspec.Struct) for each in left):
        _struct(tuple(left), value, place)
    elif len(left) == 1:
        _look(left[0], value, place)
    else:
        _convert(functools.reduce(operator.or_, left), value, place)


def _struct(kinds: tuple[type[msgspec.Struct], ...], value: object, place: DocumentPlace) -> None:
    """Check a map. `kinds`: its struct, or several structs with different tags."""
    if not isinstance(value, dict):
        return place.fault(f"must be a map, not {named(value)}", "write its fields as key: value lines below it")
    tag_field = kinds[0].__struct_config__.tag_field
    if tag_field is not None:
        by_tag = {str(each.__struct_config__.tag): each for each in kinds}
        tag = value.get(tag_field)
        if tag is None:
            return place.fault(f"has no field {tag_field}", f"write {tag_field}: one of {_listed(by_tag)}")
        if tag not in by_tag:
            return _none_of(tag, by_tag, place / tag_field)
        kinds = (by_tag[tag],)
    fields = _fields(kinds[0])
    for key, item in value.items():
        if place.faults.full:
            return None
        if key in fields:
            meant = _meant(str(key), item, fields, value)
            if meant:
                (place / str(key)).fault(f"must be a map, not {named(item)}", f"did you mean {meant}?")
            else:
                _look(fields[key][0], item, place / str(key))
        elif key != tag_field:
            free = sorted(set(fields) - set(value))
            (place / str(key)).fault("unknown field", did_you_mean(str(key), fields, f"there are {_listed(free)}"))
    for name, (_, required) in fields.items():
        if required and name not in value:
            place.fault(f"has no field {name}", "write it")
    return None


def _meant(key: str, item: object, fields: Mapping[str, tuple[Any, bool]], given: Mapping[Any, Any]) -> str:
    """The field with a similar name that takes this value, where `key` is one for a map; mostly empty."""
    if not _is_struct(fields[key][0]) or (item is None or isinstance(item, dict)):
        return ""
    takers = [name for name, (hint, _) in fields.items() if name not in given and _takes(hint, item)]
    return nearest(key, takers)


def _is_struct(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _takes(hint: Any, value: object) -> bool:
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return True


@functools.lru_cache(maxsize=128)
def _fields(kind: type[msgspec.Struct]) -> Mapping[str, tuple[Any, bool]]:
    """Name in a document -> the type of the field, and whether it is required."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.encode_name: (hints[field.name], field.required) for field in msgspec.structs.fields(kind)}


def _list(arguments: tuple[Any, ...], value: object, place: DocumentPlace) -> None:
    """Check a list of any length, or one with as many items as types."""
    if not isinstance(value, list):
        return place.fault(f"must be a list, not {named(value)}", "start each item with a dash, or write it in [ ]")
    endless = arguments[-1] is Ellipsis
    if not endless and len(value) != len(arguments):
        return place.fault(f"must have {len(arguments)} items, not {len(value)}")
    for number, item in enumerate(value):
        if place.faults.full:
            break
        _look(arguments[0 if endless else number], item, place / number)
    return None


def _map(kind: Any, value: object, place: DocumentPlace) -> None:
    if not isinstance(value, dict):
        return place.fault(f"must be a map, not {named(value)}", "write key: value lines below it")
    for key, item in value.items():
        if place.faults.full or kind is Any:
            break
        _look(kind, item, place / str(key))
    return None


def _scalar(hint: Any, value: object, place: DocumentPlace) -> None:
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        meta = next((each for each in get_args(hint)[1:] if isinstance(each, Meta)), Meta())
        if plain is str:
            hint_of_form = f"write it {meta.description}" if meta.description else ""
            if isinstance(value, str):
                place.fault(f"{named(value)} is not allowed here", hint_of_form or str(error))
            else:
                place.fault(f"must be text, not {named(value)}", hint_of_form or "put it in quotes")
        elif plain in _CALLED:
            place.fault(f"must be {_CALLED[plain]}{_between(meta)}, not {named(value)}")
        else:
            place.fault(str(error))


_CALLED: Mapping[Any, str] = {int: "a whole number", float: "a number", bool: "true or false"}


def _between(meta: Meta) -> str:
    if meta.ge is not None and meta.le is not None:
        return f" from {meta.ge} to {meta.le}"
    return "" if meta.ge is None else f", at least {meta.ge}"


def _convert(hint: Any, value: object, place: DocumentPlace) -> None:
    """Let msgspec check a value in which this walk finds no mistake."""
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        place.fault(str(error))


def _none_of(value: object, known: Iterable[str], place: DocumentPlace) -> None:
    known = list(known)
    hint = did_you_mean(value, known) if isinstance(value, str) else ""
    place.fault(f"{named(value)} is none of {_listed(known)}", hint)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
