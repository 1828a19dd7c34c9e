"""The defaults of built-in kinds, as a kube-apiserver gives them: `recorded/defaults.json`.

The file has a list of rules for each kind, by `apiVersion/kind`, as `apps/v1/Deployment`. They apply in their order, so
a rule sees what those before it have set. Pure; results share unchanged parts with the given object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

_FILE = Path(__file__).parent / "recorded/defaults.json"
_EACH = "*"


class DefaultRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values for fields that an object leaves out.

    `at`: the path of the object, from the top: `spec.ports.*`, with `*` for each item of a list or value of a map. The
    rule holds for each object there, and for none where there is no such object. `when`: the values that other fields
    of that object must have; null for a field that is absent. `set` gives values for absent and null fields, `fill`
    also for those that are empty (0, "", false, [], {}), as fields that are no pointers in Go.
    """

    at: str = ""
    when: Mapping[str, Any] = {}
    set: Mapping[str, Any] = {}
    fill: Mapping[str, Any] = {}


def default_rules(api_version: str, kind: str) -> tuple[DefaultRule, ...]:
    """The rules of a kind; none for a kind that has no defaults."""
    return _recorded().get(f"{api_version}/{kind}", ())


def recorded_kinds() -> tuple[str, ...]:
    """The kinds in the file, by `apiVersion/kind`."""
    return tuple(_recorded())


def with_defaults(value: Mapping[str, Any], rules: Sequence[DefaultRule]) -> dict[str, Any]:
    """A copy of the object with its defaults."""
    made: Any = dict(value)
    for rule in rules:
        made = _applied(made, rule, rule.at.split(".") if rule.at else [])
    return dict(made)


@cache
def _recorded() -> Mapping[str, tuple[DefaultRule, ...]]:
    return msgspec.json.decode(_FILE.read_bytes(), type=dict[str, tuple[DefaultRule, ...]])


def _applied(value: Any, rule: DefaultRule, path: Sequence[str]) -> Any:
    """The value with the rule applied below; itself where nothing changes."""
    if path and path[0] == _EACH and isinstance(value, list):
        items = [_applied(item, rule, path[1:]) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return value
    if not path:
        return _completed(value, rule)
    changed = {}
    for name in value if path[0] == _EACH else path[:1]:
        if name in value:
            below = _applied(value[name], rule, path[1:])
            if below is not value[name]:
                changed[name] = below
    return {**value, **changed} if changed else value


def _completed(value: dict[str, Any], rule: DefaultRule) -> dict[str, Any]:
    if any(value.get(name) != wanted for name, wanted in rule.when.items()):
        return value
    missing = {name: default for name, default in rule.set.items() if value.get(name) is None}
    missing |= {name: default for name, default in rule.fill.items() if not value.get(name)}
    return {**value, **missing} if missing else value
