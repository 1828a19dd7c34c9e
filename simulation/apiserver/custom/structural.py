"""What is demanded of the schema in a definition: that it is structural.

Structural means that the types and fields of all values are said once, outside of `allOf`, `anyOf`, `oneOf` and `not`,
which only add conditions: so that it is clear what is pruned and what gets a default. Owns which keywords there are.
Pure; finds faults and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from simulation.apiserver.custom.defaults import with_defaults
from simulation.apiserver.custom.patterns import compiled, is_read
from simulation.apiserver.custom.pruning import EMBEDDED, PRESERVE
from simulation.apiserver.custom.validation import INT_OR_STRING, LIST_KEYS, LIST_TYPE, faults_of, shown
from simulation.apiserver.status import forbidden_field, required

Schema = Mapping[str, Any]
Cause = tuple[str, str, str]

CEL = "x-kubernetes-validations"
MAP_TYPE = "x-kubernetes-map-type"
TYPES = ("array", "boolean", "integer", "number", "object", "string")
_JUNCTIONS = ("allOf", "anyOf", "oneOf")
_CONDITIONS = frozenset(
    {
        *("format", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern"),
        *("maxItems", "minItems", "uniqueItems", "multipleOf", "maxProperties", "minProperties", "required", "enum"),
        *("allOf", "anyOf", "oneOf", "not"),
    }
)
_STRUCTURE = frozenset(
    {
        *("type", "items", "properties", "additionalProperties", "default", "nullable", "title", "description"),
        *("example", "externalDocs", PRESERVE, EMBEDDED, INT_OR_STRING, LIST_TYPE, LIST_KEYS, MAP_TYPE, CEL),
    }
)
_NOT_SUPPORTED = ("$ref", "$schema", "id", "additionalItems", "patternProperties", "definitions", "dependencies")
_KEYWORDS = _CONDITIONS | _STRUCTURE | frozenset(_NOT_SUPPORTED)
_ONLY_OUTSIDE: Mapping[str, str] = {
    "type": "must be empty to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "externalDocs": "must be undefined to be structural",
    "nullable": "must be false to be structural",
    PRESERVE: "must be false to be structural",
    EMBEDDED: "must be false to be structural",
    INT_OR_STRING: "must be false to be structural",
    LIST_TYPE: "must be undefined to be structural",
    LIST_KEYS: "must be empty to be structural",
    MAP_TYPE: "must be undefined to be structural",
    CEL: "must be empty to be structural",
}
_KEYWORD_TYPES: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("type", "format", "pattern", "title", "description", LIST_TYPE, MAP_TYPE), (str,)),
    **dict.fromkeys(("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), (bool,)),
    **dict.fromkeys((PRESERVE, EMBEDDED, INT_OR_STRING), (bool,)),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), (int, float)),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), (int,)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "enum", "required", LIST_KEYS, CEL), (list,)),
    **dict.fromkeys(("properties", "not", "items"), (dict,)),
    "additionalProperties": (dict, bool),
}
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING_CHOICE = [{"type": "integer"}, {"type": "string"}]


def faults_of_schema(schema: Any, path: str) -> list[Cause]:
    """What is wrong with the schema of one version."""
    found = list(_malformed(schema, path))
    # What follows relies on the types of the keywords.
    return found or [*_structure(schema, path, _ROOT), *_incomplete(schema, schema, path)]


def unknown_keywords(schema: Any, path: str) -> Iterator[str]:
    """The paths of what is no keyword of a schema."""
    for below, at in _everywhere(schema, path):
        yield from (f"{at}.{name}" for name in below if name not in _KEYWORDS)


def places_of_cel(schema: Any, path: str) -> Iterator[str]:
    """Where the schema has rules in CEL."""
    return (f"{at}.{CEL}" for below, at in _everywhere(schema, path) if below.get(CEL))


def places_not_read(schema: Any, path: str) -> Iterator[str]:
    """Where the schema has a pattern that is not read here."""
    return (f"{at}.pattern" for below, at in _everywhere(schema, path) if not is_read(below.get("pattern") or ""))


def _everywhere(schema: Any, path: str) -> Iterator[tuple[Schema, str]]:
    """This schema and all below it, with their paths."""
    if isinstance(schema, dict):
        yield schema, path
        for below, under in _each_below(schema, path):
            yield from _everywhere(below, under)


def _each_below(schema: Schema, path: str) -> Iterator[tuple[Any, str]]:
    """Every schema directly in this one, with its path."""
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, below in properties.items():
            yield below, f"{path}.properties[{name}]"
    for name in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(name), dict):
            yield schema[name], f"{path}.{name}"
    for name in _JUNCTIONS:
        if isinstance(schema.get(name), list):
            for at, below in enumerate(schema[name]):
                yield below, f"{path}.{name}[{at}]"


# --- keywords -------------------------------------------------------------------------------------------------------


def _malformed(schema: Any, path: str) -> Iterator[Cause]:
    """Keywords of a wrong type, unknown types, and what OpenAPI has and definitions have not."""
    if not isinstance(schema, dict):
        yield _bad(path, schema, "a schema is a map")
        return
    for name, types in _KEYWORD_TYPES.items():
        value = schema.get(name)
        if value is None:
            continue
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            if name == "items" and isinstance(value, list):
                yield forbidden_field(f"{path}.items", "items must be a schema object and not an array")
            else:
                yield _bad(f"{path}.{name}", value, f"must be of type {types[0].__name__}")
    for name in ("required", LIST_KEYS):
        for at, each in enumerate(schema[name] if isinstance(schema.get(name), list) else ()):
            if not isinstance(each, str):
                yield _bad(f"{path}.{name}[{at}]", each, "must be of type str")
    for name in _NOT_SUPPORTED:
        if schema.get(name):
            yield forbidden_field(f"{path}.{name}", f"{name} is not supported")
    if schema.get("type") == "null":
        yield forbidden_field(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    elif schema.get("type") not in (None, "", *TYPES):
        yield _not_supported(f"{path}.type", schema["type"], TYPES)
    if schema.get("uniqueItems") is True:
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_field(f"{path}.uniqueItems", why)
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        why = "additionalProperties and properties are mutual exclusive"
        yield forbidden_field(f"{path}.additionalProperties", why)
    if isinstance(schema.get("pattern"), str):
        try:
            compiled(schema["pattern"])
        except re.error as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            yield _bad(f"{path}.pattern", schema["pattern"], why)
    for below, under in _each_below(schema, path):
        yield from _malformed(below, under)


# --- structure ------------------------------------------------------------------------------------------------------


def _structure(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    kind = schema.get("type") or ""
    embedded = bool(schema.get(EMBEDDED))
    if embedded and kind != "object":
        why = f"must be object if {EMBEDDED} is true"
        yield _bad(f"{path}.type", kind, why) if kind else required(f"{path}.type", why)
    elif not kind and not schema.get(INT_OR_STRING) and not schema.get(PRESERVE):
        yield required(f"{path}.type", f"must not be empty {level}")
    if kind == "array" and not schema.get("items"):
        yield required(f"{path}.items", "must be specified")
    if level == _ROOT:
        yield from _root(schema, path, kind)
    if embedded and schema.get("additionalProperties") is not None:
        yield forbidden_field(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if embedded and not schema.get(PRESERVE) and not schema.get("properties"):
        yield required(f"{path}.properties", f"must not be empty if {EMBEDDED} is true without {PRESERVE}")
    if schema.get(INT_OR_STRING):
        for name in (PRESERVE, EMBEDDED):
            if schema.get(name):
                yield _bad(f"{path}.{name}", True, f"must be false if {INT_OR_STRING} is true")
    yield from _list_type(schema, path, kind)
    yield from _default(schema, path, level)
    yield from _conditions(schema, path, int_or_string=bool(schema.get(INT_OR_STRING)))
    for name, below in (schema.get("properties") or {}).items():
        if not (level == _ROOT and name == "metadata"):
            yield from _structure(below, f"{path}.properties[{name}]", _FIELD)
    if schema.get("items"):
        yield from _structure(schema["items"], f"{path}.items", _ITEM)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _structure(schema["additionalProperties"], f"{path}.additionalProperties", _FIELD)


def _root(schema: Schema, path: str, kind: str) -> Iterator[Cause]:
    if kind and kind != "object":
        yield _bad(f"{path}.type", kind, "must be object at the root")
    if schema.get("additionalProperties") is not None:
        yield forbidden_field(f"{path}.additionalProperties", "must not be used at the root")
    properties = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in properties and properties[name].get("type") != "string":
            yield _bad(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    at = f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        yield _bad(f"{at}.type", metadata.get("type", ""), "must be object")
    others = {name for name in metadata if name not in ("type", "properties", "description")}
    if others or not {"name", "generateName"}.issuperset(metadata.get("properties") or {}):
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        yield forbidden_field(at, why)


def _list_type(schema: Schema, path: str, kind: str) -> Iterator[Cause]:
    list_type, keys = schema.get(LIST_TYPE), schema.get(LIST_KEYS) or []
    if list_type is not None:
        if kind != "array":
            yield _bad(f"{path}.type", kind, f"must be array if {LIST_TYPE} is specified")
        if list_type not in ("atomic", "set", "map"):
            yield _not_supported(f"{path}.{LIST_TYPE}", list_type, ("atomic", "map", "set"))
    if list_type != "map":
        if keys:
            yield _bad(f"{path}.{LIST_TYPE}", list_type or "", f"must be map if {LIST_KEYS} is non-empty")
        return
    items = schema.get("items") or {}
    if not keys:
        yield required(f"{path}.{LIST_KEYS}", f"must not be empty if {LIST_TYPE} is map")
    if items.get("type") != "object":
        yield _bad(f"{path}.items.type", items.get("type", ""), f"must be object if parent array's {LIST_TYPE} is map")
    properties = items.get("properties") or {}
    for at, key in enumerate(keys):
        if key not in properties:
            yield _bad(f"{path}.{LIST_KEYS}[{at}]", key, "entries must all be names of item properties")
        elif key not in (items.get("required") or ()) and properties[key].get("default") is None:
            why = f"this property is in {LIST_KEYS}, so it must have a default or be a required property"
            yield required(f"{path}.items.properties[{key}].default", why)


def _default(schema: Schema, path: str, level: str) -> Iterator[Cause]:
    default = schema.get("default")
    if default is None:
        return
    if level == _ROOT:
        yield forbidden_field(f"{path}.default", "must not be set at the root")
        return
    for fault in faults_of(with_defaults(default, schema), schema):
        _, message, at = fault.cause
        yield (fault.reason, message, f"{path}.default{'' if at == '<nil>' else f'.{at}'}")


def _conditions(schema: Schema, path: str, *, int_or_string: bool = False) -> Iterator[Cause]:
    """In `allOf` and its like no structure is said, but for the one way in which int-or-string may be written down."""
    for name in _JUNCTIONS:
        for at, below in enumerate(schema.get(name) or ()):
            if int_or_string and name == "anyOf" and schema["anyOf"] == _INT_OR_STRING_CHOICE:
                continue
            first = int_or_string and name == "allOf" and at == 0
            yield from _condition(below, f"{path}.{name}[{at}]", int_or_string=first)
    if schema.get("not"):
        yield from _condition(schema["not"], f"{path}.not")


def _condition(schema: Schema, path: str, *, int_or_string: bool = False) -> Iterator[Cause]:
    for name, why in _ONLY_OUTSIDE.items():
        if schema.get(name) not in (None, False, "", [], {}):
            yield forbidden_field(f"{path}.{name}", why)
    yield from _conditions(schema, path, int_or_string=int_or_string)
    for name, below in (schema.get("properties") or {}).items():
        if name == "metadata":
            yield forbidden_field(f"{path}.properties[metadata]", "must not be specified in a nested context")
        yield from _condition(below, f"{path}.properties[{name}]")
    if schema.get("items"):
        yield from _condition(schema["items"], f"{path}.items")


def _incomplete(schema: Schema, outside: Schema, path: str) -> Iterator[Cause]:
    """Fields that are spoken of in a condition and nowhere else."""
    for below, under in _each_below(schema, path):
        within = under.removeprefix(path)
        if within.startswith((".allOf", ".anyOf", ".oneOf", ".not")):
            yield from _not_said(below, outside, path, under)
        else:
            yield from _incomplete(below, below, under)


def _not_said(condition: Schema, outside: Schema, path: str, where: str) -> Iterator[Cause]:
    said = outside.get("properties") or {}
    for name, below in (condition.get("properties") or {}).items():
        if name in said:
            yield from _not_said(below, said[name], f"{path}.properties[{name}]", f"{where}.properties[{name}]")
        elif not isinstance(outside.get("additionalProperties"), dict):
            yield required(f"{path}.properties[{name}]", f"because it is defined in {where}.properties[{name}]")
    if condition.get("items"):
        if outside.get("items"):
            yield from _not_said(condition["items"], outside["items"], f"{path}.items", f"{where}.items")
        else:
            yield required(f"{path}.items", f"because it is defined in {where}.items")
    for below, under in _each_below(condition, where):
        if under.removeprefix(where).startswith((".allOf", ".anyOf", ".oneOf", ".not")):
            yield from _not_said(below, outside, path, under)


def _bad(path: str, value: Any, why: str) -> Cause:
    return ("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)


def _not_supported(path: str, value: Any, choices: tuple[str, ...]) -> Cause:
    listed = ", ".join(shown(each) for each in choices)
    return ("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}", path)
