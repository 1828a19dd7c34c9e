"""ValidatingAdmissionPolicies: which requests they concern, and what they say of one.

Pure but for the program of CEL. Policies, bindings, parameters and objects are JSON builtins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from simulation.validations.judge import TEXT_BYTES_AT_MOST
from simulation.validations.program import RuleProgram
from simulation.validations.rules import KEYWORDS, is_known
from simulation.webhooks.matching import ANY, Asked, concerns

Json: TypeAlias = dict[str, Any]
_EXEMPT = frozenset(
    f"{kind}{what}"
    for kind in ("mutating", "validating")
    for what in ("admissionpolicies", "admissionpolicybindings", "webhookconfigurations")
)
"""No policy judges these, so that a wrong policy can be removed."""
_TOO_DEAR = "validation failed due to running out of cost budget, no further validation rules will be run"


class Fault(NamedTuple):
    """What a request does wrong. `reason`: as of a Status, such as `Invalid`."""

    message: str
    reason: str = "Invalid"


def is_evaluated(policy: Json) -> bool:
    """Whether the policy uses only what can be evaluated here."""
    spec = policy.get("spec") or {}
    texts = [each.get("expression") for name in ("matchConditions", "variables") for each in spec.get(name) or ()]
    for check in spec.get("validations") or ():
        texts += [check.get("expression"), check.get("messageExpression")]
    return all(is_known(text or "") for text in texts)


def matches(resources: Json | None, asked: Asked) -> bool:
    """Whether `matchConstraints` of a policy, or `matchResources` of a binding, mean that request."""
    wanted = resources or {}
    if asked.plural in _EXEMPT:
        return False
    rules = wanted.get("resourceRules")
    every = [{"operations": [ANY], "apiGroups": [ANY], "apiVersions": [ANY], "resources": ["*/*"]}]
    excluded = _named(wanted.get("excludeResourceRules") or (), asked)
    if excluded and concerns({"rules": excluded}, asked):
        return False
    return concerns({**wanted, "rules": every if rules is None else _named(rules, asked)}, asked)


def faults_of(program: RuleProgram, policy: Json, data: Mapping[str, Any]) -> list[Fault]:
    """What the policy says of a request. `data`: what its expressions read."""
    spec = policy["spec"]
    checks = spec.get("validations") or []
    held = program.judge(
        {name: seen(value) for name, value in data.items()},
        [each["expression"] for each in spec.get("matchConditions") or ()],
        [(each["name"], each["expression"]) for each in spec.get("variables") or ()],
        [(check["expression"], check.get("messageExpression") or "") for check in checks],
    )
    fails = spec.get("failurePolicy") != "Ignore"
    if held is None:
        return [Fault(_TOO_DEAR)] if fails else []
    found = []
    for number, (verdict, text) in enumerate(held):
        if verdict is None:
            found += [Fault(text)] if fails else []
        elif not verdict:
            found.append(Fault(_sayable(text) or _usual(checks[number]), checks[number].get("reason") or "Invalid"))
    return found


def _named(rules: Iterable[Json], asked: Asked) -> list[Json]:
    """The rules that mean objects of that name."""
    metadata = next((one.get("metadata") or {} for one in asked.objects), {})
    name = asked.name or metadata.get("name")
    return [rule for rule in rules if not rule.get("resourceNames") or name in rule["resourceNames"]]


def _sayable(text: str) -> str:
    """The text of a messageExpression; empty if Kubernetes would not show it."""
    text = text.strip()
    return "" if "\n" in text or len(text.encode()) > TEXT_BYTES_AT_MOST else text


def _usual(check: Json) -> str:
    return str(check.get("message") or "").strip() or f"failed expression: {check['expression'].strip()}"


def seen(value: Any) -> Any:
    """A value as CEL sees it: a field whose name is a word of CEL has another name, too."""
    if isinstance(value, list):
        return [seen(each) for each in value]
    if isinstance(value, dict):
        words = {f"__{name}__": seen(part) for name, part in value.items() if name in KEYWORDS}
        return {name: seen(part) for name, part in value.items()} | words
    return value
