"""Admission policies and webhooks: their expressions are compiled when they are written.

Whoever writes a policy, or its binding, that is not evaluated here is told so.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulation.apiserver.kinds.table import MUTATING_POLICIES, VALIDATING_POLICIES
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.published import PublishedStrategy
from simulation.validations import mutations, policies
from simulation.validations.checking import causes_of_policy, causes_of_webhooks, in_order

_IS_EVALUATED = {
    MUTATING_POLICIES.store_key: mutations.is_evaluated,
    VALIDATING_POLICIES.store_key: policies.is_evaluated,
}


class PolicyStrategy(PublishedStrategy):
    def causes(
        self, call: ResourceCall, before: Json | None, value: Json, of_rules: Sequence[Cause]
    ) -> Sequence[Cause]:
        program = self.core.rule_program
        if program is None or call.resource.store_key not in _IS_EVALUATED or _is_same(before, value):
            return of_rules
        return in_order([*of_rules, *causes_of_policy(program, value["spec"])])

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().validate(call, before, value)
        is_evaluated = _IS_EVALUATED.get(call.resource.store_key, lambda _: True)
        is_good = self.core.rule_program is not None and is_evaluated(value)
        if not (is_good or call.dry_run or call.target.subresource):
            call.warnings.append(f"{call.resource.kind}: it is stored, but this server cannot evaluate it")


class WebhookStrategy(PublishedStrategy):
    """Conditions are compiled, and not evaluated."""

    def causes(
        self, call: ResourceCall, before: Json | None, value: Json, of_rules: Sequence[Cause]
    ) -> Sequence[Cause]:
        program = self.core.rule_program
        if program is None or _is_same(before, value, "webhooks"):
            return of_rules
        return [*of_rules, *causes_of_webhooks(program, value.get("webhooks") or ())]


def _is_same(before: Json | None, value: Json, field: str = "spec") -> bool:
    return before is not None and before.get(field) == value.get(field)
