"""The rules that roles and bindings grant a user, and the rules of aggregated cluster roles.

`Policies` gives the objects. A binding to a role that does not exist grants nothing; its `Granted` names the role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from config.api.selectors import SelectorError, label_query
from config.objects.selectors import LabelSelector
from simulation.rbac.rules import Rule

GROUP = "rbac.authorization.k8s.io"
Json = dict[str, Any]


class Subject(Protocol):
    """A user."""

    @property
    def name(self) -> str: ...

    @property
    def groups(self) -> tuple[str, ...]: ...


class Policies(Protocol):
    """The roles and bindings of a cluster."""

    def bindings(self, namespace: str) -> Iterable[Json]:
        """The RoleBindings of a namespace; without one, the ClusterRoleBindings."""

    def role(self, kind: str, namespace: str, name: str) -> Json | None: ...


class Granted(msgspec.Struct, frozen=True):
    """A rule that a user has, and in `by` the reason; or, in `lacks`, that a bound role is missing."""

    rule: Rule
    by: str = ""
    lacks: str = ""


def granted(user: Subject, namespace: str, policies: Policies) -> Iterator[Granted]:
    """The rules of the user in the whole cluster and, with a namespace, in that one."""
    for place in ("", namespace) if namespace else ("",):
        for binding in policies.bindings(place):
            subject = _subject_of(binding, user, place)
            if subject:
                yield from _given(binding, subject, place, policies)


def rules_of(reference: Json, namespace: str, policies: Policies) -> list[Rule] | None:
    """The rules of the role that a binding in the namespace refers to; None when it does not exist."""
    kind = reference.get("kind", "")
    role = policies.role(kind, "" if kind == "ClusterRole" else namespace, reference.get("name", ""))
    return None if role is None else role.get("rules") or []


def aggregated(role: Json, others: Iterable[Json]) -> list[Rule] | None:
    """The rules that a cluster role takes from others. None if its rules are its own."""
    rule = role.get("aggregationRule")
    if rule is None:
        return None
    found: list[Rule] = []
    named = sorted(others, key=lambda other: str(other["metadata"]["name"]))
    for selector in rule.get("clusterRoleSelectors") or ():
        try:
            query = label_query(msgspec.convert(selector, LabelSelector))
        except (SelectorError, msgspec.ValidationError):
            continue
        for other in named:
            meta = other["metadata"]
            if meta["name"] != role["metadata"]["name"] and query.matches(meta.get("labels") or {}):
                found += [each for each in other.get("rules") or () if each not in found]
    return found


def _given(binding: Json, subject: str, place: str, policies: Policies) -> Iterator[Granted]:
    reference = binding["roleRef"]
    rules = rules_of(reference, place, policies)
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if rules is None:
        yield Granted({}, lacks=f'{kind.lower()}.{GROUP} "{name}" not found')
        return
    meta = binding["metadata"]
    which = f'RoleBinding "{meta["name"]}/{place}"' if place else f'ClusterRoleBinding "{meta["name"]}"'
    by = f'RBAC: allowed by {which} of {kind} "{name}" to {subject}'
    yield from (Granted(rule, by) for rule in rules)


def _subject_of(binding: Json, user: Subject, place: str) -> str:
    """The subject of the binding that fits the user, as reasons show it; "" if none fits."""
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if (kind == "User" and name == user.name) or (kind == "Group" and name in user.groups):
            return f'{kind} "{name}"'
        if kind == "ServiceAccount":
            home = subject.get("namespace") or place
            if user.name == f"system:serviceaccount:{home}:{name}":
                return f'ServiceAccount "{name}/{home}"'
    return ""
