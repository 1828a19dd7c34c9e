"""Whether an object is as its schema says: `jsonschema` with the dialect and the words of Kubernetes.

The dialect is that of definitions: OpenAPI 3.0 with `nullable` and `x-kubernetes-*`, whose keywords are those of JSON
Schema draft 4. Rules in CEL (`x-kubernetes-validations`) are not evaluated. Pure; faults are returned, not raised.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache, partial
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import msgspec
from jsonschema import Draft4Validator, FormatChecker, ValidationError
from jsonschema.validators import create

from simulation.apiserver.custom.shapes import INT_OR_STRING, LIST_KEYS, LIST_TYPE

Schema = Mapping[str, Any]
At = tuple[str | int, ...]
"""A place in the object: names of fields, indexes of lists."""

INVALID, TYPE_INVALID = "FieldValueInvalid", "FieldValueTypeInvalid"


class SchemaFault(msgspec.Struct, frozen=True):
    """What is wrong at a place. `reason` and `message` as in the causes of a Status."""

    at: At
    reason: str
    message: str

    @property
    def cause(self) -> tuple[str, str, str]:
        """The arguments of `status.invalid`."""
        return (self.reason, self.message, place(self.at) or "<nil>")


def place(at: At) -> str:
    """As errors name a place: `spec.ports[0].name`."""
    text = ""
    for step in at:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def shown(value: Any) -> str:
    """As errors show a value."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def faults_of(value: Any, schema: Schema, at: At = ()) -> list[SchemaFault]:
    """What is wrong with the value, in the order of the schema."""
    validator = _Validator(dict(schema), format_checker=_FORMATS)
    return list(_faults(validator.iter_errors(value), at))


def _faults(errors: Iterable[ValidationError], at: At) -> Iterator[SchemaFault]:
    found = [error for error in errors if error.instance is not None or not _allows_null(error.schema)]
    wrong = {tuple(error.absolute_path) for error in found if error.validator == "type"}
    for error in found:
        path = (*at, *error.absolute_path)
        if error.validator != "type" and tuple(error.absolute_path) in wrong:
            continue  # Other keywords speak of values of the right type.
        yield _fault(error, path)
        if error.validator in _JUNCTIONS and error.context:
            branches: dict[Any, list[ValidationError]] = {}
            for below in error.context:
                branches.setdefault(below.schema_path[0], []).append(below)
            shortest: list[ValidationError] = min(branches.values(), key=_size)
            yield from _faults(shortest, at)


def _size(branch: list[ValidationError]) -> int:
    return len(branch)


def _allows_null(schema: Any) -> bool:
    return isinstance(schema, dict) and bool(schema.get("nullable"))


# --- words ----------------------------------------------------------------------------------------------------------

_WORDS = {
    "minLength": "should be at least {} chars long",
    "pattern": "should match '{}'",
    "multipleOf": "should be a multiple of {}",
    "minItems": "should have at least {} items",
    "minProperties": "should have at least {} properties",
}
_JUNCTIONS = {
    "allOf": "must validate all the schemas (allOf)",
    "anyOf": "must validate at least one schema (anyOf)",
    "oneOf": "must validate one and only one schema (oneOf). {}",
    "not": "must not validate the schema (not)",
}


def _fault(error: ValidationError, at: At) -> SchemaFault:
    keyword, value = str(error.validator), error.instance
    bound: Any = error.validator_value
    where, sized = f"{place(at)} in body", len(value) if isinstance(value, list | dict) else value

    def invalid(shown_value: Any, why: str, reason: str = INVALID) -> SchemaFault:
        return SchemaFault(at, reason, f"Invalid value: {shown(shown_value)}: {why}")

    match keyword:
        case "type":
            found = type_of(value)
            return invalid(found, f'{where} must be of type {error.message}: "{found}"', TYPE_INVALID)
        case "required":
            return SchemaFault(at, "FieldValueRequired", "Required value")
        case "enum":
            choices = ", ".join(json.dumps(one if isinstance(one, str) else shown(one)) for one in bound)
            return SchemaFault(
                at, "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}"
            )
        case "maxLength":
            return SchemaFault(at, "FieldValueTooLong", f"Too long: may not be more than {bound} bytes")
        case "maxItems" | "maxProperties":
            return SchemaFault(at, "FieldValueTooMany", f"Too many: {sized}: must have at most {bound} items")
        case "minimum" | "maximum":
            side = "greater" if keyword == "minimum" else "less"
            strict = error.schema.get(f"exclusive{keyword.capitalize()}") if isinstance(error.schema, dict) else False
            return invalid(value, f"{where} should be {side} than{'' if strict else ' or equal to'} {bound}")
        case "format" if isinstance(value, str):
            return invalid(value, f"{where} must be of type {bound}: {shown(value)}", TYPE_INVALID)
        case "format":
            kind = error.schema.get("type", "number") if isinstance(error.schema, dict) else "number"
            return invalid(value, f"Checked value must be of type {kind} with format {bound} in {where}")
        case _ if keyword in _JUNCTIONS:
            return invalid("", f'"{place(at)}" {_JUNCTIONS[keyword].format(error.message)}')
        case _ if keyword == LIST_TYPE:
            return SchemaFault(at, "FieldValueDuplicate", f"Duplicate value: {error.message}")
        case _:
            return invalid(sized, f"{where} {_WORDS[keyword].format(bound) if keyword in _WORDS else error.message}")


def type_of(value: Any) -> str:
    """The name of a value's type in a schema."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


# --- the dialect ----------------------------------------------------------------------------------------------------

Errors = Iterator[ValidationError]


def _type(validator: Any, wanted: str | list[str], value: Any, schema: Schema) -> Errors:
    kinds = [wanted] if isinstance(wanted, str) else wanted
    found = type_of(value)
    if found not in kinds and not (found == "integer" and "number" in kinds):
        yield ValidationError(",".join(kinds), validator="type")


def _int_or_string(validator: Any, wanted: bool, value: Any, schema: Schema) -> Errors:
    return _type(validator, ["integer", "string"], value, schema) if wanted else iter(())


def _enum(validator: Any, choices: list[Any], value: Any, schema: Schema) -> Errors:
    if not any(one == value and isinstance(one, bool) == isinstance(value, bool) for one in choices):
        yield ValidationError("none of these")


def _pattern(validator: Any, pattern: str, value: Any, schema: Schema) -> Errors:
    expression = compiled(pattern)
    if isinstance(value, str) and expression is not None and expression.search(value) is None:
        yield ValidationError("no match")


def _multiple(validator: Any, factor: float, value: Any, schema: Schema) -> Errors:
    if type_of(value) in ("integer", "number") and abs(value / factor - round(value / factor)) > 1e-9:
        yield ValidationError("no multiple")


def _required(validator: Any, names: list[str], value: Any, schema: Schema) -> Errors:
    if isinstance(value, dict):
        yield from (ValidationError("missing", path=(name,)) for name in names if name not in value)


def _all_of(validator: Any, schemas: list[Any], value: Any, schema: Schema) -> Errors:
    context = [error for at, one in enumerate(schemas) for error in validator.descend(value, one, schema_path=at)]
    if context:
        yield ValidationError("not all of them", context=context)


def _one_of(validator: Any, schemas: list[Any], value: Any, schema: Schema) -> Errors:
    tries = [list(validator.descend(value, one, schema_path=at)) for at, one in enumerate(schemas)]
    good = tries.count([])
    if good == 0:
        yield ValidationError("Found none valid", context=[error for found in tries for error in found])
    elif good > 1:
        yield ValidationError(f"Found {good} valid alternatives")


def _list_type(validator: Any, kind: str, value: Any, schema: Schema) -> Errors:
    """A list that is a set, or a map by some of its fields, has nothing twice."""
    if not isinstance(value, list) or kind not in ("set", "map"):
        return
    properties = (schema.get("items") or {}).get("properties") or {}
    defaults = {key: below["default"] for key, below in properties.items() if "default" in below}
    seen: set[str] = set()
    for number, item in enumerate(value):
        key = item
        if kind == "map":
            whole = {**defaults, **(item if isinstance(item, dict) else {})}
            key = {name: whole[name] for name in schema.get(LIST_KEYS) or () if name in whole}
        text = json.dumps(key, sort_keys=True)
        if text in seen:
            yield ValidationError(shown(key), path=(number,))
        seen.add(text)


_Validator = create(
    Draft4Validator.META_SCHEMA,
    {
        **Draft4Validator.VALIDATORS,
        "type": _type,
        INT_OR_STRING: _int_or_string,
        "enum": _enum,
        "pattern": _pattern,
        "multipleOf": _multiple,
        "required": _required,
        "allOf": _all_of,
        "oneOf": _one_of,
        LIST_TYPE: _list_type,
    },
    type_checker=Draft4Validator.TYPE_CHECKER,
)

# --- patterns and formats -------------------------------------------------------------------------------------------

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*\]|\$|.", re.DOTALL)


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """A pattern of RE2 in Python; None where Python lacks its classes or quotes. Raises re.error.

    `$` is the very end in RE2. Flags at the beginning, or behind `^` there, hold for the whole pattern.
    """
    if re.search(r"(?<!\\)(?:\\\\)*\\[pPQC]", pattern):
        return None
    flags = re.match(r"\^?(\(\?[ims]+\))", pattern)
    if flags is not None:
        pattern = flags[1] + pattern.replace(flags[1], "", 1)

    def translated(token: str) -> str:
        if token in ("$", r"\z"):
            return r"\Z"
        return (
            re.sub(r"\[:([a-z]+):\]", lambda name: _CLASSES.get(name[1], name[0]), token) if token[0] == "[" else token
        )

    return re.compile("".join(translated(match[0]) for match in _TOKEN.finditer(pattern)), re.ASCII)


_FORMATS = FormatChecker(("date", "email", "ipv4", "ipv6", "uuid"))


def _format(*names: str) -> Callable[[Callable[[str], object]], Callable[[str], object]]:
    """Make a reader that raises ValueError, or answers False, the check of these formats of texts."""

    def register(read: Callable[[str], object]) -> Callable[[str], object]:
        for name in names:
            _FORMATS.checks(name, ValueError)(lambda value: not isinstance(value, str) or read(value) is not False)
        return read

    return register


def _matching(**patterns: str) -> None:
    for name, pattern in patterns.items():
        _format(name)(partial(_fits, re.compile(pattern)))


def _fits(expression: re.Pattern[str], text: str) -> bool:
    return expression.fullmatch(text) is not None


_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_AMOUNT = r"(\d+(\.\d*)?|\.\d+)\s*[a-zµ]+"
_matching(
    hostname=rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*",
    mac=r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5,7}",
    duration=rf"[-+]?({_AMOUNT})+|0",
    hexcolor=r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})",
)
_format("byte")(lambda text: base64.b64decode(text, validate=True))
_format("cidr")(lambda text: "/" in text and ip_network(text, strict=False))
_format("uri")(lambda text: bool(urlsplit(text).scheme or text.startswith("/")))


@_format("date-time", "datetime")
def _date_time(text: str) -> object:
    return "T" in text.upper() and datetime.fromisoformat(text.upper()).tzinfo is not None


for _name, _bits in (("int32", 32), ("int64", 64)):
    _FORMATS.checks(_name)(
        lambda value, limit=2 ** (_bits - 1): type_of(value) not in ("integer", "number") or -limit <= value < limit
    )
