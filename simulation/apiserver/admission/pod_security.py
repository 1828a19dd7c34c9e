"""PodSecurity: what pods of a namespace may not do, as its labels say (403).

Pods are refused; whoever writes a template of such pods is warned. Wrong labels are refused (422), and a stricter level
warns of the pods that are there.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Concern, Plugin
from simulation.apiserver.kinds.table import NAMESPACES, PODS
from simulation.apiserver.status import Json, invalid, invalid_value
from simulation.pod_security.levels import Policy, in_detail, is_stricter, policy_of, warnings_of_pods

_PARTS = ("", "ephemeralcontainers", "resize")


def validate(this: Attributes) -> None:
    """Raises StatusError (403, 422)."""
    if this.call.resource is NAMESPACES:
        _validate_namespace(this)
        return
    policy = _policy(this)
    if this.call.resource is PODS:
        if this.old is None or _has_new_images(this.old["spec"], this.object["spec"]):
            faults = policy.enforce.faults(this.object["metadata"], this.object["spec"])
            if faults:
                raise this.forbidden(f'violates PodSecurity "{policy.enforce}": {in_detail(faults)}')
            _warn(this, policy, this.object)
    else:
        _warn(this, policy, _template(this))


def _concerns(concern: Concern) -> bool:
    resource, part, operation = concern
    if operation not in (CREATE, UPDATE):
        return False
    if resource is PODS:
        return part in _PARTS
    has_template = resource.described is not None and bool(resource.described.template)
    return not part and (resource is NAMESPACES or has_template)


PLUGIN = Plugin("PodSecurity", _concerns, validate=validate)


def _validate_namespace(this: Attributes) -> None:
    """Raises StatusError (422)."""
    old = policy_of((this.old or {}).get("metadata", {}).get("labels")) if this.old is not None else None
    new = policy_of(this.object["metadata"].get("labels"))
    if new.faults and (old is None or new.faults != old.faults):
        causes = [invalid_value(f"metadata.labels[{label}]", value, why) for label, value, why in new.faults]
        raise invalid(NAMESPACES, this.name, causes)
    if old is not None and is_stricter(new.enforce, old.enforce):
        pods = (one.object for one in this.core.store.of[PODS.store_key].in_namespace(this.name))
        this.call.warnings.extend(warnings_of_pods(this.name, new.enforce, pods))


def _policy(this: Attributes) -> Policy:
    home = this.core.store.get(NAMESPACES.store_key, "", this.call.namespace)
    return policy_of(None if home is None else home.object["metadata"].get("labels"))


def _warn(this: Attributes, policy: Policy, pod: Json | None) -> None:
    if pod is None:
        return
    faults = policy.warn.faults(pod.get("metadata") or {}, pod["spec"])
    if faults:
        this.call.warnings.append(f'would violate PodSecurity "{policy.warn}": {in_detail(faults)}')


def _template(this: Attributes) -> Json | None:
    """The pod template of an object; None if it has none."""
    described, value = this.call.resource.described, this.object
    for name in described.template if described is not None else ():
        value = value.get(name) or {}
    return value if isinstance(value.get("spec"), dict) else None


def _has_new_images(before: Json, after: Json) -> bool:
    """Whether containers come, or get another image. Nothing else that a pod may change is bad."""
    for field in ("containers", "initContainers", "ephemeralContainers"):
        was = {one["name"]: one.get("image") for one in before.get(field) or ()}
        now = {one["name"]: one.get("image") for one in after.get(field) or ()}
        if was != now:
            return True
    return False
