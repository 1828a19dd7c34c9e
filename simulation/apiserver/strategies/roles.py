"""Roles and bindings: nobody grants rights that he does not have."""

from __future__ import annotations

from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.access.authorization import Authorizer
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import ApiUser, ResourceCall
from simulation.apiserver.status import Json, forbidden, invalid, invalid_value, not_found
from simulation.apiserver.strategies.published import PublishedStrategy
from simulation.rbac.roles import GROUP, rules_of
from simulation.rbac.rules import EVERYTHING, Rule, uncovered


class _GrantStrategy(PublishedStrategy):
    """What roles and bindings share: a user may only grant rights that he has."""

    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self.authorizer = Authorizer(core)

    def may(self, call: ResourceCall, verb: str, plural: str, name: str) -> bool:
        """Whether the user of the request has that verb on that role or binding."""
        asked = AccessAttributes(verb, GROUP, plural, namespace=call.namespace, name=name)
        return self.authorizer.decide(call.user, asked)[0]

    def check_held(self, call: ResourceCall, name: str, rules: list[Rule], why: str = "") -> None:
        """Check that the user of the request has these rules himself. Raises StatusError (403)."""
        held = [one.rule for one in self.authorizer.granted(call.user, call.namespace) if not one.lacks]
        missing = uncovered(rules, held)
        if missing:
            raise forbidden(call.resource, name, why or _escalates(call.user, missing))


class RoleStrategy(_GrantStrategy):
    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().validate(call, before, value)
        self._check(call, before or {}, value)

    def _check(self, call: ResourceCall, old: Json, new: Json) -> None:
        name, fields = new["metadata"]["name"], ("rules", "aggregationRule")
        is_same = all((old.get(field) or None) == (new.get(field) or None) for field in fields)
        if is_same or self.may(call, "escalate", call.resource.plural, name):
            return
        if new.get("aggregationRule"):
            self.check_held(call, name, EVERYTHING, "must have cluster-admin privileges to use the aggregationRule")
        self.check_held(call, name, new.get("rules") or [])


class BindingStrategy(_GrantStrategy):
    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().validate(call, before, value)
        if before is not None and value["roleRef"] != before["roleRef"]:
            cause = invalid_value("roleRef", value["roleRef"], "cannot change roleRef")
            raise invalid(call.resource, call.name, [cause])
        self._check(call, value)

    def _check(self, call: ResourceCall, value: Json) -> None:
        reference = value["roleRef"]
        if self.may(call, "bind", f"{reference['kind'].lower()}s", reference["name"]):
            return
        rules = rules_of(reference, call.namespace, self.authorizer.policies)
        if rules is None:
            raise not_found(call.resource, reference["name"])
        self.check_held(call, value["metadata"]["name"], rules)


def _escalates(user: ApiUser, missing: list[str]) -> str:
    groups = " ".join(f'"{group}"' for group in user.groups)
    who = f'user "{user.name}" (groups=[{groups}])'
    return "\n".join([f"{who} is attempting to grant RBAC permissions not currently held:", *missing])
