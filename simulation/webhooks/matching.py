"""Decides which webhooks a request concerns. Pure.

Rules match the version of the request exactly. `matchConditions` are in CEL and are not evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from config.api.selectors import SelectorError, label_query
from config.objects.selectors import LabelSelector

Json = dict[str, Any]
ANY = "*"
GROUP = "admissionregistration.k8s.io"
_OWN = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
"""No webhook is asked about these, so that a failing webhook can be removed."""


class Asked(msgspec.Struct, frozen=True):
    """A request that changes something. `part`: the subresource, or ""."""

    group: str
    version: str
    plural: str
    part: str
    kind: str
    namespaced: bool
    namespace: str
    namespace_labels: Json
    """The labels of the object's namespace; for a Namespace, its own labels."""
    user: Json
    """The UserInfo of the requester."""
    dry_run: bool
    old: Json | None
    """The object before; None for a creation."""
    new: Json | None
    """The object after; None for a deletion."""
    name: str = ""
    """That of the object; empty where its metadata has it."""
    body_kind: tuple[str, str, str] | None = None
    """Group, version and kind of what is sent to a part, such as a Scale; None: the object itself."""
    connects: bool = False
    """Whether the request opens a connection to a pod."""

    @property
    def resource(self) -> str:
        return f"{self.plural}/{self.part}" if self.part else self.plural

    @property
    def operation(self) -> str:
        if self.connects:
            return "CONNECT"
        return "DELETE" if self.new is None else "UPDATE" if self.old is not None else "CREATE"

    @property
    def objects(self) -> list[Json]:
        return [one for one in (self.new, self.old) if one is not None]


class Webhook(msgspec.Struct, frozen=True):
    """One webhook of a configuration."""

    configuration: str
    fields: Json

    @property
    def name(self) -> str:
        return str(self.fields.get("name", ""))

    @property
    def key(self) -> str:
        """Its identity among the mutating, or among the validating, webhooks."""
        return f"{self.configuration}/{self.name}"

    @property
    def fails_open(self) -> bool:
        """Whether a request goes on when the webhook cannot be asked."""
        return self.fields.get("failurePolicy") == "Ignore"


def webhooks_of(configurations: Iterable[Json]) -> list[Webhook]:
    """All webhooks, in the order of the names of their configurations."""
    ordered = sorted(configurations, key=lambda one: str(one["metadata"]["name"]))
    return [Webhook(one["metadata"]["name"], fields) for one in ordered for fields in one.get("webhooks") or ()]


def concerns(webhook: Json, asked: Asked) -> bool:
    """Whether the webhook must be asked about that request."""
    if asked.group == GROUP and asked.resource in _OWN:
        return False
    if not any(_rule_matches(rule, asked) for rule in webhook.get("rules") or ()):
        return False
    wants = webhook.get("objectSelector") or {}
    described = (one["metadata"] for one in asked.objects if "metadata" in one)
    if wants and not any(selects(wants, metadata.get("labels") or {}) for metadata in described):
        return False
    wants = webhook.get("namespaceSelector") or {}
    has_namespace = asked.namespaced or asked.plural == "namespaces"
    return not (wants and has_namespace) or selects(wants, asked.namespace_labels)


def _rule_matches(rule: Json, asked: Asked) -> bool:
    scope = rule.get("scope") or ANY
    return (
        scope in (ANY, "Namespaced" if asked.namespaced else "Cluster")
        and _has(rule, "operations", asked.operation)
        and _has(rule, "apiGroups", asked.group)
        and _has(rule, "apiVersions", asked.version)
        and any(_resource_matches(pattern, asked.resource) for pattern in rule.get("resources") or ())
    )


def _has(rule: Json, field: str, value: str) -> bool:
    values = rule.get(field) or ()
    return ANY in values or value in values


def _resource_matches(pattern: str, resource: str) -> bool:
    """Whether a pattern of a rule means the resource.

    `*` matches any resource without its parts, `*/*` also the parts. `pods/*` matches pods and all their parts,
    `*/scale` that part of any resource.
    """
    wanted, _, wanted_part = pattern.partition("/")
    name, _, part = resource.partition("/")
    return wanted in (ANY, name) and wanted_part in (part, ANY)


def selects(selector: Json, labels: Json) -> bool:
    """Whether a LabelSelector selects these labels. A wrong one selects nothing."""
    try:
        return label_query(msgspec.convert(selector, LabelSelector)).matches(labels)
    except (SelectorError, msgspec.ValidationError):
        return False
