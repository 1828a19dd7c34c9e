"""Priority: a new pod gets the priority of its class, or of the default class.

A missing class is refused (403), and so is a second default class.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Plugin
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import PODS, PRIORITY_CLASSES
from simulation.apiserver.status import Json

_USUAL: Json = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""What a pod has without any class."""


def admit(this: Attributes) -> None:
    """Raises StatusError (403)."""
    if this.old is None:
        _admit_new(this)
        return
    was, spec = this.old["spec"], this.object["spec"]
    kept = {name: was[name] for name in ("priority", "preemptionPolicy") if name in was and spec.get(name) is None}
    if kept:
        merged = {**spec, **kept}
        this.object["spec"] = was if merged == was else merged


def validate(this: Attributes) -> None:
    """Raises StatusError (403)."""
    if not this.object.get("globalDefault"):
        return
    known = _default_class(this.core)
    if known is not None and known["metadata"]["name"] != this.name:
        why = f"PriorityClass {known['metadata']['name']} is already marked as default. Only one default can exist"
        raise this.forbidden(why)


PLUGIN = Plugin(
    "Priority",
    frozenset({(resource, "", operation) for resource in (PODS, PRIORITY_CLASSES) for operation in (CREATE, UPDATE)}),
    admit=lambda this: admit(this) if this.call.resource is PODS else None,
    validate=lambda this: validate(this) if this.call.resource is PRIORITY_CLASSES else None,
)


def _admit_new(this: Attributes) -> None:
    spec = this.object["spec"] = dict(this.object["spec"])
    found = _class_of(this, spec)
    if "metadata" in found:
        spec["priorityClassName"] = found["metadata"]["name"]
    computed = "priority admission controller computed {} from the given PriorityClass name"
    for field, what, source in (
        ("priority", "integer value of priority", "value"),
        ("preemptionPolicy", "string value of PreemptionPolicy", "preemptionPolicy"),
    ):
        given, wanted = spec.get(field), found.get(source)
        if given is not None and wanted is not None and given != wanted:
            raise this.forbidden(f"the {what} ({given}) must not be provided in pod spec; {computed.format(wanted)}")
        if wanted is not None:
            spec[field] = wanted


def _class_of(this: Attributes, spec: Json) -> Json:
    """The class of a new pod. Raises StatusError (403)."""
    name = spec.get("priorityClassName")
    if not name:
        return _default_class(this.core) or _USUAL
    found = this.core.store.get(PRIORITY_CLASSES.store_key, "", name)
    if found is None:
        raise this.forbidden(f"no PriorityClass with name {name} was found")
    return found.object


def _default_class(core: Core) -> Json | None:
    """The class for pods that name none. Of several, the one with the lowest value."""
    known = (one.object for one in core.store.of[PRIORITY_CLASSES.store_key].all())
    return min((one for one in known if one.get("globalDefault")), key=lambda one: int(one["value"]), default=None)
