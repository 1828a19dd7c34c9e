"""Priority: a new pod gets the priority of its class. A missing class is refused (403)."""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin
from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.status import forbidden

PRIORITY_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def admit(this: Attributes) -> None:
    """Raises StatusError (403)."""
    core, name = this.core, this.name
    spec = this.object["spec"] = dict(this.object["spec"])
    class_name = spec.get("priorityClassName")
    priority = PRIORITY_CLASSES.get(class_name, 0) if class_name else 0
    if class_name and class_name not in PRIORITY_CLASSES:
        found = core.store.get("priorityclasses.scheduling.k8s.io", "", class_name)
        if found is None:
            raise forbidden(PODS, name, f"no PriorityClass with name {class_name} was found")
        priority = found.object["value"]
        spec.setdefault("preemptionPolicy", found.object.get("preemptionPolicy"))
    if spec.get("priority") not in (None, priority):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise forbidden(PODS, name, why)
    spec["priority"] = priority
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


PLUGIN = Plugin("Priority", frozenset({(PODS, "", CREATE)}), admit=admit)
