"""Whether one pod gets the resources that it asks for now (spec 10.16).

Pure, over a snapshot of the node.

A resize is decided like an admission: by the same rules in the same order, with the pod itself out of the book. What
rejects a new pod lets a resize wait.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from actors.model.allocation import Allocation, allocation_of
from actors.model.pod_resources import PodResources, resources_of, same_resources
from actors.resources.admission import Admitted, NodeIsStale, Preempts, Snapshot, admit
from actors.resources.resize.infeasible import Infeasible, ResizeRules, infeasible
from config.objects import Pod
from config.values.quantity import QuantityError

INFEASIBLE = "Infeasible"
DEFERRED = "Deferred"


class Unchanged(msgspec.Struct, frozen=True):
    """The pod has what it asks for."""


class Granted(msgspec.Struct, frozen=True):
    """The pod gets what it asks for."""

    wanted: Allocation


class Deferred(msgspec.Struct, frozen=True):
    """The resize has to wait. `victims`: pods that are ended to make room for it."""

    reason: str
    message: str
    victims: tuple[Allocation, ...] = ()
    short_of: str = ""


ResizeVerdict: TypeAlias = Unchanged | Granted | Infeasible | Deferred
UNCHANGED = Unchanged()


def resize_verdict(pod: Pod, given: PodResources, rules: ResizeRules, node: Snapshot) -> ResizeVerdict:
    """`given`: what the pod has. The book of `node` is without the pod."""
    if same_resources(resources_of(pod.spec), given):
        return UNCHANGED
    try:
        never = infeasible(pod, given, rules)
        wanted = allocation_of(pod)
    except QuantityError as fault:
        return Infeasible(str(fault), "other")
    if never is not None:
        return never
    verdict = admit(pod, wanted, node)
    if isinstance(verdict, Admitted):
        return Granted(wanted)
    if isinstance(verdict, Preempts):
        names = ", ".join(f"{each.namespace}/{each.name}" for each in verdict.victims)
        return Deferred("Preempting", f"others make way for it: {names}", verdict.victims, verdict.short_of)
    rejected = verdict.otherwise if isinstance(verdict, NodeIsStale) else verdict
    return Deferred(rejected.reason, rejected.message)
