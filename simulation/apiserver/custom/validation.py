"""Whether an object is as its schema says, told in the words of Kubernetes.

The dialect is that of definitions: some twenty keywords of OpenAPI 3.0, with `nullable`, a boolean `exclusiveMinimum`
and `x-kubernetes-int-or-string`, and without references. A library for JSON Schema knows another one, and every refusal
has words and a reason of its own here, which clients read; so there is none. Rules in CEL
(`x-kubernetes-validations`) are not looked at. Pure; what is found is a list of faults, never an exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from simulation.apiserver.custom.formats import number_fits, text_fits
from simulation.apiserver.custom.patterns import matches

Schema = Mapping[str, Any]
At = tuple[str | int, ...]
"""Where something stands in the object: names of fields, places in lists."""

INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE, LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
INVALID, TYPE_INVALID = "FieldValueInvalid", "FieldValueTypeInvalid"


class Fault(msgspec.Struct, frozen=True):
    """What is wrong at a place. `reason` and `message` as in the causes of a Status."""

    at: At
    reason: str
    message: str

    @property
    def cause(self) -> tuple[str, str, str]:
        """As `status.invalid` takes it."""
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


def invalid_at(at: At, value: Any, why: str, reason: str = INVALID) -> Fault:
    """A value that is not as it should be."""
    return Fault(at, reason, f"Invalid value: {shown(value)}: {why}")


def faults_of(value: Any, schema: Schema, at: At = ()) -> list[Fault]:
    """What is wrong with the value, in the order of the document."""
    return list(_faults(value, schema, at))


def _faults(value: Any, schema: Schema, at: At) -> Iterator[Fault]:
    if value is None and schema.get("nullable"):
        return
    wrong_type = _wrong_type(value, schema, at)
    if wrong_type is not None:
        # What else is said is said of values of the right type.
        yield wrong_type
        return
    if "enum" in schema and not any(_equal(value, choice) for choice in schema["enum"]):
        choices = ", ".join(json.dumps(each if isinstance(each, str) else shown(each)) for each in schema["enum"])
        yield Fault(at, "FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}")
    if isinstance(value, str):
        yield from _text(value, schema, at)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _number(value, schema, at)
    elif isinstance(value, list):
        yield from _list(value, schema, at)
    elif isinstance(value, dict):
        yield from _map(value, schema, at)
    yield from _junctions(value, schema, at)


# --- types ----------------------------------------------------------------------------------------------------------


def type_of(value: Any) -> str:
    """The name of a value's type in a schema."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _wrong_type(value: Any, schema: Schema, at: At) -> Fault | None:
    wanted = ("integer", "string") if schema.get(INT_OR_STRING) else tuple(filter(None, (schema.get("type"),)))
    found = type_of(value)
    if not wanted or found in wanted or (found == "integer" and "number" in wanted):
        return None
    why = f'{place(at)} in body must be of type {",".join(wanted)}: "{found}"'
    return invalid_at(at, found, why, TYPE_INVALID)


def _equal(one: Any, other: Any) -> bool:
    """As JSON has it: true is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


# --- values of one type ---------------------------------------------------------------------------------------------


def _text(value: str, schema: Schema, at: At) -> Iterator[Fault]:
    name = f"{place(at)} in body"
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        yield Fault(at, "FieldValueTooLong", f"Too long: may not be more than {schema['maxLength']} bytes")
    if "minLength" in schema and len(value) < schema["minLength"]:
        yield invalid_at(at, value, f"{name} should be at least {schema['minLength']} chars long")
    if schema.get("pattern") and not matches(schema["pattern"], value):
        yield invalid_at(at, value, f"{name} should match '{schema['pattern']}'")
    form = schema.get("format")
    if form and not text_fits(form, value):
        yield invalid_at(at, value, f"{name} must be of type {form}: {shown(value)}", TYPE_INVALID)


def _number(value: float, schema: Schema, at: At) -> Iterator[Fault]:
    name = f"{place(at)} in body"
    for keyword, exclusive, fits, words in _BOUNDS:
        bound = schema.get(keyword)
        if bound is None:
            continue
        strictly = bool(schema.get(exclusive))
        if not fits(value, bound) or (strictly and value == bound):
            yield invalid_at(at, value, f"{name} should be {words}{'' if strictly else ' or equal to'} {bound}")
    factor = schema.get("multipleOf")
    if factor and abs(value / factor - round(value / factor)) > 1e-9:
        yield invalid_at(at, value, f"{name} should be a multiple of {factor}")
    form = schema.get("format")
    if form and not number_fits(form, value):
        why = f"Checked value must be of type {schema.get('type', 'number')} with format {form} in {name}"
        yield invalid_at(at, value, why)


_BOUNDS: Sequence[tuple[str, str, Callable[[float, float], bool], str]] = (
    ("maximum", "exclusiveMaximum", lambda value, bound: value <= bound, "less than"),
    ("minimum", "exclusiveMinimum", lambda value, bound: value >= bound, "greater than"),
)


def _too_many(at: At, count: int, at_most: int) -> Fault:
    return Fault(at, "FieldValueTooMany", f"Too many: {count}: must have at most {at_most} items")


def _list(value: list[Any], schema: Schema, at: At) -> Iterator[Fault]:
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield _too_many(at, len(value), schema["maxItems"])
    if "minItems" in schema and len(value) < schema["minItems"]:
        yield invalid_at(at, len(value), f"{place(at)} in body should have at least {schema['minItems']} items")
    of_items = schema.get("items")
    if of_items:
        for number, item in enumerate(value):
            yield from _faults(item, of_items, (*at, number))
    yield from _doubles(value, schema, at)


def _doubles(value: list[Any], schema: Schema, at: At) -> Iterator[Fault]:
    """In a list that is a set, or a map by some of its fields, nothing stands twice."""
    kind = schema.get(LIST_TYPE)
    if kind not in ("set", "map"):
        return
    defaults = {
        key: below["default"]
        for key, below in ((schema.get("items") or {}).get("properties") or {}).items()
        if "default" in below
    }
    seen: set[str] = set()
    for number, item in enumerate(value):
        key = item
        if kind == "map":
            if not isinstance(item, dict):
                continue
            names = schema.get(LIST_KEYS) or ()
            key = {name: item.get(name, defaults.get(name)) for name in names if name in item or name in defaults}
        text = json.dumps(key, sort_keys=True)
        if text in seen:
            yield Fault((*at, number), "FieldValueDuplicate", f"Duplicate value: {shown(key)}")
        seen.add(text)


def _map(value: dict[str, Any], schema: Schema, at: At) -> Iterator[Fault]:
    for name in schema.get("required") or ():
        if name not in value:
            yield Fault((*at, name), "FieldValueRequired", "Required value")
    if "maxProperties" in schema and len(value) > schema["maxProperties"]:
        yield _too_many(at, len(value), schema["maxProperties"])
    if "minProperties" in schema and len(value) < schema["minProperties"]:
        why = f"{place(at)} in body should have at least {schema['minProperties']} properties"
        yield invalid_at(at, len(value), why)
    properties: Schema = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name, item in value.items():
        below = properties.get(name, others if isinstance(others, dict) else None)
        if below is not None:
            yield from _faults(item, below, (*at, name))
        elif others is False:
            yield invalid_at(at, name, f"{place((*at, name))} in body is a forbidden property")


# --- several schemas at once ----------------------------------------------------------------------------------------


def _junctions(value: Any, schema: Schema, at: At) -> Iterator[Fault]:
    name = f'"{place(at)}"'
    if schema.get("allOf"):
        below = [fault for one in schema["allOf"] for fault in _faults(value, one, at)]
        if below:
            yield invalid_at(at, "", f"{name} must validate all the schemas (allOf)")
            yield from below
    if schema.get("anyOf"):
        tries = [faults_of(value, one, at) for one in schema["anyOf"]]
        if all(tries):
            yield invalid_at(at, "", f"{name} must validate at least one schema (anyOf)")
            yield from min(tries, key=len)
    if schema.get("oneOf"):
        tries = [faults_of(value, one, at) for one in schema["oneOf"]]
        good = sum(1 for found in tries if not found)
        if good != 1:
            found = "Found none valid" if good == 0 else f"Found {good} valid alternatives"
            yield invalid_at(at, "", f"{name} must validate one and only one schema (oneOf). {found}")
            if good == 0:
                yield from min(tries, key=len)
    if schema.get("not") and not faults_of(value, schema["not"], at):
        yield invalid_at(at, "", f"{name} must not validate the schema (not)")
