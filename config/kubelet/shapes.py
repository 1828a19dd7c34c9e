"""Reading and writing of frozen structs that were declared with `config.kubelet.configuration.Form`.

One walk reads plain data into a struct and collects every fault with its path; one walk writes a struct back as the
API writes it. Both follow the annotations of the struct, so a field that is declared is read and written. Refuses to
know any field by name, and what values make sense.
"""

import typing
from collections.abc import Mapping
from functools import cache
from types import UnionType

import msgspec

from config.documents.codec import DocumentError, Faults
from config.kubelet.configuration import Form
from config.kubelet.paths import below
from config.values.durations import DurationError, format_duration_ns, parse_duration_ns
from config.values.nearest import did_you_mean

S = typing.TypeVar("S", bound=msgspec.Struct)

_PLAIN = Form()
_FAULTY = object()


class Scalar(msgspec.Struct, frozen=True):
    type: type
    form: Form


class ListOf(msgspec.Struct, frozen=True):
    item: "Shape"
    form: Form


class MapOf(msgspec.Struct, frozen=True):
    item: "Shape"


class PartOf(msgspec.Struct, frozen=True):
    type: type[msgspec.Struct]


Shape = Scalar | ListOf | MapOf | PartOf


class FieldShape(msgspec.Struct, frozen=True):
    """One field: its Python name, its name in documents, its shape and its default.

    It also says whether the field may be absent.
    """

    attribute: str
    name: str
    shape: Shape
    optional: bool
    default: object


@cache
def fields_of(struct: type[msgspec.Struct]) -> Mapping[str, FieldShape]:
    """Fields of a struct by their name in documents, in the order of declaration."""
    hints = typing.get_type_hints(struct, include_extras=True)
    found: dict[str, FieldShape] = {}
    for field in msgspec.structs.fields(struct):
        hint = hints[field.name]
        choices = typing.get_args(hint) if _is_union(hint) else (hint,)
        (kept,) = [choice for choice in choices if choice is not type(None)]
        default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        found[field.encode_name] = FieldShape(
            field.name, field.encode_name, _shape(kept, _PLAIN), len(choices) > 1, default
        )
    return found


def _is_union(hint: object) -> bool:
    return typing.get_origin(hint) in (typing.Union, UnionType)


def _shape(hint: typing.Any, form: Form) -> Shape:
    if typing.get_origin(hint) is typing.Annotated:
        inner, *notes = typing.get_args(hint)
        return _shape(inner, next((note for note in notes if isinstance(note, Form)), form))
    origin = typing.get_origin(hint)
    if origin is tuple:
        return ListOf(_shape(typing.get_args(hint)[0], _PLAIN), form)
    if origin is not None:
        return MapOf(_shape(typing.get_args(hint)[1], _PLAIN))
    if issubclass(hint, msgspec.Struct):
        return PartOf(hint)
    return Scalar(hint, form)


# Reading ----------------------------------------------------------------------------------------------------------


def read_struct(struct: type[S], value: object, path: str, faults: Faults) -> tuple[S, frozenset[str]]:
    """Read plain data into a struct; a faulty field keeps its default, and its fault is appended.

    Returns the struct and the attributes the document gave a value to (null, and the zero of an ordinary field with
    another default, give none).
    """
    given: dict[str, object] = {}
    if not isinstance(value, dict):
        faults.append(_wrong(path, "an object", value))
        return struct(), frozenset()
    fields = fields_of(struct)
    for name, item in value.items():
        field = fields.get(name)
        if field is None and faults.full:
            continue
        if field is None:
            faults.append(DocumentError(below(path, name), "unknown field", _nearest(name, fields)))
        elif item is not None:
            read = _read(field.shape, item, below(path, name), faults)
            if read is not _FAULTY and not _means_default(field, read):
                given[field.attribute] = read
    return struct(**given), frozenset(given)


def _means_default(field: FieldShape, value: object) -> bool:
    """Whether the value is the zero of a field whose zero says nothing."""
    if isinstance(value, msgspec.Struct) or field.optional:
        return False
    if isinstance(field.shape, Scalar | ListOf) and field.shape.form.explicit:
        return False
    return not value and bool(field.default)


def _read(shape: Shape, value: object, path: str, faults: Faults) -> object:
    if isinstance(shape, PartOf):
        return read_struct(shape.type, value, path, faults)[0]
    if isinstance(shape, ListOf):
        if not isinstance(value, list):
            faults.append(_wrong(path, "a list", value))
            return _FAULTY
        items = [_read(shape.item, item, f"{path}[{i}]", faults) for i, item in enumerate(value)]
        return _FAULTY if _FAULTY in items else tuple(items)
    if isinstance(shape, MapOf):
        if not isinstance(value, dict):
            faults.append(_wrong(path, "a map", value))
            return _FAULTY
        entries = {name: _read(shape.item, item, below(path, name), faults) for name, item in value.items()}
        return _FAULTY if any(entry is _FAULTY for entry in entries.values()) else entries
    return _read_scalar(shape, value, path, faults)


def _read_scalar(shape: Scalar, value: object, path: str, faults: Faults) -> object:
    form = shape.form
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if form.duration and not (form.number_too and number):
        return _read_duration(value, path, faults)
    if shape.type is str:
        if isinstance(value, str):
            return value
        if form.number_too and number:
            return str(value)
        faults.append(_wrong(path, "text", value))
        return _FAULTY
    if shape.type is bool and isinstance(value, bool):
        return value
    if isinstance(value, int) and number and abs(value) >= 2**63:
        faults.append(DocumentError(path, "the number does not fit 64 bits", "give a smaller number"))
        return _FAULTY
    if shape.type is float and number:
        return float(typing.cast(float, value))
    if shape.type is int and number and float(typing.cast(float, value)).is_integer():
        whole = int(typing.cast(float, value))
        limit = 2 ** (form.bits - 1)
        if -limit <= whole < limit:
            return whole
        faults.append(DocumentError(path, f"{whole} does not fit {form.bits} bits", f"stay below {limit}"))
        return _FAULTY
    expected = {bool: "true or false", int: "a whole number", float: "a number"}[shape.type]
    faults.append(_wrong(path, expected, value))
    return _FAULTY


def _read_duration(value: object, path: str, faults: Faults) -> object:
    if not isinstance(value, str):
        faults.append(_wrong(path, "a duration", value, "write it with a unit, such as 10s or 1m30s"))
        return _FAULTY
    try:
        return parse_duration_ns(value)
    except DurationError as error:
        faults.append(DocumentError(path, f"{value!r} is not a duration: {error.reason}", "write 10s, 1m30s or 100ms"))
        return _FAULTY


_WORDS = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}


def _wrong(path: str, expected: str, value: object, hint: str = "") -> DocumentError:
    found = "null" if value is None else _WORDS.get(type(value), type(value).__name__)
    shown = f" ({value!r})" if isinstance(value, bool | int | float | str) and len(str(value)) < 40 else ""
    if not hint and expected == "text" and shown:
        hint = f'put it in quotes: "{str(value).lower() if isinstance(value, bool) else value}"'
    elif not hint and isinstance(value, str) and expected in ("true or false", "a whole number", "a number"):
        hint = "write it without quotes" if value else "give a value"
    return DocumentError(path, f"must be {expected}, is {found}{shown}", hint or f"give {expected}")


def _nearest(name: str, fields: Mapping[str, FieldShape]) -> str:
    return did_you_mean(name, fields, "remove it")


# Writing ----------------------------------------------------------------------------------------------------------


def write_struct(value: msgspec.Struct) -> dict[str, object]:
    """The document of a struct, as the API writes it: explicit fields, durations, parts always.

    Other zeros never.
    """
    written: dict[str, object] = {}
    for name, field in fields_of(type(value)).items():
        item = getattr(value, field.attribute)
        if item is None or (not item and not _written_at_zero(field)):
            continue
        written[name] = _write(field.shape, item)
    return written


def _written_at_zero(field: FieldShape) -> bool:
    if isinstance(field.shape, Scalar):
        return field.shape.form.explicit or field.shape.form.duration
    if isinstance(field.shape, ListOf):
        return field.shape.form.explicit
    return isinstance(field.shape, PartOf)


def _write(shape: Shape, value: typing.Any) -> object:
    if isinstance(shape, PartOf):
        return write_struct(value)
    if isinstance(shape, ListOf):
        return [_write(shape.item, item) for item in value]
    if isinstance(shape, MapOf):
        return {name: _write(shape.item, item) for name, item in value.items()}
    return format_duration_ns(value) if shape.form.duration else value
