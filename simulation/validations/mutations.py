"""MutatingAdmissionPolicies: the configurations and patches that their expressions make of a request.

Pure but for the program of CEL. Policies and data are JSON builtins. A constructed value knows its type: at the field
`spec.template` it must be `Object.spec.template`, so that no value gets into a wrong place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from simulation.validations.child import TYPE
from simulation.validations.constructors import plain
from simulation.validations.policies import seen
from simulation.validations.program import RuleProgram
from simulation.validations.rules import is_known

Json: TypeAlias = dict[str, Any]
JSON_PATCH, APPLY = "JSONPatch", "ApplyConfiguration"


class MutationError(Exception):
    """Why a mutation cannot be made, in the words of Kubernetes."""


def expression_of(mutation: Json) -> str:
    """The expression of a mutation, of either type."""
    holder = (
        mutation.get("jsonPatch") if mutation.get("patchType") == JSON_PATCH else mutation.get("applyConfiguration")
    )
    return str((holder or {}).get("expression") or "")


def is_evaluated(policy: Json) -> bool:
    """Whether the policy uses only what can be evaluated here."""
    spec = policy.get("spec") or {}
    texts = [each.get("expression") for name in ("matchConditions", "variables") for each in spec.get(name) or ()]
    texts += [expression_of(each) for each in spec.get("mutations") or ()]
    return all(is_known(text or "") for text in texts)


def check_conditions(program: RuleProgram, spec: Json, data: Mapping[str, Any]) -> bool:
    """Whether the conditions of a policy hold. Raises MutationError."""
    conditions = [each["expression"] for each in spec.get("matchConditions") or ()]
    if not conditions:
        return True
    answer = program.mutate(_seen(data), conditions, (), "", "")
    if answer is not None and not answer[0]:
        raise MutationError(answer[1])
    return answer is not None


def configuration_of(program: RuleProgram, spec: Json, mutation: Json, data: Mapping[str, Any]) -> Json:
    """What an `ApplyConfiguration` says. Raises MutationError."""
    made = _evaluated(program, spec, expression_of(mutation), data)
    if not isinstance(made, dict) or made.get(TYPE) != "Object":
        raise MutationError("unsupported return type from ApplyConfiguration expression")
    _check_types(made)
    bare: Json = _bare(made)
    return bare


def operations_of(program: RuleProgram, spec: Json, mutation: Json, data: Mapping[str, Any]) -> list[Json]:
    """The operations of a `JSONPatch`. Raises MutationError."""
    made = _evaluated(program, spec, expression_of(mutation), data)
    if not isinstance(made, list) or not all(isinstance(each, dict) and each.get(TYPE) == JSON_PATCH for each in made):
        raise MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    for each in made:
        if isinstance(each.get("value"), dict) and TYPE in each["value"]:
            _check_types(each["value"])
    return [{"op": "", "path": "", **_bare(each)} for each in made]


def _evaluated(program: RuleProgram, spec: Json, expression: str, data: Mapping[str, Any]) -> Any:
    """Raises MutationError."""
    variables = [(each["name"], each["expression"]) for each in spec.get("variables") or ()]
    answer = program.mutate(_seen(data), (), variables, plain(expression).text, expression)
    assert answer is not None, "without conditions there is an answer"
    if not answer[0]:
        raise MutationError(answer[1])
    return answer[1]


def _seen(data: Mapping[str, Any]) -> Json:
    return {name: seen(value) for name, value in data.items()}


def _check_types(made: Json) -> None:
    """Check that the types of constructed values are those of their places. Raises MutationError."""
    faults = list(_wrong_types(made, made[TYPE]))
    if faults:
        raise MutationError("type mismatch: " + "\n".join(faults))


def _wrong_types(value: Any, wanted: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _wrong_types(each, wanted)
    if not isinstance(value, dict):
        return
    own = value.get(TYPE)
    if own not in (None, wanted):
        which = "which matches field name path from root Object type"
        yield f'unexpected type name "{own}", expected "{wanted}", {which}'
    for name, part in value.items():
        if name != TYPE:
            yield from _wrong_types(part, wanted if own is None else f"{wanted}.{name}")


def _bare(value: Any) -> Any:
    """The value without types; a number without a fraction is an integer, as JSON writes it."""
    if isinstance(value, dict):
        return {name: _bare(part) for name, part in value.items() if name != TYPE}
    if isinstance(value, list):
        return [_bare(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
