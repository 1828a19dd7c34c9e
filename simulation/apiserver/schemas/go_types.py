"""Whether a document fits the Go type of its kind, and what Go's decoder says if not.

The types are those of `messages`, which has all kinds that Kubernetes writes in protobuf. The words are those of
`encoding/json`, and of types that read themselves: times, amounts, bytes. Go stops at the first fault, and so does
this. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from config.values.quantity import canonical
from simulation.apiserver.schemas.messages import ANY_JSON, SCHEMA, SCHEMA_OR, message_kinds, messages
from simulation.apiserver.schemas.published import INT_OR_TEXT, META, QUANTITY

_TIME, _MICRO_TIME, _DURATION = (f"{META}.{name}" for name in ("Time", "MicroTime", "Duration"))
_LAYOUTS = {_TIME: "2006-01-02T15:04:05Z07:00", _MICRO_TIME: "2006-01-02T15:04:05.000000Z07:00"}
_PARTS = (
    ("2006", r"\d{4}"),
    ("-", "-"),
    ("01", r"\d\d"),
    ("-", "-"),
    ("02", r"\d\d"),
    ("T", "T"),
    ("15", r"\d\d"),
    (":", ":"),
    ("04", r"\d\d"),
    (":", ":"),
    ("05", r"\d\d"),
)
_GOOD_TIMES = {
    _TIME: re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII),
    _MICRO_TIME: re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)", re.ASCII),
}
_SCALARS: Mapping[str, type] = {"string": str, "bool": bool, "int32": int, "int64": int, "double": float}
_BITS = {"int32": 31, "int64": 63}
_AMOUNT = re.compile(r"[+-]?[0-9.]+(?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?", re.ASCII)
_AMOUNTS = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BASE64 = re.compile(r"[A-Za-z0-9+/\r\n]*={0,2}", re.ASCII)


class GoTypeError(Exception):
    """The document does not fit; the text is Go's."""


def check_types(api_version: str, kind: str, value: Mapping[str, Any]) -> None:
    """Raises GoTypeError. A kind without a Go type here fits."""
    name = message_kinds().get(f"{api_version}/{kind}")
    if name is not None:
        _struct(name, value, "")


def read_message(name: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A value that is no object, by the name of its message, with its amounts as text. Raises GoTypeError."""
    _struct(name, value, "")
    read: Mapping[str, Any] = _with_texts(name, value)
    return read


def has_go_type(api_version: str, kind: str) -> bool:
    """Whether `check_types` knows the kind."""
    return f"{api_version}/{kind}" in message_kinds()


def check_metadata(value: Any) -> None:
    """Check the metadata of an object of any kind. Raises GoTypeError."""
    _struct(f"{META}.ObjectMeta", value, "metadata")


def with_amounts_as_text(api_version: str, kind: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document with its amounts as Go writes them: `"1"` for 1 and for `"1000m"`.

    It is the same object where nothing changes.
    """
    name = message_kinds().get(f"{api_version}/{kind}")
    return value if name is None else _with_texts(name, value)


def _with_texts(kind: str, value: Any) -> Any:
    if kind == QUANTITY:
        is_amount = isinstance(value, int | float | str) and not isinstance(value, bool)
        text = canonical(str(value)) if is_amount else value
        return value if text == value else text
    if kind.startswith("[]") and isinstance(value, list):
        changed = [_with_texts(kind[2:], item) for item in value]
        return value if all(new is old for new, old in zip(changed, value, strict=True)) else changed
    if not isinstance(value, dict) or (kind.startswith("{}") and kind[2:] != QUANTITY):
        return value
    types = dict.fromkeys(value, kind[2:]) if kind.startswith("{}") else _amounts(kind)
    made = {name: _with_texts(types[name], value[name]) for name in types.keys() & value.keys()}
    made = {name: part for name, part in made.items() if part is not value[name]}
    return {**value, **made} if made else value


@cache
def _amounts(name: str) -> Mapping[str, str]:
    """The fields of a message that hold amounts, at any depth, with their types."""
    return {field: kind for field, (kind, _, _) in _fields(name).items() if _has_amounts(kind, ())}


def _has_amounts(kind: str, above: tuple[str, ...]) -> bool:
    alone = kind.lstrip("[]{}")
    if alone == QUANTITY:
        return True
    if alone in above or alone not in messages() or not messages()[alone]:
        return False
    return any(_has_amounts(below, (*above, alone)) for below, _, _ in _fields(alone).values())


@cache
def _fields(name: str) -> Mapping[str, tuple[str, str, str]]:
    """JSON name -> type, the Go struct that has the field, and names of embedded structs before it."""
    found: dict[str, tuple[str, str, str]] = {}
    for field, (_, kind) in messages()[name].items():
        if kind.startswith("+"):
            inner = kind[1:]
            for below, (its, owner, before) in _fields(inner).items():
                found[below] = (its, owner, f"{_short(inner)}.{before}")
        else:
            found[field] = (kind, _short(name), "")
    return found


def _struct(name: str, value: Mapping[str, Any], path: str) -> None:
    fields = _fields(name)
    for field, part in value.items():
        known = fields.get(field)
        if known is not None and part is not None:
            kind, owner, before = known
            below = f"{path}.{before}{field}" if path else f"{before}{field}"
            _value(kind, part, owner, below)


def _value(kind: str, value: Any, owner: str, path: str) -> None:
    if value is None:
        return
    if kind.endswith(".ExtraValue"):
        kind = "[]string"
    if kind.startswith("[]"):
        if not isinstance(value, list):
            raise _wrong(value, owner, path, kind)
        for item in value:
            _value(kind[2:], item, owner, path)
    elif kind.startswith("{}"):
        if not isinstance(value, dict):
            raise _wrong(value, owner, path, kind)
        for item in value.values():
            _value(kind[2:], item, owner, path)
    elif kind in _SCALARS:
        _scalar(kind, value, owner, path)
    elif kind == "bytes":
        _bytes(value, owner, path)
    else:
        _named(kind, value, owner, path)


def _scalar(kind: str, value: Any, owner: str, path: str) -> None:
    wanted = _SCALARS[kind]
    if isinstance(value, bool) != (wanted is bool) or not isinstance(
        value, (int, float) if wanted is float else wanted
    ):
        raise _wrong(value, owner, path, kind)
    if kind in _BITS and not -(2 ** _BITS[kind]) <= value < 2 ** _BITS[kind]:
        raise _wrong(value, owner, path, kind)


def _bytes(value: Any, owner: str, path: str) -> None:
    if not isinstance(value, str):
        raise _wrong(value, owner, path, "bytes")
    text = re.sub(r"[\r\n]", "", value)
    found = _BASE64.match(text)
    good = found[0] if found else ""
    if len(good) < len(text) or len(text) % 4:
        raise GoTypeError(f"illegal base64 data at input byte {min(len(good), len(text) // 4 * 4)}")


def _named(kind: str, value: Any, owner: str, path: str) -> None:
    if kind in _LAYOUTS:
        _time(kind, value)
    elif kind == QUANTITY:
        text = value if isinstance(value, str) else str(value)
        if isinstance(value, dict | list | bool) or (text and not _AMOUNT.fullmatch(text)):
            raise GoTypeError(f"{_AMOUNTS} ({path})")  # Go does not name the path.
    elif kind == INT_OR_TEXT:
        if isinstance(value, str):
            return
        if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
            number = f" {value}" if isinstance(value, int | float) and not isinstance(value, bool) else ""
            raise GoTypeError(f"json: cannot unmarshal {json_type(value)}{number} into Go value of type int32")
    elif kind == _DURATION:
        if not isinstance(value, str):
            raise GoTypeError(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
    elif kind in SCHEMA_OR and not isinstance(value, dict):
        for item in value if isinstance(value, list) else ():
            _value(SCHEMA if kind == f"{SCHEMA}OrArray" else "string", item, owner, path)
    elif kind in SCHEMA_OR:
        _struct(SCHEMA, value, path)
    elif kind in ANY_JSON or kind not in messages() or not messages()[kind]:
        return
    elif not isinstance(value, dict):
        raise _wrong(value, owner, path, kind)
    else:
        _struct(kind, value, path)


def _time(kind: str, value: Any) -> None:
    if not isinstance(value, str):
        raise GoTypeError(f"json: cannot unmarshal {json_type(value)} into Go value of type string")
    if _GOOD_TIMES[kind].fullmatch(value):
        return
    rest, more = value, ((".000000", r"\.\d{6}"),) if kind == _MICRO_TIME else ()
    for part, pattern in (*_PARTS, *more, ("Z07:00", "Z|[+-]")):
        found = re.match(pattern, rest, re.ASCII)
        if found is None:
            layout = _LAYOUTS[kind]
            raise GoTypeError(f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{part}"')
        rest = rest[found.end() :]


def _wrong(value: Any, owner: str, path: str, kind: str) -> GoTypeError:
    number = ""
    if isinstance(value, int | float) and not isinstance(value, bool) and kind in _BITS:
        number = f" {value}"
    return GoTypeError(
        f"json: cannot unmarshal {json_type(value)}{number} into Go struct field {owner}.{path} of type {_go(kind)}"
    )


def json_type(value: Any) -> str:
    """What Go calls the type of a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _go(kind: str) -> str:
    """A type as Go writes it: `[]v1.Container`."""
    if kind.startswith("[]"):
        return f"[]{_go(kind[2:])}"
    if kind.startswith("{}"):
        return f"map[string]{_go(kind[2:])}"
    if kind == "bytes":
        return "[]uint8"
    return "float64" if kind == "double" else kind if kind in _SCALARS else ".".join(kind.split(".")[-2:])
