"""Which nodes a pod may run on: selectors, required affinity, taints and tolerations (spec 10.14).

Pure.

The scheduler checks many nodes with it; a node checks itself when a pod arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.api.selectors import LabelRequirement, Operator
from config.objects import NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration
from config.pods.once_per_spec import OncePerSpecAnd, once_per_spec

REQUIREMENTS_AT_MOST = 256
"""Terms, requirements and values of an affinity that is not long. The API knows no limit."""
NO_EXECUTE = "NoExecute"

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.ABSENT,
    "Gt": Operator.ABOVE,
    "Lt": Operator.BELOW,
}


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether these tolerations accept that taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def tolerates(spec: PodSpec, taint: Taint) -> bool:
    """Whether a pod of this spec tolerates the taint. Its tolerations are read only once."""
    accepted = _accepted(spec)
    return any(
        each in accepted
        for effect in ("", taint.effect)
        for each in (("", effect, None), (taint.key, effect, None), (taint.key, effect, taint.value or ""))
    )


@once_per_spec
def _accepted(spec: PodSpec) -> frozenset[tuple[str, str, str | None]]:
    """Key, effect and value of each toleration; empty for any key or effect, None for any value."""
    found = ((each, each.operator == "Exists") for each in spec.tolerations)
    return frozenset(
        (each.key or "", each.effect or "", None if exists else each.value or "")
        for each, exists in found
        if each.key or exists
    )


def stays_seconds(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> int | None:
    """How long a pod may stay on a node with these NoExecute taints: None for ever, 0 not at all."""
    shortest: int | None = None
    known = tuple(tolerations)
    for taint in taints:
        accepting = next((each for each in known if _tolerates(each, taint)), None)
        if accepting is None:
            return 0
        seconds = accepting.toleration_seconds
        if seconds is not None:
            shortest = max(0, seconds if shortest is None else min(shortest, seconds))
    return shortest


def selected(spec: PodSpec, labels: Mapping[str, str], name: str) -> bool:
    """Whether the pod's affinity and selector accept a node of that name and these labels.

    One term of the affinity must match, and each label of the selector.
    """
    if not spec.node_selector.items() <= labels.items():
        return False
    terms = _required(spec)
    if terms is None:
        return True
    if not is_long(spec):
        return in_terms(terms, labels, name)
    return _selections.of(spec, (labels,), name, lambda: in_terms(terms, labels, name))


def _required(spec: PodSpec) -> tuple[NodeSelectorTerm, ...] | None:
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return None if required is None else required.node_selector_terms


_selections: OncePerSpecAnd[bool] = OncePerSpecAnd(at_most=2)
"""Of long affinities. Labels are compared by identity, so they have to be the same object."""


@once_per_spec
def is_long(spec: PodSpec) -> bool:
    """Whether the affinity has too many requirements for an actor that serves all pods."""
    terms = _required(spec) or ()
    requirements = (each for term in terms for each in (*term.match_expressions, *term.match_fields))
    return len(terms) + sum(1 + len(each.values) for each in requirements) > REQUIREMENTS_AT_MOST


def in_terms(terms: Iterable[NodeSelectorTerm], labels: Mapping[str, str], name: str) -> bool:
    """Whether one of these terms matches a node of that name and these labels."""
    fields = {"metadata.name": name}
    return any(
        _hold(term.match_expressions, labels) and _hold(term.match_fields, fields)
        for term in terms
        # An empty term selects nothing.
        if term.match_expressions or term.match_fields
    )


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    exists = toleration.operator == "Exists"
    if not toleration.key:
        return exists
    if toleration.key != taint.key:
        return False
    return exists or (toleration.value or "") == (taint.value or "")


def _hold(requirements: Iterable[NodeSelectorRequirement], values: Mapping[str, str]) -> bool:
    return all(_holds(requirement, values) for requirement in requirements)


def _holds(requirement: NodeSelectorRequirement, values: Mapping[str, str]) -> bool:
    operator = _OPERATORS.get(requirement.operator)
    if operator is None or (operator in (Operator.ABOVE, Operator.BELOW) and not requirement.values):
        return False
    return LabelRequirement(requirement.key, operator, frozenset(requirement.values)).matches(values)
