"""What is wrong with the expressions of admission policies, which are compiled when they are written.

The words and the types of values are those of `apis/admissionregistration/validation` in Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from simulation.validations.constructors import Plain, plain
from simulation.validations.judge import Cause
from simulation.validations.mutations import APPLY, JSON_PATCH, expression_of
from simulation.validations.program import RuleProgram
from simulation.validations.rules import is_known

Json: TypeAlias = dict[str, Any]
_PLACE = re.compile(r"spec\.(\w+)(?:\[(\d+)\])?(?:\.(\w+))?")
_MISSING = "expression is not specified"
_DECLARED = ("request", "namespaceObject", "variables")
"""Variables whose fields are known."""
_FIELDS = (
    *("failurePolicy", "paramKind", "matchConstraints", "matchConditions", "variables"),
    *("validations", "auditAnnotations", "mutations", "reinvocationPolicy"),
)
_PARTS: dict[str, Sequence[str]] = {
    "matchConditions": ("expression", "name"),
    "variables": ("name", "expression"),
    "validations": ("expression", "messageExpression", "message", "reason"),
}


class _Expression(msgspec.Struct, frozen=True):
    """`types`: those that its value may have; empty for any.

    `name`: of a variable. `blank`: why it must be there.
    """

    path: str
    text: str
    types: tuple[str, ...] = ()
    constructs: bool = False
    name: str = ""
    blank: str = ""


def causes_of_policy(program: RuleProgram, spec: Json) -> list[Cause]:
    """The causes for expressions of a policy that do not compile, or have a value of a wrong type.

    An expression that is empty, or uses what cannot be evaluated here, is not looked at.
    """
    # Others may read a variable that is not looked at.
    variables = [one if _is_checked(one) else msgspec.structs.replace(one, text="") for one in _variables(spec)]
    conditions, others = (
        [_trimmed(one) for one in each if _is_checked(one)]
        for each in (_conditions(spec), [*_mutations(spec), *_validations(spec)])
    )
    plains = [plain(one.text) if one.constructs else Plain(one.text, one.text) for one in others]
    # A validating policy without variables knows no `variables`.
    composes = bool(variables) or "mutations" in spec
    said = program.check(
        bool(spec.get("paramKind")),
        composes,
        [(one.name, one.text) for one in variables],
        [one.text for one in conditions],
        [(each.text, "patches" if one.constructs else "") for each, one in zip(plains, others, strict=True)],
    )
    every = [*variables, *conditions, *others]
    as_written = [*(Plain(one.text, one.text) for one in (*variables, *conditions)), *plains]
    causes = list(_blanks(spec))
    for one, each, (fault, kind) in zip(every, as_written, said, strict=True):
        declared = _DECLARED if composes and one not in conditions else _DECLARED[:-1]
        causes += _causes(one, each.told(fault, declared) if fault else "", kind)
    return causes


def causes_of_webhooks(program: RuleProgram, webhooks: Sequence[Json]) -> list[Cause]:
    """The causes for conditions of webhooks, as those for a policy's."""
    places = [one for at, each in enumerate(webhooks) for one in _conditions(each, f"webhooks[{at}]")]
    conditions = [_trimmed(one) for one in places if _is_checked(one)]
    if not conditions:
        return []
    causes: list[Cause] = []
    said = program.check(False, False, (), [one.text for one in conditions], ())
    for one, (fault, kind) in zip(conditions, said, strict=True):
        causes += _causes(one, Plain(one.text, one.text).told(fault, _DECLARED[:-1]) if fault else "", kind)
    return causes


def _causes(one: _Expression, fault: str, kind: str) -> Iterator[Cause]:
    if fault:
        yield _cause(one, f"compilation failed: {fault}")
    elif one.types and kind and kind not in one.types:
        wanted = one.types[0] if len(one.types) == 1 else f"one of [{' '.join(one.types)}]"
        yield _cause(one, f"must evaluate to {wanted} but got {kind}")


def _blanks(spec: Json) -> Iterator[Cause]:
    """Expressions of white space alone count as missing. That others are, the rules say."""
    for one in (*_variables(spec), *_conditions(spec), *_mutations(spec), *_validations(spec)):
        if one.text and not one.text.strip():
            yield "FieldValueRequired", f"Required value: {one.blank}".removesuffix(": "), one.path


def _is_checked(one: _Expression) -> bool:
    return bool(one.text.strip()) and is_known(one.text)


def _trimmed(one: _Expression) -> _Expression:
    """The expression as Kubernetes compiles it."""
    as_it_is = one.path.startswith(("spec.variables", "spec.validations"))
    return one if as_it_is else msgspec.structs.replace(one, text=one.text.strip())


def in_order(causes: Iterable[Cause]) -> list[Cause]:
    """The causes of a policy by the places of their fields, as Kubernetes looks at them."""
    return sorted(causes, key=_place)


def _place(cause: Cause) -> tuple[int, int, int]:
    found = _PLACE.match(cause[2])
    if found is None or found[1] not in _FIELDS:
        return -1, 0, 0
    parts = _PARTS.get(found[1], ())
    is_twice = cause[0] == "FieldValueDuplicate"  # That is looked for last.
    part = len(parts) if is_twice else parts.index(found[3]) if found[3] in parts else 0
    return _FIELDS.index(found[1]), int(found[2] or 0), part


def _variables(spec: Json) -> Iterator[_Expression]:
    for at, each in enumerate(spec.get("variables") or ()):
        name = each.get("name") or ""
        yield _Expression(f"spec.variables[{at}].expression", each.get("expression") or "", name=name, blank=_MISSING)


def _conditions(spec: Json, path: str = "spec") -> Iterator[_Expression]:
    for at, each in enumerate(spec.get("matchConditions") or ()):
        yield _Expression(f"{path}.matchConditions[{at}].expression", each.get("expression") or "", ("bool",))


def _mutations(spec: Json) -> Iterator[_Expression]:
    for at, each in enumerate(spec.get("mutations") or ()):
        if each.get("patchType") in (JSON_PATCH, APPLY):
            is_patch = each["patchType"] == JSON_PATCH
            path = f"spec.mutations[{at}].{'jsonPatch' if is_patch else 'applyConfiguration'}.expression"
            kind = "list(JSONPatch)" if is_patch else "Object"
            yield _Expression(path, expression_of(each), (kind,), constructs=True)


def _validations(spec: Json) -> Iterator[_Expression]:
    for at, each in enumerate(spec.get("validations") or ()):
        for name, kind in (("expression", "bool"), ("messageExpression", "string")):
            yield _Expression(f"spec.validations[{at}].{name}", each.get(name) or "", (kind,), blank=_MISSING)
    for at, each in enumerate(spec.get("auditAnnotations") or ()):
        path = f"spec.auditAnnotations[{at}].valueExpression"
        yield _Expression(path, each.get("valueExpression") or "", ("string", "null_type"))


def _cause(one: _Expression, why: str) -> Cause:
    shown = msgspec.json.encode(one.text).decode()
    return "FieldValueInvalid", f"Invalid value: {shown}: {why}", one.path
