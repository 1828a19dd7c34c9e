"""LimitRanger: defaults for the containers of a namespace, and bounds for its pods and claims (403)."""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Plugin
from simulation.apiserver.kinds.table import CLAIMS, LIMIT_RANGES, PODS
from simulation.apiserver.status import Json
from simulation.quotas.limits import faults_of_claim, faults_of_pod, with_defaults

ANNOTATION = "kubernetes.io/limit-ranger"


def admit(this: Attributes) -> None:
    if this.call.resource is not PODS:
        return
    for limit_range in _limit_ranges(this):
        value, metadata = this.object, this.object["metadata"]
        value["spec"], said = with_defaults(_items(limit_range), value["spec"])
        if said:
            added = {ANNOTATION: f"LimitRanger plugin set: {said}"}
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}


def validate(this: Attributes) -> None:
    """Raises StatusError (403)."""
    faults_of = faults_of_pod if this.call.resource is PODS else faults_of_claim
    for limit_range in _limit_ranges(this):
        faults = faults_of(_items(limit_range), this.object["spec"])
        if faults:
            raise this.forbidden(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


PLUGIN = Plugin(
    "LimitRanger",
    frozenset({(PODS, "", CREATE), (PODS, "resize", UPDATE), (CLAIMS, "", CREATE), (CLAIMS, "", UPDATE)}),
    admit=admit,
    validate=validate,
)


def _items(limit_range: Json) -> list[Json]:
    return (limit_range.get("spec") or {}).get("limits") or []


def _limit_ranges(this: Attributes) -> list[Json]:
    """Those of the namespace, by name. None bounds an object that is being deleted."""
    if this.old is not None and "deletionTimestamp" in this.old["metadata"]:
        return []
    return [one.object for one in this.core.store.of[LIMIT_RANGES.store_key].in_namespace(this.call.namespace)]
