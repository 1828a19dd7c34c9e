"""Validates an object by its schema: `jsonschema` with the dialect and messages of Kubernetes.

The dialect is that of definitions: OpenAPI 3.0 with `nullable` and `x-kubernetes-*`, whose keywords are those of JSON
Schema draft 4. Rules in CEL are those of `simulation.validations`. Pure; faults are returned, not raised.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from jsonschema import Draft4Validator, ValidationError
from jsonschema.validators import create

from simulation.apiserver.schemas.formats import FORMATS, compiled
from simulation.apiserver.schemas.shapes import INT_OR_STRING, LIST_KEYS, LIST_TYPE

Schema = Mapping[str, Any]
At = tuple[str | int, ...]
"""A place in the object: names of fields, indexes of lists."""


class SchemaFault(msgspec.Struct, frozen=True):
    """A fault at a place. `reason` and `message` as in the causes of a Status."""

    at: At
    reason: str
    message: str

    @property
    def cause(self) -> tuple[str, str, str]:
        """The arguments of `status.invalid`."""
        return (self.reason, self.message, place(self.at) or "<nil>")


def place(at: At) -> str:
    """A place as in errors: `spec.ports[0].name`."""
    text = ""
    for step in at:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def shown(value: Any) -> str:
    """A value as in errors."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def invalid_at(path: str, value: Any, why: str) -> tuple[str, str, str]:
    """One cause for `status.invalid`."""
    return ("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)


def faults_of(value: Any, schema: Schema, at: At = ()) -> list[SchemaFault]:
    """The faults of the value, in the order of the schema."""
    validator = _Validator(dict(schema), format_checker=FORMATS)
    return list(_faults(validator.iter_errors(value), at))


def _faults(errors: Iterable[ValidationError], at: At) -> Iterator[SchemaFault]:
    found = [error for error in errors if error.instance is not None or not _schema_of(error).get("nullable")]
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
            shortest: list[ValidationError] = min(branches.values(), key=lambda branch: len(branch))
            yield from _faults(shortest, at)


# --- words ----------------------------------------------------------------------------------------------------------

_JUNCTIONS = ("allOf", "anyOf", "oneOf", "not")
_SAID: dict[str, dict[str, str]] = msgspec.yaml.decode((Path(__file__).parent / "words.yaml").read_bytes())
_WORDS, _REASONS = _SAID["words"], _SAID["reasons"]


def _fault(error: ValidationError, at: At) -> SchemaFault:
    keyword, value, schema, bound = str(error.validator), error.instance, _schema_of(error), error.validator_value
    if schema.get(f"exclusive{keyword.capitalize()}"):
        keyword = f"exclusive{keyword.capitalize()}"
    elif keyword == "format" and not isinstance(value, str):
        keyword = "format of a number"
    said = schema.get("x-says", {}).get(keyword)
    words = said or _WORDS.get(keyword, "{where} {text}")
    beginning = words.partition(":")[0]
    message = (words if beginning in _REASONS else "Invalid value: {value}: " + words).format(
        place=place(at),
        where=f"{place(at)} in body",
        name=at[-1] if at else "",
        value=shown(value),
        found=shown(type_of(value)),
        size=len(value) if isinstance(value, list | dict) else 0,
        bound=bound,
        choices=", ".join(shown(one if isinstance(one, str) else shown(one)) for one in schema.get("enum") or ()),
        type=schema.get("type", "number"),
        text=error.message,
        cause=error.cause,
    )
    is_of_type = keyword in ("type", "format") and not said
    return SchemaFault(at, f"FieldValue{'TypeInvalid' if is_of_type else _REASONS.get(beginning, 'Invalid')}", message)


def _schema_of(error: ValidationError) -> Schema:
    return error.schema if isinstance(error.schema, dict) else {}


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


def _pattern(validator: Any, pattern: str, value: Any, schema: Schema) -> Errors:
    expression = compiled(pattern) if isinstance(value, str) else None
    if expression is not None and not expression.is_in(value):
        yield ValidationError("no match")


def _multiple(validator: Any, factor: float, value: Any, schema: Schema) -> Errors:
    if type_of(value) in ("integer", "number") and abs(value / factor - round(value / factor)) > 1e-9:
        yield ValidationError("no multiple")


def _unless(validator: Any, parts: list[Any], value: Any, schema: Schema) -> Errors:
    """For `definition.yaml`: another schema applies to all values except one."""
    allowed, otherwise = parts
    return iter(()) if value == allowed else validator.descend(value, otherwise)


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
        "pattern": _pattern,
        "multipleOf": _multiple,
        "required": _required,
        "allOf": _all_of,
        "oneOf": _one_of,
        LIST_TYPE: _list_type,
        "x-unless": _unless,
    },
    type_checker=Draft4Validator.TYPE_CHECKER,
)
