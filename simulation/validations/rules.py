"""The rules that a schema has for a value, and the value as CEL sees it. Pure.

A schema and its values are JSON builtins. A rule stands at one part of a schema, as `self` is that part of the value.
A rule that reads `oldSelf` is for changes only, unless it takes it as an optional value. At a part that stays as it
was, only rules that read `oldSelf` are checked. So other rules may become stricter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from config.caches import KIB, kept

CEL = "x-kubernetes-validations"
At = tuple[str | int, ...]
Schema = Mapping[str, Any]
REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
MISSING = object()
"""In place of a value that is not there."""
_OLD_SELF = re.compile(
    r"""//[^\n]*|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|\.\s*(?:\?\s*)?oldSelf\b|\b(?P<read>oldSelf)\b""", re.DOTALL
)
"""Steps over comments, strings, and fields of that name."""
_FUNCTIONS = frozenset(
    {
        "quantity",
        "isQuantity",
        "url",
        "isURL",
        "ip",
        "cidr",
        "semver",
        "isSemver",
        "format",
    }
)
_METHODS = frozenset(
    {"flatten", "distinct", "slice", "reverse", "sort", "sortBy", "first", "last", "validate"}
    | {"transformList", "transformMap", "transformMapEntry"}
)
"""Functions and macros of Kubernetes that the library does not have."""
_MACROS = frozenset({"all", "exists", "exists_one", "existsOne"})
"""Macros that the library has for one variable, but not for two."""
_AUTHORIZER = re.compile(r"\bauthorizer\b")
_LONGEST_NAMES = 200
_ESCAPED = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPES = re.compile(r"__|[./-]")
KEYWORDS = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return"}
)
_WORD = re.compile(r"[A-Za-z_]\w*")


class Rule(msgspec.Struct, frozen=True):
    """One rule at one part of a value. `at` is its place; without `old` there is no old value."""

    at: At
    fields: Mapping[str, Any]
    kind: str
    now: Any
    old: tuple[Any, ...] = ()

    @property
    def check(self) -> tuple[Any, ...]:
        """See `program.Check`."""
        fields = self.fields
        optional = fields.get("optionalOldSelf") is True
        return (fields["rule"], fields.get("messageExpression") or "", optional, self.now, *self.old)

    @property
    def name(self) -> str:
        """What Kubernetes calls the rule: its message or its expression."""
        return str(self.fields.get("message") or self.fields["rule"]).strip()

    @property
    def text(self) -> str:
        """The message of an object that breaks it, without a messageExpression."""
        return self.name if self.fields.get("message") else f"failed rule: {self.name}"


def is_evaluated(rule: Mapping[str, Any]) -> bool:
    """Whether the rule uses only what the library has."""
    return _is_known(rule.get("rule") or "") and _is_known(rule.get("messageExpression") or "")


def is_known(expression: str) -> bool:
    """Whether an expression of an admission policy uses only what the library has, and asks no authorizer."""
    return _is_known(expression) and _AUTHORIZER.search(expression) is None


@kept(256 * KIB, 16 * KIB)
def _is_known(expression: str) -> bool:
    return not any(map(_is_missing, _calls(expression)))


@kept(256 * KIB, 16 * KIB)
def _reads_old_self(expression: str) -> bool:
    return any(found["read"] for found in _OLD_SELF.finditer(expression))


def _calls(expression: str) -> Iterator[tuple[str, bool, str]]:
    """What may be a call: name, whether it is of a value, and the beginning of its arguments."""
    for found in _WORD.finditer(expression):
        after = expression[found.end() : found.end() + _LONGEST_NAMES]
        if after[:1] in ("(", "."):
            yield found[0], expression[found.start() - 1 : found.start()] == ".", after


def _is_missing(call: tuple[str, bool, str]) -> bool:
    name, is_method, after = call
    if not is_method:
        return name in _FUNCTIONS and (after[0] == "(" or name == "format")
    if after[0] == "(" and name in _MACROS:
        names = after[1:].split(",", 2)
        return len(names) == 3 and all(one.strip().isidentifier() for one in names[:2])
    return after[0] == "(" and name in _METHODS


def faults_of_rule(rule: Any) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a rule before it is compiled: (reason, message, field in it)."""
    fields = rule if isinstance(rule, Mapping) else {}
    if not isinstance(fields.get("rule"), str) or not fields["rule"].strip():
        yield "FieldValueRequired", "Required value: rule is not specified", "rule"
    for name in ("message", "messageExpression", "fieldPath", "reason"):
        if fields.get(name) is not None and not isinstance(fields[name], str):
            yield "FieldValueTypeInvalid", f"Invalid value: must be of type string: {name}", name
    if "\n" in str(fields.get("message") or ""):
        shown = msgspec.json.encode(fields["message"]).decode()
        yield "FieldValueInvalid", f"Invalid value: {shown}: must not contain line breaks", "message"
    if fields.get("reason") not in (None, *REASONS):
        known = ", ".join(f'"{reason}"' for reason in REASONS)
        text = f'Unsupported value: "{fields["reason"]}": supported values: {known}'
        yield "FieldValueNotSupported", text, "reason"


def rules_for(
    schema: Schema, now: Any, old: Any = MISSING, at: At = (), *, is_below_unchanged: bool = False
) -> Iterator[Rule]:
    """All rules that this value must keep."""
    is_unchanged = is_below_unchanged or (now == old and type(now) is type(old))
    mine = [each for each in schema.get(CEL) or () if _is_checked(each, old, is_unchanged=is_unchanged)]
    if mine:
        seen, before = seen_by_cel(schema, now, not at), () if old is MISSING else (seen_by_cel(schema, old, not at),)
        for fields in mine:
            yield Rule(at, fields, str(schema.get("type", "")), seen, before)
    for step, below, part in _parts(schema, now):
        was = _counterpart(schema, old, step, part)
        yield from rules_for(below, part, was, (*at, step), is_below_unchanged=is_unchanged)


def _is_checked(rule: Mapping[str, Any], old: Any, *, is_unchanged: bool) -> bool:
    reads_old = _reads_old_self(rule["rule"])
    if is_unchanged and not reads_old:
        return False
    has_all = old is not MISSING or not reads_old or rule.get("optionalOldSelf") is True
    return has_all and is_evaluated(rule)


def has_rules(schema: Schema) -> bool:
    """Whether the schema has any rule."""
    others, items = schema.get("additionalProperties"), schema.get("items")
    below = [*(schema.get("properties") or {}).values(), *(one for one in (others, items) if isinstance(one, Mapping))]
    return bool(schema.get(CEL)) or any(map(has_rules, below))


def seen_by_cel(schema: Schema, value: Any, is_object: bool = False) -> Any:
    """The value with the names and types that rules read. `is_object`: it has a kind and metadata."""
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [seen_by_cel(items, one) for one in value]
    if isinstance(value, dict):
        properties, others = schema.get("properties"), schema.get("additionalProperties")
        if not properties:
            below = others if isinstance(others, Mapping) else {}
            return {name: seen_by_cel(below, part) for name, part in value.items()}
        shown = {
            escaped(name): seen_by_cel(below, value[name])
            for name, below in properties.items()
            if value.get(name) is not None
        }
        if is_object or schema.get("x-kubernetes-embedded-resource"):
            shown |= {name: value[name] for name in ("apiVersion", "kind") if name in value}
            metadata = value.get("metadata") or {}
            shown["metadata"] = {name: metadata[name] for name in ("name", "generateName") if metadata.get(name)}
        return shown
    if schema.get("type") == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def escaped(name: str) -> str:
    """The name of a field as a word of CEL."""
    if name in KEYWORDS:
        return f"__{name}__"
    word = _ESCAPES.sub(lambda found: _ESCAPED[found[0]], name)
    return word if _WORD.fullmatch(word) else name


def _parts(schema: Schema, value: Any) -> Iterator[tuple[str | int, Schema, Any]]:
    """The parts of a value that the schema describes: step, schema, part."""
    if isinstance(value, list):
        items = schema.get("items")
        if isinstance(items, Mapping):
            yield from ((number, items, one) for number, one in enumerate(value))
    elif isinstance(value, dict):
        properties, others = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, part in value.items():
            below = properties.get(name, others)
            if isinstance(below, Mapping) and part is not None:
                yield name, below, part


def _counterpart(schema: Schema, old: Any, step: str | int, part: Any) -> Any:
    """The same part of the old value. In a list, only a map by keys says which item it was."""
    if isinstance(step, str):
        found = old.get(step) if isinstance(old, dict) else None
        return MISSING if found is None else found
    keys = schema.get("x-kubernetes-list-map-keys") if schema.get("x-kubernetes-list-type") == "map" else None
    if not keys or not isinstance(old, list) or not isinstance(part, dict):
        return MISSING
    wanted = [part.get(key) for key in keys]
    same = (one for one in old if isinstance(one, dict) and [one.get(key) for key in keys] == wanted)
    return next(same, MISSING)
