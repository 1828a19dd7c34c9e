"""One rule of a role: which requests it allows, and which other rules it covers.

A rule is JSON: verbs for resources, by group and perhaps by name, or verbs for paths that are no resources. `*` matches
all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

Rule = dict[str, Any]
ANY = "*"
EVERYTHING: list[Rule] = [
    {"verbs": [ANY], "apiGroups": [ANY], "resources": [ANY]},
    {"verbs": [ANY], "nonResourceURLs": [ANY]},
]
_FIELDS = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}
"""Fields of a rule, in the order and spelling of refusals."""


class Access(msgspec.Struct, frozen=True):
    """The access that a request needs.

    `resource` includes the part, behind a slash. With a `path`, the access is to no resource.
    """

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    path: str = ""


def allows(rule: Rule, asked: Access) -> bool:
    """Whether the rule allows that access."""
    if not _has(rule, "verbs", asked.verb):
        return False
    if asked.path:
        return any(_path_covers(pattern, asked.path) for pattern in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule, "apiGroups", asked.group)
        and _has_resource(rule, asked.resource)
        and (not names or asked.name in names)
    )


def uncovered(wanted: Iterable[Rule], held: list[Rule]) -> list[str]:
    """The wanted rules that no rule of `held` covers, as refusals show them."""
    missing: dict[tuple[str, str, str | None], dict[str, None]] = {}
    found = []
    for rule in wanted:
        for one in _single(rule):
            if any(_covers(other, one) for other in held):
                continue
            if "nonResourceURLs" in one:
                found.append(shown(one))
                continue
            names = one.get("resourceNames")
            key = one["apiGroups"][0], one["resources"][0], names[0] if names else None
            missing.setdefault(key, {}).update(dict.fromkeys(one["verbs"]))
    for (group, resource, name), verbs in missing.items():
        named = {} if name is None else {"resourceNames": [name]}
        found.append(shown({"apiGroups": [group], "resources": [resource], **named, "verbs": list(verbs)}))
    return sorted(found)


def shown(rule: Rule) -> str:
    """The rule as refusals show it."""
    parts = []
    for field, word in _FIELDS.items():
        if rule.get(field):
            values = " ".join(f'"{one}"' for one in rule[field])
            parts.append(f"{word}:[{values}]")
    return f"{{{', '.join(parts)}}}"


def _single(rule: Rule) -> Iterator[Rule]:
    """The rule, split into rules of one verb and one resource or path."""
    for verb in rule.get("verbs") or ():
        for path in rule.get("nonResourceURLs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                one = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                yield from ({**one, "resourceNames": [name]} for name in names) if names else (one,)


def _covers(held: Rule, one: Rule) -> bool:
    """Whether the held rule allows everything that the single rule allows."""
    if not _has(held, "verbs", one["verbs"][0]):
        return False
    if "nonResourceURLs" in one:
        return any(_path_covers(pattern, one["nonResourceURLs"][0]) for pattern in held.get("nonResourceURLs") or ())
    names = held.get("resourceNames")
    return (
        _has(held, "apiGroups", one["apiGroups"][0])
        and _has_resource(held, one["resources"][0])
        and (not names or set(one.get("resourceNames") or ("",)) <= set(names))
    )


def _has(rule: Rule, field: str, value: str) -> bool:
    values = rule.get(field) or ()
    return ANY in values or value in values


def _has_resource(rule: Rule, resource: str) -> bool:
    """Whether the rule names the resource; `*/scale` is that part of any resource."""
    part = resource.partition("/")[2]
    return _has(rule, "resources", resource) or bool(part and f"*/{part}" in (rule.get("resources") or ()))


def _path_covers(pattern: str, path: str) -> bool:
    return pattern in (ANY, path) or (pattern.endswith(ANY) and path.startswith(pattern.rstrip(ANY)))
