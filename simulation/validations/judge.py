"""The causes of refusals, in the words of Kubernetes: objects that break rules, and bad rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from simulation.validations.program import RuleProgram
from simulation.validations.rules import CEL, MISSING, At, Rule, Schema, faults_of_rule, is_evaluated, rules_for

CHECKS_AT_MOST = 10_000
"""The number of rules that one object may have to keep."""
TEXT_BYTES_AT_MOST = 5 * 1024
"""The length of the text of a messageExpression. A longer one is not shown."""
Cause = tuple[str, str, str]
"""(reason, message, place), as in the causes of a Status."""
_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"
RULES_NOT_CHECKED: Cause = (
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation",
    "<nil>",
)
_NO_KEY = "Key not found in map : "
_CODE = re.compile(r"^[A-Z_]+: ")


def causes_of_object(program: RuleProgram, schema: Schema, now: Any, old: Any = MISSING) -> list[Cause]:
    """The rules that an object breaks."""
    rules = list(islice(rules_for(schema, now, old), CHECKS_AT_MOST + 1))
    if not rules:
        return []
    held = program.evaluate([rule.check for rule in rules]) if len(rules) <= CHECKS_AT_MOST else None
    if held is None:
        return [("FieldValueInvalid", f"Invalid value: null: {_SPENT}", "<nil>")]
    outcomes = zip(rules, held, strict=True)
    return [_cause(rule, verdict, text) for rule, (verdict, text) in outcomes if verdict is not True]


def causes_of_rules(program: RuleProgram | None, places: Sequence[tuple[str, Any]]) -> list[Cause]:
    """What is wrong with the rules of a definition. `places`: path of each part with rules, and
    the rules. Without a `program` nothing is compiled.
    """
    causes: list[Cause] = []
    asked: list[tuple[str, str]] = []
    whose: list[tuple[str, Any, str]] = []
    for path, rule in _each(places):
        faults = list(faults_of_rule(rule))
        causes += [(reason, message, f"{path}.{field}") for reason, message, field in faults]
        if not faults and is_evaluated(rule):
            asked.append((rule["rule"], "BOOL"))
            whose.append((path, rule, "rule"))
            if rule.get("messageExpression"):
                asked.append((rule["messageExpression"], "STRING"))
                whose.append((path, rule, "messageExpression"))
    for (path, rule, field), why in zip(whose, program.compile(asked) if program and asked else (), strict=False):
        if why:
            who, what = ("cel expression ", "") if field == "rule" else (f"{field} ", f"{field} ")
            text = f"{who}{why}" if why.startswith("must ") else f"{what}compilation failed: {why}"
            causes.append(("FieldValueInvalid", f"Invalid value: {_json(rule)}: {text}", f"{path}.{field}"))
    return causes


def places_not_evaluated(program: RuleProgram | None, places: Sequence[tuple[str, Any]]) -> list[str]:
    """The rules that use what the library does not have; without a program, the parts that have any."""
    if program is None:
        return [f"{path}.{CEL}" for path, _ in places]
    return [path for path, rule in _each(places) if not is_evaluated(rule)]


def _each(places: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for path, rules in places:
        yield from ((f"{path}.{CEL}[{number}]", rule) for number, rule in enumerate(rules))


def _cause(rule: Rule, verdict: bool | None, text: str) -> Cause:
    if verdict is None:
        code, absent, key = text.partition(_NO_KEY)
        why = f"no such key: {key[1:-1]}" if absent else _CODE.sub("", code)
        return "FieldValueInvalid", f'Invalid value: "{rule.kind}": {why} evaluating rule: {rule.name}', _place(rule.at)
    reason, said = rule.fields.get("reason") or "FieldValueInvalid", _sayable(text.strip()) or rule.text
    at = (_place(rule.at, "") + (rule.fields.get("fieldPath") or "")).removeprefix(".") or "<nil>"
    if reason == "FieldValueForbidden":
        return reason, f"Forbidden: {said}", at
    if reason == "FieldValueRequired":
        return reason, f"Required value: {said}", at
    shown = "" if isinstance(rule.now, dict | list) else f"{_json(rule.now)}: "
    if reason == "FieldValueDuplicate":
        return reason, f"Duplicate value: {shown}{said}", at
    return reason, f"Invalid value: {shown}{said}", at


def _sayable(text: str) -> str:
    """The text of a messageExpression; empty if Kubernetes would not show it."""
    return "" if "\n" in text or len(text.encode()) > TEXT_BYTES_AT_MOST else text


def _place(at: At, root: str = "<nil>") -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)
    return text.removeprefix(".") or root


def _json(value: Any) -> str:
    return msgspec.json.encode(int(value) if isinstance(value, float) and value.is_integer() else value).decode()
