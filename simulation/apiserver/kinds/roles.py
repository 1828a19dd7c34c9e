"""Rules of roles and bindings: nobody grants rights that he does not have.

An aggregated cluster role gets its rules from other roles, and follows their changes.
"""

from __future__ import annotations

from simulation.apiserver.authorization import AccessAttributes, Authorizer
from simulation.apiserver.builtin.rules import PublishedRules
from simulation.apiserver.core import Core
from simulation.apiserver.requests import ApiUser, ResourceCall
from simulation.apiserver.resources import ServedResource
from simulation.apiserver.status import Json, forbidden, invalid, invalid_value, not_found
from simulation.apiserver.store import Version
from simulation.rbac.roles import GROUP, aggregated, rules_of
from simulation.rbac.rules import EVERYTHING, Rule, uncovered


class _GrantRules(PublishedRules):
    """The common rules of roles and bindings: a user may only grant rights that he has."""

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


class RoleRules(_GrantRules):
    def prepare(self, call: ResourceCall, value: Json) -> None:
        super().prepare(call, value)
        self._check(call, {}, value)

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        super().change(call, old, new)
        self._check(call, old, new)

    def created(self, version: Version) -> None:
        self._put_together()

    def changed(self, old: Version, new: Version) -> None:
        self._put_together()

    def removed(self, last: Version) -> None:
        self._put_together()

    def _check(self, call: ResourceCall, old: Json, new: Json) -> None:
        name, fields = new["metadata"]["name"], ("rules", "aggregationRule")
        is_same = all((old.get(field) or None) == (new.get(field) or None) for field in fields)
        if is_same or self.may(call, "escalate", call.resource.plural, name):
            return
        if new.get("aggregationRule"):
            self.check_held(call, name, EVERYTHING, "must have cluster-admin privileges to use the aggregationRule")
        self.check_held(call, name, new.get("rules") or [])

    def _put_together(self) -> None:
        """Give aggregated roles their rules. Each round may change what the next one reads."""
        roles = self.core.store.of[f"clusterroles.{GROUP}"]
        for _ in range(len(roles)):
            objects = [version.object for version in roles.all()]
            stale = [
                {**role, "metadata": dict(role["metadata"]), "rules": rules}
                for role in objects
                if (rules := aggregated(role, objects)) is not None and rules != (role.get("rules") or [])
            ]
            for role in stale:
                roles.put(("", role["metadata"]["name"]), role)
            if not stale:
                return


class BindingRules(_GrantRules):
    def prepare(self, call: ResourceCall, value: Json) -> None:
        super().prepare(call, value)
        self._check(call, value)

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        super().change(call, old, new)
        if new["roleRef"] != old["roleRef"]:
            cause = invalid_value("roleRef", new["roleRef"], "cannot change roleRef")
            raise invalid(call.resource, call.name, [cause])
        self._check(call, new)

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
