"""What may change in a pod after its creation: a few fields of the spec. Pure.

The order and the words are those of `ValidatePodUpdate`. It ends early where the rest could not be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.checks import toleration
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry, same
from simulation.apiserver.rules.spelling import trimmed

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)

Json = dict[str, Any]
MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_MAY_CHANGE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_GROUPS = ("containers", "initContainers")


@check
def pod_change(seen: Seen) -> Iterator[Cause]:
    """A whole pod, by its main resource."""
    yield from _annotations(*(field_of(one["metadata"], "annotations") or {} for one in (seen.value, seen.before)))
    new, old = seen.value["spec"], seen.before["spec"]
    if new is old:
        return
    for group in _GROUPS:
        containers = new.get(group) or []
        if len(containers) != len(old.get(group) or ()):
            yield causes.forbidden(f"spec.{group}", "pod updates may not add or remove containers")
            return
        for number, one in enumerate(containers):
            at, image = f"spec.{group}[{number}].image", one.get("image") or ""
            if not image:
                yield causes.required(at)
            yield from (causes.invalid(at, image, why) for why in trimmed(image))
    deadline = list(_deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")))
    yield from deadline
    if deadline and new.get("activeDeadlineSeconds") is not None:
        return
    yield from _tolerations(seen.at_field("spec").at_field("tolerations"))
    yield from _gates(new.get("schedulingGates") or [], old.get("schedulingGates") or [])
    if old.get("schedulingGates"):
        yield from _placement(new, old)
    munged = _munged(new, old)
    if not same(munged, old):
        yield causes.forbidden("spec", f"{_MAY_CHANGE}\n{causes.difference(old, munged)}")


def _annotations(new: Json, old: Json) -> Iterator[Cause]:
    for key in old:
        if new.get(key) != old[key]:
            yield from _of_annotation(key, "remove or update")
    for key in new.keys() - old.keys():
        yield from _of_annotation(key, "add")


def _of_annotation(key: str, what: str) -> Iterator[Cause]:
    field = f"metadata.annotations[{key}]"
    if key.startswith(_APP_ARMOR):
        yield causes.forbidden(field, f"may not {what} AppArmor annotations")
    if key == MIRROR:
        yield causes.forbidden(field, f"may not {what} mirror pod annotation")


def _deadline(new: int | None, old: int | None) -> Iterator[Cause]:
    field = "spec.activeDeadlineSeconds"
    if new is None:
        if old is not None:
            yield causes.invalid(field, None, "must not update from a positive integer to nil value")
    elif not 0 <= new < 2**31:
        yield causes.invalid(field, new, "must be between 0 and 2147483647, inclusive")
    elif old is not None and old < new:
        yield causes.invalid(field, new, "must be less than or equal to previous value")


def _tolerations(seen: Seen) -> Iterator[Cause]:
    """They may be added, and last longer or shorter; upstream judges them once more."""
    lasting = [_without_seconds(one) for one in seen.value or ()]
    if not all(_without_seconds(one) in lasting for one in seen.before or ()):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield causes.forbidden(seen.path, why)
        return
    for place in seen.each():
        yield from toleration(place)


def _without_seconds(one: Json) -> Json:
    return {name: value for name, value in one.items() if name != "tolerationSeconds"}


def _gates(new: list[Json], old: list[Json]) -> Iterator[Cause]:
    known = {one.get("name") for one in old}
    for number, one in enumerate(new):
        if one.get("name") not in known:
            why = f"only deletion is allowed, but found new scheduling gate '{one.get('name')}'"
            yield causes.forbidden(f"spec.schedulingGates[{number}].name", why)


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _placement(new: Json, old: Json) -> Iterator[Cause]:
    """A pod that waits at a gate may be bound to fewer nodes, not to others."""
    labels, before = new.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield causes.invalid("spec.nodeSelector", new.get("nodeSelector"), why)
    at = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    terms, were = _terms(new), _terms(old)
    if were and len(terms) != len(were):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield causes.invalid(at, terms or None, why)
        return
    for number, (one, other) in enumerate(zip(terms, were, strict=False)):
        if not _only_adds(one, other):
            yield causes.invalid(f"{at}[{number}]", one, "only additions are allowed (no mutations or deletions)")


def _terms(spec: Json) -> list[Json]:
    affinity = field_of(field_of(spec.get("affinity"), "nodeAffinity"), _REQUIRED)
    return field_of(affinity, "nodeSelectorTerms") or []


def _only_adds(new: Json, old: Json) -> bool:
    names = ("matchExpressions", "matchFields")
    if not any(old.get(name) for name in names):
        return not any(new.get(name) for name in names)
    return all(same((new.get(name) or [])[: len(old.get(name) or ())], old.get(name) or []) for name in names)


def _munged(new: Json, old: Json) -> Json:
    """The new spec with what may change as it was."""
    spec = dict(new)
    for group in _GROUPS:
        if spec.get(group):
            pairs = zip(spec[group], old[group], strict=True)
            spec[group] = [{**one, "image": other.get("image")} for one, other in pairs]
    free = ["activeDeadlineSeconds", "schedulingGates", "tolerations"]
    if (old.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        free.append("terminationGracePeriodSeconds")
    if old.get("schedulingGates"):
        free.append("nodeSelector")
        spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": None}
        spec["affinity"]["nodeAffinity"] = field_of(old.get("affinity"), "nodeAffinity")
        if not old.get("affinity") and not any(spec["affinity"].values()):
            del spec["affinity"]
    for name in free:
        spec.pop(name, None)
        if name in old:
            spec[name] = old[name]
    return spec
