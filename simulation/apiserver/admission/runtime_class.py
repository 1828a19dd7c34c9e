"""RuntimeClass: a new pod gets the overhead, the node selector and the tolerations of its class.

A missing class is refused, and so is a pod that says something else than its class (403).
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin
from simulation.apiserver.kinds.table import PODS, RUNTIME_CLASSES
from simulation.apiserver.status import Json
from simulation.quotas.resource_lists import read

_OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


def admit(this: Attributes) -> None:
    """Raises StatusError (403)."""
    spec, found = this.object["spec"], _class_of(this)
    overhead, scheduling = _overhead(found), found.get("scheduling")
    if overhead is not None:
        if spec.get("overhead") and read(spec["overhead"]) != read(overhead):
            raise this.forbidden(_OTHER_OVERHEAD)
        spec = {**spec, "overhead": overhead}
    if scheduling is not None:
        added = {
            "nodeSelector": _selector(this, spec.get("nodeSelector") or {}, scheduling.get("nodeSelector") or {}),
            "tolerations": _merged([*(spec.get("tolerations") or ()), *(scheduling.get("tolerations") or ())]),
        }
        spec = {**spec, **{name: value for name, value in added.items() if value}}
    this.object["spec"] = spec


def validate(this: Attributes) -> None:
    """Raises StatusError (403)."""
    overhead, own = _overhead(_class_of(this)), this.object["spec"].get("overhead")
    if overhead is None and own is not None:
        raise this.forbidden("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if overhead is not None and read(own) != read(overhead):
        raise this.forbidden(_OTHER_OVERHEAD)


PLUGIN = Plugin("RuntimeClass", frozenset({(PODS, "", CREATE)}), admit=admit, validate=validate)


def _class_of(this: Attributes) -> Json:
    """The class of the pod; empty without one. Raises StatusError (403)."""
    name = this.object["spec"].get("runtimeClassName")
    if name is None:
        return {}
    found = this.core.store.get(RUNTIME_CLASSES.store_key, "", name)
    if found is None:
        raise this.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
    return found.object


def _overhead(runtime_class: Json) -> Json | None:
    """What a class adds to each pod; None if it says nothing of it."""
    overhead = runtime_class.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _selector(this: Attributes, own: Json, wanted: Json) -> Json:
    """Raises StatusError (403) where both say something else."""
    for name, value in sorted(wanted.items()):
        if own.get(name, value) != value:
            scheduling = f"runtimeClass.scheduling.nodeSelector[{name}] = {value}"
            raise this.forbidden(f"conflict: {scheduling}; pod.spec.nodeSelector[{name}] = {own[name]}")
    return {**own, **wanted}


def _merged(tolerations: list[Json]) -> list[Json]:
    """Without those that another one covers."""
    merged: list[Json] = []
    for number, each in enumerate(tolerations):
        later = (other for other in tolerations[number + 1 :] if other != each)
        if not any(_covers(other, each) for other in (*merged, *later)):
            merged.append(each)
    return merged


def _covers(one: Json, other: Json) -> bool:
    """Whether the first toleration tolerates all that the second does."""
    if one == other:
        return True
    key, operator, effect = one.get("key", ""), one.get("operator") or "Equal", one.get("effect", "")
    if other.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect not in ("", other.get("effect", "")):
        return False
    most, seconds = one.get("tolerationSeconds"), other.get("tolerationSeconds")
    if effect == "NoExecute" and most is not None and (seconds is None or seconds > most):
        return False
    is_same = other.get("operator") == "Equal" and other.get("value", "") == one.get("value", "")
    return operator == "Exists" or is_same
