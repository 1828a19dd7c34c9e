"""Which nodes a pod may run on: selectors, required affinity, taints and tolerations (spec 10.14).

Pure.

The scheduler checks many nodes with it; a node checks itself when a pod arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from config.api.selectors import LabelRequirement, Operator
from config.objects import NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration

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
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return required is None or in_terms(required.node_selector_terms, labels, name)


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
