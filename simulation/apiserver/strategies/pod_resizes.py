"""The changes that the `resize` subresource allows (KEP-1287, 5419).

They are cpu and memory of the containers and of the whole pod.

An amount may be added, but none removed, and the QoS class of the pod stays. Other changes of a client are ignored.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from config.objects import PodSpec
from config.pods.identity import compute_qos_class
from config.values.quantity import parse_quantity
from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.status import Json, forbidden_field, invalid, invalid_value

_LISTS = ("containers", "initContainers")
_AMOUNTS = ("limits", "requests")
_MUTABLE = ("cpu", "memory")
_ONLY = "only cpu and memory resources are mutable"

Cause = tuple[str, str, str]


def with_asked(name: str, old: Json, asked: Json) -> Json:
    """The old spec with what a resize asks for.

    Raises StatusError (422) if its containers are not the old ones.
    """
    causes = [cause for group in _LISTS for cause in _other_containers(group, old.get(group), asked.get(group))]
    if causes:
        raise invalid(PODS, name, causes)
    spec = dict(old)
    for group in _LISTS:
        if group in spec:
            pairs = zip(spec[group], asked[group], strict=True)
            spec[group] = [_taking(before, after, "resources", "resizePolicy") for before, after in pairs]
    return _taking(spec, asked, "resources")


def check_resize(name: str, old: Json, new: Json, spec: PodSpec, qos: str | None) -> None:
    """Check a resize to `new`; `spec` is `new`, read. `qos`: the old class. Raises StatusError (422)."""
    causes = []
    wanted = str(compute_qos_class(spec))
    if qos and wanted != qos:
        causes.append(invalid_value("spec", wanted, "Pod QOS Class may not change as a result of resizing"))
    for group in _LISTS:
        for index, (before, after) in enumerate(zip(old.get(group) or (), new.get(group) or (), strict=True)):
            at = f"spec.{group}[{index}].resources"
            causes += _changes(at, _ONLY, before.get("resources"), after.get("resources"))
            if before.get("resizePolicy") != after.get("resizePolicy"):
                causes.append(forbidden_field("spec", _ONLY))
    causes += _changes("spec.resources", f"{_ONLY} at pod-level", old.get("resources"), new.get("resources"))
    if causes:
        raise invalid(PODS, name, list(dict.fromkeys(causes)))


def _other_containers(group: str, old: Any, asked: Any) -> Iterator[Cause]:
    before = [each.get("name") for each in old or ()]
    after = [each.get("name") for each in asked or ()]
    if len(before) != len(after):
        yield forbidden_field(f"spec.{group}", f"{group} may not be added or removed on resize")
        return
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        if one != other:
            yield forbidden_field(f"spec.{group}[{index}].name", f"{group} may not be renamed or reordered on resize")


def _taking(old: Json, asked: Json, *fields: str) -> Json:
    """The old object with these fields of the other."""
    kept = {name: value for name, value in old.items() if name not in fields}
    return {**kept, **{name: asked[name] for name in fields if name in asked}}


def _changes(field: str, only: str, old: Json | None, new: Json | None) -> Iterator[Cause]:
    before, after = old or {}, new or {}
    for kind in _AMOUNTS:
        amounts, wanted = before.get(kind) or {}, after.get(kind) or {}
        if any(each in amounts and each not in wanted for each in _MUTABLE):
            yield forbidden_field(f"{field}.{kind}", f"resource {kind} cannot be removed")
        if _others(amounts) != _others(wanted):
            yield forbidden_field("spec", only)
    if (before.get("claims") or []) != (after.get("claims") or []):
        yield forbidden_field("spec", only)


def _others(amounts: Json) -> dict[str, Any]:
    """The amounts of resources that cannot be resized."""
    return {name: parse_quantity(text) for name, text in amounts.items() if name not in _MUTABLE}
